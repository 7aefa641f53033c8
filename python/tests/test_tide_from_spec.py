"""What was written from Tide's specification alone decides as cellcc does, to the last bit."""

from pathlib import Path

import pytest
from tide_from_spec import Ack, Tide

VECTORS = sorted((Path(__file__).parents[2] / "crates/fixed/tests/tide-vectors").glob("*.txt"))


@pytest.mark.parametrize("path", VECTORS, ids=lambda path: path.stem)
def test_a_recorded_conversation_is_decided_as_it_was(path: Path):
    tide, packet, expected, events = Tide(), 1500, None, 0
    lines = path.read_text().splitlines()
    for number, line in enumerate(lines, 1):
        event, _, decision = line.partition(" > ")
        if decision:
            expected = None if decision == "-" else tuple(map(int, decision.split()))
        match event.split():
            case ["#", *_]:
                continue
            case ["delay", delay]:
                tide = Tide(int(delay))
                continue
            case ["packet", size]:
                packet = int(size)
                continue
            case ["ack", *numbers]:
                tide.on_ack(Ack(*map(int, numbers)))
            case ["loss", lost, new_episode]:
                tide.on_loss(int(lost), new_episode == "1")
            case ["tick", now]:
                tide.end_ticks(int(now) + 1)
        events += 1
        assert tide.limits(packet) == expected, f"{path.name}:{number}: {line}"
    assert events == sum(line.startswith(("ack ", "loss ", "tick ")) for line in lines) > 0


def test_there_are_recorded_conversations():
    assert len(VECTORS) == 22

"""Radio parameters of a network from recordings: retransmissions of its blocks, and the access delay of a silent phone.

| recording | recognised by | gives |
|---|---|---|
| a log of NR-Scope, which receives every grant of a 5G cell | a CSV header with `harq_id` | the run parameter `harq`, per direction |
| output of Linux's `ping`, with or without `-D` | lines with `icmp_seq=` | the run parameter `access` |

Each may be compressed, as a trace may. A last line without its end is left out: a recorder that is stopped cuts it.

    python -m cellcc.radio ping-*.txt nr-scope-*.csv

or, in a program, `cellcc.radio.findings([cellcc.radio.read(path) for path in paths])`.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from . import blocks, pings
from .grants import Grants
from .pings import Pings
from .text import content, data_lines, decoded, refused, shown

__all__ = ["Findings", "Grants", "Pings", "Recording", "findings", "parse", "read"]


@dataclass(frozen=True)
class Recording:
    """A recording that was read: the grants of a log, or the runs of pings."""

    grants: list[blocks.Grant]
    runs: list[pings.Run]


@dataclass(frozen=True)
class Findings:
    """The joint findings of recordings of one network."""

    down: Grants | None
    """Grants of the base station, if a log of NR-Scope has them."""
    up: Grants | None
    """Grants of the phones."""
    pings: Pings | None
    """The findings of pings, if there are any."""


def findings(recordings: Sequence[Recording]) -> Findings:
    """The findings of these recordings: logs of one cell, pings of one network."""
    logs = [recording.grants for recording in recordings if recording.grants]
    runs = [run for recording in recordings for run in recording.runs]
    return Findings(Grants.of(logs, blocks.DOWN), Grants.of(logs, blocks.UP), Pings.of(runs))


def read(path: str | os.PathLike[str]) -> Recording:
    """Reads a recording. Raises `InputError` with the file and the line where it is none."""
    return parse(os.fspath(path), content(Path(path)))


def parse(name: str, content: bytes) -> Recording:
    """The recording in the bytes of a file that messages call `name`. Raises as `read` does."""
    text = decoded(name, content)
    text = text[: text.rfind("\n") + 1]
    line, first = next(data_lines(text), (None, ""))
    if line is not None and "harq_id" in (column.strip() for column in first.split(",")):
        return Recording(blocks.parse(name, text, line), [])
    runs = [] if line is None else pings.parse(name, text)
    if not runs:
        raise refused(
            name,
            line,
            f"`{shown(first)}` begins no recording of a radio: expected a log of NR-Scope (a CSV header with `harq_id`) or "
            "output of `ping` (lines with `icmp_seq=`)",
        )
    return Recording([], runs)

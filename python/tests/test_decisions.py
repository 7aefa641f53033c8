"""What a policy decides in the simulator and in QUIC follows from the events of the flow, as NumPy makes observations of them."""

import json
import re
import struct
from pathlib import Path

import numpy as np
import pytest

COMMITTED = Path(__file__).parents[1] / "training" / "policy.safetensors"
UNITS = {"B": 1, "kB": 1e3, "MB": 1e6, "ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}


def network(file):
    """Two layers of tanh and a linear one: what `ppo.Network` is."""
    content = file.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    tensors = {name: entry for name, entry in json.loads(content[8 : 8 + length]).items() if name != "__metadata__"}

    def values(name):
        begin, end = tensors[name]["data_offsets"]
        numbers = np.frombuffer(content[8 + length + begin : 8 + length + end], "<f4")
        return numbers.reshape(tensors[name]["shape"]).astype(np.float64)

    def forward(observation):
        one = np.tanh(observation @ values("one.w") + values("one.b"))
        two = np.tanh(one @ values("two.w") + values("two.b"))
        return (two @ values("out.w") + values("out.b")).item()

    return forward


def field(line, name):
    """The field of an event or a decision in bytes or nanoseconds; None if it is not known."""
    number, unit = re.search(rf" {name}=(-|[\d.]+)([a-zA-Z]*)", line).groups()
    return None if number == "-" else round(float(number) * UNITS[unit])


class Observer:
    """docs/how-to/python.md: what an agent of the kind `bounded` observes, the last four intervals of six numbers."""

    def __init__(self):
        self.rows = [np.zeros(6)] * 4
        self.peak = 0.0
        self.min_rtt = 0
        self.begin(0, 0)

    def begin(self, now, due):
        self.began, self.half = now, now + (due - now) // 2
        self.sent = self.delivered = self.lost = 0
        self.early, self.late = [], []

    def ack(self, now, line):
        self.delivered += field(line, "bytes")
        sample = field(line, "rtt_sample")
        if sample is not None:
            (self.early if now < self.half else self.late).append(sample)
            self.min_rtt = field(line, "min")

    def observation(self, now, window):
        length = now - self.began
        throughput = self.delivered / length
        self.peak = max(self.peak, throughput)
        queueing, logarithm = self.rows[-1][3], self.rows[-1][5]
        if self.delivered:
            rtts = max(0.0, np.mean(self.early + self.late) / self.min_rtt - 1.0)
            queueing, logarithm = rtts / (1.0 + rtts), np.log2(window / (throughput * self.min_rtt)) / 4.0
        change = np.mean(self.late) - np.mean(self.early) if self.early and self.late else 0.0
        row = [
            throughput / self.peak if self.peak else 0.0,
            self.delivered / max(1, self.sent + self.delivered),
            self.lost / max(1, self.lost + self.delivered),
            queueing,
            np.clip(change / length, -1.0, 1.0),
            np.clip(logarithm, -1.0, 1.0),
        ]
        self.rows = [*self.rows[1:], np.array(row, dtype=np.float32).astype(np.float64)]
        return np.concatenate(self.rows)


@pytest.mark.parametrize("driver", ["sim", "quic-virtual"])
def test_a_policy_decides_as_numpy_does_from_the_same_events(cli, driver, tmp_path):
    conditions = ["--traces", "lte-drive", "--rtt", "40ms", "--queue", "30pkt", "--duration", "20s", "--driver", driver]
    folders = ["--out", tmp_path / "out", "--events", tmp_path / "events"]
    made = cli("compare", "--quiet", "--schemes", f"learned(model={COMMITTED})", *conditions, *folders)
    assert made.returncode == 0, made.stderr
    (log,) = (tmp_path / "events").iterdir()
    forward, observer, due = network(COMMITTED), Observer(), None
    decided, lost = [], 0
    for line in cli("replay", log, "--dump").stdout.splitlines()[1:]:
        _, at, kind, *_ = line.split()
        now = round(float(at) * 1e9)
        if due is None:
            # Decisions begin with the first acknowledgement.
            window = float(field(line, "window"))
            if kind == "ack":
                observer.ack(now, line)
                due = field(line, "next_timer")
                observer.begin(now, due)
        elif kind == "sent":
            observer.sent += field(line, "bytes")
        elif kind == "ack":
            observer.ack(now, line)
        elif kind == "loss":
            observer.lost += field(line, "bytes")
            lost += 1
        elif kind == "timer" and now >= due:
            action = forward(observer.observation(now, int(window)))
            window = np.clip(window * 2.0 ** np.clip(action, -1.0, 1.0), 4 * 1500, 10_000 * 1500)
            # To a byte: the network of a scheme adds up in single precision.
            assert abs(int(window) - field(line, "window")) <= 1, f"decision {len(decided)}: {action} in {line}"
            decided.append(action)
            due = field(line, "next_timer")
            observer.begin(now, due)
    assert len(decided) > 900
    assert lost
    assert np.ptp(decided) > 1.0, "the decisions differ"

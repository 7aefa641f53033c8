"""What a call costs besides its runs; what 64 environments carry in a CPU second at steps of 20 ms, next to the engine alone on
the same links; and their memory. With CELLCC_TRACES, on recorded 5G too."""

import os
import time
from pathlib import Path
from typing import NamedTuple

import cellcc
import numpy as np
from cellcc.gym import Links, LinkVectorEnv

COUNT = 64
STEPS_A_SECOND = 50
PACKET_BYTES = 1500
RTT, QUEUE = "40ms", "1000pkt"


class Case(NamedTuple):
    name: str
    traces: list[str]
    duration_s: int


def cases() -> list[Case]:
    found = [Case("10Mbit/s", ["10Mbit/s"], 20), Case("100Mbit/s", ["100Mbit/s"], 10), Case("5g-mmwave-walk", ["5g-mmwave-walk"], 4)]
    if folder := os.environ.get("CELLCC_TRACES"):
        recordings = sorted(map(str, Path(folder, "5g-mmwave").glob("*.mbps")))
        # A link that carries nothing in the run's time is refused.
        open_links = [trace for trace in recordings if cellcc.trace(trace).rates_mbit_s("4s", "4s")[0] > 1][: COUNT // 2]
        found.append(Case(f"{len(open_links)} recordings of 5G", open_links, 4))
    return found


def call() -> float:
    """Milliseconds of a call whose two runs last 30 ms of a slow link."""
    before = time.perf_counter()
    cellcc.compare("cubic", "1Mbit/s", duration="30ms", jobs=1, progress=False)
    return (time.perf_counter() - before) * 1e3


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def begun(case: Case) -> LinkVectorEnv:
    """The environments, each on the link that a run of the engine has."""
    env = LinkVectorEnv(
        COUNT, agent="plain", interval="20ms", links=Links(case.traces, offset=False), duration=f"{case.duration_s}s", copy=False
    )
    traces = env._episodes.links.traces
    for index in range(COUNT):
        env._episodes.core.begin(index, 1 + index // len(traces), trace=traces[index % len(traces)], rtt=RTT, queue=QUEUE)
    return env


def stepped(env: LinkVectorEnv, duration_s: int) -> int:
    """Steps all episodes to just before their end, and gives the number of steps, those of all environments together."""
    actions = np.zeros((COUNT, 1), dtype=np.float32)
    # Six times doubled, ten packets are the 640 of the engine below.
    for _ in range(6):
        env.step(actions + 1)
    steps = duration_s * STEPS_A_SECOND - 1
    for _ in range(steps - 6):
        env.step(actions)
    return steps * COUNT


def environments(case: Case) -> tuple[float, float]:
    """Packets and steps per CPU second."""
    env = begun(case)
    before = time.process_time()
    steps = stepped(env, case.duration_s)
    taken_s = time.process_time() - before
    return sum(env._episodes.core.delivered_packets(index) for index in range(COUNT)) / taken_s, steps / taken_s


def memory(case: Case) -> float:
    """MB of an environment, at the end of its episode."""
    before = resident_bytes()
    env = begun(case)
    stepped(env, case.duration_s)
    return (resident_bytes() - before) / COUNT / 1e6


def engine(case: Case) -> float:
    """Packets per CPU second, with a window that is as long as those of the environments."""
    before = time.process_time()
    result = cellcc.compare(
        "fixed-window(window=640pkt)", case.traces, rtt=RTT, queue=QUEUE, seeds=range(1, COUNT // len(case.traces) + 1),
        offset="fixed", duration=f"{case.duration_s}s", jobs=1, series="off", endpoint={"series_bin": "1s"},
    )  # fmt: skip
    taken_s = time.process_time() - before
    # What was delivered, as with the environments: what is still in the queue at the end does not count.
    runs = [run.record for run in result if not run.is_limit]
    bits = sum(run["total"]["throughput_mbit_s"] * 1e6 * case.duration_s for run in runs)
    return bits / (8 * PACKET_BYTES) / taken_s


# First, while no memory of earlier ones is free.
print(f"an environment: {memory(cases()[-1]):.2f} MB")
print(f"a call: {np.median([call() for _ in range(500)]):.2f} ms")
for case in cases():
    pairs = [(*environments(case), engine(case)) for _ in range(5)]
    carried, steps, ratio = np.median([(one, steps, one / other) for one, steps, other in pairs], axis=0)
    print(
        f"{case.name}: {carried / 1e6:.2f} million packets/s, {steps / 1e3:.0f} thousand steps/s, "
        f"{ratio:.2f} of the engine alone"
    )

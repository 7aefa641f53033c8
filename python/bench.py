"""What a call costs beside its runs; packets per CPU second of 64 environments, and of the engine alone on the same links."""

import time

import cellcc
import numpy as np
from cellcc.gym import Links, LinkVectorEnv

COUNT = 64


def call() -> float:
    """Milliseconds of a call whose two runs last 30 ms of a slow link."""
    before = time.perf_counter()
    cellcc.compare("cubic", "1Mbit/s", duration="30ms", jobs=1, progress=False)
    return (time.perf_counter() - before) * 1e3


def environment(links: Links, duration_s: int) -> float:
    env = LinkVectorEnv(COUNT, agent="plain", interval="20ms", links=links, duration=f"{duration_s}s", copy=False)
    actions = np.zeros((COUNT, 1), dtype=np.float32)
    env.reset(seed=1)
    # Six times doubled, ten packets are the 640 of the engine below.
    for _ in range(6):
        env.step(actions + 1)
    before = time.process_time()
    for _ in range(duration_s * 50 - 7):
        env.step(actions)
    packets = sum(env._episodes.core.delivered_packets(index) for index in range(COUNT))
    return packets / (time.process_time() - before)


def engine(links: Links, duration_s: int) -> float:
    before = time.process_time()
    result = cellcc.compare(
        "fixed-window(window=640pkt)", list(links.traces), rtt=f"{links.rtt_ms[0]}ms", queue=f"{links.queue_packets[0]}pkt",
        offset="random" if links.offset else "fixed", seeds=range(1, COUNT + 1), duration=f"{duration_s}s", jobs=1, series="off",
        endpoint={"series_bin": "1s"},
    )
    runs = [run for run in result if run.scheme != "limit"]
    return sum(run.metrics["sent_packets"] for run in runs) / (time.process_time() - before)


print(f"a call: {np.median([call() for _ in range(500)]):.2f} ms")
for name, seconds in (("10Mbit/s", 20), ("100Mbit/s", 10), ("5g-mmwave-walk", 4)):
    where = Links(traces=[name], rtt_ms=(40, 40), queue_packets=(1000, 1000), offset=False)
    pairs = [(environment(where, seconds), engine(where, seconds)) for _ in range(5)]
    ratios = sorted(one / other for one, other in pairs)
    print(f"{name}: {np.median([one for one, _ in pairs]) / 1e6:.2f} million packets/s, {ratios[2]:.2f} of the engine alone")

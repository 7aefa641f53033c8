"""What Ray adds to a share, and how long 10,000 shares that compute next to nothing take, from the plan to the merged results.

    python bench_ray.py
"""

import tempfile
import time
from pathlib import Path

import cellcc.ray
import ray

ray.init(include_dashboard=False, log_to_driver=False)
processors = int(ray.cluster_resources()["CPU"])


def seconds(share_seconds: float, **conditions: object) -> tuple[float, int]:
    """How long a comparison takes, and of how many shares it is."""
    shares = set()
    with tempfile.TemporaryDirectory() as out:
        began = time.perf_counter()
        cellcc.ray.compare(out=Path(out) / "out", share_seconds=share_seconds, progress=lambda *done: shares.add(done), **conditions)
        return time.perf_counter() - began, len(shares)


seconds(1.5, schemes="cubic", traces="3g", duration="1s")
work = {"schemes": ["cubic", "bbr", "reminis"], "traces": ["50Mbit/s"], "duration": "20s", "seeds": "1..40"}
few, few_shares = seconds(10.0, **work)
many, many_shares = seconds(0.15, **work)
each = (many - few) / (many_shares - few_shares) * processors
print(f"a share: {each * 1000:.0f} ms of a processor more ({few_shares} shares {few:.1f} s, {many_shares} shares {many:.1f} s)")
taken, shares = seconds(0.0, schemes="cubic", traces="10Mbit/s", duration="10ms", seeds="1..9999", series="off")
print(f"{shares} shares of next to nothing: {taken:.1f} s")

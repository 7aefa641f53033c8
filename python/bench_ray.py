"""What a share on Ray costs besides its runs: 10,000 shares that compute next to nothing, from the plan to the merged results.

    python -P bench_ray.py
"""

import tempfile
import time
from pathlib import Path

import cellcc.ray
import ray

ray.init(include_dashboard=False, log_to_driver=False)
with tempfile.TemporaryDirectory() as folder:
    # Workers start.
    cellcc.ray.compare("cubic", "3g", duration="1s", out=Path(folder) / "first")
    began = time.perf_counter()
    # 40 ms of 10 Mbit/s: some thirty packets. A seed is a run of CUBIC and one of the limit.
    result = cellcc.ray.compare(
        "cubic", "10Mbit/s", duration="40ms", seeds="1..5000", offset="random", series="off", share_seconds=0, out=Path(folder) / "many"
    )
    taken_s = time.perf_counter() - began
print(f"{len(result)} shares: {taken_s:.1f} s, {taken_s / len(result) * 1000:.1f} ms a share")

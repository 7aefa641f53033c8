"""Scores policies on links that they never saw: use, and p95 of the queueing delay, next to designed schemes.

    python score.py POLICY... [--schemes orca(model=FILE)...]
"""

import argparse

import cellcc
import numpy as np
from numpy.typing import NDArray
from train import links

PATHS = ((20.0, "3200pkt"), (40.0, "500pkt"), (80.0, "100pkt"))
"""Round-trip times in ms and queues, within what an episode may draw."""
DESIGNED = ["tide", "cubic", "bbr"]


def score(schemes: list[str], traces: list[str]) -> dict[str, NDArray[np.float64]]:
    """The columns of `main`'s table by scheme: the mean over paths, links and four places in each link."""
    rows: dict[str, list[tuple[float, float, float]]] = {}
    for rtt_ms, queue in PATHS:
        result = cellcc.compare(
            schemes, traces, rtt=f"{rtt_ms}ms", queue=queue, offset="random", seeds="1..4", duration="30s", series="off",
            progress=False,
        )  # fmt: skip
        for run in result:
            if run.is_limit:
                continue
            metrics = run.metrics
            use, loss, p95_ms = metrics["utilisation"], metrics["loss_ratio"] or 0.0, metrics["queueing_delay_p95_ms"]
            reward = use - min(1.0, metrics["queueing_delay_mean_ms"] / rtt_ms) - loss
            rows.setdefault(run.scheme, []).append((use, p95_ms, reward))
    return {scheme: np.mean(values, axis=0) for scheme, values in rows.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description="Scores policies on links that they never saw.")
    parser.add_argument("policies", nargs="*")
    parser.add_argument("--schemes", nargs="*", default=[])
    arguments = parser.parse_args()
    schemes = [f"learned(model={file})" for file in arguments.policies] + arguments.schemes + DESIGNED
    print("| scheme | use | p95 of the queueing delay, ms | use, less mean queueing delay in RTTs, less losses |\n|---|---|---|---|")
    for scheme, (use, p95_ms, reward) in score(schemes, links("held_back")).items():
        print(f"| `{scheme}` | {use:.3f} | {p95_ms:.1f} | {reward:.3f} |")


if __name__ == "__main__":
    main()

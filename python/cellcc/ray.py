"""A comparison on a Ray cluster: the shares of a plan as tasks, which outlives the death of workers and of this process.

    python -m cellcc.ray PLAN --out results
"""

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, Unpack

try:
    import ray
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError("cellcc.ray needs Ray: pip install ray pyarrow fsspec", name="ray") from missing

from . import _cellcc
from .comparison import Conditions, Link, Progress, options, read
from .progress import progress_bar
from .result import Result
from .shares import Ledger, Work
from .store import working_folder

SHARE_SECONDS = 1.5
"""The default time of a shard: Ray itself takes some hundredths of a second for a task, and a shard that a dying worker
takes with it is run again."""


def compare(
    schemes: str | Sequence[str] | None = None,
    traces: Link | Sequence[Link] | None = None,
    *,
    out: str | os.PathLike[str],
    scenario: str | os.PathLike[str] | None = None,
    series: Literal["off", "sampled", "full"] = "sampled",
    share_seconds: float = SHARE_SECONDS,
    retries: int = 3,
    progress: bool | Progress | None = None,
    **conditions: Unpack[Conditions],
) -> Result:
    """`cellcc.compare` on the Ray cluster that this process is connected to, or that `RAY_ADDRESS` names, or else on this
    machine. Repeat the call, after whatever ended the first one, to run the missing shards.

    `out` receives the files of `cellcc.compare`, and `runs.parquet`: `table` of the result. It is a folder, or an address that
    fsspec opens, such as `s3://bucket/results`. Files of traces must be on all nodes under the same names, with the same
    content. `share_seconds` is about how long a task takes, and `retries` how often one is restarted because its
    worker died. `progress` is called with how many runs are done, how many there are, and 0.

    Raises the exceptions of `cellcc.compare`, and `RunError` if workers died too often.
    """
    scenario = None if scenario is None else os.fspath(scenario)
    plan = _cellcc.Plan(options(schemes=schemes, traces=traces, **conditions), scenario=scenario)
    name = os.fspath(out)
    with working_folder(name) as (folder, store):
        finished = _is_finished(folder, plan, name)
        if not finished:
            kept = store.keep if store else None
            with Ledger(folder, plan, series, name=name, kept=kept) as ledger, progress_bar(progress) as shown:
                _run(plan, ledger, Work(plan.scenario, series, tuple(sys.argv)), share_seconds, retries, shown)
                ledger.merge(folder)
        result = read(folder)
        result.table.to_parquet(folder / "runs.parquet")
        if store and not finished:
            store.keep_results()
    if result.failures:
        error = _cellcc.RunError("; ".join(result.failures))
        error.result = result
        raise error
    return result


def _is_finished(folder: Path, plan: _cellcc.Plan, name: str) -> bool:
    """Whether the folder holds the results of this plan."""
    try:
        info = json.loads(_cellcc.read_kept(str(folder / "run-info.json")))
        if info.get("state") == "complete" and info.get("plan") == plan.run_ids and "shard" in info and not info["shard"]:
            return True
    except FileNotFoundError:
        return False
    except (ValueError, AttributeError, RecursionError):
        # cellcc did not write it.
        pass
    raise _cellcc.InputError(f"the output folder {name} holds results of another plan, or unfinished ones; choose another out")


def _run(
    plan: _cellcc.Plan, ledger: Ledger, work: Work, share_seconds: float, retries: int, shown: Progress | None
) -> None:
    """Has every missing share run."""
    if not ray.is_initialized():
        ray.init(log_to_driver=False)
    at_workers = ray.put(work)
    if not ledger.count:
        pace = ray.get(ray.remote(num_cpus=1)(Work.pace).remote(at_workers))
        ledger.divide(plan.share_count(share_seconds, pace))
    task = ray.remote(num_cpus=1, max_retries=retries, name="cellcc.share")(Work.run)
    missing = ledger.missing()
    tasks = ((index, task.remote(at_workers, index, ledger.count)) for index in missing)
    done, lost = ledger.count - len(missing), []
    for index, reference in _as_they_end(tasks, most=8 * max(1, int(ray.cluster_resources().get("CPU", 1)))):
        try:
            ledger.add(index, ray.get(reference))
        except ray.exceptions.RayTaskError as error:
            raise error.cause if isinstance(error.cause, _cellcc.InputError) else error
        except ray.exceptions.RayError as error:
            lost.append(f"share {index}/{ledger.count}: {type(error).__name__}")
            continue
        done += 1
        if shown:
            shown(len(plan) * done / ledger.count, len(plan), 0)
    if lost:
        raise _cellcc.RunError(f"{'; '.join(lost[:5])}: {len(lost)} shares are missing; the same call again runs them")


def _as_they_end(tasks: Iterator[tuple[int, Any]], most: int) -> Iterator[tuple[int, Any]]:
    """The tasks in the order in which they end, with at most so many begun at a time: results wait in Ray's memory."""
    going_on: dict[Any, int] = {}
    for index, reference in tasks:
        going_on[reference] = index
        if len(going_on) >= most:
            yield from _ended(going_on)
    while going_on:
        yield from _ended(going_on)


def _ended(going_on: dict[Any, int]) -> Iterator[tuple[int, Any]]:
    first, _ = ray.wait(list(going_on), num_returns=1)
    ended, _ = ray.wait(list(going_on), num_returns=len(going_on), timeout=0)
    for reference in ended or first:
        yield going_on.pop(reference), reference


def main(arguments: Sequence[str] | None = None) -> int:
    """The command `python -m cellcc.ray`. Gives its exit status."""
    parser = argparse.ArgumentParser(prog="python -m cellcc.ray", description="Runs a plan on a Ray cluster; begun again, it finishes it.")
    parser.add_argument("plan", metavar="PLAN", help="a Scenario file")
    parser.add_argument("--out", required=True, metavar="DIR", help="the output folder, on the machine of this command, or an address that fsspec opens: s3://bucket/results")
    parser.add_argument("--series", choices=["off", "sampled", "full"], default="sampled", help="how much of time series and curves to keep")
    parser.add_argument("--share-seconds", type=float, default=SHARE_SECONDS, metavar="S", help="about how long a task takes: %(default)s")
    parser.add_argument("--retries", type=int, default=3, metavar="N", help="how often a task is begun again when its worker dies: %(default)s")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    given = parser.parse_args(arguments)
    try:
        result = compare(
            scenario=given.plan, out=given.out, series=given.series, share_seconds=given.share_seconds, retries=given.retries,
            progress=False if given.quiet else None,
        )  # fmt: skip
    except (_cellcc.InputError, _cellcc.RunError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2 if isinstance(error, _cellcc.InputError) else 1
    except KeyboardInterrupt:
        print(f"interrupted: finished shares are kept in {given.out}; the same command goes on", file=sys.stderr)
        return 130
    print(result)
    return 0


if __name__ == "__main__":
    sys.exit(main())

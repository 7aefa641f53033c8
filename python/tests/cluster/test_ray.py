"""A comparison on Ray outlives the death of its workers and of its own process."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cellcc
import cellcc.ray
import fsspec
import pyarrow.parquet
import pytest
import ray

# Some seconds of a processor in a dozen shares or more: time enough to kill something on the way.
PLAN = """
schemes = ["cubic", "verus"]
traces = ["100Mbit/s", "200Mbit/s", "300Mbit/s"]
seeds = "1..3"
duration = "10s"
"""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A Ray cluster of two processors, which this process is connected to, and its address."""
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield ray.get_runtime_context().gcs_address
    ray.shutdown()


def until(condition: Callable[[], Any]) -> Any:
    """Waits, a minute at most, until the condition is true, and gives its value."""
    deadline = time.monotonic() + 60
    while not (value := condition()):
        assert time.monotonic() < deadline, "waited a minute in vain"
        time.sleep(0.02)
    return value


def workers() -> list[int]:
    """The processes that run a share, of the Ray that this process has started: its children's children."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            is_worker = (process / "cmdline").read_bytes().startswith(b"ray::cellcc.share")
            if is_worker and parent(parent(int(process.name))) == os.getpid():
                found.append(int(process.name))
        except OSError:
            # It has ended meanwhile.
            pass
    return found


def parent(process: int) -> int:
    # The command, in brackets, may hold anything; the state follows, and then the parent.
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


def content(folder: Path) -> dict[str, bytes]:
    names = ["runs.jsonl", "scenario.toml", "report.html", *(f"{path.parent.name}/{path.name}" for path in folder.glob("*/*.csv"))]
    return {name: (folder / name).read_bytes() for name in names}


def test_after_a_worker_and_then_the_driver_are_killed_the_rest_is_run_and_the_bytes_are_those_of_the_command_line(
    address, cli, tmp_path
):
    plan, out = tmp_path / "plan.toml", tmp_path / "out"
    plan.write_text(PLAN)
    command = cli("compare", "--scenario", plan, "--out", tmp_path / "cli", "--quiet")
    assert command.returncode == 0, command.stderr

    def finished() -> int:
        return sum(entry.name.isdigit() for entry in (out / "shares").iterdir()) if (out / "shares").exists() else 0

    driver = subprocess.Popen(
        [sys.executable, "-m", "cellcc.ray", plan, "--out", out, "--share-seconds", "0.05"],
        env={**os.environ, "RAY_ADDRESS": address},
    )  # fmt: skip
    until(finished)
    os.kill(until(workers)[0], signal.SIGKILL)
    before = finished()
    until(lambda: finished() > before)
    driver.kill()
    assert driver.wait() == -signal.SIGKILL, "it ended before it was killed"
    kept, count = finished(), json.loads((out / "shares" / "plan.json").read_text())["shares"]

    done: list[float] = []

    def progress(runs: float, of: int, _: int) -> None:
        done.append(runs / of)
        if len(done) == 1:
            os.kill(until(workers)[0], signal.SIGKILL)

    result = cellcc.ray.compare(scenario=plan, out=out, share_seconds=60, progress=progress)
    assert content(out) == content(tmp_path / "cli")
    assert (len(done), done[-1]) == (count - kept, 1.0), "only the rest is run, in the shares that there are, also that of the killed worker"
    table = pyarrow.parquet.read_table(out / "runs.parquet")
    assert table.column("id").to_pylist() == result.table["id"]
    again = cellcc.ray.compare(scenario=plan, out=out)
    assert again.table["id"] == result.table["id"]


def test_another_plan_does_not_overwrite_results(address, tmp_path):
    short = {"traces": "3g", "duration": "1s", "out": tmp_path, "series": "off"}
    result = cellcc.ray.compare("cubic", **short)
    assert [run.scheme for run in result] == ["limit", "cubic"]
    with pytest.raises(cellcc.InputError, match="another plan"):
        cellcc.ray.compare("reminis", **short)


def test_results_go_to_an_address_that_fsspec_opens(address):
    files = fsspec.filesystem("memory")
    out = "memory://bucket/results"
    result = cellcc.ray.compare("cubic", "3g", duration="1s", seeds="1..2", share_seconds=0, out=out)
    with files.open("/bucket/results/runs.parquet") as written:
        assert pyarrow.parquet.read_table(written).column("id").to_pylist() == result.table["id"]
    began = files.created("/bucket/results/run-info.json")
    again = cellcc.ray.compare("cubic", "3g", duration="1s", seeds="1..2", out=out)
    assert again.table["id"] == result.table["id"]
    assert files.created("/bucket/results/run-info.json") == began, "it is finished, and nothing is written again"


def test_what_cannot_be_had_is_reported_by_the_command_with_status_2(tmp_path):
    (tmp_path / "plan.toml").write_text('schemes = ["cubic"]\ntraces = ["nowhere"]\n')
    command = subprocess.run(
        [sys.executable, "-m", "cellcc.ray", tmp_path / "plan.toml", "--out", tmp_path / "out"], capture_output=True, text=True
    )
    assert command.returncode == 2
    assert command.stderr.startswith("error: ") and "nowhere" in command.stderr

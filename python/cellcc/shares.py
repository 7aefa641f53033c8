"""The shares of a plan: running one, and keeping the finished ones on disk. Knows no engine that carries shares to machines."""

import fcntl
import functools
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import _cellcc
from .names import inside

Files = Mapping[str, bytes]
"""The folder of a finished shard: paths in it, and their content."""


@dataclass(frozen=True)
class Work:
    """All that a process on any machine needs in order to run shares of a plan."""

    scenario: str
    """The plan, as the text of a Scenario file."""
    series: str
    """How much of time series and curves to keep."""
    command: tuple[str, ...]
    """The command that requested it, for `run-info.json`."""

    def pace(self) -> float:
        """How many times as long as expected this processor takes for a run."""
        plan = _plan(self.scenario)
        began = time.perf_counter()
        expected_s = plan.run_median()
        return (time.perf_counter() - began) / expected_s if expected_s else 1.0

    def run(self, index: int, count: int) -> Files:
        """Runs a share. A link that this machine has not, or not the same, is an `InputError`."""
        with tempfile.TemporaryDirectory(prefix="cellcc-share-") as folder:
            _plan(self.scenario).run_share(f"{index}/{count}", folder, self.series, list(self.command))
            files = (path for path in Path(folder).rglob("*") if path.is_file())
            return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


@functools.lru_cache(maxsize=1)
def _plan(scenario: str) -> _cellcc.Plan:
    """One process runs many shares of the same plan."""
    return _cellcc.Plan.from_text(scenario)


class Ledger:
    """The finished shares of a plan, in `FOLDER/shares`. A share is there whole, under its number, or not at all, and so
    a worker that was killed while writing has lost nothing else.

    `name` is the folder's name in messages; `kept` is called with each file or folder that is whole in it. One process at a
    time; use it in `with`.
    """

    def __init__(
        self, folder: Path, plan: _cellcc.Plan, series: str, *, name: str | None = None, kept: Callable[[Path], None] | None = None
    ) -> None:
        self._folder = folder / "shares"
        self._name = f"{name or folder}/shares"
        self._kept = kept or (lambda path: None)
        self._runs = len(plan)
        self._wanted = {"plan_sha256": plan.sha256, "series": series}
        self.count = 0
        """Into how many shares the plan was divided; 0 before `divide`."""

    def __enter__(self) -> "Ledger":
        self._folder.mkdir(parents=True, exist_ok=True)
        self._lock = open(self._folder / "lock", "w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self.count = self._read()
        except BlockingIOError:
            self._lock.close()
            raise _cellcc.InputError(f"another process runs the shares in {self._name}; wait for it, or choose another out") from None
        except BaseException:
            self._lock.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.close()

    def _read(self) -> int:
        try:
            divided: dict[str, Any] = json.loads(_cellcc.read_kept(str(self._folder / "plan.json")))
            count = divided.pop("shares")
        except FileNotFoundError:
            return 0
        except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
            count = None
        # A share has a run at least.
        if not isinstance(count, int) or not 1 <= count <= self._runs:
            raise _cellcc.InputError(f"{self._name}/plan.json was changed; remove {self._name} to begin again")
        if divided != self._wanted:
            raise _cellcc.InputError(
                f"{self._name} holds shares of another plan, of another build of cellcc or with other series; remove it, or "
                "choose another out"
            )
        return count

    def divide(self, count: int) -> None:
        """Notes into how many shares the plan is divided, which holds until it is finished."""
        self.count = count
        path = self._folder / "plan.json"
        _cellcc.write_file(str(path), json.dumps({**self._wanted, "shares": count}).encode())
        self._kept(path)

    def missing(self) -> list[int]:
        """The numbers of the shares that are not finished, from 1."""
        there = {entry.name for entry in os.scandir(self._folder)}
        return [index for index in range(1, self.count + 1) if str(index) not in there]

    def add(self, index: int, files: Files) -> None:
        """Keeps a finished share."""
        part = self._folder / f"{index}.part"
        shutil.rmtree(part, ignore_errors=True)
        for name, content in files.items():
            path = inside(part, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        whole = self._folder / str(index)
        part.rename(whole)
        self._kept(whole)

    def merge(self, out: Path) -> None:
        """Joins the shares into the folder that one run of the whole plan would have left, and removes them."""
        _cellcc.merge([str(self._folder / str(index)) for index in range(1, self.count + 1)], str(out))
        shutil.rmtree(self._folder)

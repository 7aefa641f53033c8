"""`check` and `reproduce`: verdicts on a controller, and on papers' claims."""

import json
import os
from collections.abc import Sequence
from typing import Any, Literal

from . import _cellcc
from .comparison import Progress, drivers
from .progress import progress_bar


def check(
    subject: str,
    *,
    suites: str | Sequence[str] = (),
    cases: str | Sequence[str] = (),
    driver: str | Sequence[str] = (),
    jobs: int | None = None,
    progress: bool | Progress | None = None,
) -> list[dict[str, Any]]:
    """Runs the cases of conformance on a scheme, also one in Python; on one of noq's own, `noq:NAME`; or on the kernel's, `kernel:NAME`.

    `driver` names the drivers, by default the simulator. Gives one row per assertion, as `cellcc check --format json` prints
    it: `case`, `condition`, `ruling` ("pass", "fail", "skip", "error"), `value`, `bound`, `source`, `why`, `record`.

    Raises `InputError` for an unknown subject, suite, case or driver.
    """
    with progress_bar(progress) as shown:
        found = _cellcc.check(
            subject, _listed(suites), _listed(cases), drivers(driver) or [], jobs=jobs, progress=shown
        )
    rows: list[dict[str, Any]] = json.loads(found)
    return rows


def reproduce(
    claims: str | Sequence[str] = (),
    *,
    repository: str | os.PathLike[str] = ".",
    scale: Literal["smaller", "paper"] = "paper",
    out: str | os.PathLike[str] | None = None,
    existing: Literal["refuse", "resume", "replace"] = "refuse",
    jobs: int | None = None,
    progress: bool | Progress | None = None,
) -> list[dict[str, Any]]:
    """Re-runs the papers' claims, as `cellcc reproduce` does: all of them, or claims by their ids (`"REM-04"`,
    `"RBBR-1*"`), a paper or a place in one (`"table-2"`).

    `repository` is a clone, whose claims and scenarios are read. CELLCC_TRACES names the folder of the traces; a claim without its
    traces is "untested", and `why` names the missing file. Gives one row per claim, as in `scorecard.json`: `id`, `says`, `reports`,
    `values`, `interval`, `verdict` ("hit", "partly", "miss", "untested"), `before`. With `out`, the folder has the runs, `scorecard.json`
    and `claims.html`.

    Raises `InputError` for unknown claims, and `RunError` if runs failed; its `result` has the rows.
    """
    with progress_bar(progress) as shown:
        card, failures = _cellcc.reproduce(
            _listed(claims),
            os.fspath(repository),
            scale,
            jobs=jobs,
            out=None if out is None else os.fspath(out),
            existing=existing,
            progress=shown,
        )
    rows: list[dict[str, Any]] = json.loads(card)["claims"]
    if failures:
        error = _cellcc.RunError("; ".join(failures))
        error.result = rows
        raise error
    return rows


def _listed(given: str | Sequence[str]) -> list[str]:
    return [given] if isinstance(given, str) else list(given)

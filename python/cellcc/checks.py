"""`check`, `score` and `reproduce`: verdicts on a controller, one number of it, and verdicts on papers' claims."""

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from . import _cellcc
from .comparison import Named, Progress, drivers
from .progress import progress_bar
from .scheme import Scheme, named


def check(
    subject: Named,
    *,
    suites: str | Sequence[str] = (),
    cases: str | Sequence[str] = (),
    driver: str | Sequence[str] = (),
    jobs: int | None = None,
    progress: bool | Progress | None = None,
) -> list[dict[str, Any]]:
    """Runs the cases of conformance on a scheme, also a class of Python; on one of noq's own, `noq:NAME`; or on the kernel's, `kernel:NAME`.

    `driver` names the drivers, by default the simulator. Gives one row per assertion, as `cellcc check --format json` prints
    it: `case`, `condition`, `ruling` ("pass", "fail", "skip", "error"), `value`, `bound`, `source`, `why`, `record`.

    Raises `InputError` for an unknown subject, suite, case or driver.
    """
    with progress_bar(progress) as shown:
        found = _cellcc.check(
            named(subject), _listed(suites), _listed(cases), drivers(driver) or [], jobs=jobs, progress=shown
        )
    rows: list[dict[str, Any]] = json.loads(found)
    return rows


def score(
    schemes: Named | Sequence[Named],
    *,
    held_out: bool = False,
    jobs: int | None = None,
    progress: bool | Progress | None = None,
) -> list[dict[str, Any]]:
    """Scores schemes with one number each, as `cellcc score` does: from 0 to 100, on links that cellcc has; with `held_out` on others.

    Gives one row per scheme, the best first: `rank`, `scheme`, `score`, the interval `low` to `high`, the parts `throughput`, `delay`,
    `loss`, `harm` and `faults`, and `best_place` to `worst_place` under other weights. docs/how-to/score.md describes them.

    Raises `InputError` for a text that is not one scheme, and `RunError` if runs failed.
    """
    listed = [schemes] if isinstance(schemes, (str, type)) else schemes
    with progress_bar(progress) as shown:
        scored = _cellcc.score([named(scheme) for scheme in listed], held_out=held_out, jobs=jobs, progress=shown)
    rows: list[dict[str, Any]] = json.loads(scored)
    return rows


def reproduce(
    claims: str | Sequence[str] = (),
    *,
    repository: str | os.PathLike[str] = ".",
    scale: Literal["smaller", "paper"] = "paper",
    schemes: Mapping[str, type[Scheme]] | None = None,
    out: str | os.PathLike[str] | None = None,
    existing: Literal["refuse", "resume", "replace"] = "refuse",
    jobs: int | None = None,
    progress: bool | Progress | None = None,
) -> list[dict[str, Any]]:
    """Re-runs the papers' claims, as `cellcc reproduce` does: all of them, or claims by their ids (`"REM-04"`,
    `"RBBR-1*"`), a paper or a place in one (`"table-2"`). `schemes` puts classes in the place of schemes, `{"reminis": Mine}`: does your
    implementation do what the paper says? It gets its own defaults, whatever parameters the claims set.

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
            [(name, named(scheme)) for name, scheme in (schemes or {}).items()],
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

"""`check`: what `cellcc check` does, for Python."""

import json
from collections.abc import Sequence
from typing import Any

from . import _cellcc
from .comparison import Progress
from .progress import progress_bar


def check(
    subject: str,
    *,
    suites: str | Sequence[str] = (),
    cases: str | Sequence[str] = (),
    jobs: int | None = None,
    progress: bool | Progress | None = None,
) -> list[dict[str, Any]]:
    """Runs the cases of conformance on a scheme, one in Python too, in the simulator.

    Gives a row for each condition, as `cellcc check --format json` prints it: `case`, `condition`, `ruling` ("pass", "fail",
    "skip", "error"), `value`, `bound`, `source`, `why`, `record`.

    Raises `InputError` for a scheme, suite or case that is not there.
    """
    with progress_bar(progress) as shown:
        found = _cellcc.check(subject, _listed(suites), _listed(cases), jobs=jobs, progress=shown)
    rows: list[dict[str, Any]] = json.loads(found)
    return rows


def _listed(given: str | Sequence[str]) -> list[str]:
    return [given] if isinstance(given, str) else list(given)

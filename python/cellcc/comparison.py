"""`compare` and `read`: what `cellcc compare` does, for Python."""

import datetime
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypedDict, Unpack

from . import _cellcc
from .links import Trace
from .progress import progress_bar
from .result import Result

Time = str | datetime.timedelta
"""A time with its unit, such as "20ms", or a `timedelta`."""
Link = str | os.PathLike[str] | Trace
"""What `--traces` takes: a file, a folder, a pattern, a synthetic link, a rate; or a `Trace`."""
Progress = Callable[[float, int, int], None]
"""Is called with how many runs are done, parts of runs included, how many there are, and how many failed."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C ended the runs early. `result` holds those that were finished; with `out`, the folder has them, too."""

    result: Result

    def __init__(self, message: str, result: Result) -> None:
        super().__init__(message)
        self.result = result


class Conditions(TypedDict, total=False):
    """The keyword arguments of `compare` that are conditions of the runs."""

    rtt: Time | None
    queue: str | None
    loss: str | None
    jitter: Time | None
    extra_delay: str | None
    extra_loss: str | None
    seeds: int | str | Iterable[int] | None
    offset: Literal["fixed", "random"] | None
    duration: Time | None
    warm_up: Time | None
    background: str | None
    baseline: str | None
    title: str | None
    path: Mapping[str, Any] | None
    endpoint: Mapping[str, Any] | None
    netassist: Mapping[str, Any] | None
    cell: Mapping[str, Any] | None
    vary: Mapping[str, Sequence[Any]] | None


def compare(
    schemes: str | Sequence[str] | None = None,
    traces: Link | Sequence[Link] | None = None,
    *,
    scenario: str | os.PathLike[str] | None = None,
    rtt: Time | None = None,
    queue: str | None = None,
    loss: str | None = None,
    jitter: Time | None = None,
    extra_delay: str | None = None,
    extra_loss: str | None = None,
    seeds: int | str | Iterable[int] | None = None,
    offset: Literal["fixed", "random"] | None = None,
    duration: Time | None = None,
    warm_up: Time | None = None,
    background: str | None = None,
    baseline: str | None = None,
    title: str | None = None,
    path: Mapping[str, Any] | None = None,
    endpoint: Mapping[str, Any] | None = None,
    netassist: Mapping[str, Any] | None = None,
    cell: Mapping[str, Any] | None = None,
    vary: Mapping[str, Sequence[Any]] | None = None,
    jobs: int | None = None,
    series: Literal["off", "sampled", "full"] = "sampled",
    out: str | os.PathLike[str] | None = None,
    existing: Literal["refuse", "resume", "replace"] = "refuse",
    shard: str | None = None,
    progress: bool | Progress | None = None,
) -> Result:
    """Runs schemes over links in the simulator.

    Without any argument, the quick start; with `scenario`, what that file says. Every other argument has the last word,
    and means what the flag or the key of the same name does in `cellcc compare` and in a Scenario file: `path`, `endpoint`,
    `netassist`, `cell` and `vary` are that file's tables. Values with units are texts (`"20ms"`, `"3200pkt"`, `"1%"`), times
    also `timedelta`.

    The results stay in memory; with `out` they are also in that folder, as the command line would leave them, and
    `existing` says what is to become of results there. `progress` shows a bar (by default in notebooks and terminals), or
    is called itself.

    Raises `InputError` for what cannot be had, `RunError` where runs failed, and `Interrupted` after Ctrl-C; `result` of
    the last two holds the finished runs.
    """
    given = options(
        schemes, traces, rtt=rtt, queue=queue, loss=loss, jitter=jitter, extra_delay=extra_delay, extra_loss=extra_loss,
        seeds=seeds, offset=offset, duration=duration, warm_up=warm_up, background=background, baseline=baseline, title=title,
        path=path, endpoint=endpoint, netassist=netassist, cell=cell, vary=vary,
    )  # fmt: skip
    with progress_bar(progress) as shown:
        runs, interrupted, finished, planned = _cellcc.compare(
            given,
            scenario=None if scenario is None else os.fspath(scenario),
            jobs=jobs,
            series=series,
            out=None if out is None else os.fspath(out),
            existing=existing,
            shard=shard,
            progress=shown,
        )
    result = Result(runs)
    if interrupted:
        where = "in `result`" if out is None else f"in {os.fspath(out)}; existing='resume' goes on"
        raise Interrupted(f"interrupted: {finished} of {planned} runs are finished and kept {where}", result)
    if runs.failures:
        error = _cellcc.RunError("; ".join(runs.failures))
        error.result = result
        raise error
    return result


def read(folder: str | os.PathLike[str]) -> Result:
    """The results that `compare`, here or on the command line, or `cellcc merge` left in a folder.

    Raises `InputError` for a folder without finished results, or where they were changed.
    """
    return Result(_cellcc.read(os.fspath(folder)))


def options(
    schemes: str | Sequence[str] | None = None, traces: Link | Sequence[Link] | None = None, **conditions: Unpack[Conditions]
) -> dict[str, Any]:
    """The keys of a Scenario file, dotted, that these keyword arguments of `compare` stand for, and their values."""
    keys: dict[str, Any] = {"schemes": _listed(schemes), "traces": _links(traces)}
    for name, value in conditions.items():
        if name in _TABLES and not isinstance(value, Mapping | None):
            raise _cellcc.InputError(f"{name}={value!r}: a dict is wanted, from the keys of the table [{name}] to their values")
        if name in ("path", "endpoint", "netassist"):
            keys.update({f"{name}.{key}": inner for key, inner in (value or {}).items()})  # type: ignore[attr-defined]
        elif name in Conditions.__annotations__:
            keys[f"path.{name}" if name in _OF_PATH else name] = value
        else:
            raise TypeError(f"compare() got an unexpected keyword argument {name!r}")
    keys["seeds"] = _seeds(conditions.get("seeds"))
    cell, vary = conditions.get("cell"), conditions.get("vary")
    keys["cell"] = None if cell is None else dict(cell)
    keys["vary"] = None if vary is None else {key: _values(values) for key, values in vary.items()}
    return {key: value for key, value in keys.items() if value is not None}


_TABLES = {"path", "endpoint", "netassist", "cell", "vary"}
_OF_PATH = {"rtt", "queue", "loss", "jitter", "extra_delay", "extra_loss"}


def _listed(given: str | Sequence[str] | None) -> list[str] | None:
    if given is None:
        return None
    return [_text(scheme, "schemes", "the name of a scheme, such as 'cubic'") for scheme in _values(given)]


def _links(given: Link | Sequence[Link] | None) -> list[str] | None:
    if given is None:
        return None
    wanted = "a file, the name of a link such as '3g', a rate such as '100Mbit/s', or cellcc.trace(...)"
    links = [given] if isinstance(given, (os.PathLike, Trace)) else _values(given)
    return [str(link) if isinstance(link, Trace) else _text(link, "traces", wanted) for link in links]


def _text(given: Any, argument: str, wanted: str) -> str:
    try:
        text: str = os.fspath(given)
    except TypeError:
        raise _cellcc.InputError(f"{argument}: {given!r} is not {wanted}") from None
    return text


def _values(given: Any) -> list[Any]:
    """The values of a list, or the only one."""
    return [given] if isinstance(given, str) or not isinstance(given, Iterable) else list(given)


def _seeds(given: int | str | Iterable[int] | None) -> str | None:
    if given is None or isinstance(given, str):
        return given
    return str(given) if isinstance(given, int) else ",".join(str(int(seed)) for seed in given)

"""`compare`, `read` and `explain`: the commands of these names, for Python."""

import datetime
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypedDict, Unpack

from . import _cellcc
from .links import Trace
from .progress import progress_bar
from .result import Result
from .scheme import Scheme, named

Time = str | datetime.timedelta
"""A time with its unit, such as "20ms", or a `timedelta`."""
Named = str | type[Scheme]
"""A scheme: its name, with parameters, or a class, whose name in lower case it then has."""
Link = str | os.PathLike[str] | Trace
"""A value of `--traces`: a file, a folder, a pattern, a synthetic link, a rate; or a `Trace`."""
Progress = Callable[[float, int, int], None]
"""Is called with how many runs are done, parts of runs included, how many there are, and how many failed."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C ended the runs early. `result` holds the finished ones; with `out`, the folder also has them."""

    result: Result

    def __init__(self, message: str, result: Result) -> None:
        super().__init__(message)
        self.result = result


class Conditions(TypedDict, total=False):
    """The keyword arguments of `compare` that are conditions of the runs: the flags of `cellcc compare`, and four tables of a Scenario
    file. A test holds the names against the table of conditions."""

    title: str | None
    seeds: int | str | Iterable[int] | None
    offset: Literal["fixed", "random"] | None
    baseline: str | None
    harm: str | None
    driver: str | Sequence[str] | None
    duration: Time | None
    warm_up: Time | None
    rtt: Time | None
    queue: str | None
    policer: str | None
    loss: str | None
    extra_delay: str | None
    extra_loss: str | None
    burst_loss: str | None
    jitter: Time | None
    correlated_jitter: str | None
    access: str | None
    harq: str | None
    reverse_extra_delay: str | None
    reverse_rate: str | None
    reverse_queue: str | None
    reverse_loss: str | None
    reverse_burst_loss: str | None
    reverse_access: str | None
    reverse_harq: str | None
    cell: Mapping[str, Any] | None
    background: str | None
    mss: str | None
    header: str | None
    ack_every: int | None
    max_ack_delay: Time | None
    acks: str | None
    offload: str | None
    recovery: str | None
    initial_window: str | None
    like_linux: bool | None
    series_bin: Time | None
    path: Mapping[str, Any] | None
    endpoint: Mapping[str, Any] | None
    netassist: Mapping[str, Any] | None
    vary: Mapping[str, Sequence[Any]] | None


def compare(
    schemes: Named | Sequence[Named] | None = None,
    traces: Link | Sequence[Link] | None = None,
    *,
    scenario: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    series: Literal["off", "sampled", "full"] = "sampled",
    out: str | os.PathLike[str] | None = None,
    existing: Literal["refuse", "resume", "replace"] = "refuse",
    shard: str | None = None,
    progress: bool | Progress | None = None,
    **conditions: Unpack[Conditions],
) -> Result:
    """Runs schemes over links: in the simulator, or by the drivers that `driver` names (`"sim,quic-virtual,quic,kernel"`).

    Without any argument, the quick start; with `scenario`, that file. Every other argument overrides it,
    and means what the flag or the key of the same name does in `cellcc compare` and in a Scenario file: `path`, `endpoint`,
    `netassist`, `cell` and `vary` are that file's tables. Values with units are texts (`"20ms"`, `"3200pkt"`, `"1%"`), times
    also `timedelta`.

    The results stay in memory; with `out` they are also in that folder, as the command line would leave them, and
    `existing` decides about results there. `progress` shows a bar (by default in notebooks and terminals), or
    is called itself.

    `quic` and `kernel` run in real time through the emulator: as root, or in a process that has a single thread, which then is in a user
    namespace. With `harm`, a victim scheme, the report has the harm of each scheme to it.

    Raises `InputError` for invalid arguments, `RunError` if runs failed, and `Interrupted` after Ctrl-C; `result` of
    the last two holds the finished runs.
    """
    given = options(schemes, traces, **conditions)
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


def explain(
    what: Result | Link | Sequence[Link],
    *,
    rtt: Time = "40ms",
    duration: Time = "60s",
    access: str | None = None,
    against: str | None = None,
) -> list[dict[str, Any]]:
    """The lower bound of the queueing delay, as `cellcc explain --format json` prints it.

    For results, or their folder: one row per scheme, see `Result.explain`. For links: one row per link, the bound at several utilisations.
    """
    if isinstance(what, Result):
        return what.explain(against=against)
    if isinstance(what, (str, os.PathLike)) and os.path.exists(os.path.join(what, "run-info.json")):
        return read(what).explain(against=against)
    if against is not None:
        raise _cellcc.InputError(f"against={against!r}: it is for results or their folder, and {what!r} is neither")
    rows: list[dict[str, Any]] = json.loads(_cellcc.explain_links(_links(what) or [], _time(rtt), _time(duration), access))
    return rows


def read(folder: str | os.PathLike[str]) -> Result:
    """The results that `compare`, here or on the command line, or `cellcc merge` left in a folder.

    Raises `InputError` for a folder without finished results, or where they were changed.
    """
    return Result(_cellcc.read(os.fspath(folder)))


def options(
    schemes: Named | Sequence[Named] | None = None, traces: Link | Sequence[Link] | None = None, **conditions: Unpack[Conditions]
) -> dict[str, Any]:
    """The keys of a Scenario file, dotted, that these keyword arguments of `compare` stand for, and their values."""
    keys: dict[str, Any] = {"schemes": _listed(schemes), "traces": _links(traces)}
    for name, value in conditions.items():
        if name in _TABLES and not isinstance(value, Mapping | None):
            raise _cellcc.InputError(f"{name}={value!r}: a dict is wanted, from the keys of the table [{name}] to their values")
        if name in ("path", "endpoint", "netassist"):
            keys.update({f"{name}.{key}": inner for key, inner in (value or {}).items()})  # type: ignore[attr-defined]
        elif name in Conditions.__annotations__:
            keys[_KEYS.get(name, name)] = value
        else:
            raise TypeError(f"compare() got an unexpected keyword argument {name!r}")
    keys["seeds"] = _seeds(conditions.get("seeds"))
    keys["drivers"] = drivers(conditions.get("driver"))
    cell, vary = conditions.get("cell"), conditions.get("vary")
    keys["cell"] = None if cell is None else dict(cell)
    keys["vary"] = None if vary is None else {key: _values(values) for key, values in vary.items()}
    return {key: value for key, value in keys.items() if value is not None}


_TABLES = {"path", "endpoint", "netassist", "cell", "vary"}
_KEYS = dict(_cellcc.conditions())


def drivers(given: str | Sequence[str] | None) -> list[str] | None:
    """The drivers that `driver` names, as `--driver` takes them: separated by commas, or a list."""
    return given.split(",") if isinstance(given, str) else None if given is None else list(given)


def _listed(given: Named | Sequence[Named] | None) -> list[str] | None:
    if given is None:
        return None
    return [_text(named(scheme), "schemes", "the name of a scheme, such as 'cubic'") for scheme in _values(given)]


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


def _time(given: Time) -> str:
    return given if isinstance(given, str) else f"{given.total_seconds()}s"


def _values(given: Any) -> list[Any]:
    """The values of a list, or the only one."""
    return [given] if isinstance(given, str) or not isinstance(given, Iterable) else list(given)


def _seeds(given: int | str | Iterable[int] | None) -> str | None:
    if given is None or isinstance(given, str):
        return given
    return str(given) if isinstance(given, int) else ",".join(str(int(seed)) for seed in given)

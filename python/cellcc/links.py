"""Links as traces: statistics, parts, joins, and traces from arrays."""

import datetime
import json
import os
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _cellcc


class Trace:
    """A link's capacity over time; `compare` takes it among its traces.

    `str(trace)` is its text, as a Scenario names it: a file, a synthetic link (`"3g"`), a rate (`"100Mbit/s"`), steps, or a
    join of those.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._link = _cellcc.Trace(text)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"cellcc.trace({self._text!r})"

    @property
    def duration_s(self) -> float | None:
        """The length of one period; `None` for a link without an end."""
        return self._link.duration_s

    @property
    def sha256(self) -> str:
        """The hash of its capacity, as in Records."""
        return self._link.sha256

    def stats(self) -> dict[str, Any]:
        """The numbers of `cellcc trace info`, with units in the keys."""
        stats: dict[str, Any] = json.loads(self._link.stats_json())
        return stats

    def rates_mbit_s(
        self, bin: str | datetime.timedelta = "100ms", duration: str | datetime.timedelta | None = None
    ) -> NDArray[np.float64]:
        """The mean rate of each bin, for one period or for `duration`."""
        return np.array(self._link.rates_mbit_s(_time(bin), None if duration is None else _time(duration)))

    def cut(
        self, offset: str | datetime.timedelta = "0s", duration: str | datetime.timedelta | None = None
    ) -> "Trace":
        """The part that begins at `offset`, to its end or for `duration`; it repeats."""
        part = f",offset={_time(offset)}" + ("" if duration is None else f",duration={_time(duration)}")
        return Trace(self._text + part)

    def __add__(self, other: "Trace | str") -> "Trace":
        """This trace, and then the other; the whole repeats."""
        return Trace(f"join({_piece(self._text)};{_piece(str(other))})")


def trace(
    source: str | os.PathLike[str] | Trace | ArrayLike,
    *,
    bin: str | datetime.timedelta = "100ms",
    file: str | os.PathLike[str] | None = None,
) -> Trace:
    """The link that a text or a path names; or one of the rates of an array, in Mbit/s, one for each `bin`.

    The rates of an array are written to `file`, a trace in the format `.mbps`: a Scenario names its traces, so that a run can
    be repeated by those who have the file.
    """
    if isinstance(source, Trace):
        return source
    if isinstance(source, (str, os.PathLike)):
        return Trace(os.fspath(source))
    return _from_rates(np.asarray(source, dtype=np.float64), bin, file)


def _from_rates(rates: NDArray[np.float64], bin: str | datetime.timedelta, file: str | os.PathLike[str] | None) -> Trace:
    if file is None or not os.fspath(file).endswith(".mbps"):
        raise _cellcc.InputError("trace: name the file for the array's rates, such as file='mine.mbps'")
    if rates.ndim != 1 or not len(rates) or not np.isfinite(rates).all() or (rates < 0).any():
        raise _cellcc.InputError("trace: an array of rates has one dimension, at least one value, and none below 0 Mbit/s")
    step_s = _cellcc.seconds(_time(bin))
    lines = [f"{index * step_s:.9g}\t{rate!r}\n" for index, rate in enumerate(rates.tolist())]
    _cellcc.write_file(os.fspath(file), "".join(lines).encode())
    path = os.fspath(file)
    return Trace(path if "/" in path else f"./{path}")


def _piece(text: str) -> str:
    # The pieces of a join are listed, not nested.
    return text[len("join(") : -1] if text.startswith("join(") else text


def _time(given: str | datetime.timedelta) -> str:
    if isinstance(given, str):
        return given
    return f"{round(given / datetime.timedelta(microseconds=1))}us"

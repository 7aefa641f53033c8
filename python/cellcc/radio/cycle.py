"""The cycle of an uplink's requests, in pings: does a packet wait for the next of a periodic opportunity?

Then its RTT falls by a millisecond for each millisecond that it is sent later, and jumps by the period: a sawtooth whose
slope is known, with one free phase. It is fitted to windows of 25 pings, and to those windows with their RTTs shuffled, as
chance would. A window counts where the sawtooth takes more than 35 % of the mean deviation from the median.

Pings at a multiple of the period, except for a small drift, sweep a part of it in a window, and longer periods also explain
that part: then the shortest of these counts. Pings every 213 ms meet all phases of all cycles.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Timed = list[tuple[float, float]]
"""Times at which the pings of a run were sent, in milliseconds from any origin, each with its RTT in milliseconds."""

_WINDOW = 25
"""Five seconds of pings every 200 ms: shorter than a moving phone's level changes."""
_PERIODS_MS = (2.5, 5.0, 8.0, 10.0, 16.0, 20.0, 32.0, 40.0, 64.0, 80.0, 160.0)
"""Cycles that 3GPP TS 38.331 allows for requests and for sleep, and 2.5 to 16 ms of frames and slots, for comparison."""
_EXPLAINED = 0.35
"""Share of the mean deviation that a sawtooth must take. Shuffled windows reach it in 0 to 0.2 %."""
_LEAST_DEVIATION_MS, _LARGEST_SPREAD_MS = 0.5, 100.0
"""Windows with less of a deviation, or whose 90th percentile lies further above the smallest, show no cycle."""
_PHASES, _FINEST_PHASE_MS = 20, 0.5
"""Phases that are tried, and at most two in a millisecond."""
_SHUFFLES = 4
"""The number of shuffles of each window."""
_SEED = 0xFB65959C40026D5CA505D07F9D85C333
"""State of the generator of shuffles: equal pings give equal numbers."""
_FEWEST_WINDOWS, _TIMES_SHUFFLED = 5, 10.0
"""Our choice; see `Cycle.request_ms`."""


@dataclass(frozen=True)
class Period:
    """How often a period explains a window best, and well."""

    period_ms: float
    """The period."""
    share: float
    """Share of the windows."""
    shuffled_share: float
    """The share in the shuffled windows."""


@dataclass(frozen=True)
class Cycle:
    """The evidence of windows of pings on a cycle."""

    windows: int
    """How many windows of 25 pings, of those whose RTTs vary, and by less than 100 ms."""
    periods: list[Period]
    """The periods that were tried."""
    request_ms: float | None
    """The cycle: the period of most windows, where they are at least 5, and ten times as many as of shuffled ones."""

    @classmethod
    def of(cls, runs: list[Timed]) -> "Cycle | None":
        """The cycle of runs; None if no window shows one."""
        shuffle = _Shuffle()
        windows, found, by_chance = 0, [0] * len(_PERIODS_MS), [0] * len(_PERIODS_MS)
        for run in runs:
            for begin in range(0, len(run) - _WINDOW + 1, _WINDOW):
                times, rtts = np.array(run[begin : begin + _WINDOW]).T
                spread = np.sort(rtts)[math.ceil(0.9 * _WINDOW) - 1] - rtts.min()
                if _deviation(rtts) < _LEAST_DEVIATION_MS or spread > _LARGEST_SPREAD_MS:
                    continue
                windows += 1
                sawteeth = [_sawteeth(period, times) for period in _PERIODS_MS]
                _count(found, sawteeth, rtts)
                for _ in range(_SHUFFLES):
                    shuffle(rtts)
                    _count(by_chance, sawteeth, rtts)
        if windows == 0:
            return None
        shares = zip(_PERIODS_MS, found, by_chance, strict=True)
        periods = [Period(period, of / windows, chance / (windows * _SHUFFLES)) for period, of, chance in shares]
        most = max(reversed(periods), key=lambda period: period.share)
        is_shown = most.share * windows >= _FEWEST_WINDOWS and most.share >= _TIMES_SHUFFLED * most.shuffled_share
        return cls(windows, periods, most.period_ms if is_shown else None)


def _sawteeth(period: float, times: Floats) -> Floats:
    """The wait of each ping, in a row for each phase."""
    step = max(period / _PHASES, _FINEST_PHASE_MS)
    phases = np.arange(math.ceil(period / step)) * step
    waits: Floats = np.mod(phases[:, None] - times, period)
    return waits


def _deviation(values: Floats) -> Floats:
    """Mean deviation from the median, along the last axis."""
    middle = np.sort(values, axis=-1)[..., _WINDOW // 2]
    deviation: Floats = np.abs(values - middle[..., None]).mean(axis=-1)
    return deviation


def _count(counts: list[int], sawteeth: list[Floats], rtts: Floats) -> None:
    """Counts the period whose sawtooth takes most of the deviation, where it takes enough."""
    left = [_deviation(rtts - waits).min() for waits in sawteeth]
    if 1 - min(left) / _deviation(rtts) > _EXPLAINED:
        counts[int(np.argmin(left))] += 1


class _Shuffle:
    """Fisher and Yates, with a stream of bits that NumPy promises to keep."""

    def __init__(self) -> None:
        self._bits = np.random.PCG64()
        self._bits.state = {
            "bit_generator": "PCG64",
            "state": {"state": _SEED, "inc": 0},
            "has_uint32": 0,
            "uinteger": 0,
        }

    def __call__(self, values: Floats) -> None:
        for last in range(len(values) - 1, 0, -1):
            other = int(self._bits.random_raw()) * (last + 1) >> 64
            values[[last, other]] = values[[other, last]]

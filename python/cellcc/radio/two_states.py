"""The channel that is good or bad, from how failures follow each other: the method of moments.

In a good channel a share *g* of the blocks fails, in a bad one a share *w*; it is bad for a share *b* of the time, and its
memory *M* is exponential. Then, for blocks with a failure ratio *f*:

1. The failure ratio after a failed block minus that after a good one is the correlation of failures, *r(t) = r(0) exp(-t /
   M)*. `memory` is the time in which it falls from its value at the shortest lag to 1/e of that, along straight lines in
   its logarithm; longer lags do not enter, because phones differ and keep some correlation for ever. *r(0)* follows.
2. The variance of the share is *V = b (1 - b) (w - g)² = r(0) f (1 - f)*.
3. Three blocks that follow each other within `memory` fail together in a share of
   *f³ + f V (e₁ + e₂ + e₁e₂) + V (1 - 2b)(w - g) e₁e₂*, with *e = exp(-t / M)* of the times between them. So their count gives
   *s = (1 - 2b)(w - g)*.
4. From *f*, *V* and *s*: *w - g = √(s² + 4V)*, *b = (1 - s / (w - g)) / 2*, *g = f - b (w - g)*. Where noise would make *g*
   negative or *w* more than 1, it is 0 or 1, and *f* and *V* give the rest.

*f* comes from the blocks of step 3: a run parameter is for links with something to send, and single blocks fail less often.
"""

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from .blocks import Block

if TYPE_CHECKING:
    from .grants import LagShares

_FEWEST_FAILED = 100
"""Fewer failed blocks say a share with an error of more than a tenth of it."""
_SIGNIFICANT = 3.0
"""Standard errors above zero, from which on a correlation counts."""


@dataclass(frozen=True)
class TwoStates:
    """How blocks fail: the keys of the run parameter `harq` of the same names."""

    failed_share: float
    """Share of the blocks that fail when they are first sent, where blocks follow each other."""
    bad_share: float
    """Share of the time in which the channel is bad; zero where failures do not come together."""
    failed_when_bad_share: float
    """Share of the blocks that fail while it is; `failed_share` where it never is."""
    memory_ms: float | None
    """In which the correlation falls to 1/e; None where failures do not come together. Never more than the longest lag, a
    second."""

    @classmethod
    def fit(cls, users: list[list[Block]], lags: "list[LagShares]", slot_ms: float) -> "TwoStates | None":
        """The states of a channel; None where there is too little to tell."""
        failed = [block.failed > 0 for blocks in users for block in blocks]
        if sum(failed) < _FEWEST_FAILED:
            return None
        decay = _decay(lags)
        if decay is None:
            share = sum(failed) / len(failed)
            return cls(share, 0.0, share, None)
        memory_ms, at_once = decay
        return cls._fit(_Triples(users, memory_ms / slot_ms), memory_ms, at_once)

    @classmethod
    def _fit(cls, triples: "_Triples", memory_ms: float, at_once: float) -> "TwoStates | None":
        if triples.failed < 3 * _FEWEST_FAILED:
            return None
        failed = triples.failed / (3 * triples.count)
        variance = at_once * failed * (1 - failed)
        bad, when_bad = _states(failed, variance, triples.skew(failed, variance))
        return cls(failed, bad, when_bad, memory_ms)

    def __str__(self) -> str:
        """As the run parameter has it, which takes no share of zero: where there is one state, both fail alike.

        Shares are rounded so that the good state still has one: `failed` up, the others down.
        """
        failed = math.ceil(self.failed_share * 1e4) / 100
        if self.memory_ms is None:
            return f"failed={failed:g}%, failed_when_bad={failed:g}%"
        bad, when_bad = (max(math.floor(share * 1e3), 1) / 10 for share in (self.bad_share, self.failed_when_bad_share))
        memory = max(math.floor(self.memory_ms * 10 + 0.5), 1) / 10
        return f"failed={failed:g}%, bad={bad:g}%, failed_when_bad={when_bad:g}%, memory={memory:g}ms"


def _decay(lags: "list[LagShares]") -> tuple[float, float] | None:
    """Memory in milliseconds, and the correlation of failures at once; None where failures do not come together."""
    points = [point for point in map(_correlation, lags) if point is not None]
    if not points or points[0][1] <= _SIGNIFICANT * points[0][2]:
        return None
    (shortest, first, _), (longest, _, _) = points[0], points[-1]
    fallen = first / math.e
    for (start, before, _), (end, after, _) in pairwise(points):
        if after <= fallen:
            # Noise around nothing must not decide where the line crosses.
            before, level, after = (math.log(max(value, fallen / 10)) for value in (before, fallen, after))
            longest = start + (end - start) * (before - level) / (before - after)
            break
    memory = longest - shortest
    return (memory, min(first * math.exp(shortest / memory), 1.0)) if memory > 0 else None


def _correlation(lag: "LagShares") -> tuple[float, float, float] | None:
    """Mean time, correlation and its standard error at a lag."""
    if lag.mean_ms is None or lag.after_failed_share is None or lag.after_good_share is None:
        return None
    shares = ((lag.after_failed_share, lag.failed_pairs), (lag.after_good_share, lag.good_pairs))
    error = math.sqrt(sum(share * (1 - share) / count for share, count in shares))
    return lag.mean_ms, lag.after_failed_share - lag.after_good_share, error


class _Triples:
    """Three blocks of a phone that follow each other: how many, how many of their blocks failed, and sums of step 3."""

    def __init__(self, users: list[list[Block]], memory: float) -> None:
        self.count = self.failed = self.all_failed = 0
        self._pairs = self._chain = 0.0
        for blocks in users:
            for three in zip(blocks, blocks[1:], blocks[2:], strict=False):
                if three[2].first - three[0].first > memory:
                    continue
                failed = sum(block.failed > 0 for block in three)
                one, other = (math.exp((a.first - b.first) / memory) for a, b in pairwise(three))
                self.count += 1
                self.failed += failed
                self.all_failed += failed == 3
                self._pairs += one + other + one * other
                self._chain += one * other

    def skew(self, failed: float, variance: float) -> float:
        by_chance = self.count * failed**3 + failed * variance * self._pairs
        return (self.all_failed - by_chance) / (variance * self._chain)


def _states(failed: float, variance: float, skew: float) -> tuple[float, float]:
    """Share of the time in the bad state, and share that fails there."""
    apart = math.sqrt(skew * skew + 4 * variance)
    bad = (1 - skew / apart) / 2
    when_good = failed - bad * apart
    if when_good < 0:
        when_bad = failed + variance / failed
        return failed / when_bad, when_bad
    if when_good + apart > 1:
        when_good = failed - variance / (1 - failed)
        return (failed - when_good) / (1 - when_good), 1.0
    return bad, when_good + apart

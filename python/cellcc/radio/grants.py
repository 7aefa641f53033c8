"""Statistics of retransmissions from grants: their share, their delay, and the correlation of failures."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from . import blocks
from .blocks import Block, Grant
from .text import percentile
from .two_states import TwoStates

_LAGS_MS = (0.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 300.0, 1000.0)
"""Bounds of the times between blocks for `Grants.by_lag`."""
_HELD_BACK_FROM = 50
"""A phone with no more blocks gives no information on the wait of a stream."""


@dataclass(frozen=True)
class LagShares:
    """Shares of blocks of a phone that fail some time after another one of its blocks."""

    above_ms: float
    """More than this after it,"""
    to_ms: float
    """and at most this."""
    mean_ms: float | None
    """Mean of the time, over pairs with a failed first block."""
    after_failed_share: float | None
    """Share that fails after a failed block."""
    after_good_share: float | None
    """Share that fails after a good one."""
    failed_pairs: int
    """Number of pairs with a failed first block."""
    good_pairs: int
    """Number of pairs without one."""


@dataclass(frozen=True)
class Grants:
    """The blocks of one direction, in numbers.

    A block counts as sent again if a retransmission of it was seen, though its first transmission was not: a receiver that
    misses grants at random then sees the true share, and one that needs both transmissions, too small a one. The shares of
    repetitions that fail are too small then, because the last one may be among the missed.
    """

    grants: int
    """The number of grants."""
    seconds: float
    """From the first to the last one, summed over logs."""
    users: int
    """How many phones, each log for itself."""
    slot_ms: float
    """Length of a slot."""
    blocks: int
    """The number of blocks."""
    again_share: float
    """Share of them that was sent again."""
    again_share_seen: float
    """The share among blocks whose first transmission was seen."""
    again_ms: float | None
    """Median time from a transmission to the next one of the same block."""
    again_fails_share: float | None
    """Share of the first repetitions that fail."""
    later_fails_share: float | None
    """Share of the later ones that fail."""
    by_lag: list[LagShares]
    """Shares of blocks some time after a failed and after a good one."""
    held_back_share: float | None
    """Share of the blocks that a repetition holds back, their own or that of one before, where delivery is in order; phones
    with more than 50 blocks."""
    held_back_mean_ms: float | None
    """How long, mean over all blocks."""
    states: TwoStates | None
    """The two states that explain it; None where there is too little to tell."""
    harq: str | None
    """The run parameter `harq`, as a Scenario has it; None where there is too little to tell."""

    @classmethod
    def of(cls, logs: list[list[Grant]], direction: str) -> "Grants | None":
        """The numbers of one direction of logs of the same cell; None where there are no grants."""
        slots_per_frame = blocks.slots_per_frame(logs)
        slot_ms = 10 / slots_per_frame
        users: list[list[Block]] = []
        delays: list[int] = []
        grants = slots = 0
        for log in (blocks.in_order(log, direction, slots_per_frame) for log in logs):
            grants += len(log)
            slots += log[-1][0] - log[0][0] if log else 0
            of_log, later = blocks.of_users(log, slot_ms)
            users += of_log
            delays += later
        every = [block for of_one in users for block in of_one]
        again_share = _share(block.failed > 0 for block in every)
        if again_share is None:
            return None
        median = percentile(sorted(delays), 50)
        again_ms = None if median is None else median * slot_ms
        by_lag = _by_lag(users, slot_ms)
        held_back = _held_back(users)
        states = TwoStates.fit(users, by_lag, slot_ms)
        again_fails, later_fails = _fails_again(every, is_first=True), _fails_again(every, is_first=False)
        return cls(
            grants,
            slots * slot_ms / 1e3,
            len(users),
            slot_ms,
            len(every),
            again_share,
            _share(block.failed > 0 for block in every if block.from_start) or 0.0,
            again_ms,
            again_fails,
            later_fails,
            by_lag,
            _share(slots > 0 for slots in held_back),
            sum(held_back) / len(held_back) * slot_ms if held_back else None,
            states,
            _condition(slot_ms, states, again_ms, {"again_fails": again_fails, "later_fails": later_fails}),
        )


def _condition(
    slot_ms: float, states: TwoStates | None, again_ms: float | None, shares: dict[str, float | None]
) -> str | None:
    """The run parameter `harq` in full."""
    if states is None or again_ms is None:
        return None
    # It takes no share of zero.
    fails = [f"{key}={max(share * 100, 0.1):.1f}%" for key, share in shares.items() if share is not None]
    return ", ".join([f"slot={slot_ms:g}ms", str(states), f"again={again_ms:g}ms", *fails])


def _share(values: Iterable[bool]) -> float | None:
    """Share of the values that are true."""
    listed = list(values)
    return sum(listed) / len(listed) if listed else None


def _fails_again(every: list[Block], *, is_first: bool) -> float | None:
    """Share of the repetitions that fail: of the first ones, or of the later ones."""
    repetitions = ((number, block.failed) for block in every for number in range(1, block.failed + 1))
    return _share(failed > number for number, failed in repetitions if (number == 1) == is_first)


def _held_back(users: list[list[Block]]) -> list[int]:
    """For how many slots each block is held back where blocks are handed on in order."""
    waits = []
    for of_one in users:
        if len(of_one) > _HELD_BACK_FROM:
            ready = np.maximum.accumulate([block.last for block in of_one])
            waits += (ready - [block.first for block in of_one]).tolist()
    return waits


def _by_lag(users: list[list[Block]], slot_ms: float) -> list[LagShares]:
    # By lag, and by whether the first block is good or failed: pairs, failed second blocks, slots between both.
    sums = np.zeros((len(_LAGS_MS) - 1, 2, 3), dtype=np.int64)
    bounds = [int(bound / slot_ms) for bound in _LAGS_MS]
    for of_one in users:
        first = np.array([block.first for block in of_one])
        failed = np.array([block.failed > 0 for block in of_one])
        # Sums over the blocks before the nth.
        before = np.zeros((2, len(of_one) + 1), dtype=np.int64)
        before[:, 1:] = np.cumsum([failed, first], axis=1)
        # For each bound and block, the first block that comes later.
        begins = [np.searchsorted(first, first + bound, side="right") for bound in bounds]
        for lag, (begin, end) in enumerate(zip(begins, begins[1:], strict=False)):
            count = end - begin
            failures, slots = before[:, end] - before[:, begin]
            pairs = np.array([count, failures, slots - count * first])
            sums[lag] += [pairs[:, ~failed].sum(axis=1), pairs[:, failed].sum(axis=1)]
    shares = []
    for above, to, ((good, after_good, _), (bad, after_bad, slots)) in zip(_LAGS_MS, _LAGS_MS[1:], sums.tolist(), strict=False):
        mean_ms = slots * slot_ms / bad if bad else None
        shares.append(
            LagShares(above, to, mean_ms, after_bad / bad if bad else None, after_good / good if good else None, bad, good)
        )
    return shares

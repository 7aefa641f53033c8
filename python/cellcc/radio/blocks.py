"""Logs of NR-Scope, one line per grant that a receiver near the phones received; and the blocks that the grants carry."""

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from .text import number, refused, shown, whole

DOWN, UP = "1", "0"
"""How a DCI format begins whose block goes to the phone, or comes from it (3GPP TS 38.212, section 7.3.1)."""
_FRAMES = 1024
"""Frames are counted up to this (TS 38.211, section 4.3.1), and last 10 ms."""
_SLOTS_PER_FRAME = (10, 20, 40, 80)
"""Slots of a frame at 15, 30, 60 and 120 kHz (section 4.3.2)."""
_LATEST_S = 1e11
"""Seconds since 1970: up to the year 5138, which no clock shows."""
_SOONEST_SLOTS = 3
"""A repetition comes this many slots after the transmission before, at least: the receiver has to decode, and to answer."""
_LATEST_MS = 40.0
"""The latest time of a retransmission: a later one with that indicator is another block."""
_LATEST_OF_VERSION_0_MS = 12.0
"""The latest time of one with redundancy version 0, which new data also have."""


class Grant(NamedTuple):
    """One grant to a phone."""

    clock_s: float
    """The clock of the logger: as good as its machine."""
    frame: int
    slot: int
    """Within the frame."""
    user: int
    direction: str
    process: int
    new_data: int
    redundancy_version: int


@dataclass(slots=True)
class Block:
    """A transport block of one phone. Times are in slots."""

    first: int
    """When it was first seen."""
    last: int
    """When it was last sent."""
    failed: int
    """How many of its transmissions failed. One that begins with a redundancy version other than 0 was sent before, unseen."""
    from_start: bool
    """True if its first transmission was seen."""


_NUMBERS = {
    "timestamp": "the logger's time: seconds since 1970, such as `1727547704.08`",
    "system_frame_index": "a system frame: 0 to 1023",
    "slot_index": "a slot of a frame: 0 to 79",
    "rnti": "an RNTI: a whole number",
    "dci_format": "a DCI format such as `0_1` (up) or `1_1` (down)",
    "harq_id": "a HARQ process: 0 to 31",
    "new_data_indicator": "a new-data indicator: 0 or 1",
    "redundancy_version": "a redundancy version: 0 to 3",
}
"""The columns that count besides `rnti_type`, and their meanings; others are left alone. In the order of `Grant`."""
_MOST = (_FRAMES - 1, _SLOTS_PER_FRAME[-1] - 1, 2**32 - 1, None, 31, 1, 3)
"""The largest values after the time; a process has 5 bits at most (TS 38.212, section 7.3.1)."""


def parse(name: str, text: str, header_line: int) -> list[Grant]:
    """The grants of a log whose header is at line `header_line`."""
    rows = csv.reader("" if line.startswith("#") else line for line in text.split("\n"))
    grants: list[Grant] = []
    header: list[str] = []
    try:
        for row in filter(None, rows):
            row = [field.strip() for field in row]
            if not header:
                header, kind, places = row, *_columns(name, header_line, row)
                continue
            if len(row) != len(header):
                problem = f"cannot be read: the row has {len(row)} fields, and the header names {len(header)} columns"
                raise refused(name, rows.line_num, problem)
            if row[kind] == "C-RNTI" and row[places[4]] != "unknown":
                grants.append(_grant(name, rows.line_num, [row[place] for place in places]))
    except csv.Error as error:
        raise refused(name, rows.line_num, f"cannot be read: {error}") from error
    if not grants:
        raise refused(name, None, "holds no grant to a phone (`rnti_type` C-RNTI): record for longer")
    return grants


def _columns(name: str, line: int, header: list[str]) -> tuple[int, list[int]]:
    for column in [*_NUMBERS, "rnti_type"]:
        if column not in header:
            columns = shown(",".join(header))
            problem = f"no `{column}` among the columns `{columns}`: name the file as NR-Scope wrote it"
            raise refused(name, line, problem)
    return header.index("rnti_type"), [header.index(column) for column in _NUMBERS]


def _grant(name: str, line: int, fields: list[str]) -> Grant:
    clock_s = number(fields[0])
    values: list[float | str | None] = [clock_s if clock_s is not None and clock_s <= _LATEST_S else None]
    for field, most in zip(fields[1:], _MOST, strict=True):
        direction = field.split("_")[0]
        values.append((direction if direction in (UP, DOWN) else None) if most is None else whole(field, most))
    if None in values:
        wrong = values.index(None)
        raise refused(name, line, f"`{shown(fields[wrong])}` is not {list(_NUMBERS.values())[wrong]}")
    return Grant(*values)  # type: ignore[arg-type]  # none of them is None


def slots_per_frame(logs: Iterable[list[Grant]]) -> int:
    """How many slots a frame has, by the largest slot that was seen."""
    largest = max((grant.slot for log in logs for grant in log), default=0)
    return next(slots for slots in _SLOTS_PER_FRAME if slots > largest)


def in_order(log: list[Grant], direction: str, slots: int) -> list[tuple[int, Grant]]:
    """The grants of one direction of a log with their slots, in that order.

    The frame and the slot say it exactly, but repeat after 10.24 s: the logger's clock says which repetition it was.
    """
    start = min(log, key=lambda grant: grant.clock_s)
    cycle, slot_ms = _FRAMES * slots, 10 / slots

    def at(grant: Grant) -> int:
        within = grant.frame * slots + grant.slot
        by_clock = (grant.clock_s - start.clock_s) * 1e3 / slot_ms
        return within + round((by_clock + start.frame * slots + start.slot - within) / cycle) * cycle

    grants = [(at(grant), grant) for grant in log if grant.direction == direction]
    return sorted(grants, key=lambda one: one[0])


def of_users(grants: list[tuple[int, Grant]], slot_ms: float) -> tuple[list[list[Block]], list[int]]:
    """The blocks of each phone, in the order of their first transmissions; and after how many slots repetitions came."""
    delays: list[int] = []
    by_user = groupby(sorted(grants, key=lambda one: (one[1].user, one[0])), lambda one: one[1].user)
    return [_of_user(of_one, slot_ms, delays) for _, of_one in by_user], delays


def _of_user(grants: Iterable[tuple[int, Grant]], slot_ms: float, delays: list[int]) -> list[Block]:
    blocks: list[Block] = []
    # For each process, the block that it carries, and its new-data indicator.
    carried: dict[int, tuple[Block, int]] = {}
    for at, grant in grants:
        block, new_data = carried.get(grant.process, (None, None))
        if block is not None and new_data == grant.new_data:
            latest_ms = _LATEST_OF_VERSION_0_MS if grant.redundancy_version == 0 else _LATEST_MS
            later = at - block.last
            if later >= _SOONEST_SLOTS and later * slot_ms <= latest_ms:
                block.last = at
                block.failed += 1
                delays.append(later)
                continue
        from_start = grant.redundancy_version == 0
        blocks.append(Block(at, at, int(not from_start), from_start))
        carried[grant.process] = blocks[-1], grant.new_data
    return blocks

"""Output of `ping`: the wait of a single packet, and of the first one after a pause."""

import datetime
import math
import re
import statistics
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from .cycle import Cycle, Timed
from .text import number, percentile, refused, shown, whole

_FEWEST_REPLIES = 100
"""The runs of the published shares have about 150 replies."""
_LATER = slice(5, 30)
"""The pings that the first one is compared with: the first five may be of a phone that wakes up."""
_FEWEST_FIRST = 10
"""Fewer first pings tell nothing: of ten runs without any difference, a first quartile above zero comes in one of twenty."""
_STAMPED = re.compile(r"\[([^\]]*)\]\s*(.*)")


class Reply(NamedTuple):
    """A ping that came back."""

    sequence: int
    """Counted on where the 16 bits of the packet wrap."""
    rtt_ms: float
    stamp_s: float | None
    """When it came back, where the line has a stamp."""


class Summary(NamedTuple):
    """The last lines of a run."""

    sent: int
    received: int
    took_ms: float | None


@dataclass
class Run:
    """One `ping`, from its first line to its summary."""

    replies: list[Reply] = field(default_factory=list)
    summary: Summary | None = None

    @property
    def rtts_ms(self) -> list[float]:
        return [reply.rtt_ms for reply in self.replies]

    @property
    def sent(self) -> int:
        """By the summary, or by the numbers of the packets."""
        if self.summary is not None:
            return self.summary.sent
        sequences = [reply.sequence for reply in self.replies]
        return max(sequences) - min(*sequences, 1) + 1

    @property
    def received(self) -> int:
        return len(self.replies) if self.summary is None else self.summary.received

    def timed(self) -> Timed | None:
        """When each ping was sent, and its RTT: by the stamps, or by its number and the mean interval."""
        stamps = [reply.stamp_s for reply in self.replies]
        if None not in stamps:
            start_s = stamps[0] or 0.0
            return [((stamp - start_s) * 1e3 - rtt, rtt) for _, rtt, stamp in self.replies if stamp is not None]
        if any(stamp is not None for stamp in stamps) or self.summary is None:
            return None
        sent, _, took_ms = self.summary
        if took_ms is None or sent < 2:
            return None
        return [(sequence * (took_ms / (sent - 1)), rtt) for sequence, rtt, _ in self.replies]


@dataclass(frozen=True)
class FirstPing:
    """The extra delay of a run's first ping over the median of its 6th to 30th."""

    runs: int
    """How many runs, of those whose first ping came back."""
    p25_ms: float
    """First quartile."""
    p50_ms: float
    """Median."""
    p75_ms: float
    """Third quartile."""
    second_p50_ms: float
    """Median of the second ping, in comparison."""

    @classmethod
    def of(cls, runs: list[Run]) -> "FirstPing | None":
        """The first pings of runs of at least 100 replies."""
        begun = [run.rtts_ms for run in runs if run.replies[0].sequence <= 1]  # some begin with 0
        if not begun:
            return None
        later = [percentile(sorted(rtts[_LATER]), 50) or 0.0 for rtts in begun]
        first, second = (sorted(rtts[at] - of for rtts, of in zip(begun, later, strict=True)) for at in (0, 1))
        p25, p50, p75 = (percentile(first, percent) or 0.0 for percent in (25, 50, 75))
        return cls(len(first), p25, p50, p75, percentile(second, 50) or 0.0)

    @property
    def wake_ms(self) -> float | None:
        """A phone's wake-up time: the median, if three of four first pings take longer, and the second ones less than half of
        it."""
        is_shown = self.runs >= _FEWEST_FIRST and self.p25_ms > 0 and self.second_p50_ms < self.p50_ms / 2
        return self.p50_ms if is_shown else None


@dataclass(frozen=True)
class Pings:
    """The findings of pings. Values of a run come from runs of at least 100 replies: the smallest of a few has no meaning."""

    runs: int
    """How many runs of at least 100 replies."""
    short_runs: int
    """How many of fewer, which count for nothing but losses."""
    sent: int
    """How many packets were sent."""
    lost_share: float
    """Share of them that never came back."""
    smallest_ms: float | None
    """Smallest RTT of a run, median over runs."""
    median_ms: float | None
    """Median RTT of a run, median over runs."""
    above_smallest_share: float | None
    """The part of a run's mean above its smallest, as a share of the mean, median over runs."""
    p95_ms: float | None
    """95th percentile of a run, median over runs."""
    first: FirstPing | None
    """The first ping of a run."""
    cycle: Cycle | None
    """The cycle of the uplink's requests; None where nothing says when pings were sent."""
    access: str | None
    """The run parameter `access`, as a Scenario has it; None where no cycle shows."""

    @classmethod
    def of(cls, runs: list[Run]) -> "Pings | None":
        """The numbers of all runs; None where there are none."""
        if not runs:
            return None
        sent = sum(run.sent for run in runs)
        received = sum(min(run.received, run.sent) for run in runs)
        long = [run for run in runs if len(run.replies) >= _FEWEST_REPLIES]

        def median(value: Callable[[list[float]], float | None]) -> float | None:
            values = [value(sorted(run.rtts_ms)) for run in long]
            return percentile(sorted(one for one in values if one is not None), 50)

        first = FirstPing.of(long)
        cycle = Cycle.of([timed for run in long if (timed := run.timed()) is not None])
        return cls(
            len(long),
            len(runs) - len(long),
            sent,
            (sent - received) / max(sent, 1),
            median(lambda rtts: rtts[0]),
            median(lambda rtts: percentile(rtts, 50)),
            median(lambda rtts: 1 - rtts[0] / mean if (mean := statistics.fmean(rtts)) else None),
            median(lambda rtts: percentile(rtts, 95)),
            first,
            cycle,
            _access(cycle, first),
        )


def _access(cycle: Cycle | None, first: FirstPing | None) -> str | None:
    if cycle is None or cycle.request_ms is None:
        return None
    wake_ms = None if first is None else first.wake_ms
    wake = "" if wake_ms is None else f", wake={max(math.floor(wake_ms + 0.5), 1)}ms"
    return f"request={cycle.request_ms:g}ms{wake}"


def parse(name: str, text: str) -> list[Run]:
    """The runs of a file."""
    runs = [Run()]
    for line, given in enumerate(text.split("\n"), 1):
        stamp_s, given = _stamped(given.rstrip("\r"))
        if given.startswith("PING "):
            runs.append(Run())
        elif " packets transmitted, " in given:
            runs[-1].summary = _summary(name, line, given)
        elif "icmp_seq=" in given and "time=" in given and not given.endswith("(DUP!)"):
            before = runs[-1].replies[-1].sequence if runs[-1].replies else 0
            runs[-1].replies.append(_reply(name, line, given, stamp_s, before))
    return [run for run in runs if run.replies or run.summary is not None]


def _after(text: str, key: str) -> str:
    """The text after `key`, up to a blank."""
    return next(iter(text.partition(key)[2].split()), "")


def _reply(name: str, line: int, text: str, stamp_s: float | None, before: int) -> Reply:
    sequence = whole(counted := _after(text, "icmp_seq="), 65535)
    if sequence is None:
        problem = f"`{shown(counted)}` is not the number of a ping, such as `icmp_seq=12`: 0 to 65535"
        raise refused(name, line, problem)
    rtt_ms = number(took := _after(text, "time="))
    if rtt_ms is None:
        raise refused(name, line, f"`{shown(took)}` is not the milliseconds of a ping, such as `time=34.5`")
    # The nearest number to the one before, earlier or later, with these 16 bits.
    step = (sequence - before + 0x8000) % 0x10000 - 0x8000
    return Reply(before + step, rtt_ms, stamp_s)


def _stamped(text: str) -> tuple[float | None, str]:
    """The stamp before a line, and the line.

    A stamp is the seconds since 1970 as `ping -D` writes them, `[1727547704.081116]`, or a date such as
    `[2025-03-15T12:34:56.123456+00:00]` or `[2023-05-13 10:22:42.824897]`, whose zone does not count: only differences do.
    """
    parts = _STAMPED.fullmatch(text)
    if parts is None:
        return None, text
    stamp_s = number(parts[1])
    if stamp_s is None:
        try:
            stamp_s = datetime.datetime.fromisoformat(parts[1]).replace(tzinfo=datetime.UTC).timestamp()
        except ValueError:
            return None, text
    return stamp_s, parts[2]


def _summary(name: str, line: int, text: str) -> Summary:
    """`150 packets transmitted, 149 received, 0.67% packet loss, time 29999ms`."""
    words = (text.split()[0], _after(text, " packets transmitted, "))
    counts = [whole(word, 2**32 - 1) for word in words]
    if None in counts:
        wrong = shown(words[counts.index(None)])
        raise refused(name, line, f"`{wrong}` is not a number of packets: 0 to 4294967295")
    sent, received = (count or 0 for count in counts)
    return Summary(sent, received, number(_after(text, ", time ").removesuffix("ms")))

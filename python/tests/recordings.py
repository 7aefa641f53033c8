"""Recordings whose truth is known: logs of grants from a channel with two states, and pings with a cycle of requests."""

import math
import random
from dataclasses import dataclass

from cellcc.radio.blocks import DOWN, Grant

HEADER = (
    "timestamp,system_frame_index,slot_index,rnti,rnti_type,dci_format,mcs_index,redundancy_version,"
    "new_data_indicator,harq_id\n"
)


@dataclass(frozen=True)
class Channel:
    """The failures of one phone's blocks, and the receiver's misses. The defaults are the values of `harq=fdd`."""

    failed: float = 0.06
    bad: float = 0.08
    failed_when_bad: float = 0.6
    memory_ms: float = 12.0
    again_ms: int = 7
    again_fails: float = 0.15
    later_fails: float = 0.35
    slots_per_frame: int = 10
    missed: float = 0.0
    """Share of the grants that the receiver misses."""
    direction: str = DOWN

    def grants(self, blocks: int, seed: int) -> list[Grant]:
        """A log of a phone that has something to send in stretches of 0.4 s, with pauses of as much: a block in each slot, and
        the repetitions that are due with it, so that the channel says nothing of when blocks are sent."""
        draw = random.Random(seed).random
        slot_ms = 10 / self.slots_per_frame
        forgets = 1 - math.exp(-slot_ms / self.memory_ms)
        again, stretch = int(self.again_ms / slot_ms), int(400 / slot_ms)
        when_good = (self.failed - self.bad * self.failed_when_bad) / (1 - self.bad)
        is_bad, sent, slot = draw() < self.bad, 0, 0
        new_data, busy = [0] * 16, set()
        # For each slot, the repetitions that are due in it: their processes and numbers.
        due: dict[int, list[tuple[int, int]]] = {}
        grants: list[Grant] = []
        while sent < blocks or due:
            if draw() < forgets:
                is_bad = draw() < self.bad
            now = due.pop(slot, [])
            if sent < blocks and slot // stretch % 2 == 0:
                free = next((at for at in (number % 16 for number in range(sent, sent + 16)) if at not in busy), None)
                if free is not None:
                    new_data[free] ^= 1
                    sent += 1
                    now.append((free, 0))
            for process, number in now:
                first = self.failed_when_bad if is_bad else when_good
                busy.discard(process)
                if draw() < (first, self.again_fails)[number] if number < 2 else draw() < self.later_fails:
                    due.setdefault(slot + again, []).append((process, number + 1))
                    busy.add(process)
                if draw() >= self.missed:
                    clock_s = 1.7275e9 + slot * slot_ms / 1e3 + 0.005 * draw()
                    frame, within = divmod(slot, self.slots_per_frame)
                    version = (0, 2, 3, 1)[number % 4]
                    user = 20844
                    grants.append(
                        Grant(clock_s, (frame + 900) % 1024, within, user, self.direction, process, new_data[process], version)
                    )
            slot += 1
        return grants


def log(grants: list[Grant]) -> str:
    """As NR-Scope writes grants."""
    rows = (
        f"{of.clock_s:.6f},{of.frame},{of.slot},{of.user},C-RNTI,{of.direction}_1,9,{of.redundancy_version},{of.new_data},{of.process}\n"
        for of in grants
    )
    return HEADER + "".join(rows)


@dataclass(frozen=True)
class Pinged:
    """Pings of one phone: by default one that answers every ping, and asks for grants every 20 ms."""

    interval_ms: float = 200.7
    base_ms: float = 34.0
    cycle_ms: float = 20.0
    """A cycle of requests, or none: then a packet waits at random for as long."""
    has_cycle: bool = True
    wake_ms: float = 0.0
    """The extra delay of the first ping."""
    lost: float = 0.0
    stamps: bool = True

    def run(self, seed: int) -> str:
        """A run of 150 pings."""
        draw = random.Random(seed).random
        phase = draw() * self.cycle_ms
        lines = ["PING 192.0.2.1 (192.0.2.1) 56(84) bytes of data."]
        for number in range(1, 151):
            sent_ms = (number - 1) * self.interval_ms
            wait_ms = phase - sent_ms if self.has_cycle else draw() * self.cycle_ms
            rtt_ms = self.base_ms + wait_ms % self.cycle_ms + 2 * draw() + (self.wake_ms if number == 1 else 0)
            if draw() >= self.lost:
                stamp = f"[{1.7275e9 + (sent_ms + rtt_ms) / 1e3:.6f}] " if self.stamps else ""
                lines.append(f"{stamp}64 bytes from 192.0.2.1: icmp_seq={number} ttl=117 time={rtt_ms:.1f} ms")
        received, took_ms = len(lines) - 1, 149 * self.interval_ms
        lost = (150 - received) / 1.5
        lines += ["", "--- 192.0.2.1 ping statistics ---"]
        lines.append(f"150 packets transmitted, {received} received, {lost:.4f}% packet loss, time {took_ms:.0f}ms")
        return "\n".join([*lines, "rtt min/avg/max/mdev = 34.1/45.0/56.2/5.8 ms\n"])

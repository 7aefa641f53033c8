"""Tide, written from docs/algorithms/tide-spec.md: names and sections are those of that text.

`Tide` is the scheme; `sender` makes a `cellcc.Scheme` of it.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

MAX = 2**32 - 1

# Section 3. The constants that follow from `DELAY` are in `Tide.__init__`.
SWING_QUANTILE, SWING_STEP = 52429, 80
FLOOR_SWINGS, FLOOR_LIMIT = 81920, 10_000
MIN_TICK, MOST_MISSED = 500, 16
SHORT, LONG = 4, 16
MEAN_ABOVE = 98304
EXTRA, MIN_WINDOW, RESTART = 131072, 131072, 655360
LONG_PAUSE = 1_000_000
RAMP = 262144
PACING, PACING_PACKETS = 98304, 262144
DRAIN_EVERY, MIN_SAMPLES, FIRST_DOUBTS = 10_000_000, 17, 8
LOSS_THRESHOLD, MIN_LOST, LOSS_CORRECTED = 1966, 3, 3932
MIN_SHARE, SHARE_STEP = 6554, 4096
RIVAL_ROUNDS, ROUNDS_AGAIN, ROUNDS_BACK = 24, 3, 4
MIN_MARGIN, OTHERS_MARGIN = 5_000, 50_000
FLOWS = 8
SAWTOOTH_ROUNDS, FORGOTTEN = 4, 15_000_000
FORGETS, STEP_ROUNDS = 8, 8
LOOK_EVERY = 4_000_000
ROUNDS_WITHOUT, RATE_STAYS = 2, 20
PEAK_DECAY = 150
BETA = 45875
GROWTH_FIRST, GROWTH, MIN_GROWTH = 32768, 1966, 262144
ONE = 65536


# Section 2.
def wrap(x: int) -> int:
    return x % 2**32


def less(a: int, b: int) -> int:
    return max(a - b, 0)


def quotient(a: int, b: int, largest: int) -> int:
    return min(a // b, largest) if b else largest


def u64(x: int) -> int:
    return min(x, 2**64 - 1)


def of(share: int, x: int) -> int:
    return u64(x * share) >> 16


def ratio(a: int, b: int) -> int:
    return quotient(a << 16, b, 2**31 - 1)


def time_of(share: int, time: int) -> int:
    return min(of(share, time), MAX)


def carried(rate: int, time: int) -> int:
    return u64(rate * time) >> 16


class Rtts(NamedTuple):
    min: int
    max: int


NONE = Rtts(MAX, 0)


@dataclass
class Ack:
    now: int
    rtt: int
    count: int
    count_at_send: int
    acked: int
    app: int


class Tide:
    """The state of a flow (section 4), and its events."""

    def __init__(self, delay: int = 5_000) -> None:
        self.delay = delay
        self.swing_share = min(32768 * delay // 5_000, 2**31 - 1)
        self.max_target = max(60_000, delay)
        self.ticked_at = self.delivered = self.round_ends_at = self.app_limited = self.window = self.rate = 0
        self.filled_at = self.app_limited_at = 0
        self.largest_ack = self.largest_ack_before = 0
        self.epoch_min = self.last_epoch_min = MAX
        self.samples = self.filled_for = self.lossy_for = self.last_rtt = self.sampled_at = self.doubts = 0
        self.drain, self.unsure = "", False
        self.history: list[tuple[int, int]] = []
        self.present, self.before = NONE, [NONE] * 3
        self.swing = self.queueing = self.longest = self.stepped_to = 0
        self.round_delivered = self.round_lost = self.mean_loss = self.random = 0
        self.share = ONE
        self.windows = [0] * 8
        self.peak_rate = self.window_before = self.last_rate = 0
        self.looked_at = self.competes_since = self.fell_at = 0
        self.round_min = self.min_above = MAX
        self.rounds_above = self.rounds_without = self.short_rounds = 0
        self.has_looked = self.paused = self.was_long = False
        self.c_window, self.c_lossless = 0, True

    def base_rtt(self) -> int:
        return min(self.epoch_min, self.last_epoch_min)

    def tick(self) -> int:
        return max(-(-self.base_rtt() // 4), MIN_TICK)

    def competes(self) -> bool:
        return self.competes_since != 0

    def target(self) -> int:
        s = min(self.swing >> 8, MAX)
        floor = min(time_of(FLOOR_SWINGS, s), FLOOR_LIMIT)
        return min(max(self.delay + time_of(self.swing_share, s), floor), self.max_target)

    # Section 5.
    def on_ack(self, ack: Ack) -> None:
        self.end_ticks(ack.now)
        if ack.rtt != 0:
            self.end_silence(ack.now, ack.rtt)
            self.on_sample(ack.now, ack.rtt)
        self.app_limited = ack.app
        self.largest_ack = max(self.largest_ack, ack.acked)
        self.round_delivered += ack.acked
        self.delivered = wrap(self.delivered + ack.acked)
        if self.competes():
            self.compete_on_ack(ack.acked)
        if wrap(ack.count_at_send - self.round_ends_at) < 2**31 or self.drain_is_due():
            self.round_ends_at = ack.count
            self.end_round(ack.now)

    def on_sample(self, now: int, rtt: int) -> None:
        base = min(self.base_rtt(), rtt)
        passed = min(wrap(now - self.sampled_at), self.last_rtt)
        self.last_rtt, self.sampled_at = rtt, wrap(now)
        self.samples += 1
        self.epoch_min = min(self.epoch_min, rtt)
        nearly_empty = rtt <= base + self.delay // 10
        self.filled_for = 0 if nearly_empty else min(self.filled_for + passed, MAX)
        self.lossy_for = min(self.lossy_for + passed, MAX) if self.full() or self.random != 0 else 0
        self.unsure = self.unsure and not nearly_empty
        self.present = Rtts(min(self.present.min, rtt), max(self.present.max, rtt))
        self.round_min = min(self.round_min, rtt)
        if self.ticked_at == 0:
            self.ticked_at = now
            self.history = [(wrap(less(now, rtt)), 0)]

    def end_silence(self, now: int, rtt: int) -> None:
        if self.window != 0 and self.rate == 0:
            silence = wrap(now - self.sampled_at)
            if self.app_limited and rtt < silence:
                self.last_epoch_min = self.epoch_min = MAX
            elif silence > LONG_PAUSE:
                self.doubt()

    # Section 6.
    def on_loss(self, lost: int, new_episode: bool) -> None:
        self.round_lost += lost
        if new_episode and self.competes():
            self.c_lossless = False
            self.c_window = max(of(BETA, self.c_window), MIN_WINDOW)

    # Section 7.
    def next_tick(self) -> int | None:
        return self.ticked_at + self.tick() if self.ticked_at != 0 else None

    def end_ticks(self, t: int) -> None:
        for _ in range(MOST_MISSED + 1):
            if not self.end_tick(t):
                return

    def end_tick(self, t: int) -> bool:
        length = self.tick()
        if self.ticked_at == 0 or not self.ticked_at + length < t:
            return False
        missed = (t - (self.ticked_at + length)) // length
        now = self.ticked_at + length + less(missed, MOST_MISSED) * length
        self.ticked_at = now

        short, long = self.rate_over(SHORT, now), self.rate_over(LONG, now)
        self.history = [(wrap(now), self.delivered), *self.history[:16]]

        base, earlier = self.base_rtt(), self.longest
        self.measure_queue(base)
        goal = self.target()
        if self.app_limited:
            self.app_limited_at = now
        if self.app_limited or self.queueing > goal // 2 or self.full():
            self.filled_at = now

        measured = short // 2 + long // 2 if self.queueing > of(MEAN_ABOVE, goal) else max(short, long)
        self.rate = u64(measured << 16) // (ONE - min(self.mean_loss, LOSS_CORRECTED + self.random))
        decay = u64(u64(self.peak_rate * length) * PEAK_DECAY) >> 32
        self.peak_rate = max(self.rate, less(self.peak_rate, decay))
        self.step(earlier, goal, now)

        new = self.new_window(base, goal, now)
        self.window = max(new, self.window) if self.app_limited and self.queueing < goal else new
        return True

    def rate_over(self, ticks: int, now: int) -> int:
        then, count = self.history[min(ticks, len(self.history), 17) - 1]
        return (wrap(self.delivered - count) << 32) // max(wrap(now - then), 1)

    def measure_queue(self, base: int) -> None:
        seen, before_now = self.present, self.before
        self.present, self.before = NONE, [seen, *before_now[:2]]
        if seen == NONE:
            return
        self.queueing = less(seen.min, base)
        self.longest = max(self.longest - (self.longest >> FORGETS), self.queueing)
        of_four = [seen, *before_now]
        sample = less(max(rtts.max for rtts in of_four), min(rtts.min for rtts in of_four)) << 8
        step = (base << 8) // SWING_STEP
        up = of(SWING_QUANTILE, step)
        self.swing = self.swing + up if sample > self.swing else less(self.swing, step - up)

    def new_window(self, base: int, goal: int, now: int) -> int:
        aggregated = less(max(self.largest_ack, self.largest_ack_before), 1)
        time = min(base + time_of(self.share, goal) + time_of(self.ramp(base, now), base), MAX)
        new = carried(self.rate, time) + of(self.share, EXTRA) + (aggregated << 16)
        least = MIN_WINDOW
        if self.app_limited_at != 0 and now - self.app_limited_at < LONG_PAUSE:
            least = max(of(self.share, RESTART), MIN_WINDOW)
        return max(new, least)

    def ramp(self, base: int, now: int) -> int:
        if self.filled_at == 0:
            return ONE
        return min(ratio(ratio(less(now - self.filled_at, base), base), RAMP), ONE)

    # Section 8.
    def end_round(self, now: int) -> None:
        self.largest_ack_before, self.largest_ack = self.largest_ack, 0
        min_rtt, self.round_min = self.round_min, MAX
        goal, longer = self.target(), None
        alone = min(goal + max(goal, MIN_MARGIN), MAX)
        q = less(min_rtt, self.base_rtt()) if min_rtt != MAX else 0
        is_small = self.app_limited and self.round_delivered << 16 <= self.window // 2
        self.end_round_of_losses(q <= goal // 2)
        if min_rtt != MAX and self.drain == "":
            self.sawtooth(q, goal, alone, now)
            if not self.competes():
                self.watch(min_rtt, q, goal, now)
            elif self.nobody_yields():
                self.forget()
                longer = self.min_above
            elif now - self.competes_since > LOOK_EVERY:
                self.look(now)
        self.windows = [self.window, *self.windows[:7]]
        if longer is not None:
            self.last_epoch_min, self.epoch_min = MAX, longer
        self.end_round_of_drains(q > alone, bool(is_small))

    def end_round_of_losses(self, is_empty: bool) -> None:
        total, explains = self.round_delivered + self.round_lost, False
        if total > 0:
            r = ratio(self.round_lost, total)
            if self.drain == "drained":
                explains = is_empty and self.round_lost > 0 and 2 * r >= self.mean_loss
                self.random = min(self.mean_loss, 2 * LOSS_CORRECTED) if explains else self.random // 2
            self.mean_loss += (r - self.mean_loss) * 16384 >> 16
            if min(r, self.mean_loss) > LOSS_THRESHOLD + self.random and self.round_lost >= MIN_LOST:
                self.share = max(self.share // 2, MIN_SHARE)
            elif explains:
                self.share = ONE
            else:
                self.share = min(self.share + SHARE_STEP, ONE)
        if explains:
            self.doubts = 0
        self.round_delivered = self.round_lost = 0

    def full(self) -> bool:
        return self.share <= 32768

    def drain_is_due(self) -> bool:
        enough = self.filled_for > DRAIN_EVERY and self.samples >= MIN_SAMPLES
        return self.drain == "" and enough and not self.competes()

    def doubt(self) -> None:
        if not self.unsure:
            self.unsure, self.doubts = True, 0
            self.end_epoch()

    def end_epoch(self) -> bool:
        if self.samples < MIN_SAMPLES:
            return False
        self.samples = self.filled_for = 0
        self.last_epoch_min, self.epoch_min = self.epoch_min, MAX
        return True

    def end_round_of_drains(self, is_long: bool, is_small: bool) -> None:
        if self.app_limited:
            self.doubt()
        if self.drain == "drained":
            self.drain = ""
            if self.unsure and self.epoch_min != MAX:
                self.last_epoch_min = MAX
            return
        if self.drain != "":
            self.drain = "drained"
            return
        unsure, tries = self.unsure and is_long, False
        if unsure or self.full():
            self.doubts += 1
            tries = self.doubts >= FIRST_DOUBTS and self.doubts & (self.doubts - 1) == 0
        if is_small:
            self.end_epoch()
        elif not self.competes():
            if (self.filled_for > DRAIN_EVERY or (tries and unsure)) and self.end_epoch():
                self.drain = "for RTT"
            elif self.lossy_for > DRAIN_EVERY or (tries and self.full()):
                self.lossy_for, self.drain = 0, "for losses"

    def sawtooth(self, q: int, goal: int, alone: int, now: int) -> None:
        self.was_long = self.was_long or q > alone
        self.short_rounds = self.short_rounds + 1 if q < goal else 0
        if self.was_long and self.short_rounds >= SAWTOOTH_ROUNDS:
            self.was_long, self.fell_at = False, now

    def own(self, goal: int, now: int) -> int:
        falls = self.fell_at != 0 and now - self.fell_at < FORGOTTEN
        others = 0 if falls else min(self.time_at_peak((FLOWS - 1) * EXTRA), OTHERS_MARGIN)
        return min(goal + max(goal, MIN_MARGIN) + self.time_at_peak(EXTRA) + others, MAX)

    def step(self, earlier: int, goal: int, now: int) -> None:
        least = min(earlier + self.own(goal, now), MAX)
        if self.queueing < self.stepped_to:
            self.stepped_to = 0
        elif self.stepped_to == 0 and self.queueing > least:
            self.stepped_to = least

    def watch(self, min_rtt: int, q: int, goal: int, now: int) -> None:
        above = q > self.own(goal, now)
        if above and not self.app_limited:
            if self.rounds_above == 0:
                self.min_above = min_rtt
                self.window_before = max(self.window_before, *self.windows)
            if abs(min_rtt - self.min_above) > self.delay:
                self.stepped_to = 0
            self.min_above = min(self.min_above, min_rtt)
            self.rounds_above += 1
        else:
            self.rounds_above = less(self.rounds_above, ROUNDS_BACK)
        if self.rounds_above == 0 and not above:
            self.window_before = 0
            if self.looked_at == 0 or now - self.looked_at > FORGOTTEN:
                self.forget()
        enough = ROUNDS_AGAIN if self.has_looked else STEP_ROUNDS if self.stepped_to != 0 else RIVAL_ROUNDS
        if self.rounds_above >= enough:
            self.rounds_above = 0
            self.compete(now)

    def time_at_peak(self, w: int) -> int:
        return quotient(u64(w << 16), self.peak_rate, MAX)

    def look(self, now: int) -> None:
        self.competes_since, self.paused, self.looked_at, self.has_looked = 0, True, now, True
        self.rounds_above, self.window_before = 0, self.c_window

    def forget(self) -> None:
        self.competes_since, self.paused, self.has_looked, self.window_before = 0, False, False, 0

    # Section 9.
    def compete(self, now: int) -> None:
        if self.paused:
            self.c_window = max(self.c_window, self.window)
        else:
            self.c_window, self.c_lossless = max(self.window_before, self.window), True
        self.paused, self.last_rate, self.rounds_without, self.competes_since = False, 0, 0, now

    def compete_on_ack(self, acked: int) -> None:
        growth = of(GROWTH_FIRST, self.c_window) if self.c_lossless else max(of(GROWTH, self.c_window), MIN_GROWTH)
        self.c_window = u64(self.c_window + u64(u64(growth * acked) << 16) // self.c_window)

    def nobody_yields(self) -> bool:
        stays = self.c_lossless and self.rate < self.last_rate + self.last_rate // RATE_STAYS
        self.rounds_without = self.rounds_without + 1 if stays else 0
        self.last_rate = self.rate
        return self.rounds_without >= ROUNDS_WITHOUT

    # Section 10.
    def limits(self, packet_bytes: int) -> tuple[int, int] | None:
        if self.window == 0:
            return None
        base = self.base_rtt()
        w = max(self.window, self.c_window) if self.competes() else self.window
        full = carried(self.rate, base)
        if self.drain == "for RTT":
            w = min(max(full // 2, MIN_WINDOW), w)
        if self.drain == "for losses":
            w = min(max(full - full // 4, MIN_WINDOW), w)
        faster = ONE + ((PACING - ONE) * self.share >> 16)
        paced = of(faster, w) + of(self.share, PACING_PACKETS)
        rtt = min(base + time_of(self.share, self.target()), MAX)
        return w, max(u64((u64(paced * packet_bytes) >> 16) * 1_000_000) // rtt, 1)


def sender(scheme: type) -> type:
    """Tide as a `cellcc.Scheme`, the class that is given. Such a scheme does not hear whether the application limits it."""

    class Sender(scheme):  # type: ignore[misc]
        """Tide, from its specification."""

        def __init__(self, context: Any, delay_ms: float = 5.0) -> None:
            super().__init__(context)
            self.tide = Tide(round(delay_ms * 1e3))
            self.packet, self.count, self.acked_rest, self.lost_rest, self.restart = context.packet_bytes, 0, 0, 0, 0
            self.counts: list[tuple[int, int]] = []

        def end_ticks(self, t: int) -> None:
            tick = self.tide.next_tick()
            if tick is not None and tick < t:
                self.tide.end_ticks(t)
                self.restart = 0

        def on_ack(self, ack: Any) -> None:
            self.packet, now = ack.packet_bytes, microseconds(ack.now_s)
            self.end_ticks(now)
            if self.tide.rate == 0:
                self.restart = ack.inflight_bytes + 2 * self.packet
            self.count = wrap(self.count + ack.packets)
            acked, self.acked_rest = divmod(self.acked_rest + ack.bytes, self.packet)
            rtt = 0 if ack.rtt_s is None else max(microseconds(ack.rtt_s), 1)
            # The simulator's own rounds know nothing of one that a drain begins. What a packet's sender knew stood at its time.
            sent_at = now - rtt
            count_at_send = next((count for then, count in reversed(self.counts) if then <= sent_at), 0)
            self.counts.append((now, self.count))
            self.tide.on_ack(Ack(now, rtt, self.count, count_at_send, acked, 0))

        def on_loss(self, loss: Any) -> None:
            lost, self.lost_rest = divmod(self.lost_rest + loss.bytes, loss.packet_bytes)
            self.tide.on_loss(lost, loss.new_episode)

        def next_timer(self) -> float | None:
            tick = self.tide.next_tick()
            return None if tick is None else tick / 1e6

        def on_timer(self, now_s: float) -> None:
            self.end_ticks(microseconds(now_s) + 1)

        def limits(self) -> tuple[float, float | None]:
            decided = self.tide.limits(self.packet)
            if decided is None:
                return self.context.initial_window_bytes, None
            window, pacing = decided
            return max(window * self.packet >> 16, self.restart), (pacing + 0.5) * 8 / 1e6

    return Sender


def microseconds(seconds: float) -> int:
    return round(seconds * 1e9) // 1000

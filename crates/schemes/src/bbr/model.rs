//! The model of the path: its bandwidth, its minimum RTT, whether the pipe is full, how far acknowledgements arrive at
//! once, and the time that counts.

#[cfg(test)]
mod tests;

use cellcc_control::{Ack, RateSample, Sampler, filters::WindowedMax};
use cellcc_units::{Bytes, Rate, Span, Time};

// The bandwidth that BBR goes by: where it comes from, and BBR's own filter, the largest delivery rate of ten rounds.

/// Rounds that the filter remembers: one gain cycle and two more (draft section 4.1.1.6, `BtlBwFilterLen`).
const FILTER_ROUNDS: u64 = 10;

/// The source of BBR's estimate of the bottleneck's bandwidth: its own delivery rates, or a better-informed one.
pub(crate) trait BandwidthSource: Clone + Send {
    /// An acknowledgement brings a delivery rate. One that the sender limited itself is a lower bound.
    fn on_sample(&mut self, ack: &Ack<'_>, sample: &RateSample, self_limited: bool);

    /// The estimate; zero before the first sample.
    fn estimate(&self) -> Rate;

    /// The part of the window besides the bandwidth-delay products, as far as the source knows.
    fn headroom(&self) -> Bytes {
        Bytes::ZERO
    }
}

/// The largest delivery rate of the last ten rounds.
#[derive(Debug, Clone)]
pub(crate) struct MaxFilter {
    sampler: Sampler,
    filter: WindowedMax<Rate>,
}

impl MaxFilter {
    /// A filter without a sample.
    pub(crate) fn new(sampler: Sampler) -> Self {
        Self { sampler, filter: WindowedMax::new(FILTER_ROUNDS) }
    }
}

impl BandwidthSource for MaxFilter {
    /// A lower bound counts only where it raises the estimate.
    fn on_sample(&mut self, ack: &Ack<'_>, sample: &RateSample, self_limited: bool) {
        let rate = sample.rate(self.sampler);
        if !self_limited || rate >= self.estimate() {
            self.filter.add(ack.round, rate);
        }
    }

    fn estimate(&self) -> Rate {
        self.filter.max().unwrap_or(Rate::ZERO)
    }
}

// The minimum RTT of the last ten seconds, and the time at a minimal window (ProbeRTT) that measures it again.

/// Lifetime of a minimum (draft section 4.1.2.1, `RTpropFilterLen`).
const FILTER: Span = Span::from_secs(10);
/// Time at the minimal window: it costs 2 % of the time between two measurements (draft section 4.3.5).
const PROBE_DURATION: Span = Span::from_millis(200);

#[derive(Debug, Clone, Default)]
pub(super) struct MinRtt {
    value: Option<Span>,
    taken: Time,
}

impl MinRtt {
    /// Takes a sample; true where the old minimum had expired.
    pub(super) fn update(&mut self, now: Time, sample: Option<Span>) -> bool {
        let expired = self.value.is_some() && now > self.taken + FILTER;
        if let Some(sample) = sample.filter(|&sample| expired || self.value.is_none_or(|min| sample <= min)) {
            self.value = Some(sample);
            self.taken = now;
        }
        expired
    }

    /// The minimum has just been measured: it is good for another ten seconds.
    pub(super) fn confirm(&mut self, now: Time) {
        self.taken = now;
    }

    pub(super) fn get(&self) -> Option<Span> {
        self.value
    }
}

/// A stay in ProbeRTT.
#[derive(Debug, Clone, Default)]
pub(crate) struct Probe {
    /// Since the window's worth was in flight, and no more: until when to stay, and the round that has to pass.
    drained: Option<Drained>,
}

#[derive(Debug, Clone)]
struct Drained {
    until: Time,
    round_ends_at: Bytes,
    round_passed: bool,
}

impl Probe {
    /// An acknowledgement; true once the flow has stayed for 200 ms and a round at `window`.
    pub(crate) fn update(&mut self, ack: &Ack<'_>, window: Bytes) -> bool {
        match &mut self.drained {
            Some(drained) => {
                let newest = ack.packets.last();
                drained.round_passed |=
                    newest.is_some_and(|newest| newest.delivered >= drained.round_ends_at);
                drained.round_passed && ack.now > drained.until
            }
            None => {
                if ack.inflight <= window {
                    self.drained = Some(Drained {
                        until: ack.now + PROBE_DURATION,
                        round_ends_at: ack.delivered,
                        round_passed: false,
                    });
                }
                false
            }
        }
    }

    /// True where the 200 ms have passed while the flow was idle.
    pub(crate) fn is_over_after_idling(&self, now: Time) -> bool {
        self.drained.as_ref().is_some_and(|drained| now > drained.until)
    }
}

// Startup's end: the pipe is full when three rounds in a row have not raised the bandwidth by a quarter.

/// A rise of the bandwidth that counts (draft section 4.3.2.2).
const GROWTH: f64 = 1.25;
/// Rounds without such a rise: receive-window growth takes one, filling it another, the third one measures
/// (draft section 4.3.2.2).
const ROUNDS: u32 = 3;

#[derive(Debug, Clone, Default)]
pub(crate) struct FullPipe {
    bandwidth: Rate,
    rounds: u32,
    /// Three rounds have not raised the bandwidth since the last [`reset`](Self::reset).
    full_now: bool,
    reached: bool,
}

impl FullPipe {
    /// A round ended that the application did not limit. `conserved`: the rate of packets that left under packet conservation.
    /// If that held them below the path's earlier rate, the round gives no information on the path.
    pub(crate) fn on_round(&mut self, bandwidth: Rate, conserved: Option<Rate>) {
        let held_back = conserved.is_some_and(|rate| rate.mul_f64(GROWTH) < bandwidth);
        if self.full_now || held_back || self.grows(bandwidth) {
            return;
        }
        self.rounds += 1;
        if self.rounds >= ROUNDS {
            self.reach();
        }
    }

    /// Takes a bandwidth within a round; true where it has risen.
    pub(crate) fn grows(&mut self, bandwidth: Rate) -> bool {
        let grown = !self.full_now && bandwidth >= self.bandwidth.mul_f64(GROWTH);
        if grown {
            self.bandwidth = bandwidth;
            self.rounds = 0;
        }
        grown
    }

    /// The pipe is full, whatever the bandwidth did.
    pub(crate) fn reach(&mut self) {
        (self.full_now, self.reached) = (true, true);
    }

    /// Looks whether the bandwidth rises above this one: a probe begins.
    pub(crate) fn reset(&mut self, bandwidth: Rate) {
        (self.bandwidth, self.rounds, self.full_now) = (bandwidth, 0, false);
    }

    /// Startup's end was a mistake.
    pub(crate) fn undo(&mut self) {
        self.reached = false;
    }

    /// The losses that slowed the flow down were none: look again (Linux `bbr_undo_cwnd`).
    pub(crate) fn look_again(&mut self) {
        self.bandwidth = Rate::ZERO;
        self.rounds = 0;
    }

    /// Since the last [`reset`](Self::reset).
    pub(crate) fn is_full_now(&self) -> bool {
        self.full_now
    }

    /// At some time of the flow.
    pub(crate) fn is_reached(&self) -> bool {
        self.reached
    }
}

// ACK aggregation: how much more than expected arrives at once, to be kept in flight besides the BDP, so that the sender
// does not fall silent while the path holds ACKs back.

/// Rounds per slot. With two slots the maximum is that of the last 5 to 10 rounds (Linux `bbr_extra_acked_win_rtts`).
const SLOT_ROUNDS: u32 = 5;
/// Rounds of the exact filter (draft-ietf-ccwg-bbr, section 2.12, `ExtraAckedFilterLen`).
const AGGREGATION_ROUNDS: u64 = 10;
/// The window grows by this much of the bandwidth at most (Linux `bbr_extra_acked_max_us`).
const MAX_SPAN: Span = Span::from_millis(100);
/// An epoch that has counted this many packets restarts (Linux `bbr_ack_epoch_acked_reset_thresh`).
const MAX_EPOCH_PACKETS: u64 = 1 << 20;

#[derive(Debug, Clone)]
pub(crate) struct Aggregation {
    max_epoch: Bytes,
    began: Time,
    acked: Bytes,
    largest: Largest,
}

/// The largest excess of the last rounds.
#[derive(Debug, Clone)]
enum Largest {
    /// Linux: two slots of rounds, and a limit in time.
    Slots { slots: [Bytes; 2], slot: usize, rounds: u32 },
    /// The draft of v3: exactly.
    Rounds { filter: WindowedMax<Bytes>, round: u64 },
}

impl Aggregation {
    pub(crate) fn new(packet: Bytes) -> Self {
        Self {
            max_epoch: packet * MAX_EPOCH_PACKETS,
            began: Time::ZERO,
            acked: Bytes::ZERO,
            largest: Largest::Slots { slots: [Bytes::ZERO; 2], slot: 0, rounds: 0 },
        }
    }

    /// The maximum of exactly ten rounds, without a limit in time.
    pub(crate) fn exact(packet: Bytes) -> Self {
        Self {
            largest: Largest::Rounds { filter: WindowedMax::new(AGGREGATION_ROUNDS), round: 0 },
            ..Self::new(packet)
        }
    }

    /// Forgets all rounds of the exact filter but the present one.
    pub(crate) fn forget_rounds(&mut self) {
        if let Largest::Rounds { filter, .. } = &mut self.largest {
            *filter = WindowedMax::new(AGGREGATION_ROUNDS);
        }
    }

    /// Full packets have another size.
    pub(crate) fn set_packet_size(&mut self, packet_size: Bytes) {
        self.max_epoch = packet_size * MAX_EPOCH_PACKETS;
    }

    /// `acked` bytes were acknowledged under an estimated bandwidth and a window.
    pub(crate) fn update(
        &mut self,
        now: Time,
        round_start: bool,
        acked: Bytes,
        bandwidth: Rate,
        window: Bytes,
    ) {
        if round_start {
            self.largest.start_round();
        }
        let mut expected = bandwidth.bytes_in(now.since(self.began));
        if self.acked <= expected || self.acked + acked >= self.max_epoch {
            self.restart(now);
            expected = Bytes::ZERO;
        }
        self.acked += acked;
        let extra = self.acked.saturating_sub(expected).min(window);
        self.largest.add(extra);
    }

    /// A new epoch begins.
    pub(crate) fn restart(&mut self, now: Time) {
        self.acked = Bytes::ZERO;
        self.began = now;
    }

    /// The amount to add to the window.
    pub(crate) fn extra(&self, bandwidth: Rate) -> Bytes {
        match &self.largest {
            Largest::Slots { slots: [one, other], .. } => {
                (*one).max(*other).min(bandwidth.bytes_in(MAX_SPAN))
            }
            Largest::Rounds { filter, .. } => filter.max().unwrap_or(Bytes::ZERO),
        }
    }
}

impl Largest {
    fn start_round(&mut self) {
        match self {
            Self::Slots { slots, slot, rounds } => {
                *rounds += 1;
                if *rounds >= SLOT_ROUNDS {
                    *rounds = 0;
                    *slot = 1 - *slot;
                    slots[*slot] = Bytes::ZERO;
                }
            }
            Self::Rounds { round, .. } => *round += 1,
        }
    }

    fn add(&mut self, extra: Bytes) {
        match self {
            Self::Slots { slots, slot, .. } => slots[*slot] = slots[*slot].max(extra),
            Self::Rounds { filter, round } => filter.add(*round, extra),
        }
    }
}

// A flow's time as its path advances it: it stops during an outage.
//
// A minimum RTT is believed for some time because the path may change. A silence with packets in flight says nothing of
// that. If it counted, the first acknowledgement after an outage would find the minimum too old, put the outage itself in its
// place, and lead to ProbeRTT: with more packets in flight than that allows, most of them lost and not yet known to be, nothing
// would leave until QUIC's probe time-out, which is as long as the outage by then.

/// A silence is longer than so many smoothed RTTs. That includes the sample that ends it: an eighth of the silence, if the
/// queued packets arrive after all.
const SILENT_RTTS: u64 = 2;
/// And at least so long: shorter pauses are a cellular path's scheduling, and a probe time-out after one is as short.
const LEAST_SILENCE: Span = Span::from_secs(1);

#[derive(Debug, Clone, Default)]
pub(crate) struct Silence {
    total: Span,
    last_ack_at: Option<Time>,
}

impl Silence {
    /// An acknowledgement; `idle`: nothing was in flight before.
    pub(crate) fn on_ack(&mut self, ack: &Ack<'_>, idle: bool) {
        let waited = self.last_ack_at.map_or(Span::ZERO, |last| ack.now.since(last));
        if !idle && waited > (ack.rtt.smoothed() * SILENT_RTTS).max(LEAST_SILENCE) {
            self.total += waited;
        }
        self.last_ack_at = Some(ack.now);
    }

    /// `now` without the silences so far.
    pub(crate) fn leave_out(&self, now: Time) -> Time {
        now - self.total
    }
}

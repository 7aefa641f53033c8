//! The signals of the path that Verus goes by: delays, their minimum, losses, and the bytes in flight.

#[cfg(test)]
mod tests;

use cellcc_control::Packet;
use cellcc_units::{Bytes, Span, Time};
use std::collections::VecDeque;

// The delay estimator (paper, equations 2 and 3): the largest delay of an epoch, its moving average and its change.

/// The program takes a rise of up to 0.0001 ms for none.
const NO_CHANGE_MS: f64 = 1e-4;

/// The delay in an epoch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct EpochDelay {
    /// The moving average before this epoch, ms.
    pub(super) before_ms: f64,
    /// The moving average with it, ms.
    pub(super) after_ms: f64,
    /// The largest delay has risen.
    pub(super) rising: bool,
}

/// The delays of a flow's epochs, and their minimum.
#[derive(Debug, Clone)]
pub(super) struct DelayEstimator {
    /// Share of the old value in the moving average of the epochs' largest delays (the paper's alpha).
    old_share: f64,
    /// Share of the old value in the smoothed RTT.
    rtt_old_share: f64,
    /// In an epoch without acknowledgements, their silence stands for the delay.
    counts_silence: bool,
    largest_ms: Option<f64>,
    average_ms: Option<f64>,
    smoothed_ms: Option<f64>,
    min_ms: Option<f64>,
    last_ack_at: Time,
}

impl DelayEstimator {
    pub(super) fn new(old_share: f64, rtt_old_share: f64, counts_silence: bool) -> Self {
        Self {
            old_share,
            rtt_old_share,
            counts_silence,
            largest_ms: None,
            average_ms: None,
            smoothed_ms: None,
            min_ms: None,
            last_ack_at: Time::ZERO,
        }
    }

    /// A packet was acknowledged `delay_ms` after it had left.
    pub(super) fn add(&mut self, delay_ms: f64) {
        self.largest_ms = Some(self.largest_ms.map_or(delay_ms, |largest| largest.max(delay_ms)));
        let share = self.rtt_old_share;
        self.smoothed_ms =
            Some(self.smoothed_ms.map_or(delay_ms, |old| share * old + (1.0 - share) * delay_ms));
        self.min_ms = Some(self.min_ms.map_or(delay_ms, |min| min.min(delay_ms)));
    }

    /// Silence counts from `now` on: an acknowledgement came, or the flow begins to send again.
    pub(super) fn heard_at(&mut self, now: Time) {
        self.last_ack_at = now;
    }

    /// Forgets every delay, as at the beginning.
    pub(super) fn restart(&mut self) {
        *self = Self {
            last_ack_at: self.last_ack_at,
            ..Self::new(self.old_share, self.rtt_old_share, self.counts_silence)
        };
    }

    /// Drops the delays of the epoch under way.
    pub(super) fn forget_epoch(&mut self) {
        self.largest_ms = None;
    }

    /// A delay has been added in the epoch under way.
    pub(super) fn has_heard(&self) -> bool {
        self.largest_ms.is_some()
    }

    /// The epoch ends; none before the first delay. Without a delay in it, the average stays; where silence counts, the time
    /// since the last acknowledgement stands for the delay, once it is longer than the average.
    pub(super) fn end_epoch(&mut self, now: Time) -> Option<EpochDelay> {
        let largest = match (self.largest_ms.take(), self.average_ms) {
            (Some(largest), _) => largest,
            (None, Some(average)) if !self.counts_silence => average,
            (None, Some(average)) => average.max(self.silence(now).as_millis_f64()),
            (None, None) => return None,
        };
        let before_ms = self.average_ms.unwrap_or(largest);
        let after_ms = self.old_share * before_ms + (1.0 - self.old_share) * largest;
        self.average_ms = Some(after_ms);
        Some(EpochDelay { before_ms, after_ms, rising: largest - before_ms > NO_CHANGE_MS })
    }

    /// Time since the last acknowledgement.
    fn silence(&self, now: Time) -> Span {
        now.since(self.last_ack_at)
    }

    /// The smallest delay, ms.
    pub(super) fn min_ms(&self) -> Option<f64> {
        self.min_ms
    }

    /// Sets the smallest delay; a smaller one that is measured takes its place.
    pub(super) fn set_min_ms(&mut self, min_ms: f64) {
        self.min_ms = Some(min_ms);
    }

    /// The smoothed delay, ms.
    pub(super) fn smoothed_ms(&self) -> Option<f64> {
        self.smoothed_ms
    }

    /// The moving average of the epochs' largest delays, ms.
    pub(super) fn average_ms(&self) -> Option<f64> {
        self.average_ms
    }
}

// A minimum delay that ages (`robust`): it is measured again, since a path's delay without a queue may rise. The queue of
// a flow that aims for a multiple of the minimum never empties by itself, so the flow empties it: as BBR's ProbeRTT
// (draft-cardwell-iccrg-bbr-congestion-control-00, section 4.3.4), with BBR's values.

/// Packets in flight while the minimum delay is measured (BBR: `BBRMinPipeCwnd`).
pub(super) const PROBE_WINDOW: u64 = 4;
/// Least time with no more than these in flight (BBR: `ProbeRTTDuration`); a round trip, if that is longer.
const PROBE_LENGTH: Span = Span::from_millis(200);
/// A delay within this factor of the minimum confirms it: traces have a granularity of 1 ms.
const CONFIRMS: f64 = 1.05;

/// Schedules measurements of the minimum delay, and keeps their result.
#[derive(Debug, Clone)]
pub(super) struct MinDelayProbe {
    /// Zero: never.
    lifetime: Span,
    min_ms: f64,
    confirmed_at: Option<Time>,
    last_ms: f64,
    running: Option<Probe>,
}

/// A probe under way.
#[derive(Debug, Clone, Copy)]
enum Probe {
    /// Until the packets before it have arrived.
    Draining,
    /// Until a time, with the smallest delay so far.
    Measuring(Time, Option<f64>),
}

impl MinDelayProbe {
    pub(super) fn new(lifetime: Span) -> Self {
        Self { lifetime, min_ms: f64::INFINITY, confirmed_at: None, last_ms: 0.0, running: None }
    }

    /// A packet took `delay_ms`.
    pub(super) fn add(&mut self, now: Time, delay_ms: f64) {
        if delay_ms <= self.min_ms * CONFIRMS {
            self.confirmed_at = Some(now);
        }
        self.last_ms = delay_ms;
        if let Some(Probe::Measuring(_, smallest)) = &mut self.running {
            *smallest = Some(smallest.map_or(delay_ms, |smallest| smallest.min(delay_ms)));
        }
    }

    /// An epoch ends with `min_ms` as the minimum delay and `inflight` packets on their way; returns the minimum from now
    /// on.
    pub(super) fn end_epoch(&mut self, now: Time, min_ms: f64, inflight: u64) -> f64 {
        self.min_ms = min_ms;
        match self.running {
            Some(Probe::Draining) if inflight <= PROBE_WINDOW => {
                let length = PROBE_LENGTH.max(Span::from_secs_f64(self.last_ms / 1e3));
                self.running = Some(Probe::Measuring(now + length, None));
            }
            Some(Probe::Measuring(ends_at, smallest)) if now >= ends_at => {
                self.running = None;
                self.confirmed_at = Some(now);
                self.min_ms = smallest.unwrap_or(min_ms);
            }
            Some(_) => {}
            None => {
                let confirmed_at = *self.confirmed_at.get_or_insert(now);
                if !self.lifetime.is_zero() && now.since(confirmed_at) >= self.lifetime {
                    self.running = Some(Probe::Draining);
                }
            }
        }
        self.min_ms
    }

    /// The minimum delay is being measured.
    pub(super) fn is_running(&self) -> bool {
        self.running.is_some()
    }
}

// The loss handler's timers. A packet that the driver declares lost is a pending loss until its own timer expires: Verus
// waits for reordered packets (paper, section 5.2). Only then it counts as lost.

/// A packet that the driver has declared lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PendingLoss {
    /// Time at which it counts as lost.
    pub(super) expires_at: Time,
    /// The sending window on it, in packets.
    pub(super) window: u64,
    /// Its size.
    pub(super) bytes: Bytes,
}

/// The packets that have been declared lost and do not count as lost yet.
#[derive(Debug, Clone, Default)]
pub(super) struct PendingLosses {
    /// In the order in which they were declared lost; one waits for those before it where its own timer is shorter.
    packets: VecDeque<PendingLoss>,
}

impl PendingLosses {
    /// A packet of `bytes`, sent with `window`, was declared lost at `now`, and counts as lost after `timer`.
    pub(super) fn add(&mut self, now: Time, timer: Span, window: u64, bytes: Bytes) {
        self.packets.push_back(PendingLoss { expires_at: now + timer, window, bytes });
    }

    /// A packet whose timer has expired, oldest first; asked until there is none.
    pub(super) fn expire(&mut self, now: Time) -> Option<PendingLoss> {
        if self.packets.front()?.expires_at > now {
            return None;
        }
        self.packets.pop_front()
    }

    /// Drops all pending losses, which arrived after all or are given up. Returns their bytes.
    pub(super) fn forget(&mut self) -> Bytes {
        self.packets.drain(..).map(|packet| packet.bytes).sum()
    }
}

/// The share of packets that get lost, over about the last 128.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LossShare(f64);

impl LossShare {
    /// Weight of one packet: over 128 packets, three losses in a row stand out from a loss rate of 1 %.
    const GAIN: f64 = 1.0 / 128.0;

    /// One more packet, arrived or lost.
    pub(super) fn add(&mut self, lost: bool) {
        self.0 += (f64::from(u8::from(lost)) - self.0) * Self::GAIN;
    }

    pub(super) fn get(self) -> f64 {
        self.0
    }
}

// The data in flight, as Verus counts it.

/// Data in flight. Pending losses count until their timer expires; packets given up by a time-out do not count.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Inflight {
    pub(super) bytes: Bytes,
    /// As the driver counts it.
    pub(super) on_path: Bytes,
    pub(super) next_number: u64,
    /// Packets before this one were given up.
    pub(super) counted_from: u64,
    /// The first packet since slow start began again: Verus learns nothing from earlier ones.
    pub(super) first_since_restart: u64,
    /// Packets before this one left into the silence after a time-out: their delay says nothing of their window.
    pub(super) learned_from: u64,
}

impl Inflight {
    pub(super) fn give_up(&mut self) {
        self.bytes = Bytes::ZERO;
        self.counted_from = self.next_number;
    }

    /// Stops at zero: a forged event log may have packets that never left.
    pub(super) fn remove(&mut self, bytes: Bytes) {
        self.bytes = self.bytes.saturating_sub(bytes);
    }

    pub(super) fn counts(&self, packet: &Packet) -> bool {
        packet.number >= self.counted_from
    }
}

//! The sender's timers: the scheme's, and those of loss detection.

use super::{Scratch, Sender};
use crate::rack::LossTimer;
use cellcc_control::Episode;
use cellcc_units::{Span, Time};

/// The first time-out's doubling stops here: 2^10 PTOs are minutes, and a link is back long before.
const MAX_BACKOFF: u32 = 10;

impl Sender {
    /// Handles timers that are due by now. Most wake-ups end a pacing gap, and find none.
    #[inline]
    pub(crate) fn on_wake(&mut self, now: Time, scratch: &mut Scratch) {
        if self.timers_at <= now {
            self.on_timers(now, scratch);
        }
    }

    #[inline(never)]
    fn on_timers(&mut self, now: Time, scratch: &mut Scratch) {
        if self.flow.next_timer().is_some_and(|due| due <= now) {
            self.flow.on_timer(now);
        }
        if self.recovery.loss_time <= now {
            self.detect_losses(now, scratch);
        } else if self.timeout_at() <= now {
            self.on_loss_timer(now, scratch);
        }
    }

    /// Nothing has arrived for long.
    fn on_loss_timer(&mut self, now: Time, scratch: &mut Scratch) {
        self.probes = 1;
        match self.loss_timer() {
            Some(LossTimer::TailLossProbe(_)) => {
                if let Some(rack) = &mut self.recovery.rack {
                    rack.on_probe(now);
                }
                return;
            }
            Some(LossTimer::Retransmission(_)) => self.time_out(now, scratch),
            None => {}
        }
        self.timeouts = (self.timeouts + 1).min(MAX_BACKOFF);
        self.last_timeout_at = now;
    }

    /// TCP's retransmission time-out.
    fn time_out(&mut self, now: Time, scratch: &mut Scratch) {
        scratch.newly_lost.clear();
        self.recovery.time_out(now, self.flow.rtt(), &mut scratch.newly_lost);
        if let Some(rack) = &mut self.recovery.rack {
            rack.on_timeout(now);
        }
        let first = self.timeouts == 0;
        if first {
            self.recovery.watch_timed_out(&scratch.newly_lost);
        }
        self.repeat_newly_lost(scratch);
        let new_episode = if first {
            self.flow.on_persistent_congestion(now, &scratch.lost_packets) == Episode::Begins
        } else {
            self.flow.on_repeated_timeout(now, &scratch.lost_packets);
            false
        };
        self.recovery.remember(&scratch.newly_lost, new_episode);
    }

    /// The time-out was spurious (F-RTO): packets that have not arrived are in flight as before it.
    #[cold]
    pub(super) fn undo_timeout(&mut self, now: Time) {
        let restored = self.recovery.restore_timed_out();
        restored.iter().for_each(|outstanding| self.lost_data.on_restored(outstanding));
        self.timeouts = 0;
        self.probes = 0;
        self.flow.on_spurious_timeout(now, restored.iter().map(|outstanding| outstanding.packet.bytes).sum());
    }

    /// TCP's action if nothing arrives, and its time.
    #[inline]
    fn loss_timer(&self) -> Option<LossTimer> {
        let rack = self.recovery.rack.as_ref()?;
        // RFC 8985, section 7.2: no tail loss probe in recovery, or while a gap is open.
        let probes = self.lost_data.is_empty() && !self.recovery.has_gap();
        // Two packets are acknowledged without delay (RFC 8985, section 7.2).
        let alone = self.flow.inflight() <= self.packet;
        let max_ack_delay = if alone { self.recovery.max_ack_delay } else { Span::ZERO };
        Some(rack.loss_timer(self.flow.rtt(), max_ack_delay, self.last_sent_at, self.timeouts, probes))
    }

    /// When a probe (RFC 9002, section 6.2) or a time-out is due: never, with nothing in flight.
    #[inline]
    pub(super) fn timeout_at(&self) -> Time {
        if self.flow.inflight().is_zero() {
            return Time::NEVER;
        }
        if let Some(timer) = self.loss_timer() {
            return timer.at();
        }
        let timeout = self.recovery.probe_timeout(self.flow.rtt());
        self.last_sent_at.max(self.last_timeout_at) + timeout * (1 << self.timeouts)
    }
}

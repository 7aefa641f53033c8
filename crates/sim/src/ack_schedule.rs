//! When an acknowledgement leaves: QUIC's rule by packet numbers, TCP's by segments.
//!
//! QUIC's (RFC 9000, section 13.2; draft-ietf-quic-ack-frequency, section 6): after `threshold` packets the next one is
//! acknowledged at once, others within the delay; a packet out of order at once, or when packets that are newer by as many have
//! arrived.
//!
//! TCP's, as Linux has it (`__tcp_ack_snd_check`, `tcp_event_data_recv` and `tcp_data_queue` in tcp_input.c,
//! `tcp_send_delayed_ack` in tcp_output.c, `tcp_delack_timer_handler` in tcp_timer.c):
//! 1. A second segment in order is acknowledged at once; so is each of the first segments (quick ACKs), one that fills the last
//!    gap, and one that has come before.
//! 2. While there is a gap, three acknowledgements leave at once; the others are compressed, to one in 1 ms or an RTT / 20.
//!    Linux's timer may be 0.1 ms late (`tcp_comp_sack_slack_ns`); this one is not.
//! 3. Otherwise a timer runs. It is the mean time between segments, at least `min`, at most `max` and the RTT; where it has run
//!    out, twice as long.
//! 4. A segment with an older timestamp than the last one in order is discarded (PAWS, RFC 7323, section 5;
//!    `tcp_validate_incoming`), and the segments before it are acknowledged at once. Only a retransmission arrives in order
//!    before segments that left earlier, and only where packets overtake each other: each then costs new data.
//!
//! Differences from Linux: a segment counts as full, and no acknowledgement waits for the application to read. The RTT is that of
//! the path without queues, as the handshake finds it. A segment that has come before is never discarded: in Linux the sender
//! learns of it by a DSACK in both cases. Since 6.6 Linux acknowledges a lone full segment with PSH as soon as it is read
//! (docs/evidence/environments.md); here it waits for the timer.

use cellcc_experiment::{AckFrequency, AckPolicy, Application, DelayedAcks};
use cellcc_units::{Span, Time};
use std::collections::BTreeSet;

/// Acknowledgements at once while a gap is open (Linux, `TCP_FASTRETRANS_THRESH` in tcp.h).
const DUPLICATES_AT_ONCE: u32 = 3;
/// The most acknowledgements that are compressed into one (Linux, `tcp_comp_sack_nr`: `tcp_sk_init` in tcp_ipv4.c).
const MOST_COMPRESSED: u32 = 44;
/// The longest a compressed acknowledgement waits (Linux, `tcp_comp_sack_delay_ns`: `tcp_sk_init` in tcp_ipv4.c), and its share
/// of the RTT (`__tcp_ack_snd_check`).
const LONGEST_COMPRESSION: Span = Span::from_millis(1);
const COMPRESSION_SHARE: u64 = 20;
/// The least excess of a time-out over the RTT (Linux, `TCP_RTO_MIN` in tcp.h).
const MIN_TIMEOUT_ABOVE_RTT: Span = Span::from_millis(200);

/// The tick of TCP's timestamps (Linux, `TCP_TS_HZ` in tcp.h).
const TIMESTAMP_TICK: Span = Span::from_millis(1);
/// The largest age of a segment behind the last one in order, in ticks (Linux, `TCP_PAWS_WINDOW` in tcp.h).
const PAWS_WINDOW_TICKS: u64 = 1;

/// The due time of the acknowledgement of arrived packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Due {
    Now,
    By(Time),
}

/// Decides for each packet when its acknowledgement is due.
#[derive(Debug)]
pub(crate) enum AckSchedule {
    Quic(QuicAcks),
    Linux(Box<LinuxAcks>),
}

impl AckSchedule {
    /// `rtt`: of the path without queues.
    pub(crate) fn new(policy: AckPolicy, rtt: Span) -> Self {
        match policy {
            AckPolicy::Quic(frequency) => Self::Quic(QuicAcks::new(frequency)),
            AckPolicy::Delayed(settings) => Self::Linux(Box::new(LinuxAcks::new(settings, rtt))),
        }
    }

    /// Takes a packet with this number, which carries this segment of the data. `None` where the packet is discarded: then the
    /// arrivals before it are acknowledged at once.
    #[inline]
    pub(crate) fn on_packet(&mut self, now: Time, sent_at: Time, number: u64, segment: u64) -> Option<Due> {
        match self {
            Self::Quic(quic) => Some(quic.on_packet(now, number)),
            // It is no part of the stream.
            Self::Linux(_) if segment == Application::PADDING => Some(Due::Now),
            Self::Linux(linux) if linux.discards(sent_at, segment) => None,
            Self::Linux(linux) => Some(linux.on_segment(now, sent_at, segment)),
        }
    }

    /// True where a segment that was sent then is discarded.
    pub(crate) fn discards(&self, sent_at: Time, segment: u64) -> bool {
        matches!(self, Self::Linux(linux) if linux.discards(sent_at, segment))
    }

    /// An acknowledgement leaves.
    #[inline]
    pub(crate) fn on_acknowledged(&mut self) {
        match self {
            Self::Quic(quic) => quic.on_acknowledged(),
            Self::Linux(linux) => linux.on_acknowledged(),
        }
    }

    /// The acknowledgement was due, and no packet made it leave before.
    pub(crate) fn on_timer(&mut self) {
        if let Self::Linux(linux) = self {
            linux.on_timer();
        }
    }
}

/// QUIC's rule.
#[derive(Debug)]
pub(crate) struct QuicAcks {
    frequency: AckFrequency,
    unacknowledged: u32,
    /// One more than the largest number that has arrived.
    next: u64,
    /// Numbers below `next` that have not arrived, as far as no acknowledgement has shown the sender that they are late enough.
    missing: BTreeSet<u64>,
}

impl QuicAcks {
    fn new(frequency: AckFrequency) -> Self {
        Self { frequency, unacknowledged: 0, next: 0, missing: BTreeSet::new() }
    }

    #[inline]
    fn on_packet(&mut self, now: Time, number: u64) -> Due {
        self.unacknowledged += 1;
        let in_order = number == self.next && self.missing.is_empty();
        let late = !in_order && self.is_late(number);
        self.next = self.next.max(number + 1);
        if self.unacknowledged > self.frequency.threshold || late {
            return Due::Now;
        }
        Due::By(now + self.frequency.max_ack_delay)
    }

    /// True where a packet out of order, or after a gap, is to be reported at once.
    #[cold]
    fn is_late(&mut self, number: u64) -> bool {
        let threshold = u64::from(self.frequency.reordering);
        if threshold <= 1 {
            return threshold == 1;
        }
        self.missing.remove(&number);
        self.missing.extend(self.next..number);
        let largest = number.max(self.next.saturating_sub(1));
        self.missing.first().is_some_and(|smallest| smallest + threshold <= largest)
    }

    #[inline]
    fn on_acknowledged(&mut self) {
        self.unacknowledged = 0;
        if !self.missing.is_empty() {
            self.forget_reported();
        }
    }

    /// Numbers that far below the largest are reported with it.
    #[cold]
    fn forget_reported(&mut self) {
        let reported = self.next.saturating_sub(u64::from(self.frequency.reordering));
        self.missing = self.missing.split_off(&reported);
    }
}

/// TCP's rule in Linux.
#[derive(Debug)]
pub(crate) struct LinuxAcks {
    settings: DelayedAcks,
    rtt: Span,
    next_segment: u64,
    /// Segments beyond a gap.
    beyond: BTreeSet<u64>,
    /// Segments in order that no acknowledgement has covered.
    unacknowledged: u64,
    /// When the newest segment left that arrived in order and right after an acknowledgement (`ts_recent`).
    timestamp: Time,
    /// Acknowledgements that still leave at once.
    quick_acks: u32,
    /// The delayed-ACK timer (`ato`); none before the first segment.
    timer: Option<Span>,
    last_arrival: Time,
    /// Acknowledgements that left at once while this segment was missing.
    duplicates: u32,
    duplicates_of: u64,
    compressed: u32,
}

impl LinuxAcks {
    fn new(settings: DelayedAcks, rtt: Span) -> Self {
        Self {
            settings,
            rtt,
            next_segment: 0,
            beyond: BTreeSet::new(),
            unacknowledged: 0,
            timestamp: Time::ZERO,
            quick_acks: 0,
            timer: None,
            last_arrival: Time::ZERO,
            duplicates: 0,
            duplicates_of: 0,
            compressed: 0,
        }
    }

    /// `tcp_paws_discard`.
    fn discards(&self, sent_at: Time, segment: u64) -> bool {
        let ticks = |time: Time| time.as_nanos() / TIMESTAMP_TICK.as_nanos();
        sent_at < self.timestamp
            && ticks(sent_at) + PAWS_WINDOW_TICKS < ticks(self.timestamp)
            && segment >= self.next_segment
    }

    fn on_segment(&mut self, now: Time, sent_at: Time, segment: u64) -> Due {
        let had_gap = !self.beyond.is_empty();
        // `tcp_replace_ts_recent`.
        if segment + self.unacknowledged == self.next_segment {
            self.timestamp = self.timestamp.max(sent_at);
        }
        if segment < self.next_segment {
            self.quick_acks = self.quick_acks.max(self.settings.quick_acks);
            self.timer = Some(self.settings.min);
        } else if segment > self.next_segment {
            self.beyond.insert(segment);
        } else {
            self.on_in_order(now);
        }
        let filled = had_gap && self.beyond.is_empty();
        if self.unacknowledged > 1 || self.quick_acks > 0 || filled {
            return Due::Now;
        }
        if self.beyond.is_empty() {
            return Due::By(now + self.delay());
        }
        self.beyond_a_gap(now)
    }

    /// The next segment arrives, which may fill a gap.
    fn on_in_order(&mut self, now: Time) {
        let first = self.next_segment;
        self.next_segment += 1;
        while self.beyond.remove(&self.next_segment) {
            self.next_segment += 1;
        }
        self.unacknowledged += self.next_segment - first;
        self.adapt_timer(now);
    }

    /// `tcp_event_data_recv`; `TCP_ATO_MIN` is `TCP_DELACK_MIN`.
    fn adapt_timer(&mut self, now: Time) {
        let (DelayedAcks { min, quick_acks, .. }, gap) = (self.settings, now.since(self.last_arrival));
        self.last_arrival = now;
        self.timer = Some(match self.timer {
            None => {
                self.quick_acks = quick_acks;
                min
            }
            Some(timer) if gap <= min / 2 => timer / 2 + min / 2,
            Some(timer) if gap < timer => (timer / 2 + gap).min(self.timeout()),
            Some(timer) => {
                if gap > self.timeout() {
                    // The sender begins again with a small window.
                    self.quick_acks = self.quick_acks.max(quick_acks);
                }
                timer
            }
        });
    }

    fn beyond_a_gap(&mut self, now: Time) -> Due {
        if self.duplicates_of != self.next_segment {
            (self.duplicates_of, self.duplicates) = (self.next_segment, 0);
        }
        if self.duplicates < DUPLICATES_AT_ONCE {
            self.duplicates += 1;
            return Due::Now;
        }
        if self.compressed >= MOST_COMPRESSED {
            return Due::Now;
        }
        self.compressed += 1;
        Due::By(now + (self.rtt / COMPRESSION_SHARE).min(LONGEST_COMPRESSION))
    }

    /// `tcp_send_delayed_ack`.
    fn delay(&self) -> Span {
        let DelayedAcks { min, max, .. } = self.settings;
        self.timer.unwrap_or(min).min(self.rtt.max(min)).min(max)
    }

    fn timeout(&self) -> Span {
        self.rtt + MIN_TIMEOUT_ABOVE_RTT
    }

    /// `tcp_dec_quickack_mode` in tcp.h.
    fn on_acknowledged(&mut self) {
        self.unacknowledged = 0;
        self.compressed = 0;
        if self.quick_acks == 1 {
            self.timer = Some(self.settings.min);
        }
        self.quick_acks = self.quick_acks.saturating_sub(1);
    }

    /// `tcp_delack_timer_handler`.
    fn on_timer(&mut self) {
        if self.compressed == 0 {
            let missed = self.timer.unwrap_or(self.settings.min);
            self.timer = Some((missed * 2).min(self.timeout()));
        }
    }
}

#[cfg(test)]
mod tests;

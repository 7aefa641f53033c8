//! Which packets are outstanding, and which of them are lost: QUIC's loss detection (RFC 9002, section 6), or TCP's by
//! [`Rack`].

use crate::ascending::{Ascending, Numbered};
use crate::rack::{DUPLICATE_THRESHOLD, Rack};
use cellcc_control::{Packet, Rtt};
use cellcc_experiment::LossDetection;
use cellcc_units::{Span, Time};
use std::collections::VecDeque;

/// Packets acknowledged after a gap before the gap is lost (RFC 9002, section 6.1.1, `kPacketThreshold`).
const PACKET_THRESHOLD: u64 = 3;
/// The time threshold is 9/8 of the RTT (RFC 9002, section 6.1.2, `kTimeThreshold`).
const TIME_THRESHOLD: (u64, u64) = (9, 8);
/// Losses that span this many PTOs are persistent congestion (RFC 9002, section 7.6.1).
const PERSISTENT_CONGESTION_THRESHOLD: u64 = 3;

/// A packet on its way, and the data in it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outstanding {
    pub(crate) packet: Packet,
    pub(crate) segment: u64,
    pub(crate) retransmission: bool,
    /// Acknowledged or declared lost.
    settled: bool,
}

impl Outstanding {
    /// A packet that leaves.
    pub(crate) fn new(packet: Packet, segment: u64, retransmission: bool) -> Self {
        Self { packet, segment, retransmission, settled: false }
    }
}

impl Numbered for Outstanding {
    fn number(&self) -> u64 {
        self.packet.number
    }
}

/// A packet that was declared lost has arrived after all.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Late {
    pub(crate) outstanding: Outstanding,
    /// So has every packet of that episode.
    pub(crate) undo: bool,
    /// A time-out took it for lost, and nothing sent later has arrived.
    pub(crate) timeout_was_spurious: bool,
}

/// The packets in flight, and their known fate. In this order: fields for each packet, and the rest.
#[derive(Debug, Clone)]
#[repr(C)]
pub(crate) struct Recovery {
    /// Packets from the oldest in flight on; the first has the number `first`.
    packets: VecDeque<Outstanding>,
    first: u64,
    /// One more than the largest number that was acknowledged; zero before the first.
    acknowledged_below: u64,
    /// When the oldest packet in flight will have waited too long; [`Time::NEVER`] where nothing sent later has arrived.
    pub(crate) loss_time: Time,
    /// When the first RTT sample came, if one has; losses before it say nothing of persistent congestion.
    first_sample_at: Time,
    /// Extra time a peer may take to acknowledge.
    pub(crate) max_ack_delay: Span,
    /// TCP's loss detection; none: QUIC's.
    pub(crate) rack: Option<Rack>,
    /// Packets of this recovery episode that were declared lost and have not arrived after all.
    episode: Ascending<Outstanding>,
    /// Packets that the last time-out declared lost, oldest first, until something sent after it arrives.
    timed_out: Vec<u64>,
}

impl Recovery {
    pub(crate) fn new(detection: LossDetection, max_ack_delay: Span) -> Self {
        let rack = match detection {
            LossDetection::Quic => None,
            LossDetection::Rack => Some(Rack::default()),
        };
        Self {
            packets: VecDeque::new(),
            first: 0,
            acknowledged_below: 0,
            loss_time: Time::NEVER,
            first_sample_at: Time::NEVER,
            max_ack_delay,
            rack,
            episode: Ascending::default(),
            timed_out: Vec::new(),
        }
    }

    #[inline]
    pub(crate) fn on_sent(&mut self, outstanding: Outstanding) {
        if self.packets.is_empty() {
            self.first = outstanding.packet.number;
        }
        self.packets.push_back(outstanding);
    }

    /// Packet `number` is acknowledged, which was in flight until now; `None` where it was not.
    #[inline]
    pub(crate) fn settle(&mut self, now: Time, number: u64) -> Option<&Outstanding> {
        let in_order = number >= self.acknowledged_below;
        self.acknowledged_below = self.acknowledged_below.max(number + 1);
        let index = number.wrapping_sub(self.first) as usize;
        let outstanding = self.packets.get_mut(index).filter(|outstanding| !outstanding.settled)?;
        outstanding.settled = true;
        if let Some(rack) = &mut self.rack {
            rack.on_arrival(now, outstanding.packet.sent_at, in_order);
            if self.timed_out.last().is_some_and(|last| *last < number) {
                self.timed_out.clear();
            }
        }
        Some(outstanding)
    }

    /// A packet that is not in flight arrives; `None` where it is an old episode's, or was acknowledged before.
    #[cold]
    pub(crate) fn on_late_arrival(&mut self, now: Time, number: u64) -> Option<Late> {
        let outstanding = self.episode.remove(number)?;
        let next = self.first + self.packets.len() as u64;
        if let Some(rack) = &mut self.rack {
            rack.on_arrival(now, outstanding.packet.sent_at, false);
            rack.on_wrongly_lost(self.first, next);
        }
        Some(Late {
            outstanding,
            undo: self.episode.is_empty(),
            timeout_was_spurious: self.timed_out.binary_search(&number).is_ok(),
        })
    }

    /// The time-out was spurious: packets that it declared lost and that have not arrived are in flight again. Gives that,
    /// oldest first.
    pub(crate) fn restore_timed_out(&mut self) -> Vec<Outstanding> {
        let numbers = std::mem::take(&mut self.timed_out);
        let restored: Vec<_> = numbers.iter().filter_map(|number| self.episode.remove(*number)).collect();
        for &outstanding in restored.iter().rev() {
            // The arrivals between them are settled.
            while self.first > outstanding.packet.number + 1 {
                self.packets.push_front(Outstanding { settled: true, ..outstanding });
                self.first -= 1;
            }
            self.packets.push_front(Outstanding { settled: false, ..outstanding });
            self.first -= 1;
        }
        restored
    }

    pub(crate) fn on_rtt_sample(&mut self, now: Time) {
        self.first_sample_at = self.first_sample_at.min(now);
    }

    /// Moves packets that are lost by now to `lost`, oldest first, and forgets settled ones. `recovering`: something lost
    /// before has not arrived since.
    #[inline(always)]
    pub(crate) fn detect_losses(
        &mut self,
        now: Time,
        rtt: &Rtt,
        recovering: bool,
        lost: &mut Vec<Outstanding>,
    ) {
        self.forget_settled();
        self.loss_time = Time::NEVER;
        if self.acknowledged_below > self.first {
            self.look_into_gap(now, rtt, recovering, lost);
        }
    }

    /// Packets that left before one that has arrived are in flight. Out of line: most packets arrive in order.
    #[inline(never)]
    fn look_into_gap(&mut self, now: Time, rtt: &Rtt, recovering: bool, lost: &mut Vec<Outstanding>) {
        let largest = self.acknowledged_below - 1;
        let (loss_delay, packet_threshold) = self.thresholds(rtt, largest, recovering);
        for outstanding in self.packets.iter_mut().take((largest - self.first) as usize) {
            if outstanding.settled {
                continue;
            }
            let waited_enough = outstanding.packet.sent_at + loss_delay <= now;
            if largest - outstanding.packet.number < packet_threshold && !waited_enough {
                // Later packets were sent later, and are closer to the largest.
                self.loss_time = outstanding.packet.sent_at + loss_delay;
                break;
            }
            outstanding.settled = true;
            lost.push(*outstanding);
        }
        if !lost.is_empty() {
            self.forget_settled();
        }
    }

    /// After how long, and after how many packets sent later, a packet is lost.
    #[inline]
    fn thresholds(&self, rtt: &Rtt, largest: u64, recovering: bool) -> (Span, u64) {
        if let Some(rack) = &self.rack {
            let no_window = rack.in_order_so_far() && (recovering || self.has_duplicates(largest));
            return (rack.loss_delay(rtt, no_window), u64::MAX);
        }
        let (numerator, denominator) = TIME_THRESHOLD;
        let latest = rtt.latest().unwrap_or(Span::ZERO);
        let loss_delay = (rtt.smoothed().max(latest) * numerator / denominator).max(Rtt::GRANULARITY);
        (loss_delay, PACKET_THRESHOLD)
    }

    /// [`DUPLICATE_THRESHOLD`] packets have arrived beyond a gap.
    fn has_duplicates(&self, largest: u64) -> bool {
        let until_largest = self.packets.iter().take((largest - self.first) as usize + 1);
        until_largest.filter(|outstanding| outstanding.settled).nth(DUPLICATE_THRESHOLD - 1).is_some()
    }

    /// The retransmission time-out: the oldest packet in flight, and all that have waited long enough, move to `lost` (RFC 8985,
    /// section 6.3).
    pub(crate) fn time_out(&mut self, now: Time, rtt: &Rtt, lost: &mut Vec<Outstanding>) {
        self.forget_settled();
        self.loss_time = Time::NEVER;
        let loss_delay = self.rack.as_ref().map_or(Span::ZERO, |rack| rack.loss_delay(rtt, true));
        for outstanding in self.packets.iter_mut().filter(|outstanding| !outstanding.settled) {
            if !lost.is_empty() && outstanding.packet.sent_at + loss_delay > now {
                break;
            }
            outstanding.settled = true;
            lost.push(*outstanding);
        }
        self.forget_settled();
    }

    /// Packets that the first time-out of a row declared lost: it may turn out to have been spurious.
    pub(crate) fn watch_timed_out(&mut self, lost: &[Outstanding]) {
        self.timed_out.clear();
        self.timed_out.extend(lost.iter().map(|outstanding| outstanding.packet.number));
    }

    /// Remembers the lost packets, so that a late arrival is recognised; `new_episode` forgets the episode before.
    pub(crate) fn remember(&mut self, lost: &[Outstanding], new_episode: bool) {
        if new_episode {
            self.episode.clear();
        }
        lost.iter().for_each(|outstanding| self.episode.insert(*outstanding));
    }

    /// The losses, without a packet between them that arrived, span more than three PTOs (RFC 9002, section 7.6).
    pub(crate) fn is_persistent(&self, lost: &[Outstanding], rtt: &Rtt) -> bool {
        let enough = self.probe_timeout(rtt) * PERSISTENT_CONGESTION_THRESHOLD;
        let mut run: Option<(Time, u64)> = None;
        lost.iter().filter(|outstanding| outstanding.packet.sent_at > self.first_sample_at).any(
            |outstanding| {
                let Packet { number, sent_at, .. } = outstanding.packet;
                let began = match run {
                    Some((began, previous)) if previous + 1 == number => began,
                    _ => sent_at,
                };
                run = Some((began, number));
                sent_at.since(began) > enough
            },
        )
    }

    /// The probe time-out before backing off (RFC 9002, section 6.2.1).
    pub(crate) fn probe_timeout(&self, rtt: &Rtt) -> Span {
        rtt.probe_timeout(self.max_ack_delay)
    }

    /// The data of a probe without new data: those of the oldest packet in flight (RFC 9002, section 6.2.4), or of the newest
    /// (RFC 8985, section 7.3).
    pub(crate) fn probed_segment(&self) -> Option<u64> {
        let mut in_flight = self.packets.iter().filter(|outstanding| !outstanding.settled);
        let probed = if self.rack.is_some() { in_flight.next_back() } else { in_flight.next() };
        probed.map(|outstanding| outstanding.segment)
    }

    /// Something has arrived that left after a packet in flight.
    pub(crate) fn has_gap(&self) -> bool {
        self.acknowledged_below > self.first + 1 && !self.packets.is_empty()
    }

    #[inline]
    fn forget_settled(&mut self) {
        while self.packets.front().is_some_and(|oldest| oldest.settled) {
            self.packets.pop_front();
            self.first += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cellcc_units::Bytes;

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    fn outstanding(number: u64, sent_ms: u64) -> Outstanding {
        let packet = Packet::new(number, at(sent_ms), Bytes::new(1500));
        Outstanding::new(packet, number, false)
    }

    fn sent(count: u64) -> Recovery {
        let mut recovery = Recovery::new(LossDetection::Quic, Span::ZERO);
        (0..count).for_each(|number| recovery.on_sent(outstanding(number, number)));
        recovery
    }

    fn lost_at(recovery: &mut Recovery, now: Time) -> Vec<u64> {
        let mut lost = Vec::new();
        recovery.detect_losses(now, &Rtt::default(), false, &mut lost);
        recovery.remember(&lost, true);
        lost.iter().map(|outstanding| outstanding.packet.number).collect()
    }

    /// A packet arrives that is not in flight.
    fn late(recovery: &mut Recovery, now: Time, number: u64) -> Option<Late> {
        assert!(recovery.settle(now, number).is_none());
        recovery.on_late_arrival(now, number)
    }

    #[test]
    fn three_packets_after_a_gap_make_it_a_loss() {
        let mut recovery = sent(5);
        recovery.settle(at(10), 2);
        assert!(lost_at(&mut recovery, at(10)).is_empty());
        recovery.settle(at(10), 3);
        assert_eq!(lost_at(&mut recovery, at(10)), [0]);
    }

    #[test]
    fn a_shorter_gap_is_lost_after_nine_eighths_of_the_rtt() {
        let mut recovery = sent(2);
        recovery.settle(at(10), 1);
        assert!(lost_at(&mut recovery, at(10)).is_empty());
        let due = recovery.loss_time;
        assert_eq!(due, Time::ZERO + Rtt::INITIAL * 9 / 8);
        assert_eq!(lost_at(&mut recovery, due), [0]);
    }

    #[test]
    fn an_episode_is_undone_only_when_all_of_it_arrives_late() {
        let mut recovery = sent(6);
        recovery.settle(at(10), 5);
        assert_eq!(lost_at(&mut recovery, at(10)), [0, 1, 2]);
        let undo = [0, 2, 1, 1].map(|number| late(&mut recovery, at(10), number).map(|late| late.undo));
        assert_eq!(undo, [Some(false), Some(false), Some(true), None]);
    }

    #[test]
    fn losses_over_three_probe_timeouts_are_persistent_unless_one_between_arrived() {
        let mut recovery = Recovery::new(LossDetection::Quic, Span::ZERO);
        recovery.on_rtt_sample(at(0));
        let rtt = Rtt::default();
        let apart = recovery.probe_timeout(&rtt).as_nanos() / 1_000_000 * 2;
        let lost = [outstanding(1, 1), outstanding(2, 1 + apart), outstanding(3, 1 + 2 * apart)];
        assert!(recovery.is_persistent(&lost, &rtt));
        let interrupted = [outstanding(1, 1), outstanding(3, 1 + 2 * apart)];
        assert!(!recovery.is_persistent(&interrupted, &rtt));
    }

    #[test]
    fn what_a_spurious_timeout_took_for_lost_is_in_flight_again() {
        let mut recovery = Recovery::new(LossDetection::Rack, Span::ZERO);
        (0..4).for_each(|number| recovery.on_sent(outstanding(number, number)));
        let mut lost = Vec::new();
        recovery.time_out(at(1000), &Rtt::default(), &mut lost);
        assert_eq!(lost.len(), 4);
        recovery.watch_timed_out(&lost);
        recovery.remember(&lost, true);
        recovery.on_sent(outstanding(4, 1000));
        // The time-out's own packet has not arrived, but one from before it.
        assert!(late(&mut recovery, at(1100), 1).is_some_and(|late| late.timeout_was_spurious));
        let restored = recovery.restore_timed_out();
        assert_eq!(restored.iter().map(|restored| restored.packet.number).collect::<Vec<_>>(), [0, 2, 3]);
        for number in [0, 2, 3, 4] {
            assert!(recovery.settle(at(1200), number).is_some(), "{number}");
        }
    }

    #[test]
    fn a_timeout_whose_own_packet_arrives_first_was_none_too_many() {
        let mut recovery = Recovery::new(LossDetection::Rack, Span::ZERO);
        (0..2).for_each(|number| recovery.on_sent(outstanding(number, number)));
        let mut lost = Vec::new();
        recovery.time_out(at(1000), &Rtt::default(), &mut lost);
        recovery.watch_timed_out(&lost);
        recovery.remember(&lost, true);
        recovery.on_sent(outstanding(2, 1000));
        recovery.settle(at(1100), 2);
        assert!(late(&mut recovery, at(1200), 0).is_some_and(|late| !late.timeout_was_spurious));
    }
}

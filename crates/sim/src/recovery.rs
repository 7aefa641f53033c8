//! Which packets are outstanding, and which of them are lost: QUIC's loss detection (RFC 9002, section 6).

use cellcc_control::{Packet, Rtt};
use cellcc_units::{Span, Time};
use std::collections::{BTreeMap, VecDeque};

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

/// What an acknowledged packet number was.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Acknowledged<'a> {
    /// In flight until now.
    InFlight(&'a Outstanding),
    /// Declared lost before: it arrived after all. `undo`: so did every packet of that episode.
    Late { outstanding: Outstanding, undo: bool },
    /// Neither: an old episode's, or acknowledged before.
    Unknown,
}

/// The packets in flight, and what is known of their fate.
#[derive(Debug, Clone, Default)]
pub(crate) struct Recovery {
    /// Packets from the oldest in flight on; the first has the number `first`.
    packets: VecDeque<Outstanding>,
    first: u64,
    largest_acknowledged: Option<u64>,
    /// Packets of this recovery episode that were declared lost and have not arrived after all.
    episode: BTreeMap<u64, Outstanding>,
    /// When the oldest packet in flight will have waited too long.
    pub(crate) loss_time: Option<Time>,
    /// When the first RTT sample came; losses before it say nothing of persistent congestion.
    first_sample_at: Option<Time>,
    /// Extra time a peer may take to acknowledge.
    max_ack_delay: Span,
}

impl Recovery {
    pub(crate) fn new(max_ack_delay: Span) -> Self {
        Self { max_ack_delay, ..Self::default() }
    }

    #[inline]
    pub(crate) fn on_sent(&mut self, outstanding: Outstanding) {
        if self.packets.is_empty() {
            self.first = outstanding.packet.number;
        }
        self.packets.push_back(outstanding);
    }

    /// Packet `number` is acknowledged.
    #[inline]
    pub(crate) fn on_acknowledged(&mut self, number: u64) -> Acknowledged<'_> {
        self.largest_acknowledged = self.largest_acknowledged.max(Some(number));
        let slot = number.checked_sub(self.first).and_then(|index| self.packets.get_mut(index as usize));
        match slot {
            Some(outstanding) if !outstanding.settled => {
                outstanding.settled = true;
                Acknowledged::InFlight(outstanding)
            }
            _ => match self.episode.remove(&number) {
                Some(outstanding) => Acknowledged::Late { outstanding, undo: self.episode.is_empty() },
                None => Acknowledged::Unknown,
            },
        }
    }

    pub(crate) fn on_rtt_sample(&mut self, now: Time) {
        self.first_sample_at.get_or_insert(now);
    }

    /// Moves what is lost by now to `lost`, oldest first, and forgets what is settled.
    #[inline]
    pub(crate) fn detect_losses(&mut self, now: Time, rtt: &Rtt, lost: &mut Vec<Outstanding>) {
        self.forget_settled();
        self.loss_time = None;
        let Some(largest) = self.largest_acknowledged else { return };
        if largest < self.first {
            return;
        }
        let (numerator, denominator) = TIME_THRESHOLD;
        let latest = rtt.latest().unwrap_or(Span::ZERO);
        let patience = (rtt.smoothed().max(latest) * numerator / denominator).max(Rtt::GRANULARITY);
        for outstanding in self.packets.iter_mut().take((largest - self.first) as usize) {
            if outstanding.settled {
                continue;
            }
            let waited_enough = outstanding.packet.sent_at + patience <= now;
            if outstanding.packet.number + PACKET_THRESHOLD > largest && !waited_enough {
                // Later packets were sent later, and are closer to the largest.
                self.loss_time = Some(outstanding.packet.sent_at + patience);
                break;
            }
            outstanding.settled = true;
            lost.push(*outstanding);
        }
        self.forget_settled();
    }

    /// Remembers what was lost, so that a late arrival can be told; `new_episode` forgets the episode before.
    pub(crate) fn remember(&mut self, lost: &[Outstanding], new_episode: bool) {
        if new_episode {
            self.episode.clear();
        }
        self.episode.extend(lost.iter().map(|outstanding| (outstanding.packet.number, *outstanding)));
    }

    /// The losses, without a packet between them that arrived, span more than three PTOs (RFC 9002, section 7.6).
    pub(crate) fn is_persistent(&self, lost: &[Outstanding], rtt: &Rtt) -> bool {
        let Some(first_sample_at) = self.first_sample_at else { return false };
        let enough = self.probe_timeout(rtt) * PERSISTENT_CONGESTION_THRESHOLD;
        let mut run: Option<(Time, u64)> = None;
        lost.iter().filter(|outstanding| outstanding.packet.sent_at > first_sample_at).any(|outstanding| {
            let Packet { number, sent_at, .. } = outstanding.packet;
            let began = match run {
                Some((began, previous)) if previous + 1 == number => began,
                _ => sent_at,
            };
            run = Some((began, number));
            sent_at.since(began) > enough
        })
    }

    /// The probe time-out before backing off (RFC 9002, section 6.2.1).
    pub(crate) fn probe_timeout(&self, rtt: &Rtt) -> Span {
        rtt.probe_timeout(self.max_ack_delay)
    }

    /// The data of the oldest packet in flight: what a probe repeats when there is nothing new.
    pub(crate) fn oldest_segment(&self) -> Option<u64> {
        self.packets.iter().find(|outstanding| !outstanding.settled).map(|outstanding| outstanding.segment)
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
        let packet = Packet {
            number,
            sent_at: at(sent_ms),
            bytes: Bytes::new(1500),
            tag: 0,
            delivered: Bytes::ZERO,
            delivered_at: Time::ZERO,
            first_sent_at: Time::ZERO,
            inflight: Bytes::ZERO,
            lost: Bytes::ZERO,
            marked: Bytes::ZERO,
            app_limited: false,
        };
        Outstanding::new(packet, number, false)
    }

    fn sent(count: u64) -> Recovery {
        let mut recovery = Recovery::new(Span::ZERO);
        (0..count).for_each(|number| recovery.on_sent(outstanding(number, number)));
        recovery
    }

    fn lost_at(recovery: &mut Recovery, now: Time) -> Vec<u64> {
        let mut lost = Vec::new();
        recovery.detect_losses(now, &Rtt::default(), &mut lost);
        recovery.remember(&lost, true);
        lost.iter().map(|outstanding| outstanding.packet.number).collect()
    }

    #[test]
    fn three_packets_after_a_gap_make_it_a_loss() {
        let mut recovery = sent(5);
        recovery.on_acknowledged(2);
        assert!(lost_at(&mut recovery, at(10)).is_empty());
        recovery.on_acknowledged(3);
        assert_eq!(lost_at(&mut recovery, at(10)), [0]);
    }

    #[test]
    fn a_shorter_gap_is_lost_after_nine_eighths_of_the_rtt() {
        let mut recovery = sent(2);
        recovery.on_acknowledged(1);
        assert!(lost_at(&mut recovery, at(10)).is_empty());
        let due = recovery.loss_time.unwrap();
        assert_eq!(due, Time::ZERO + Rtt::INITIAL * 9 / 8);
        assert_eq!(lost_at(&mut recovery, due), [0]);
    }

    #[test]
    fn an_episode_is_undone_only_when_all_of_it_arrives_late() {
        let mut recovery = sent(6);
        recovery.on_acknowledged(5);
        assert_eq!(lost_at(&mut recovery, at(10)), [0, 1, 2]);
        assert!(matches!(recovery.on_acknowledged(0), Acknowledged::Late { undo: false, .. }));
        assert!(matches!(recovery.on_acknowledged(2), Acknowledged::Late { undo: false, .. }));
        assert!(matches!(recovery.on_acknowledged(1), Acknowledged::Late { undo: true, .. }));
        assert!(matches!(recovery.on_acknowledged(1), Acknowledged::Unknown));
    }

    #[test]
    fn losses_over_three_probe_timeouts_are_persistent_unless_one_between_arrived() {
        let mut recovery = Recovery::new(Span::ZERO);
        recovery.on_rtt_sample(at(0));
        let rtt = Rtt::default();
        let apart = recovery.probe_timeout(&rtt).as_nanos() / 1_000_000 * 2;
        let lost = [outstanding(1, 1), outstanding(2, 1 + apart), outstanding(3, 1 + 2 * apart)];
        assert!(recovery.is_persistent(&lost, &rtt));
        let interrupted = [outstanding(1, 1), outstanding(3, 1 + 2 * apart)];
        assert!(!recovery.is_persistent(&interrupted, &rtt));
    }
}

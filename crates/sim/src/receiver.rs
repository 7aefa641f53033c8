//! The receiver: takes packets in, and says when an acknowledgement leaves.
//!
//! Acknowledgements name every packet received so far, as QUIC's ranges and TCP's SACK do for all practical purposes. An
//! acknowledgement therefore carries only how many packets had arrived when it left, and one that is lost is made good by the
//! next. A receiver-side component may hold acknowledgements back: then one reports a part of the arrivals.

use crate::ack_schedule::{AckSchedule, Due};
use crate::arrivals::{Arrivals, Offload, ReceivedPacket};
use crate::packets::{Acknowledgement, DataPacket};
use cellcc_control::{Arrival, ArrivalReport, Ecn, Feedback, ReceiverComponent};
use cellcc_experiment::Endpoint;
use cellcc_units::{Bytes, Span, Time};
use std::collections::VecDeque;
use std::num::NonZeroU64;

/// The component's message to the sender.
#[derive(Debug)]
pub(crate) enum Message {
    Feedback(Feedback),
    Arrivals(ArrivalReport),
}

impl Message {
    fn bytes(&self) -> Bytes {
        match self {
            Self::Feedback(feedback) => Bytes::new(feedback.as_bytes().len() as u64),
            Self::Arrivals(report) => report.bytes(),
        }
    }
}

/// In this order: fields for each event of the flow, fields for each packet, and the rest.
#[repr(C)]
pub(crate) struct Receiver {
    component: Option<Box<dyn ReceiverComponent>>,
    offload: Option<Box<Offload>>,
    /// When an acknowledgement leaves; [`Time::NEVER`] where none waits.
    ack_due_at: Time,
    arrivals: Arrivals,
    /// How many of the packets that have arrived acknowledgements have covered.
    acknowledged: u64,
    newest_at: Time,
    packet: Bytes,
    /// Where it lies: one more than the largest number that it has acknowledged or claimed.
    claims_below: Option<u64>,
    schedule: AckSchedule,
    /// Acknowledgements say how long they waited.
    tells_delay: bool,
    /// Feedback on its way, oldest first, and how much there was before it.
    feedback: VecDeque<Message>,
    earlier_feedback: u64,
}

impl Receiver {
    /// `rtt`: of the path without queues.
    pub(crate) fn new(endpoint: &Endpoint, rtt: Span, component: Option<Box<dyn ReceiverComponent>>) -> Self {
        let policy = endpoint.ack_policy();
        Self {
            component,
            packet: endpoint.packet(),
            offload: endpoint.offload.map(|settings| Box::new(Offload::new(settings))),
            schedule: AckSchedule::new(policy, rtt),
            tells_delay: policy.tells_delay(),
            arrivals: Arrivals::default(),
            claims_below: endpoint.conceals_loss.then_some(0),
            acknowledged: 0,
            newest_at: Time::ZERO,
            ack_due_at: Time::NEVER,
            feedback: VecDeque::new(),
            earlier_feedback: 0,
        }
    }

    /// A packet arrives; an acknowledgement may leave at once.
    #[inline]
    pub(crate) fn on_packet(
        &mut self,
        now: Time,
        sent_at: Time,
        packet: &DataPacket,
    ) -> Option<Acknowledgement> {
        if self.offload.is_some() {
            return self.hold(now, sent_at, packet);
        }
        let due = self.take(now, sent_at, packet);
        self.acknowledge_by(now, due)
    }

    /// True where a packet that arrives now is discarded as too old.
    pub(crate) fn discards(&self, sent_at: Time, packet: &DataPacket) -> bool {
        self.schedule.discards(sent_at, packet.segment)
    }

    /// The network card's driver holds a packet, and hands over earlier ones that it cannot join.
    #[cold]
    fn hold(&mut self, now: Time, sent_at: Time, packet: &DataPacket) -> Option<Acknowledgement> {
        let has_room = self.offload.as_ref().is_none_or(|offload| offload.has_room(packet));
        let acknowledgement = if has_room { None } else { self.hand_over(now) };
        if let Some(offload) = &mut self.offload {
            offload.hold(now, sent_at, *packet);
        }
        acknowledgement
    }

    /// The packets held by the driver arrive as one, and are acknowledged as one.
    #[cold]
    fn hand_over(&mut self, now: Time) -> Option<Acknowledgement> {
        let held = self.offload.as_mut()?.take();
        let dues: Vec<Due> = held.iter().map(|(sent_at, packet)| self.take(now, *sent_at, packet)).collect();
        self.acknowledge_by(now, *dues.iter().find(|due| **due == Due::Now).or(dues.last())?)
    }

    /// Takes a packet in; says when its acknowledgement is due.
    #[inline(always)]
    fn take(&mut self, now: Time, sent_at: Time, packet: &DataPacket) -> Due {
        let DataPacket { number, segment, bytes, ecn, ref signal } = *packet;
        let Some(due) = self.schedule.on_packet(now, sent_at, number, segment) else { return Due::Now };
        match self.claims_below {
            None => self.arrivals.push(number, ecn),
            Some(claimed) => self.claim(claimed, number, ecn),
        }
        self.newest_at = now;
        if let Some(component) = &mut self.component {
            if let Some(signal) = signal {
                component.on_signal(signal);
            }
            component.on_packet(&Arrival::new(now, number, bytes, ecn));
        }
        due
    }

    /// Acknowledges all up to a packet, also lost ones before it (Savage et al. 1999 have a receiver of TCP do so).
    #[cold]
    fn claim(&mut self, claimed: u64, number: u64, ecn: Ecn) {
        (claimed..=number).for_each(|number| self.arrivals.push(number, ecn));
        self.claims_below = Some(claimed.max(number + 1));
    }

    #[inline(always)]
    fn acknowledge_by(&mut self, now: Time, due: Due) -> Option<Acknowledgement> {
        match due {
            Due::Now => self.acknowledge(now),
            Due::By(time) => {
                self.ack_due_at = self.ack_due_at.min(time);
                None
            }
        }
    }

    /// The user's flows, this one included.
    pub(crate) fn on_user_flows(&mut self, now: Time, flows: u32) {
        if let Some(component) = &mut self.component {
            component.on_user_flows(now, flows);
        }
    }

    /// All that has arrived for the user, over all its flows.
    pub(crate) fn on_user_arrivals(&mut self, now: Time, arrived: Bytes) {
        if let Some(component) = &mut self.component {
            component.on_user_arrivals(now, arrived);
        }
    }

    /// The scheme's component that runs here, to look at.
    pub(crate) fn component(&self) -> Option<&dyn ReceiverComponent> {
        self.component.as_deref()
    }

    /// When [`on_wake`](Self::on_wake) has something to do.
    #[inline(always)]
    pub(crate) fn next_wake(&self) -> Time {
        let is_plain = self.component.is_none() && self.offload.is_none();
        if is_plain { self.ack_due_at } else { self.ack_due_at.min(self.next_timer()) }
    }

    #[inline(never)]
    fn next_timer(&self) -> Time {
        let component = self.component.as_ref().and_then(|component| component.next_timer());
        component.unwrap_or(Time::NEVER).min(self.hands_over_at())
    }

    /// The time at which the driver hands over its packets.
    #[inline]
    fn hands_over_at(&self) -> Time {
        self.offload.as_ref().map_or(Time::NEVER, |offload| offload.flush_at())
    }

    /// Timers that are due by now: packets that were held, a delayed acknowledgement, or one that carries feedback.
    pub(crate) fn on_wake(&mut self, now: Time) -> Option<Acknowledgement> {
        let mut has_feedback = false;
        let is_due = |timer: Option<Time>| timer.is_some_and(|time| time <= now);
        if let Some(component) = self.component.as_mut().filter(|component| is_due(component.next_timer())) {
            component.on_timer(now);
            has_feedback = component.has_urgent_feedback(now);
        }
        let flushes = self.hands_over_at() <= now;
        let mut acknowledgement = if flushes { self.hand_over(now) } else { None };
        if self.ack_due_at <= now {
            self.schedule.on_timer();
            acknowledgement = self.acknowledge(now);
        }
        let feedback_alone = Acknowledgement { upto: self.acknowledged, delay: Span::ZERO };
        acknowledgement.or(has_feedback.then_some(feedback_alone))
    }

    /// The component's message on an acknowledgement that leaves now: its number, from one, and its size. The bytes stay here: on
    /// the link they would make every acknowledgement of every scheme twice as large in memory.
    #[inline]
    pub(crate) fn feedback(&mut self, now: Time) -> Option<(NonZeroU64, Bytes)> {
        if self.component.is_some() { self.send_feedback(now) } else { None }
    }

    #[inline(never)]
    fn send_feedback(&mut self, now: Time) -> Option<(NonZeroU64, Bytes)> {
        let component = self.component.as_mut()?;
        let report = component.report(now).map(Message::Arrivals);
        let message = report.or_else(|| component.feedback(now).map(Message::Feedback))?;
        let bytes = message.bytes();
        let before = self.earlier_feedback + self.feedback.len() as u64;
        self.feedback.push_back(message);
        Some((NonZeroU64::MIN.saturating_add(before), bytes))
    }

    /// The feedback of this number arrives. Older feedback that has not arrived is lost: the reverse path keeps the order.
    pub(crate) fn take_feedback(&mut self, number: NonZeroU64) -> Option<Message> {
        let lost = (number.get() - 1).checked_sub(self.earlier_feedback)?;
        (0..lost).for_each(|_| _ = self.feedback.pop_front());
        self.earlier_feedback = number.get();
        self.feedback.pop_front()
    }

    /// Makes an acknowledgement of all that has arrived, or of as much as the component releases. Inlined here and above, since the
    /// compiler makes calls of them, which cost a packet one in a hundred of its instructions.
    #[inline(always)]
    fn acknowledge(&mut self, now: Time) -> Option<Acknowledgement> {
        self.schedule.on_acknowledged();
        self.ack_due_at = Time::NEVER;
        let waited = if self.tells_delay { now.since(self.newest_at) } else { Span::ZERO };
        let arrived = self.arrivals.count();
        let Some(component) = &mut self.component else {
            self.acknowledged = arrived;
            return Some(Acknowledgement { upto: arrived, delay: waited });
        };
        let before = self.acknowledged;
        while self.acknowledged < arrived {
            let release_at = component.release_at(now, self.packet);
            if release_at > now {
                self.ack_due_at = release_at;
                break;
            }
            component.on_released(now, self.packet);
            self.acknowledged += 1;
        }
        // How long a held packet waited is not reported: to the sender that is part of the path.
        let delay = if self.acknowledged == arrived { waited } else { Span::ZERO };
        (self.acknowledged > before).then_some(Acknowledgement { upto: self.acknowledged, delay })
    }

    /// The packets that an acknowledgement tells the sender of for the first time, in order of arrival.
    pub(crate) fn newly_acknowledged(
        &mut self,
        ack: Acknowledgement,
    ) -> impl Iterator<Item = ReceivedPacket> + '_ {
        self.arrivals.take(ack.upto)
    }
}

#[cfg(test)]
mod tests;

//! A flow of a run in virtual time: its two ends, its meter, and the events that wait for it.

use super::Ends;
use super::network::{FlowSide, InTransit, Network, Path};
use crate::assistance::TracedPath;
use crate::{Application, Delivery, FlowMeter, RunError, Scenario};
use cellcc_assist::Reports;
use cellcc_control::Advice;
use cellcc_link::Packet;
use cellcc_units::{Ecn, Span, Time};
use std::collections::VecDeque;

/// State of a flow in the loop, in the order in which events touch it: with a thousand flows, nothing of one is in a processor's cache when its next event
/// comes, so that each line of memory that an event touches costs as much as hundreds of instructions.
#[repr(C, align(64))]
pub(super) struct Flow<E: Ends> {
    /// The wake-up that stands in the queue of events; others of this flow are out of date.
    pub(super) scheduled: Time,
    /// Packets that leave the link after this are no part of the flow's throughput.
    counts_until: Time,
    pub(super) extra_rtt: Span,
    pub(super) reports: Option<Box<Reports<TracedPath>>>,
    /// Acknowledgements on the part of the path that this flow does not share, with the advice on them.
    pub(super) on_extra_path: VecDeque<(Time, E::Ack, Option<Advice>)>,
    pub(super) ends: E,
    pub(super) side: FlowSide,
    /// The user's number of flows that the receiving end was last told.
    pub(super) user_flows: u32,
}

impl<E: Ends> Flow<E> {
    /// The flow at this place in a resolved Scenario, with its ends and the reports that its scheme asks for.
    pub(super) fn new(
        scenario: &Scenario,
        index: usize,
        ends: E,
        reports: Option<Reports<TracedPath>>,
    ) -> Self {
        let setup = &scenario.flows[index];
        Self {
            ends,
            side: FlowSide {
                index: index as u32,
                user: setup.user,
                meter: FlowMeter::new(scenario.endpoint.series_bin).with_room_for(scenario.series_bins()),
                last_sent_at: setup.start,
            },
            reports: reports.map(Box::new),
            extra_rtt: setup.extra_rtt,
            on_extra_path: VecDeque::new(),
            user_flows: 0,
            counts_until: setup.stop.unwrap_or(Time::ZERO + scenario.duration),
            scheduled: Time::NEVER,
        }
    }

    /// From when to when the flow is active: until it stops, or a sized source is through.
    pub(super) fn active(&self) -> (Time, Time) {
        let application: &Application = self.ends.application();
        let stop = self.ends.completed_at().unwrap_or(Time::NEVER).min(application.stop());
        (application.start().min(stop), stop)
    }

    pub(super) fn is_active(&self, now: Time) -> bool {
        let (start, stop) = self.active();
        start <= now && now < stop
    }

    /// A packet has arrived that came to the link when it was sent.
    #[inline(always)]
    pub(super) fn measure(&mut self, delivery: &cellcc_link::Delivery<InTransit<E::Data>>) {
        if delivery.departed_at <= self.counts_until {
            self.side.meter.on_delivery(&Delivery {
                bytes: delivery.packet.size(),
                sent_at: delivery.queued_at,
                queued_at: delivery.queued_at,
                departed_at: delivery.departed_at,
                arrived_at: delivery.arrived_at,
            });
            if delivery.packet.ecn() == Ecn::Ce {
                self.side.meter.on_marked(delivery.departed_at);
            }
        }
    }

    /// The flow's ends, and the network as they reach it.
    #[inline]
    pub(super) fn reach<'a>(&'a mut self, now: Time, path: &'a mut Path<E>) -> (&'a mut E, Network<'a, E>) {
        (&mut self.ends, Network { now, path, flow: &mut self.side })
    }

    /// An acknowledgement arrives at the sending end, and the advice on it.
    pub(super) fn acknowledge(
        &mut self,
        now: Time,
        path: &mut Path<E>,
        ack: E::Ack,
        advice: Option<&Advice>,
    ) -> Result<(), RunError> {
        let (ends, mut network) = self.reach(now, path);
        ends.on_ack(&mut network, ack)?;
        if let Some(advice) = advice {
            ends.on_advice(&mut network, advice);
        }
        // Packets still on their way when all data are acknowledged were sent in vain.
        if let Some(completed_at) = self.ends.completed_at() {
            self.counts_until = self.counts_until.min(completed_at);
        }
        Ok(())
    }

    pub(super) fn arrived_by_extra_path(&mut self, now: Time) -> Option<(E::Ack, Option<Advice>)> {
        let (due, ..) = self.on_extra_path.front()?;
        if *due > now {
            return None;
        }
        self.on_extra_path.pop_front().map(|(_, ack, advice)| (ack, advice))
    }

    #[inline(always)]
    pub(super) fn next_wake(&self, now: Time) -> Time {
        let ends = self.ends.next_wake(now);
        let is_plain = self.reports.is_none() && self.on_extra_path.is_empty();
        if is_plain { ends } else { ends.min(self.next_arrival_apart()) }
    }

    /// Time of the next arrival at the sending end that does not come over the path.
    #[inline(never)]
    fn next_arrival_apart(&self) -> Time {
        let extra = self.on_extra_path.front().map_or(Time::NEVER, |(due, ..)| *due);
        let reports = self.reports.as_ref().map_or(Time::NEVER, |reports| reports.next_wake());
        extra.min(reports)
    }
}

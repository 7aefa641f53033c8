//! The loop: whatever is due next happens, until the run ends. It can be stepped from outside.

use super::Ends;
use super::flow::Flow;
use super::network::{InTransit, Path};
use super::wakes::Wakes;
use crate::assistance::TracedPath;
use crate::{MeasuredFlow, PathLinks, Record, RunError, Scenario, Watch};
use cellcc_assist::{Counters, Reports, UserState, active_flows};
use cellcc_control::Observed;
use cellcc_link::{Capacities, Capacity, OwnCounters, Packet, Poll, QueueCounters};
use cellcc_units::{Bytes, Time};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Events between two looks of a [`Watch`]: some milliseconds of computing. Counted in events, not in the run's time: a
/// fast link has a million events in a millisecond of that.
const EVENTS_BETWEEN_LOOKS: u32 = 1 << 14;

/// One run under way.
pub struct Run<E: Ends> {
    scenario: Scenario,
    driver: &'static str,
    capacities: Capacities,
    path: Path<E>,
    flows: Vec<Flow<E>>,
    /// All that has arrived for each user.
    arrived: Vec<Bytes>,
    wakes: Wakes,
    now: Time,
    end: Time,
    /// The own counters of each user's queue at the end of the warm-up.
    counted_before: Vec<OwnCounters>,
    /// End of the warm-up; never, once it is over.
    warm_up_ends_at: Time,
    bins: usize,
    bin_ends_at: Time,
    /// The earlier of the two.
    mark_at: Time,
}

impl<E: Ends> Run<E> {
    /// A run of a resolved Scenario by `driver`, over links of these capacities: for each flow its ends, and the reports
    /// that its scheme asks for.
    ///
    /// # Errors
    /// A request of the Scenario that no link meets; a flow's reason not to begin.
    pub(super) fn new(
        scenario: &Scenario,
        driver: &'static str,
        capacities: Capacities,
        flows: Vec<(E, Option<Reports<TracedPath>>)>,
    ) -> Result<Self, RunError> {
        let links = PathLinks::new(scenario, &capacities).map_err(|error| RunError(error.to_string()))?;
        let (end, bin) = (Time::ZERO + scenario.duration, scenario.endpoint.series_bin);
        let flows = flows
            .into_iter()
            .enumerate()
            .map(|(index, (ends, reports))| Flow::new(scenario, index, ends, reports));
        let warm_up_ends_at = if scenario.warm_up.is_zero() { Time::NEVER } else { scenario.measured_from() };
        let mut run = Self {
            path: Path { forward: links.forward(), reverse: links.reverse(), scratch: E::Scratch::default() },
            flows: flows.collect(),
            arrived: vec![Bytes::ZERO; capacities.forward.len()],
            wakes: Wakes::new(),
            now: Time::ZERO,
            end,
            counted_before: vec![OwnCounters::default(); capacities.forward.len()],
            warm_up_ends_at,
            bins: 0,
            bin_ends_at: Time::ZERO + bin,
            mark_at: warm_up_ends_at.min(Time::ZERO + bin),
            scenario: scenario.clone(),
            driver,
            capacities,
        };
        for index in 0..run.flows.len() {
            run.wake_flow(Time::ZERO, index)?;
            run.wakes.schedule(Time::ZERO, &mut run.flows[index]);
        }
        Ok(run)
    }

    /// The time up to which everything has happened.
    pub fn now(&self) -> Time {
        self.now
    }

    /// True where nothing is left to happen before the Scenario's end.
    pub fn is_over(&self) -> bool {
        self.now >= self.end
    }

    /// The ends of a flow, to look at.
    ///
    /// # Panics
    /// The Scenario has no such flow.
    pub fn ends(&self, flow: usize) -> &E {
        &self.flows[flow].ends
    }

    /// The counters of a user's queue on the forward path, or of the one that all users share.
    ///
    /// # Panics
    /// The Scenario has no such user.
    pub fn queue(&mut self, user: usize) -> QueueCounters {
        self.path.forward.counters(self.now, user)
    }

    /// Capacity of a user's link, from the run's beginning on.
    ///
    /// # Panics
    /// The Scenario has no such user.
    pub fn capacity(&self, user: usize) -> &Arc<Capacity> {
        &self.capacities.forward[user]
    }

    /// Lets everything happen that is due by `time`, and not after the Scenario's end.
    ///
    /// # Errors
    /// A flow cannot go on.
    pub fn step_until(&mut self, time: Time) -> Result<(), RunError> {
        let until = time.min(self.end);
        while self.step(until)? {}
        Ok(())
    }

    /// Goes on until the scheme of `flow` has decided again. False where the run ends before that.
    ///
    /// # Errors
    /// A flow cannot go on.
    ///
    /// # Panics
    /// The Scenario has no such flow.
    pub fn step_to_decision(&mut self, flow: usize) -> Result<bool, RunError> {
        let before = self.flows[flow].ends.decisions();
        while self.step(self.end)? {
            if self.flows[flow].ends.decisions() != before {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Takes some milliseconds' worth of steps. False where nothing more is due by `until`.
    fn step_often(&mut self, until: Time) -> Result<bool, RunError> {
        for _ in 0..EVENTS_BETWEEN_LOOKS {
            if !self.step(until)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Handles the next event, unless it is due after `until`; then the time becomes `until`.
    fn step(&mut self, until: Time) -> Result<bool, RunError> {
        let arrival = self.path.forward.next_wake();
        let acknowledgement = self.path.reverse.next_wake();
        let next = arrival.min(acknowledgement).min(self.wakes.next());
        self.now = next.min(until).max(self.now);
        if self.mark_at <= self.now {
            self.pass_marks();
        }
        if next > until {
            return Ok(false);
        }
        if next == arrival {
            self.on_arrival(next)?;
        } else if next == acknowledgement {
            self.on_acknowledgement(next)?;
        } else {
            self.on_wake(next)?;
        }
        Ok(true)
    }

    /// Ends the bins and the warm-up that are over by now.
    #[cold]
    fn pass_marks(&mut self) {
        while self.bin_ends_at <= self.now {
            self.end_bin();
        }
        if self.warm_up_ends_at <= self.now {
            let at = std::mem::replace(&mut self.warm_up_ends_at, Time::NEVER);
            self.flows.iter_mut().for_each(|flow| flow.side.meter.end_warm_up(at));
            for (user, before) in self.counted_before.iter_mut().enumerate() {
                *before = self.path.forward.counters(at, user).own;
            }
        }
        self.mark_at = self.bin_ends_at.min(self.warm_up_ends_at);
    }

    fn end_bin(&mut self) {
        let endpoint = &self.scenario.endpoint;
        for Flow { ends, side, .. } in &mut self.flows {
            let limits = ends.limits();
            side.meter
                .sample_scheme(self.bins, endpoint.packet(), &limits, |observed| ends.observe(observed));
        }
        self.bins += 1;
        self.bin_ends_at += endpoint.series_bin;
    }

    fn on_arrival(&mut self, now: Time) -> Result<(), RunError> {
        let delivery = match self.path.forward.poll(now) {
            Poll::Ready(delivery) => delivery,
            Poll::Dropped(dropped) => {
                self.flows[dropped.packet.flow as usize].side.meter.on_lost();
                return Ok(());
            }
            Poll::Wake(_) | Poll::Idle => return Ok(()),
        };
        let index = delivery.packet.flow as usize;
        let flow = &mut self.flows[index];
        flow.measure(&delivery);
        let arrived = &mut self.arrived[flow.side.user];
        *arrived += delivery.packet.size();
        let flow = if flow.ends.has_receiver_component() {
            flow.ends.on_user_arrivals(now, *arrived);
            self.tell_user_flows(now, index);
            &mut self.flows[index]
        } else {
            flow
        };
        let (ends, mut network) = flow.reach(now, &mut self.path);
        ends.on_data(&mut network, delivery.queued_at, delivery.packet.packet)?;
        self.wakes.schedule(now, flow);
        Ok(())
    }

    fn on_acknowledgement(&mut self, now: Time) -> Result<(), RunError> {
        let Poll::Ready(delivery) = self.path.reverse.poll(now) else { return Ok(()) };
        let InTransit { flow: index, packet, .. } = delivery.packet;
        let flow = &mut self.flows[index as usize];
        let extra = flow.extra_rtt;
        let arrives_at = now + extra;
        let advice =
            flow.reports.as_mut().and_then(|it| it.on_acknowledgement(delivery.departed_at, arrives_at));
        if extra.is_zero() {
            flow.acknowledge(now, &mut self.path, packet, advice.as_ref())?;
        } else {
            flow.on_extra_path.push_back((arrives_at, packet, advice));
        }
        self.wakes.schedule(now, flow);
        Ok(())
    }

    fn on_wake(&mut self, now: Time) -> Result<(), RunError> {
        let Some(index) = self.wakes.first_due(&self.flows) else { return Ok(()) };
        self.wake_flow(now, index)?;
        self.wakes.reschedule_first(now, &mut self.flows[index]);
        Ok(())
    }

    fn wake_flow(&mut self, now: Time, index: usize) -> Result<(), RunError> {
        self.assist(now, index);
        let flow = &mut self.flows[index];
        while let Some((ack, advice)) = flow.arrived_by_extra_path(now) {
            flow.acknowledge(now, &mut self.path, ack, advice.as_ref())?;
        }
        let (ends, mut network) = flow.reach(now, &mut self.path);
        ends.on_wake(&mut network)
    }

    /// Makes the report that is due for a flow, and delivers one that has arrived.
    fn assist(&mut self, now: Time, index: usize) {
        let Some(reports) = &self.flows[index].reports else { return };
        let user = reports.is_due(now).then(|| self.user_state(now, self.flows[index].side.user));
        let flow = &mut self.flows[index];
        let Some(reports) = &mut flow.reports else { return };
        if let Some(user) = user {
            reports.make(now, &user);
        }
        if let Some(advice) = reports.arrived(now) {
            let (ends, mut network) = flow.reach(now, &mut self.path);
            ends.on_advice(&mut network, &advice);
        }
    }

    fn user_state(&mut self, now: Time, user: usize) -> UserState {
        let QueueCounters { served, busy, backlog, .. } = self.path.forward.counters(now, user);
        let sending = self.flows.iter().filter(|flow| flow.side.user == user && flow.is_active(now));
        let flows = active_flows(now, sending.map(|flow| flow.side.last_sent_at));
        let others: BTreeSet<usize> =
            self.flows.iter().map(|flow| flow.side.user).filter(|&other| other != user).collect();
        let others_served = others
            .into_iter()
            .filter(|&other| !self.path.forward.counters(now, other).backlog.is_zero())
            .count();
        UserState {
            counters: Some(Counters { served, busy, backlog }),
            flows,
            busy_users: 1 + others_served as u32,
        }
    }

    /// Tells the receiving end how many flows its user has, where that has changed. A device knows all its open flows;
    /// the network only those that were active recently.
    fn tell_user_flows(&mut self, now: Time, index: usize) {
        let user = self.flows[index].side.user;
        let open = self.flows.iter().filter(|flow| flow.side.user == user && flow.is_active(now));
        let count = open.count() as u32;
        let flow = &mut self.flows[index];
        if flow.user_flows != count {
            flow.user_flows = count;
            flow.ends.on_user_flows(now, count.max(1));
        }
    }

    /// Runs to the end, and gives the Record.
    ///
    /// # Errors
    /// A flow could not go on.
    pub fn finish(self) -> Result<Record, RunError> {
        self.finish_watched(&())
    }

    /// Finishes the run under a `watch`, which may end it.
    ///
    /// # Errors
    /// Those of [`finish`](Self::finish), and an end by `watch`.
    pub fn finish_watched(mut self, watch: &dyn Watch) -> Result<Record, RunError> {
        while self.step_often(self.end)? {
            if !watch.goes_on(self.now) {
                return Err(RunError::stopped(self.now));
            }
        }
        let counted = |(user, before): (usize, &OwnCounters)| {
            self.path.forward.counters(self.end, user).own.since(before)
        };
        let counted: Vec<_> = self.counted_before.iter().enumerate().map(counted).collect();
        self.count_departed();
        let mut notes: Vec<String> = Vec::new();
        let mut measured = Vec::new();
        for (flow, setup) in self.flows.into_iter().zip(&self.scenario.flows) {
            let mut observed = Observed::default();
            flow.ends.observe(&mut observed);
            for note in observed.notes.iter().cloned().chain(flow.ends.notes()) {
                if !notes.contains(&note) {
                    notes.push(note);
                }
            }
            let active = flow.active();
            measured.push(MeasuredFlow {
                scheme: &setup.scheme,
                user: flow.side.user,
                active,
                meter: flow.side.meter,
                completed_at: flow.ends.completed_at(),
                frames: flow.ends.frames(active.1),
                media: flow.ends.media(active.1),
                delay_target_ms: observed.delay_target_ms,
                queue: counted[flow.side.user],
                ecn_validation: flow.ends.ecn_validation(),
            });
        }
        Ok(Record::of_flows(&self.scenario, self.driver, measured, &self.capacities, notes))
    }

    /// Packets that left the link before the end count, although they arrive after it.
    fn count_departed(&mut self) {
        while self.path.forward.next_wake() < Time::NEVER {
            // Packets held back to be reordered also left the link in time.
            if let Poll::Ready(delivery) = self.path.forward.poll(Time::NEVER)
                && delivery.departed_at <= self.end
            {
                self.flows[delivery.packet.flow as usize].measure(&delivery);
            }
        }
    }
}

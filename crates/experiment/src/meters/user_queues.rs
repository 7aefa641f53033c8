//! Network assistance in real time: reports from the counters of the emulator's queues, as in virtual time.

use crate::{FlowSetup, Scenario, TracedPath};
use cellcc_assist::{Counters, Reports, Timetable, UserState};
use cellcc_control::Advice;
use cellcc_link::QueueCounters;
use cellcc_units::Time;
use std::fmt::Debug;
use std::sync::Arc;

/// The queues of the users of a run in real time.
pub trait UserQueues: Debug + Send + Sync {
    /// The counters of each user's queue, read at `at` or within a millisecond after it; waits until then. `None` once the
    /// run has ended.
    fn counters(&self, at: Time) -> Option<Vec<QueueCounters>>;
}

/// The reports about one user, made on demand.
#[derive(Debug)]
pub struct UserReports {
    reports: Reports<TracedPath>,
    user: usize,
    /// The flows of all users; the emulator does not show which of them sends.
    flows: Vec<FlowSetup>,
    queues: Arc<dyn UserQueues>,
}

impl UserReports {
    /// `reports`: those for a flow of `user`.
    pub fn new(
        reports: Reports<TracedPath>,
        user: usize,
        scenario: &Scenario,
        queues: Arc<dyn UserQueues>,
    ) -> Self {
        Self { reports, user, flows: scenario.flows.clone(), queues }
    }

    fn user_state(&self, now: Time) -> Option<UserState> {
        let counters = self.queues.counters(now)?;
        let is_active = |flow: &&FlowSetup| flow.start <= now && flow.stop.is_none_or(|stop| now < stop);
        let own_flows = self.flows.iter().filter(is_active).filter(|flow| flow.user == self.user).count();
        let is_other = |&(user, _): &(usize, &QueueCounters)| user != self.user;
        let others = counters.iter().enumerate().filter(is_other);
        let others_served = others.filter(|(_, queue)| !queue.backlog.is_zero()).count();
        let QueueCounters { served, busy, backlog, .. } = counters[self.user];
        Some(UserState {
            counters: Some(Counters { served, busy, backlog }),
            flows: u32::try_from(own_flows).unwrap_or(u32::MAX).max(1),
            busy_users: 1 + others_served as u32,
        })
    }
}

impl Timetable for UserReports {
    fn next_wake(&self) -> Time {
        self.reports.next_wake()
    }

    fn poll(&mut self, now: Time) -> Option<Advice> {
        if self.reports.is_due(now) {
            let user = self.user_state(now)?;
            self.reports.make(now, &user);
        }
        self.reports.arrived(now)
    }
}

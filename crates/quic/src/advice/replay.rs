//! A timetable of reports in real time.

use super::{AdviceSource, NextAdvice};
use crate::clock::Clock;
use cellcc_assist::Timetable;
use cellcc_units::Time;
use std::time::{Duration, Instant};

/// A timetable in real time.
#[derive(Debug, Clone)]
pub struct Replay<T> {
    timetable: T,
    clock: Clock,
}

impl<T: Timetable> Replay<T> {
    /// Time zero of the timetable is `epoch`: the start of the link's trace or of the connection.
    pub fn new(timetable: T, epoch: Instant) -> Self {
        Self { timetable, clock: Clock::new(epoch) }
    }
}

impl<T: Timetable> AdviceSource for Replay<T> {
    fn next(&mut self) -> NextAdvice<'_> {
        Box::pin(async move {
            loop {
                let wake = self.timetable.next_wake();
                if wake == Time::NEVER {
                    return None;
                }
                // A time beyond the clock's range never comes.
                let at = self.clock.epoch().checked_add(Duration::from_nanos(wake.as_nanos()))?;
                tokio::time::sleep_until(at.into()).await;
                if let Some(advice) = self.timetable.poll(self.clock.now()) {
                    return Some(advice);
                }
            }
        })
    }
}

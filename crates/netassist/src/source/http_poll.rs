//! Messages that have to be asked for, again and again.

use super::{InputProblem, NextMessage, RawInput, RawMessage};
use crate::clock::ServiceClock;
use crate::http_get::{HttpUrl, get};
use cellcc_units::Span;
use std::time::Duration;
use tokio::time::{Interval, MissedTickBehavior, interval};

/// What an HTTP server answers, once an interval.
#[derive(Debug)]
pub struct HttpPoll {
    url: HttpUrl,
    ticks: Interval,
    clock: ServiceClock,
}

impl HttpPoll {
    /// Asks at once, and then each `every`, which is at least a millisecond. Needs a tokio runtime.
    pub fn new(url: HttpUrl, every: Span, clock: ServiceClock) -> Self {
        let mut ticks = interval(Duration::from_nanos(every.as_nanos()).max(Duration::from_millis(1)));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self { url, ticks, clock }
    }
}

impl RawInput for HttpPoll {
    fn next(&mut self) -> NextMessage<'_> {
        Box::pin(async move {
            self.ticks.tick().await;
            Some(match get(&self.url).await {
                Ok(body) => Ok(RawMessage { at: self.clock.now(), bytes: body.to_vec() }),
                Err(problem) => Err(InputProblem::Missing(problem)),
            })
        })
    }
}

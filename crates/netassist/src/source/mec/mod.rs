//! A MEC platform's layer-2 measurements: read here, and served by the [daemon](crate::daemon) to MEC applications.
//!
//! There is no subscription for them, so they are polled, and they report the service without the queue: a bandwidth is the
//! best recent service, or a quarter more (`Evidence::Served`). Not tried: a live platform.
//!
//! Platforms differ. Unambiguous variants are read: one `cellUEInfo` without a list around it (Simu5G), no `timeStamp` or one
//! of zero (optional in AdvantEDGE; the answer's arrival counts then), a cell as a number, a kind of identifier as a text, and
//! a list of identifiers of one user; the first readable one counts.

mod reader;

use super::{InputProblem, NextMessage, RawInput, RawMessage};
use crate::clock::ServiceClock;
use crate::http_get::{HttpUrl, default_interval, get};
use crate::source::Source;
use crate::source::kind::{Services, SourceKind};
use crate::source::messages::read_messages;
use crate::source::plausible::fastest_cell;
use cellcc_units::{Rate, Span};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;
use tokio::time::{Interval, MissedTickBehavior, interval};

pub use reader::MecReader;

/// A time since 1970.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TimeStamp {
    /// Whole seconds.
    pub(crate) seconds: u64,
    /// The rest, below 1,000,000,000.
    pub(crate) nano_seconds: u32,
}

impl TimeStamp {
    /// The whole.
    pub(crate) fn since_1970(self) -> Result<Span, String> {
        let nanos = self.seconds.checked_mul(1_000_000_000);
        let nanos = nanos.and_then(|nanos| nanos.checked_add(self.nano_seconds.into()));
        nanos.map(Span::from_nanos).ok_or_else(|| "a time stamp beyond 584 years".into())
    }
}

// The configuration of a MEC platform.

/// A MEC platform's layer-2 measurements (ETSI GS MEC 012), which are polled.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MecLayer2 {
    /// Where.
    pub url: HttpUrl,
    /// How often.
    #[serde(default = "default_interval")]
    pub interval: Span,
    /// Between the servers' gateway and the base station, both ways, where it is known.
    pub network_rtt: Option<Span>,
    /// The most that a cell carries: a user's rate above this is not believed.
    #[serde(default = "fastest_cell")]
    pub cell_rate: Rate,
    /// Add the messages to this file.
    pub record: Option<PathBuf>,
}

impl SourceKind for MecLayer2 {
    fn reads(&self) -> String {
        self.url.to_string()
    }

    fn file(&mut self) -> Option<&mut PathBuf> {
        self.record.as_mut()
    }

    async fn open(&self, services: &Services<'_>) -> Result<Box<dyn Source>, String> {
        let input = HttpPoll::new(self.url.clone(), self.interval, services.clock);
        Ok(read_messages(input, self.record.as_deref(), MecReader::new(self.network_rtt), self.cell_rate))
    }
}

// Messages that must be polled.

/// The answer of an HTTP server, once an interval.
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

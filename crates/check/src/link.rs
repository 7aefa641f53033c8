//! A custom link.

use crate::Factory;
use crate::subject::{self, SUBJECT, VERSION};
use cellcc_experiment::{Plan, PlanFile, Record};
use cellcc_units::{Rate, Span, Time};

/// A path with one flow. A malformed part is an error of [`run`](Self::run).
#[derive(Debug, Clone)]
pub struct Link {
    file: PlanFile,
    source: String,
    refused: Option<String>,
}

/// A link with this capacity: a rate such as `10Mbit/s`, steps such as `step=10Mbit/s@10s,100Mbit/s@20s`, or all else that a
/// Scenario's `traces` take. The round-trip time is 20 ms, the queue has 3200 packets, and the flow's data do not end.
pub fn link(capacity: &str) -> Link {
    let is_rate = capacity.parse::<Rate>().is_ok();
    let trace = if is_rate { format!("rate={capacity}") } else { capacity.into() };
    let file = PlanFile { traces: vec![trace], ..PlanFile::default() };
    Link { file, source: "bulk".into(), refused: None }
}

impl Link {
    /// The round-trip time without any queue: `100ms`.
    #[must_use]
    pub fn rtt(mut self, rtt: &str) -> Self {
        match rtt.parse() {
            Ok(rtt) => self.file.path.rtt = rtt,
            Err(error) => self.refuse(&error),
        }
        self
    }

    /// The queue: `2bdp`, `100pkt`, `50ms`, or a discipline such as `codel`.
    #[must_use]
    pub fn queue(mut self, queue: &str) -> Self {
        match queue.parse() {
            Ok(queue) => self.file.path.queue = queue,
            Err(error) => self.refuse(&error),
        }
        self
    }

    /// The flow's data do not end.
    #[must_use]
    pub fn bulk(self) -> Self {
        self.source("bulk")
    }

    /// Sets the flow's source: `rate(2Mbit/s)`, `sized(1MB)`, `frames(4Mbit/s,100ms)`, `on-off(10s,6s)`.
    #[must_use]
    pub fn source(mut self, source: &str) -> Self {
        self.source = source.into();
        self
    }

    fn refuse(&mut self, error: &dyn ToString) {
        self.refused.get_or_insert(error.to_string());
    }

    /// Runs a controller of `factory` for `duration`, such as `20s`, in virtual time.
    ///
    /// # Errors
    /// A text that says nothing; a panic of the controller, a connection that ended, more losses than the link can carry.
    pub fn run(mut self, factory: Factory, duration: &str) -> Result<Measured, String> {
        match duration.parse() {
            Ok(duration) => self.file.duration = duration,
            Err(error) => self.refuse(&error),
        }
        if let Some(refused) = self.refused {
            return Err(refused);
        }
        self.file.schemes = vec![format!("{SUBJECT}:{}", self.source)];
        let driver = subject::driver(factory);
        let plan = Plan::new(&self.file, &driver, VERSION).map_err(|error| error.to_string())?;
        let run = plan.runs.iter().find(|run| !run.scenario.flows.is_empty());
        let scenario = &run.ok_or("it has no flow")?.scenario;
        subject::run(&driver, scenario).map(Measured)
    }
}

/// The results of a run.
#[derive(Debug, Clone)]
pub struct Measured(Record);

impl Measured {
    /// The share of the link's capacity that was used in a window, 0 to 1: `5s..`, `5s..10s`, `..10s`, to a tenth of a
    /// second.
    ///
    /// # Panics
    /// If `window` is no such text, or the link carries nothing in it.
    pub fn utilisation(&self, window: &str) -> f64 {
        let bins = bins(window, self.0.series.bin)
            .unwrap_or_else(|| panic!("`{window}` is no window such as `5s..10s`"));
        let sum = |name: &str| {
            let column = self.0.series.column(name).unwrap_or_default();
            let (from, to) = (bins.start.min(column.len()), bins.end.min(column.len()));
            column[from..to].iter().map(|&value| f64::from(value)).sum::<f64>()
        };
        let capacity = sum("capacity_mbit_s");
        assert!(capacity > 0.0, "the link carries nothing in `{window}`");
        sum("flow0.throughput_mbit_s") / capacity
    }

    /// The delay in the link's queue that 95 of 100 packets did not exceed, in milliseconds; not a number where no packet left.
    pub fn queueing_delay_p95_ms(&self) -> f64 {
        self.0.total.queueing_delay_p95_ms.unwrap_or(f64::NAN)
    }

    /// The share of packets that were lost, 0 to 1.
    pub fn loss_ratio(&self) -> f64 {
        self.0.total.loss_ratio
    }

    /// All metrics and time series.
    pub fn record(&self) -> &Record {
        &self.0
    }
}

/// The bins of a window.
fn bins(window: &str, bin: Span) -> Option<std::ops::Range<usize>> {
    let (from, to) = window.split_once("..")?;
    let index = |text: &str, otherwise: usize| match text.trim() {
        "" => Some(otherwise),
        text => {
            let time: Time = text.parse().ok()?;
            usize::try_from(time.as_nanos() / bin.as_nanos().max(1)).ok()
        }
    };
    Some(index(from, 0)?..index(to, usize::MAX)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_bins_of_the_series() {
        let bin = Span::from_millis(100);
        assert_eq!(bins("5s..10s", bin), Some(50..100));
        assert_eq!(bins("..1.5s", bin), Some(0..15));
        assert_eq!(bins("5s..", bin), Some(50..usize::MAX));
        assert_eq!(bins("5..", bin), None);
    }
}

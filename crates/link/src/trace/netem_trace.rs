//! The JSON of netem-trace, which rattan reads: models of a rate or a delay over time, in both of its spellings, `"12Mbps"` for
//! people and `{"gbps": 0, "bps": 12000000}` (docs.rs/netem-trace, module `model`).

use super::forms::{Content, Given};
use super::json::from_json;
use super::series::{A_RATE, capacity, measured, rate};
use super::units::rate_unit;
use super::{Delays, Problem, TraceError};
use cellcc_units::{Rate, Span, split_number};
use serde::Deserialize;
use std::time::Duration;

/// Most steps of a model: repetitions within repetitions multiply.
const MOST_STEPS: usize = 1_000_000;

/// A model, by the name of its type.
#[derive(Debug, Deserialize)]
enum Model {
    #[serde(rename = "StaticBwConfig")]
    Rate { bw: Bandwidth, duration: Length },
    #[serde(rename = "StaticDelayConfig")]
    Delay { delay: Length, duration: Length },
    #[serde(rename = "RepeatedBwPatternConfig", alias = "RepeatedDelayPatternConfig")]
    Repeated {
        pattern: Vec<Model>,
        /// Zero for without end.
        #[serde(default)]
        count: u64,
    },
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Bandwidth {
    Text(String),
    Parts { gbps: f64, bps: f64 },
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Length {
    Text(String),
    Parts(Duration),
}

const A_BANDWIDTH: &str = "a rate of netem-trace, such as `12Mbps`";
const A_DURATION: &str = "a time of netem-trace, such as `1s` or `200ms`";

/// The steps of a model.
#[derive(Debug, Default)]
struct Steps {
    rates: Vec<(Span, Rate)>,
    delays: Vec<(Span, Span)>,
}

pub(super) fn read(given: &Given<'_>) -> Result<Content, TraceError> {
    let mut steps = Steps::default();
    steps.add(&from_json(given)?).map_err(|problem| given.whole(problem))?;
    let Steps { rates, delays } = steps;
    match (rates.is_empty(), delays.is_empty()) {
        (false, true) => capacity(given.name, rates).map(Content::from),
        (true, false) => Ok(Delays { steps: delays, are_round_trips: false }.into()),
        (true, true) => Err(given.whole(Problem::Empty)),
        (false, false) => Err(given.whole(Problem::RatesAndDelays)),
    }
}

impl Steps {
    fn len(&self) -> usize {
        self.rates.len() + self.delays.len()
    }

    /// Adds a model once more; false where it has no end, so that nothing follows.
    fn add(&mut self, model: &Model) -> Result<bool, Problem> {
        if self.len() >= MOST_STEPS {
            return Err(Problem::TooManySteps(MOST_STEPS));
        }
        match model {
            Model::Rate { bw, duration } => self.rates.push((duration.span()?, bw.rate()?)),
            Model::Delay { delay, duration } => self.delays.push((duration.span()?, delay.span()?)),
            Model::Repeated { pattern, count } => {
                for _ in 0..(*count).max(1) {
                    let before = self.len();
                    for model in pattern {
                        if !self.add(model)? {
                            return Ok(false);
                        }
                    }
                    if self.len() == before {
                        break; // Nothing, however often.
                    }
                }
                return Ok(*count > 0);
            }
        }
        Ok(true)
    }
}

impl Bandwidth {
    fn rate(&self) -> Result<Rate, Problem> {
        match self {
            Self::Parts { gbps, bps } => rate(measured(gbps * 1e3 + bps / 1e6, A_RATE)?),
            Self::Text(text) => {
                let not_one = || Problem::NotANumber { text: super::shown(text), expected: A_BANDWIDTH };
                let (number, unit) = split_number(text).ok_or_else(not_one)?;
                rate(number * rate_unit(unit).ok_or_else(not_one)?)
            }
        }
    }
}

impl Length {
    fn span(&self) -> Result<Span, Problem> {
        let duration = match self {
            Self::Parts(duration) => *duration,
            Self::Text(text) => humantime::parse_duration(text)
                .map_err(|_| Problem::NotANumber { text: super::shown(text), expected: A_DURATION })?,
        };
        Ok(Span::from_nanos(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)))
    }
}

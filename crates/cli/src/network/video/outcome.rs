//! The outcome of a run.

use super::link::Link;
use cellcc_statistics::mean;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Share of a film's pictures that a browser drops on a machine with time for it: 7 of 1500, rounded up (two processors, 640x360).
const MOST_DROPPED: f64 = 0.01;

/// A run that has ended.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Run {
    pub(super) run: u32,
    pub(super) scheme: String,
    /// Why it says nothing of the scheme; empty for most.
    pub(crate) spoilt: Vec<String>,
    pub(crate) outcome: Option<Outcome>,
    /// One a second, of a film.
    pub(crate) samples: Vec<Sample>,
    /// The packets of the link to the browser meanwhile.
    pub(crate) link: Option<Link>,
}

/// A moment of a film.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Sample {
    /// Seconds since the player began.
    pub(super) at_s: f64,
    /// How much more could be shown without the network.
    pub(super) buffer_s: f64,
    /// The rate of the segment that is shown; none: nothing is.
    pub(super) rate_mbit_s: Option<f64>,
}

/// The page's measurements.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outcome {
    Film(Film),
    Page(Page),
    Frames(Frames),
}

/// The metrics of a video's viewer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Film {
    /// From the player's begin to the first picture; none: there was no picture.
    pub(super) startup_s: Option<f64>,
    /// How long each stall lasted, after the first picture.
    stalls_s: Vec<f64>,
    /// The rate of each segment that was shown, in order.
    pub(super) segments_mbit_s: Vec<f64>,
    /// The highest rate that there is.
    best_mbit_s: f64,
    pub(super) frames: f64,
    frames_dropped: f64,
}

/// How a page loaded, since its address was opened (W3C Navigation Timing).
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Page {
    /// All pictures.
    pub(crate) load_s: f64,
    /// The document itself.
    pub(crate) content_s: f64,
}

/// Frames by WebTransport, from the server's clock to the browser's, which are the same.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Frames {
    pub(super) frames: f64,
    pub(super) delay_p50_ms: f64,
    pub(super) delay_p95_ms: f64,
    delay_p99_ms: f64,
}

impl Film {
    pub(super) fn stalled_s(&self) -> f64 {
        // A sum of nothing is -0.
        self.stalls_s.iter().fold(0.0, |sum, stall| sum + stall)
    }

    pub(super) fn stalls(&self) -> usize {
        self.stalls_s.len()
    }

    pub(super) fn switches(&self) -> usize {
        self.rate_changes().filter(|change| *change > 0.0).count()
    }

    fn rate_changes(&self) -> impl Iterator<Item = f64> {
        self.segments_mbit_s.windows(2).map(|pair| (pair[1] - pair[0]).abs())
    }

    /// The linear quality of experience, by segment: rate, less stalled time at the highest rate, less changes of rate. QoE_lin
    /// of Mao, Netravali and Alizadeh (Pensieve, SIGCOMM 2017), section 5.1, whose highest rate is 4.3 Mbit/s; of the startup
    /// it says nothing.
    pub(super) fn qoe(&self) -> f64 {
        let rates: f64 = self.segments_mbit_s.iter().sum();
        let penalty = self.best_mbit_s * self.stalled_s() + self.rate_changes().sum::<f64>();
        (rates - penalty) / self.segments_mbit_s.len().max(1) as f64
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Film(film) => {
                match film.startup_s {
                    Some(startup_s) => write!(f, "first picture after {startup_s:.2} s")?,
                    None => write!(f, "no picture")?,
                }
                let (rate, stalled_s) = (mean(&film.segments_mbit_s).unwrap_or(0.0), film.stalled_s());
                write!(
                    f,
                    ", {rate:.2} Mbit/s, stalls: {} ({stalled_s:.2} s), QoE {:.2}",
                    film.stalls(),
                    film.qoe()
                )
            }
            Self::Page(page) => {
                write!(f, "document after {:.2} s, all pictures {:.2} s", page.content_s, page.load_s)
            }
            Self::Frames(frames) => {
                let Frames { frames, delay_p50_ms, delay_p95_ms, delay_p99_ms } = frames;
                write!(
                    f,
                    "{frames} frames, delay p50 {delay_p50_ms:.1} ms, p95 {delay_p95_ms:.1}, p99 {delay_p99_ms:.1}"
                )
            }
        }
    }
}

impl Run {
    pub(crate) fn new(run: u32, scheme: &str) -> Self {
        Self {
            run,
            scheme: scheme.into(),
            spoilt: Vec::new(),
            outcome: None,
            samples: Vec::new(),
            link: None,
        }
    }

    pub(crate) fn is(&self, run: u32, scheme: &str) -> bool {
        self.run == run && self.scheme == scheme
    }

    /// The run in a line.
    pub(crate) fn line(&self) -> String {
        let spoilt = self.spoilt.iter().map(|cause| format!("spoilt: {cause}"));
        let parts: Vec<String> = self.outcome.iter().map(Outcome::to_string).chain(spoilt).collect();
        format!("{}, run {}: {}", self.scheme, self.run, parts.join("; "))
    }

    /// Sets the outcome. A browser that has no time for pictures says nothing of the network.
    pub(crate) fn ended(&mut self, outcome: Outcome) {
        if let Outcome::Film(Film { frames, frames_dropped, .. }) = &outcome
            && *frames_dropped > MOST_DROPPED * frames
        {
            self.spoilt.push(format!(
                "the browser dropped {frames_dropped} of {frames} pictures: the machine is busy"
            ));
        }
        self.outcome = Some(outcome);
    }

    /// The outcome of a valid run.
    pub(super) fn sound(&self) -> Option<&Outcome> {
        self.outcome.as_ref().filter(|_| self.spoilt.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn film(scheme: &str, run: u32, startup_s: f64, stalls_s: &[f64]) -> Run {
        let film = Film {
            startup_s: Some(startup_s),
            stalls_s: stalls_s.to_vec(),
            segments_mbit_s: vec![1.0, 4.0, 4.0, 2.0],
            best_mbit_s: 8.0,
            frames: 200.0,
            frames_dropped: 1.0,
        };
        Run { outcome: Some(Outcome::Film(film)), ..Run::new(run, scheme) }
    }

    /// (1 + 4 + 4 + 2 - 8 * 0.25 - (3 + 0 + 2)) / 4.
    #[test]
    fn the_quality_of_a_film_is_its_rate_less_stalls_at_the_best_rate_and_less_changes() {
        let run = film("cubic", 1, 0.5, &[0.125, 0.125]);
        let Some(Outcome::Film(film)) = run.outcome else { panic!() };
        assert_eq!(film.qoe(), 1.0);
    }

    #[test]
    fn a_run_says_in_a_line_what_came_out_and_what_has_spoilt_it() {
        let run = Run {
            spoilt: vec!["3 packets were lost in front of the link".into()],
            ..film("tide", 2, 1.0, &[2.0])
        };
        insta::assert_snapshot!(run.line(), @"tide, run 2: first picture after 1.00 s, 2.75 Mbit/s, stalls: 1 (2.00 s), QoE -2.50; spoilt: 3 packets were lost in front of the link");
    }
}

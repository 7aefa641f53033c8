//! The least delay of links.

use super::{ExplainError, FrontierFigure, UseAndDelay};
use cellcc_link::{Access, Capacity, DelayFloor};
use cellcc_units::{Ratio, Span};
use rayon::prelude::*;
use serde::Serialize;
use std::sync::Arc;

/// A part of a link, and the RTT of those who send over it.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkPart {
    /// The trace, as the user wrote it.
    pub name: String,
    /// The link's capacity, from the beginning of the part.
    pub capacity: Arc<Capacity>,
    /// How long the part is.
    pub duration: Span,
    /// The RTT without any queue.
    pub rtt: Span,
    /// The uplink access delay.
    pub access: Option<Access>,
}

/// The least delay of each part, in their order.
///
/// # Errors
/// [`ExplainError::Nothing`] for a part that carries nothing, or that is shorter than its RTT.
pub fn least_delays(parts: &[LinkPart]) -> Result<Vec<DelayFloor>, ExplainError> {
    let least = |part: &LinkPart| {
        DelayFloor::new(&part.capacity, part.duration, part.rtt).ok_or_else(|| ExplainError::Nothing {
            name: part.name.clone(),
            duration: part.duration,
            rtt: part.rtt,
        })
    };
    // All are solved before the first error in their order is returned, so that it is always the same one.
    let solved: Vec<Result<DelayFloor, ExplainError>> = parts.par_iter().map(least).collect();
    solved.into_iter().collect()
}

/// The utilisations for which [`LinkDelay`] has the least delay.
const USES: [f64; 3] = [0.90, 0.95, 0.98];
/// Those of the line in the figure.
const DRAWN_USES: [f64; 12] = [0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.925, 0.95, 0.97, 0.98, 0.99];

/// The least delay of a link.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LinkDelay {
    /// The trace.
    pub trace: String,
    /// The mean delay of packets so far apart that none waits for another.
    pub alone_mean_ms: f64,
    /// The 95th percentile of the same.
    pub alone_p95_ms: f64,
    /// At uses of 0.90, 0.95 and 0.98.
    pub bounds: [Bound; 3],
}

/// The least mean delay at a use of the link.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Bound {
    /// The used part of the link's capacity.
    pub utilisation: f64,
    /// No sender has less.
    pub queueing_mean_ms: f64,
    /// The percentile of the sender whose mean is the least.
    pub queueing_p95_ms: f64,
}

impl LinkDelay {
    /// The delays of a part, whose least delay is `least`.
    pub fn new(part: &LinkPart, least: &DelayFloor) -> Self {
        let (mean, p95) = least.alone(part.access.as_ref());
        let bounds = USES.map(|utilisation| {
            let point = least.at(Ratio::new(utilisation));
            let (queueing_mean_ms, queueing_p95_ms) = (point.mean.as_millis_f64(), point.p95.as_millis_f64());
            Bound { utilisation: point.utilisation.get(), queueing_mean_ms, queueing_p95_ms }
        });
        Self {
            trace: part.name.clone(),
            alone_mean_ms: mean.as_millis_f64(),
            alone_p95_ms: p95.as_millis_f64(),
            bounds,
        }
    }
}

impl FrontierFigure {
    /// The mean of links' least delays at each use, and no scheme yet.
    pub fn new(title: &str, least: &[DelayFloor]) -> Self {
        let frontier = DRAWN_USES.map(|utilisation| {
            let at = least.iter().map(|least| least.at(Ratio::new(utilisation)).mean.as_millis_f64());
            UseAndDelay { utilisation, queueing_ms: at.sum::<f64>() / least.len() as f64 }
        });
        Self { title: title.into(), frontier: frontier.into(), schemes: Vec::new() }
    }
}

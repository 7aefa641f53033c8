//! Output of `ping` as recorded delays.

use super::forms::{Content, Given};
use super::series::Series;
use super::{Delays, Problem, TraceError};
use crate::radio;
use cellcc_units::Span;

/// Grains of 10 us: seconds since 1970 in 64 bits are exact to a quarter of a microsecond.
const GRAINS_PER_MS: f64 = 100.0;

/// The round-trip time of each ping, from when it was sent; a lost one leaves the one before in force.
pub(super) fn read(given: &Given<'_>) -> Result<Content, TraceError> {
    let mut series = Series::new(given.name);
    for pings in radio::ping_times(given.name, given.text)? {
        let mut pings = pings.ok_or_else(|| given.whole(Problem::NoTimes))?;
        let begin = pings.iter().map(|ping| ping.0).fold(f64::INFINITY, f64::min);
        pings.sort_by(|one, other| one.0.total_cmp(&other.0));
        for (sent_ms, rtt_ms) in pings {
            let secs = ((sent_ms - begin) * GRAINS_PER_MS).round() / (GRAINS_PER_MS * 1e3);
            series.push(None, secs, Span::from_secs_f64(rtt_ms / 1e3))?;
        }
        series.end_run();
    }
    Ok(Delays { steps: series.finish()?, are_round_trips: true }.into())
}

//! Times in other people's files: numbers in a unit, seconds since 1970, and dates. Only differences count, so that a time zone
//! does not matter.

use super::series::{A_TIME, number};
use super::{Problem, shown};
use std::ops::Range;
use std::time::SystemTime;

/// The meaning of a column of times.
#[derive(Debug, Clone, Copy)]
pub(super) enum Clock {
    /// Numbers, with the factor to seconds.
    Number(f64),
    /// Dates with a time of day, or the time since 1970.
    Stamp,
}

const A_STAMP: &str = "a date and a time of day such as `2019.12.14_10.16.30` or `2024-05-01T10:00:00.5`, or the seconds or \
                       milliseconds since 1970 (name a column of other numbers `time_s` or `time_ms`)";

/// Rows of a recording are further apart on average: the finest that we know have one each 10 ms (SpaceNetLab/LeoCC).
const ROWS_APART_MS: f64 = 2.0;

impl Clock {
    /// That of these times, in a column that names no unit: counts that could only be seconds are, since as milliseconds the rows
    /// would follow each other too fast.
    pub(super) fn of(times: impl Iterator<Item = String>) -> Self {
        let counts: Option<Vec<f64>> =
            times.map(|text| number(&text, A_TIME).ok().filter(|count| *count < SINCE_1970.start)).collect();
        match counts.as_deref() {
            Some(counts @ [first, .., last]) if last - first <= ROWS_APART_MS * (counts.len() - 1) as f64 => {
                Self::Number(1.0)
            }
            _ => Self::Stamp,
        }
    }

    pub(super) fn seconds(self, text: &str) -> Result<f64, Problem> {
        match self {
            Self::Number(factor) => Ok(number(text, A_TIME)? * factor),
            Self::Stamp => since_1970(text)
                .or_else(|| date(text))
                .ok_or_else(|| Problem::NotANumber { text: shown(text), expected: A_STAMP }),
        }
    }
}

/// Seconds since 1970 that a recording can have: 1973 to 5138.
const SINCE_1970: Range<f64> = 1e8..1e11;

/// Seconds of a count of seconds, milliseconds, microseconds or nanoseconds since 1970. Their magnitudes do not
/// overlap.
fn since_1970(text: &str) -> Option<f64> {
    let count = number(text, A_TIME).ok()?;
    // Divided: a factor below 1 is not exact.
    [1.0, 1e3, 1e6, 1e9]
        .into_iter()
        .map(|per_second| count / per_second)
        .find(|secs| SINCE_1970.contains(secs))
}

/// Length of a date to the second.
const DATE: usize = "2025-03-15T12:34:56".len();

/// Seconds since 1970 of `2025-03-15T12:34:56.5+00:00`, of `2019.12.14_10.16.30` (G-NetTrack), or of `Thu Aug 11 13:41:30 UTC 2022`
/// (`date` of Unix); without the zone.
pub(super) fn date(text: &str) -> Option<f64> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let usual = if let [_, month, day, time, .., year] = *text.split_whitespace().collect::<Vec<_>>() {
        let month = 1 + MONTHS.iter().position(|name| *name == month)?;
        format!("{year}-{month:02}-{day:0>2}T{time}")
    } else if let Some((day, time)) = text.split_once('_') {
        format!("{}T{}", day.replace('.', "-"), time.replacen('.', ":", 2))
    } else {
        let end = text.char_indices().skip(DATE).find(|(_, char)| !char.is_ascii_digit() && *char != '.');
        text[..end.map_or(text.len(), |(end, _)| end)].replace('/', "-")
    };
    let time = humantime::parse_rfc3339_weak(&usual).ok()?;
    Some(time.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_secs_f64())
}

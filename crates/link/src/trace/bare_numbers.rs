//! Files of one number per line. Milliseconds of Mahimahi and rates at even steps look alike: a file whose values are hardly
//! milliseconds in order is refused, with both readings, until its user states the one that is meant.

use super::forms::{Content, Given};
use super::lines::mahimahi;
use super::reading::{Quantity, Reading, Unit};
use super::series::{A_DELAY, A_RATE, capacity, number, rate};
use super::{Delays, Problem, TraceError, UNLIKELY_BELOW, data_lines};
use crate::capacity::Capacity;
use cellcc_units::{Rate, Span};

/// The file as its user reads it.
pub(super) fn stated(given: &Given<'_>, reading: Reading) -> Result<Content, TraceError> {
    match reading {
        Reading::Mahimahi => mahimahi(given),
        Reading::Even { unit, every } => even(given, unit, every),
    }
}

/// Milliseconds of Mahimahi, unless the values say otherwise.
pub(super) fn undecided(given: &Given<'_>) -> Result<Content, TraceError> {
    let as_mahimahi = mahimahi(given);
    let Some(reason) = doubt(given, as_mahimahi.as_ref().ok().and_then(|content| content.capacity.as_ref()))
    else {
        return as_mahimahi;
    };
    let in_words = |content: Result<Content, TraceError>| match content {
        Ok(Content { capacity: Some(capacity), .. }) => {
            let (mean, length) = (capacity.mean_rate(), capacity.period().unwrap_or(Span::ZERO));
            format!("{} Mbit/s for {} s", mean.as_mbit_per_sec(), length.as_secs_f64())
        }
        _ => "no link".into(),
    };
    Err(given.whole(Problem::TwoReadings {
        file: given.name.into(),
        reason,
        as_mahimahi: in_words(as_mahimahi),
        as_rates: in_words(stated(given, Reading::SCREAM)),
    }))
}

/// Why these numbers are hardly milliseconds in order. A text that is no number is left to the reader, which names its line.
fn doubt(given: &Given<'_>, read: Option<&Capacity>) -> Option<String> {
    let lines = || data_lines(given.text).map(|(line, text)| Some((line, text.parse::<f64>().ok()?)));
    let (_, first) = lines().next()??;
    let (mut count, mut before, mut is_steady, mut of_thousands) = (0.0, first, true, true);
    let mut early = None;
    for line in lines() {
        let (line, value) = line?;
        count += 1.0;
        if value.fract() != 0.0 {
            early = early.or_else(|| Some(format!("`{value}` at line {line} is no whole number")));
        } else if value < before {
            early = early.or_else(|| Some(format!("{value} at line {line} follows {before}")));
        }
        is_steady &= value == first * count;
        of_thousands &= value >= 1e3 && value % 1e3 == 0.0;
        before = value;
    }
    let all_equal = count > 1.0 && before == first && first >= 1e3;
    let is_slow = read.is_none_or(|capacity| capacity.mean_rate() < UNLIKELY_BELOW);
    early.or_else(|| match () {
        () if all_equal => Some(format!("all {count} lines are {first}")),
        () if of_thousands && is_slow && !is_steady => Some(format!("all {count} lines are whole thousands")),
        () => None,
    })
}

/// A value each `every`, from time zero on.
fn even(given: &Given<'_>, unit: Unit, every: Span) -> Result<Content, TraceError> {
    let expected = if unit.quantity == Quantity::Rate { A_RATE } else { A_DELAY };
    let values = data_lines(given.text).map(|(line, text)| {
        let value = number(text, expected).map(|value| unit.value(value));
        value.map_err(|problem| given.at(line, problem)).map(|value| (line, value))
    });
    if unit.quantity == Quantity::Rate {
        let steps: Result<Vec<(Span, Rate)>, _> = values
            .map(|value| {
                let (line, mbit) = value?;
                Ok((every, rate(mbit).map_err(|problem| given.at(line, problem))?))
            })
            .collect();
        return capacity(given.name, steps?).map(Content::from);
    }
    let steps: Result<Vec<(Span, Span)>, _> =
        values.map(|value| Ok((every, Span::from_secs_f64(value?.1)))).collect();
    Ok(Delays { steps: steps?, are_round_trips: unit.quantity == Quantity::RoundTrip }.into())
}

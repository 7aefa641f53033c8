//! How much a recorded trace differs from the link that it was recorded on.

use cellcc_link::Capacity;
use cellcc_units::{Bytes, Span, Time};
use serde::Serialize;

/// The difference between two traces, without a constant delay.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Agreement {
    /// The compared time, in seconds.
    pub compared_s: f64,
    /// Where in the original the recording begins, in seconds.
    pub offset_s: f64,
    /// The largest difference between the cumulative curves at any time.
    pub max_cumulative_difference_bytes: u64,
    /// The difference at the times at which no shift of up to 1 ms makes the curves meet.
    pub max_difference_beyond_1ms_bytes: u64,
    /// The largest difference in a 1-s bin, relative to the original's bytes there. A packet within 1 ms of a
    /// bin's edge counts for the bin that makes the difference smaller.
    pub worst_1s_bin: f64,
}

impl Agreement {
    /// The largest difference of the cumulative curves, where it is not within 1 ms.
    pub const TOLERATED: Bytes = Bytes::new(2 * Capacity::OPPORTUNITY.get());
    /// The largest difference of a 1-s bin.
    pub const TOLERATED_BIN: f64 = 0.02;

    /// True if the curves differ by at most two packets or 1 ms, and each 1-s bin by at most 2 %.
    pub fn holds(&self) -> bool {
        self.max_difference_beyond_1ms_bytes <= Self::TOLERATED.get()
            && self.worst_1s_bin <= Self::TOLERATED_BIN
    }
}

/// The times at which each 1500 bytes can leave, within `length` from the beginning.
pub fn opportunity_times(capacity: &Capacity, length: Span) -> Vec<Time> {
    (1..)
        .map(|count| capacity.time_to_carry(Time::ZERO, Capacity::OPPORTUNITY * count))
        .take_while(|&time| time <= Time::ZERO + length && time < Time::NEVER)
        .collect()
}

/// Compares a recording with the link it was recorded on. Both are the times at which 1500 bytes passed, in order;
/// the recording may begin anywhere in the original. `None` where there is nothing to compare: one of them is empty,
/// or they overlap for less than a second.
pub fn compare_traces(original: &[Time], recorded: &[Time]) -> Option<Agreement> {
    let original: Vec<i64> = original.iter().map(|time| time.as_nanos() as i64).collect();
    let recorded: Vec<i64> = recorded.iter().map(|time| time.as_nanos() as i64).collect();
    let (first, offset) = align(&original, &recorded)?;
    let shifted: Vec<i64> = original[first..].iter().map(|time| time - offset).collect();
    let end = *shifted.last()?.min(recorded.last()?);
    if end < SECOND {
        return None;
    }
    let (anywhere, beyond) = cumulative_difference(&shifted, &recorded, end);
    Some(Agreement {
        compared_s: end as f64 / 1e9,
        offset_s: offset as f64 / 1e9,
        max_cumulative_difference_bytes: anywhere * Capacity::OPPORTUNITY.get(),
        max_difference_beyond_1ms_bytes: beyond * Capacity::OPPORTUNITY.get(),
        worst_1s_bin: worst_bin(&shifted, &recorded, end),
    })
}

const SECOND: i64 = 1_000_000_000;
/// Mahimahi's resolution.
const MILLI: i64 = 1_000_000;
/// Resolution of the first search for the beginning.
const STEP: i64 = 10 * MILLI;
/// How many points of the recording that search uses.
const SAMPLES: usize = 500;

/// How many there are until `time`, that moment included.
fn count(times: &[i64], time: i64) -> usize {
    times.partition_point(|&at| at <= time)
}

/// The packet of the original at which the recording begins, and the constant delay between the two. The delay is a
/// median, so that a receiver that was late for a moment does not shift the rest.
fn align(original: &[i64], recorded: &[i64]) -> Option<(usize, i64)> {
    let around = coarse_offset(original, recorded)?;
    let nearby =
        count(original, around - 2 * STEP).saturating_sub(2)..=count(original, around + 2 * STEP) + 2;
    let sampled = recorded.len().div_ceil(SAMPLES);
    let candidates = nearby.filter_map(|first| {
        let mut delays = delays(original.get(first..)?, recorded, sampled);
        let median = median(&mut delays)?;
        let deviation: i64 = delays.iter().map(|delay| (delay - median).abs()).sum();
        Some((deviation / delays.len() as i64, first))
    });
    let (_, first) = candidates.min()?;
    Some((first, median(&mut delays(&original[first..], recorded, 1))?))
}

fn delays(original: &[i64], recorded: &[i64], every: usize) -> Vec<i64> {
    original.iter().zip(recorded).step_by(every).map(|(original, recorded)| original - recorded).collect()
}

fn median(values: &mut [i64]) -> Option<i64> {
    let middle = values.len().checked_sub(1)? / 2;
    Some(*values.select_nth_unstable(middle).1)
}

/// The beginning with a resolution of [`STEP`]: where the cumulative curves differ least. A shorter original is
/// compared up to its end.
fn coarse_offset(original: &[i64], recorded: &[i64]) -> Option<i64> {
    let length = *original.last()?.min(recorded.last()?);
    let steps = |times: &[i64]| -> Vec<i64> {
        let last = times.last().map_or(0, |last| last / STEP + 1);
        (0..=last).map(|step| count(times, step * STEP) as i64).collect()
    };
    let (whole, part) = (steps(original), steps(recorded));
    let compared = (length / STEP) as usize;
    let every = (compared / SAMPLES).max(1);
    let difference = |begin: usize| {
        let differences = (0..=compared)
            .step_by(every)
            .map(|step| (whole[begin + step] - whole[begin] - part[step.min(part.len() - 1)]).abs());
        differences.max().unwrap_or(0)
    };
    let begins = 0..whole.len().saturating_sub(compared).max(1);
    begins.min_by_key(|&begin| difference(begin)).map(|begin| begin as i64 * STEP)
}

/// In packets: anywhere, and where a shift of up to a millisecond does not explain it.
fn cumulative_difference(original: &[i64], recorded: &[i64], end: i64) -> (u64, u64) {
    let mut moments: Vec<i64> = original
        .iter()
        .flat_map(|&time| [time - MILLI, time, time + MILLI])
        .chain(recorded.iter().copied())
        .filter(|moment| (0..=end).contains(moment))
        .collect();
    moments.sort_unstable();
    moments.dedup();
    let (mut at, mut before, mut after, mut seen) = (0, 0, 0, 0);
    let (mut anywhere, mut beyond) = (0, 0);
    for moment in moments {
        let advance = |position: &mut usize, times: &[i64], until: i64| {
            *position += times[*position..].iter().take_while(|&&time| time <= until).count();
        };
        advance(&mut at, original, moment);
        advance(&mut before, original, moment - MILLI);
        advance(&mut after, original, moment + MILLI);
        advance(&mut seen, recorded, moment);
        let difference = at.abs_diff(seen) as u64;
        anywhere = anywhere.max(difference);
        if !(before..=after).contains(&seen) {
            beyond = beyond.max(difference);
        }
    }
    (anywhere, beyond)
}

fn worst_bin(original: &[i64], recorded: &[i64], end: i64) -> f64 {
    let within = |times: &[i64], from: i64, to: i64| count(times, to) - count(times, from);
    let bins = (0..end / SECOND).map(|bin| {
        let (from, to) = (bin * SECOND, (bin + 1) * SECOND);
        let seen = within(recorded, from, to);
        let (least, most) =
            (within(original, from + MILLI, to - MILLI), within(original, from - MILLI, to + MILLI));
        let difference = least.saturating_sub(seen).max(seen.saturating_sub(most));
        match difference {
            0 => 0.0,
            // A bin without any original: the recording there is wrong as a whole.
            _ => difference as f64 / within(original, from, to).max(1) as f64,
        }
    });
    bins.fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cellcc_units::Rate;

    fn at(micros: impl IntoIterator<Item = u64>) -> Vec<Time> {
        micros.into_iter().map(|micros| Time::ZERO + Span::from_micros(micros)).collect()
    }

    /// Gaps that do not repeat: 1 to 20 ms.
    fn irregular(count: u64) -> Vec<u64> {
        let gaps = (0..count).map(|index| 1_000 + index * index * 7919 % 19_001);
        gaps.scan(0, |sum, gap| {
            *sum += gap;
            Some(*sum)
        })
        .collect()
    }

    #[test]
    fn a_copy_that_begins_later_agrees_and_its_beginning_is_found() {
        let original = irregular(3000);
        let begin = original[700] + 400;
        let recorded = at(original[701..2500].iter().map(|time| time - begin));
        let agreement = compare_traces(&at(original), &recorded).unwrap();
        assert_eq!(agreement.max_cumulative_difference_bytes, 0);
        assert_eq!((agreement.worst_1s_bin, agreement.offset_s), (0.0, begin as f64 / 1e6));
        assert!(agreement.holds());
    }

    #[test]
    fn a_shift_of_less_than_a_millisecond_is_seen_but_tolerated() {
        // Bursts of ten, every second one 0.8 ms late.
        let bursts: Vec<u64> = irregular(400).into_iter().flat_map(|burst| [burst; 10]).collect();
        let late = bursts.iter().enumerate().map(|(index, burst)| burst + index as u64 / 10 % 2 * 800);
        let agreement = compare_traces(&at(bursts.clone()), &at(late)).unwrap();
        assert_eq!(
            (agreement.max_cumulative_difference_bytes, agreement.max_difference_beyond_1ms_bytes),
            (15_000, 0)
        );
        assert!(agreement.holds());
    }

    #[test]
    fn what_is_missing_is_a_difference() {
        let original = irregular(3000);
        let mut recorded = original.clone();
        recorded.drain(1500..1505);
        let agreement = compare_traces(&at(original.clone()), &at(recorded)).unwrap();
        assert!(!agreement.holds());
        assert!((7_500..15_000).contains(&agreement.max_difference_beyond_1ms_bytes), "{agreement:?}");
        let slower = at(original.iter().map(|time| time * 103 / 100));
        assert!(compare_traces(&at(original), &slower).unwrap().worst_1s_bin > 0.02);
    }

    #[test]
    fn too_little_is_not_compared() {
        assert_eq!(compare_traces(&[], &at([1, 2])), None);
        assert_eq!(compare_traces(&at([1, 2]), &[]), None);
        assert_eq!(compare_traces(&at([1, 2]), &at([1, 2])), None);
    }

    #[test]
    fn a_capacity_has_an_opportunity_for_each_1500_bytes() {
        let capacity = Capacity::constant(Rate::from_mbit_per_sec(12.0)).unwrap();
        assert_eq!(opportunity_times(&capacity, Span::from_millis(3)), at([1000, 2000, 3000]));
    }
}

//! Statistics of a trace: rates, outages, and bursts.

use crate::capacity::opportunities::Opportunities;
use crate::capacity::steps::Steps;
use crate::capacity::{Capacity, Shape};
use cellcc_units::{Span, Time};

/// A link's capacity in numbers. Percentiles are by nearest rank.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct CapacityStats {
    /// Length of one period.
    pub duration_s: f64,
    /// Mean rate.
    pub mean_mbit_s: f64,
    /// 5th percentile of the rates of whole seconds.
    pub p5_mbit_s: f64,
    /// Median of the rates of whole seconds.
    pub p50_mbit_s: f64,
    /// 95th percentile of the rates of whole seconds.
    pub p95_mbit_s: f64,
    /// Largest difference between the rates of one second and the next.
    pub largest_jump_mbit_s: f64,
    /// Share of the seconds that carry less than [`OUTAGE_BELOW_MBIT_S`].
    pub outage_share: f64,
    /// How many outages: runs of such seconds.
    pub outage_count: usize,
    /// Length of the longest run of such seconds.
    pub longest_outage_s: f64,
    /// Longest time in which nothing at all could leave; a gap may go on from the end into the repetition.
    pub longest_gap_s: f64,
    /// Bursts, for traces of opportunities; a rate has none.
    pub bursts: Option<BurstStats>,
}

/// Bursts as in Figures 1 and 2 of Verus (SIGCOMM 2015), which shows them without defining them. Here a burst is a run
/// of opportunities in the same or in adjacent milliseconds: the scheduler's slot is one millisecond.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct BurstStats {
    /// How many in one period.
    pub count: usize,
    /// Mean size.
    pub mean_size_bytes: f64,
    /// 5th percentile of the sizes.
    pub p5_size_bytes: f64,
    /// Median size.
    pub p50_size_bytes: f64,
    /// 95th percentile of the sizes.
    pub p95_size_bytes: f64,
    /// Mean time from the end of a burst to the beginning of the next; null for a single burst.
    pub mean_gap_ms: Option<f64>,
    /// 5th percentile of these times.
    pub p5_gap_ms: Option<f64>,
    /// Median of these times.
    pub p50_gap_ms: Option<f64>,
    /// 95th percentile of these times.
    pub p95_gap_ms: Option<f64>,
}

/// Below this a second counts as an outage: too little for the slowest video call (our choice).
pub const OUTAGE_BELOW_MBIT_S: f64 = 1.0;

const SECOND: Span = Span::from_secs(1);
/// Opportunities at most this far apart belong to one burst.
const BURST_GRAIN_NANOS: u64 = 1_000_000;

impl CapacityStats {
    /// The numbers of one period; of `endless` length where the capacity never repeats.
    pub fn new(capacity: &Capacity, endless: Span) -> Self {
        let duration = capacity.period().unwrap_or(endless);
        let runs = rates_by_second(capacity, duration);
        let mut ascending = runs.clone();
        ascending.sort_unstable_by(|one, other| one.rate_mbit_s.total_cmp(&other.rate_mbit_s));
        let percentile = |percent| percentile_of_runs(&ascending, percent).unwrap_or(0.0);
        let outages = outages(&runs);
        let seconds: u64 = runs.iter().map(|run| run.seconds).sum();
        let second = SECOND.min(duration).as_secs_f64();
        let (longest_gap, bursts) = match &capacity.shape {
            Shape::Steps(steps) => (longest_zero(steps), None),
            Shape::Opportunities(list) => (longest_wait(list), Some(BurstStats::new(list))),
        };
        Self {
            duration_s: duration.as_secs_f64(),
            mean_mbit_s: capacity.rate_in(Time::ZERO, Time::ZERO + duration).as_mbit_per_sec(),
            p5_mbit_s: percentile(5),
            p50_mbit_s: percentile(50),
            p95_mbit_s: percentile(95),
            largest_jump_mbit_s: runs
                .windows(2)
                .map(|pair| (pair[1].rate_mbit_s - pair[0].rate_mbit_s).abs())
                .fold(0.0, f64::max),
            outage_share: outages.iter().sum::<u64>() as f64 / seconds.max(1) as f64,
            outage_count: outages.len(),
            longest_outage_s: outages.iter().copied().max().unwrap_or(0) as f64 * second,
            longest_gap_s: Span::from_nanos(longest_gap).as_secs_f64(),
            bursts,
        }
    }

    /// A note on a link whose outages mean nothing, because it is slow throughout.
    pub fn outage_throughout(&self) -> Option<String> {
        (self.outage_share >= 1.0).then(|| {
            format!("no second reaches {OUTAGE_BELOW_MBIT_S} Mbit/s, so that all of it counts as one outage")
        })
    }
}

impl BurstStats {
    fn new(opportunities: &Opportunities) -> Self {
        let (mut sizes, mut gaps) = (Vec::new(), Vec::new());
        let (mut before, mut last) = (0, None);
        for entry in &opportunities.list {
            let size = (entry.through - before) as f64;
            match (last, sizes.last_mut()) {
                (Some(last), Some(burst)) if entry.at - last <= BURST_GRAIN_NANOS => *burst += size,
                _ => {
                    sizes.push(size);
                    gaps.extend(last.map(|last| Span::from_nanos(entry.at - last).as_millis_f64()));
                }
            }
            (before, last) = (entry.through, Some(entry.at));
        }
        let (sizes, gaps) = (sorted(&sizes), sorted(&gaps));
        Self {
            count: sizes.len(),
            mean_size_bytes: mean(&sizes).unwrap_or(0.0),
            p5_size_bytes: percentile(&sizes, 5).unwrap_or(0.0),
            p50_size_bytes: percentile(&sizes, 50).unwrap_or(0.0),
            p95_size_bytes: percentile(&sizes, 95).unwrap_or(0.0),
            mean_gap_ms: mean(&gaps),
            p5_gap_ms: percentile(&gaps, 5),
            p50_gap_ms: percentile(&gaps, 50),
            p95_gap_ms: percentile(&gaps, 95),
        }
    }
}

/// Seconds on end with one rate. A trace may say in a few bytes that a rate holds for a year, which is one run.
#[derive(Debug, Clone, Copy)]
struct Run {
    rate_mbit_s: f64,
    seconds: u64,
}

/// The rates of the whole seconds; of the whole where it is shorter than one.
fn rates_by_second(capacity: &Capacity, duration: Span) -> Vec<Run> {
    let second = SECOND.min(duration);
    let count = duration.as_nanos().checked_div(second.as_nanos()).unwrap_or(0);
    let mut runs: Vec<Run> = Vec::new();
    for index in 0..count {
        let start = Time::ZERO + second * index;
        let rate_mbit_s = capacity.rate_in(start, start + second).as_mbit_per_sec();
        match runs.last_mut() {
            Some(run) if run.rate_mbit_s == rate_mbit_s => run.seconds += 1,
            _ => runs.push(Run { rate_mbit_s, seconds: 1 }),
        }
    }
    runs
}

/// The lengths of the outages, in seconds.
fn outages(runs: &[Run]) -> Vec<u64> {
    let is_out = |run: &Run| run.rate_mbit_s < OUTAGE_BELOW_MBIT_S;
    let stretches = runs.chunk_by(|one, next| is_out(one) == is_out(next));
    stretches
        .filter(|stretch| is_out(&stretch[0]))
        .map(|stretch| stretch.iter().map(|run| run.seconds).sum())
        .collect()
}

/// The `percent`th percentile of the seconds by nearest rank, from runs in ascending order of their rates.
fn percentile_of_runs(ascending: &[Run], percent: u64) -> Option<f64> {
    let seconds: u64 = ascending.iter().map(|run| run.seconds).sum();
    let rank = (seconds * percent).div_ceil(100).max(1);
    let mut at_or_below = 0;
    let run = ascending.iter().find(|run| {
        at_or_below += run.seconds;
        at_or_below >= rank
    });
    run.map(|run| run.rate_mbit_s)
}

/// Nanoseconds of the longest time at rate zero.
fn longest_zero(steps: &Steps) -> u64 {
    let length = |index: usize| steps.end_of(index) - steps.segments[index].start;
    let zero = |index: &usize| steps.segments[*index].rate == 0;
    let longest = (0..steps.segments.len()).filter(zero).map(length).max().unwrap_or(0);
    let last = steps.segments.len() - 1;
    match steps.repeats && last > 0 && zero(&0) && zero(&last) {
        true => longest.max(length(0) + length(last)),
        false => longest,
    }
}

/// Nanoseconds of the longest time from one opportunity to the next.
fn longest_wait(opportunities: &Opportunities) -> u64 {
    let list = &opportunities.list;
    let around = opportunities.period - list[list.len() - 1].at + list[0].at;
    list.windows(2).map(|pair| pair[1].at - pair[0].at).max().unwrap_or(0).max(around)
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut values = values.to_vec();
    values.sort_unstable_by(f64::total_cmp);
    values
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The `percent`th percentile of sorted values by nearest rank: the smallest value with at least that share at or below it.
fn percentile(sorted: &[f64], percent: usize) -> Option<f64> {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.max(1) - 1).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::parse;

    fn stats(name: &str, text: &str) -> CapacityStats {
        CapacityStats::new(&parse(name, text.as_bytes()).unwrap().capacity, SECOND)
    }

    #[test]
    fn rates_jumps_and_outages_are_of_whole_seconds() {
        let stats = stats("a.mbps", "0 10\n1 0\n2 0.5\n3 40\n4 30\n5 0\n");
        assert_eq!(
            (stats.duration_s, stats.p5_mbit_s, stats.p50_mbit_s, stats.p95_mbit_s),
            (6.0, 0.0, 0.5, 40.0)
        );
        assert_eq!(stats.largest_jump_mbit_s, 39.5);
        assert_eq!((stats.outage_share, stats.outage_count, stats.longest_outage_s), (0.5, 2, 2.0));
        assert_eq!(stats.longest_gap_s, 1.0);
        assert_eq!(stats.bursts, None);
    }

    /// Twelve bytes used to take half a gigabyte.
    #[test]
    fn a_year_at_one_rate_is_a_run_and_no_list_of_seconds() {
        let trace = parse("a.mbps", b"0 10\n1000000 0\n").unwrap().capacity;
        let runs = rates_by_second(&trace, trace.period().unwrap());
        let lengths: Vec<_> = runs.iter().map(|run| run.seconds).collect();
        assert_eq!(lengths, [1_000_000, 1_000_000]);
    }

    #[test]
    fn a_gap_goes_on_into_the_repetition() {
        assert_eq!(stats("a.mbps", "0 0\n1 5\n2 0\n3 0\n").longest_gap_s, 3.0);
    }

    #[test]
    fn opportunities_in_adjacent_milliseconds_are_one_burst() {
        let bursts = stats("a.mahi", "1\n1\n2\n10\n30\n31\n").bursts.unwrap();
        assert_eq!(bursts.count, 3);
        assert_eq!(
            (bursts.p5_size_bytes, bursts.p50_size_bytes, bursts.p95_size_bytes),
            (1500.0, 3000.0, 4500.0)
        );
        assert_eq!(
            (bursts.p5_gap_ms, bursts.mean_gap_ms, bursts.p95_gap_ms),
            (Some(8.0), Some(14.0), Some(20.0))
        );
    }

    #[test]
    fn a_single_burst_has_no_gap() {
        assert_eq!(stats("a.mahi", "5\n5\n").bursts.unwrap().p50_gap_ms, None);
    }
}

//! The cycle of an uplink's requests, in pings: does a packet wait for the next of a periodic opportunity?
//!
//! Then its RTT falls by a millisecond for each millisecond that it is sent later, and jumps by the period: a sawtooth whose
//! slope is known, with one free phase. It is fitted to windows of 25 pings, and to those windows with their RTTs shuffled, as
//! chance would. A window counts where the sawtooth takes more than 35 % of the mean deviation from the median.
//!
//! Pings at a multiple of the period, except for a small drift, sweep a part of it in a window, and longer periods also explain
//! that part: then the shortest of these counts. Pings every 213 ms meet all phases of all cycles.

use crate::capacity::stats::{mean, percentile, sorted};
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};

/// The evidence of windows of pings on a cycle.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Cycle {
    /// How many windows of 25 pings, of those whose RTTs vary, and by less than 100 ms.
    pub windows: usize,
    /// The periods that were tried.
    pub periods: Vec<Period>,
    /// The cycle: the period of most windows, where they are at least 5, and ten times as many as of shuffled ones.
    pub request_ms: Option<f64>,
}

/// How often a period explains a window best, and well.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Period {
    /// The period.
    pub period_ms: f64,
    /// Share of the windows.
    pub share: f64,
    /// The share in the shuffled windows.
    pub shuffled_share: f64,
}

/// Five seconds of pings every 200 ms: shorter than a moving phone's level changes.
const WINDOW: usize = 25;
/// Cycles that 3GPP TS 38.331 allows for requests and for sleep, and 2.5 to 16 ms of frames and slots, for comparison.
const PERIODS_MS: [f64; 11] = [2.5, 5.0, 8.0, 10.0, 16.0, 20.0, 32.0, 40.0, 64.0, 80.0, 160.0];
/// Share of the mean deviation that a sawtooth must take. Shuffled windows reach it in 0 to 0.2 %.
const EXPLAINED: f64 = 0.35;
/// Windows with less of a deviation, or whose 90th percentile lies further above the smallest, show no cycle.
const LEAST_DEVIATION_MS: f64 = 0.5;
const LARGEST_SPREAD_MS: f64 = 100.0;
/// Phases that are tried, and at most two in a millisecond.
const PHASES: f64 = 20.0;
const FINEST_PHASE_MS: f64 = 0.5;
/// The number of shuffles of each window, and their seed: equal pings give equal numbers.
const SHUFFLES: usize = 4;
const SEED: u64 = 0x7069_6e67; // "ping"
/// Our choice; see [`Cycle::request_ms`].
const FEWEST_WINDOWS: usize = 5;
const TIMES_SHUFFLED: f64 = 10.0;

impl Cycle {
    /// The cycle of runs, whose pings are times and RTTs in milliseconds; `None` if no window shows one.
    pub(super) fn new(runs: &[Vec<(f64, f64)>]) -> Option<Self> {
        let mut random = Pcg64Mcg::seed_from_u64(SEED);
        let (mut windows, mut found, mut by_chance) = (0, [0; PERIODS_MS.len()], [0; PERIODS_MS.len()]);
        for window in runs.iter().flat_map(|run| run.chunks_exact(WINDOW)) {
            let (times, mut rtts): (Vec<f64>, Vec<f64>) = window.iter().copied().unzip();
            let deviation = deviation(&rtts);
            if deviation < LEAST_DEVIATION_MS || spread(&rtts) > LARGEST_SPREAD_MS {
                continue;
            }
            windows += 1;
            count(&mut found, best_period(&times, &rtts, deviation));
            for _ in 0..SHUFFLES {
                shuffle(&mut rtts, &mut random);
                count(&mut by_chance, best_period(&times, &rtts, deviation));
            }
        }
        (windows > 0).then(|| {
            let share = |count: usize, windows: usize| count as f64 / windows as f64;
            let period = |index: usize| Period {
                period_ms: PERIODS_MS[index],
                share: share(found[index], windows),
                shuffled_share: share(by_chance[index], windows * SHUFFLES),
            };
            let periods: Vec<Period> = (0..PERIODS_MS.len()).map(period).collect();
            let most = periods.iter().max_by(|one, other| one.share.total_cmp(&other.share));
            let is_shown = |period: &&Period| {
                period.share * windows as f64 >= FEWEST_WINDOWS as f64
                    && period.share >= TIMES_SHUFFLED * period.shuffled_share
            };
            Self { windows, request_ms: most.filter(is_shown).map(|period| period.period_ms), periods }
        })
    }
}

fn count(counts: &mut [usize], period: Option<usize>) {
    if let Some(index) = period {
        counts[index] += 1;
    }
}

/// Mean deviation from the median.
fn deviation(values: &[f64]) -> f64 {
    let middle = percentile(&sorted(values), 50).unwrap_or(0.0);
    let deviations: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    mean(&deviations).unwrap_or(0.0)
}

fn spread(values: &[f64]) -> f64 {
    let sorted = sorted(values);
    percentile(&sorted, 90).unwrap_or(0.0) - sorted[0]
}

/// The period whose sawtooth takes most of the deviation, where it takes enough.
fn best_period(times_ms: &[f64], rtts_ms: &[f64], all: f64) -> Option<usize> {
    let left = PERIODS_MS.map(|period| left_by(period, times_ms, rtts_ms));
    let best = (0..left.len()).min_by(|&one, &other| left[one].total_cmp(&left[other]))?;
    (1.0 - left[best] / all > EXPLAINED).then_some(best)
}

/// The deviation that the best sawtooth of a period leaves.
fn left_by(period: f64, times_ms: &[f64], rtts_ms: &[f64]) -> f64 {
    let step = (period / PHASES).max(FINEST_PHASE_MS);
    let phases = (0..).map(|index| f64::from(index) * step).take_while(|&phase| phase < period);
    let left = |phase: f64| {
        let wait = |time: f64| (phase - time).rem_euclid(period);
        let rest: Vec<f64> = times_ms.iter().zip(rtts_ms).map(|(&time, rtt)| rtt - wait(time)).collect();
        deviation(&rest)
    };
    phases.map(left).fold(f64::INFINITY, f64::min)
}

/// Fisher and Yates.
fn shuffle(values: &mut [f64], random: &mut Pcg64Mcg) {
    for last in (1..values.len()).rev() {
        let other = (u128::from(random.next_u64()) * (last as u128 + 1)) >> 64;
        values.swap(last, other as usize);
    }
}

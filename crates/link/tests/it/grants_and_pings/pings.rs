//! Pings: how long a lone packet waits for the next request, and whether the cycle shows.

use super::{crossings, files, folder};
use cellcc_link::LinkConfig;
use cellcc_units::{Span, Time};
use std::path::Path;

/// Send times and RTTs in milliseconds.
type Pings = (Vec<f64>, Vec<f64>);

/// So many pings make a window.
const WINDOW: usize = 25;

/// Pings 200.7 ms apart over a path of 34 ms.
fn modelled(access: &str, count: u64) -> Pings {
    let times: Vec<Time> =
        (0..count).map(|number| Time::ZERO + Span::from_micros(200_700 * number)).collect();
    let access = (!access.is_empty()).then(|| access.parse().unwrap());
    let waits = crossings(LinkConfig { access, ..LinkConfig::transparent() }, 5, times.clone());
    let rtt = |wait: Span| 34.0 + wait.as_millis_f64();
    let rtts = waits.iter().map(|it| rtt(it.departed_at.since(it.queued_at)));
    (times.iter().map(|at| at.as_secs_f64() * 1e3).collect(), rtts.collect())
}

/// Recorded on 5G SA and NSA: 12 ms above the smallest in the median, quartiles 8 and 17. So access explains most of the median, and nothing
/// of the tail.
#[test]
fn a_ping_waits_evenly_up_to_the_cycle_of_requests() {
    let (_, mut rtts) = modelled("request=20ms", 4_000);
    rtts.sort_by(f64::total_cmp);
    let above = |share: f64| rtts[(share * (rtts.len() - 1) as f64) as usize] - rtts[0];
    assert!((above(0.5) - 10.0).abs() < 1.0, "{}", above(0.5));
    assert!((above(0.25) - 5.0).abs() < 1.0 && (above(0.75) - 15.0).abs() < 1.0);
    assert!(above(1.0) <= 20.0);
}

/// A window of 25 pings passes through 17.5 ms of a cycle: of one of 40 ms it says no more than that it is longer than 10.
#[test]
fn the_cycle_shows_in_the_pings_of_the_model() {
    for cycle in [10.0, 20.0] {
        let pings = modelled(&format!("request={cycle}ms"), 2_500);
        let share = share_with_period(&[pings], cycle);
        assert!(share > 0.9, "{cycle} ms: {share}");
    }
    assert_eq!(share_with_period(&[modelled("", 250)], 20.0), 0.0);
}

/// T-Mobile, Chicago and Boston: 20 ms in 10.2 % (SA) and 13.2 % (NSA) of the windows, and in none of them where their RTTs are shuffled.
#[test]
fn the_cycle_shows_in_recorded_pings() {
    let Some(root) = folder("CELLCC_PINGS", "pings, rtt_tmobile_sa.out and rtt_tmobile_nsa.out") else {
        return;
    };
    for name in ["rtt_tmobile_sa.out", "rtt_tmobile_nsa.out"] {
        let runs: Vec<Pings> = files(&root, &|it| it == name).iter().filter_map(|path| read(path)).collect();
        assert!(!runs.is_empty(), "{name}: no run");
        let share = share_with_period(&runs, 20.0);
        assert!((0.08..0.17).contains(&share), "{name}: {share} of {} runs", runs.len());
        // The same RTTs at other times of their window.
        let shuffle = |rtts: &[f64]| (0..WINDOW).map(|at| rtts[at * 7 % WINDOW]).collect::<Vec<_>>();
        let shuffled = runs
            .into_iter()
            .map(|(sent, rtts)| (sent, rtts.chunks_exact(WINDOW).flat_map(shuffle).collect()));
        let share = share_with_period(&shuffled.collect::<Vec<_>>(), 20.0);
        assert!(share < 0.01, "{name}, shuffled: {share}");
    }
}

/// The pings of a run, sent an RTT before the time that each line begins with, or where a line has none, at its number times the mean time
/// between two; `None` for fewer than a hundred.
fn read(path: &Path) -> Option<Pings> {
    let text = std::fs::read_to_string(path).ok()?;
    let after = |line: &str, mark: &str| -> Option<f64> {
        let value = line.split_once(mark)?.1;
        value.split(|end: char| !end.is_ascii_digit() && end != '.').next()?.parse().ok()
    };
    let ping = |line: &str| Some((stamp(line), (after(line, "icmp_seq=")?, after(line, "time=")?)));
    let (stamps, pings): (Vec<_>, Vec<_>) = text.lines().filter_map(ping).unzip();
    let (numbers, rtts): (Vec<f64>, Vec<f64>) = pings.into_iter().unzip();
    if rtts.len() < 100 {
        return None;
    }
    if let Some(stamps) = stamps.into_iter().collect::<Option<Vec<f64>>>() {
        return Some((stamps.iter().zip(&rtts).map(|(came, rtt)| came - rtt).collect(), rtts));
    }
    let summary = text.lines().find(|line| line.contains("packets transmitted"))?;
    let sent: f64 = summary.split_whitespace().next()?.parse().ok()?;
    let between = after(summary, "time ")? / (sent - 1.0);
    Some((numbers.iter().map(|number| number * between).collect(), rtts))
}

/// The time of day in milliseconds of a line such as `[2025-04-19T11:32:44.123456-05:00] 64 bytes from ...`.
fn stamp(line: &str) -> Option<f64> {
    let time = line.strip_prefix('[')?.split_once(']')?.0.split_once(['T', ' '])?.1;
    let mut parts = time.split(':');
    let mut next = || {
        let part = parts.next()?;
        part.split(|end: char| !end.is_ascii_digit() && end != '.').next()?.parse::<f64>().ok()
    };
    Some(((next()? * 60.0 + next()?) * 60.0 + next()?) * 1e3)
}

/// The share of windows in which a sawtooth of this period explains more than any other, and enough. Windows with outliers, and those that hardly
/// vary, are left out.
fn share_with_period(runs: &[Pings], wanted: f64) -> f64 {
    let windows =
        runs.iter().flat_map(|(sent, rtts)| sent.chunks_exact(WINDOW).zip(rtts.chunks_exact(WINDOW)));
    let is_even = |rtts: &[f64]| {
        let mut sorted = rtts.to_vec();
        sorted.sort_by(f64::total_cmp);
        sorted[WINDOW * 9 / 10] - sorted[0] <= 100.0 && deviation(sorted) >= LEAST_DEVIATION_MS
    };
    let even: Vec<_> = windows.filter(|(_, rtts)| is_even(rtts)).collect();
    let found = even.iter().filter(|(sent, rtts)| period(sent, rtts) == Some(wanted)).count();
    found as f64 / even.len().max(1) as f64
}

const PERIODS: [f64; 11] = [2.5, 5.0, 8.0, 10.0, 16.0, 20.0, 32.0, 40.0, 64.0, 80.0, 160.0];
/// Of the mean deviation, which a sawtooth must explain: a hard bar in a moving car.
const LEAST_SHARE: f64 = 0.35;
const LEAST_DEVIATION_MS: f64 = 0.5;

/// The period of the sawtooth that explains the most, where it is enough, and the shortest of those that explain the same. A packet that waits
/// for the next of a cycle has an RTT that falls by a millisecond for each that it is sent later, and jumps by the period.
fn period(sent: &[f64], rtts: &[f64]) -> Option<f64> {
    const ROUNDING: f64 = 1e-9;
    let all = deviation(rtts.to_vec());
    let explained = PERIODS.map(|period| (1.0 - unexplained(sent, rtts, period) / all, period));
    let most = explained.iter().map(|(share, _)| *share).fold(LEAST_SHARE, f64::max);
    explained
        .into_iter()
        .find(|(share, _)| *share > LEAST_SHARE && *share >= most - ROUNDING)
        .map(|(_, period)| period)
}

fn unexplained(sent: &[f64], rtts: &[f64], period: f64) -> f64 {
    let step = (period / 20.0).max(0.5);
    let phases = (0..).map(|place| f64::from(place) * step).take_while(|phase| *phase < period);
    let wait = |phase: f64, at: f64| (phase - at).rem_euclid(period);
    let rests = |phase| sent.iter().zip(rtts).map(|(at, rtt)| rtt - wait(phase, *at)).collect();
    phases.map(|phase| deviation(rests(phase))).fold(f64::INFINITY, f64::min)
}

/// From the median, in the mean.
fn deviation(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let median = values[values.len() / 2];
    values.iter().map(|value| (value - median).abs()).sum::<f64>() / values.len() as f64
}

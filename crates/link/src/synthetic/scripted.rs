//! Links that follow a script: Wi-Fi with its pauses and its jitter, and Starlink with its phases.
//!
//! - Suspension and fade: `picoquic_ns.c` of private-octopus/picoquic (reports #1697 and #1481, PRs #1484 and #1878), the fade's jitter
//!   by `sim_link.c` there, which was fitted to measurements in bad Wi-Fi networks.
//! - Starlink: rates by 12 downlinks of NUWiNS/starlink-measurement, gap and delays by SpaceNetLab/LeoCC's recording.
//!
//! The rate of the Wi-Fi links and the time between spikes, and between fades, are ours.

use super::{Autoregressive, Draws};
use cellcc_units::{Rate, Span};

/// A link that repeats its script, with new draws in each round.
#[derive(Debug)]
pub(super) struct Script {
    pub(super) name: &'static str,
    pub(super) description: &'static str,
    /// The first with a mean rate within 5 % of the mean of all seeds.
    pub(super) typical_seed: u64,
    round: fn(&mut Draws, &mut Round),
}

/// Rates and delays over time, each with how long it holds; both lists last equally long.
#[derive(Debug, Default)]
pub(super) struct Round {
    pub(super) rates: Vec<(Span, Rate)>,
    pub(super) delays: Vec<(Span, Span)>,
}

pub(super) static SCRIPTS: [Script; 4] = [
    Script {
        name: "wifi-suspension",
        description: "Wi-Fi that is suspended for 0.2 s in every 2 s; then up to 1.25 MB that waited leave at once: 50 Mbit/s",
        typical_seed: 1,
        round: suspension,
    },
    Script {
        name: "wifi-spikes",
        description: "Wi-Fi of 50 Mbit/s with 20 to 140 ms of additional delay for 1 s in every 10 s",
        typical_seed: 1,
        round: spikes,
    },
    Script {
        name: "wifi-fade",
        description: "Wi-Fi of 50 Mbit/s that fades for 2 s in every 10 s: nine tenths of the rate, jitter up to 200 ms",
        typical_seed: 1,
        round: fade,
    },
    Script {
        name: "starlink-15s",
        description: "Starlink downlink: every 15 s a gap of 50 ms, and another rate and delay: 225 Mbit/s on average",
        typical_seed: 3,
        round: phase,
    },
];

impl Script {
    /// The link for at least `length`.
    pub(super) fn play(&self, draws: &mut Draws, length: Span) -> Round {
        let (mut all, mut lasts) = (Round::default(), Span::ZERO);
        while lasts < length {
            let before = all.rates.len();
            (self.round)(draws, &mut all);
            lasts += all.rates[before..].iter().fold(Span::ZERO, |sum, &(span, _)| sum + span);
        }
        all
    }
}

const WIFI_MBIT: f64 = 50.0;
/// Time from one spike, or one fade, to the next.
const WIFI_PERIOD: Span = Span::from_secs(10);
/// How long one draw of a delay holds.
const GRAIN: Span = Span::from_millis(10);

fn mbit(mbit: f64) -> Rate {
    Rate::from_mbit_per_sec(mbit)
}

fn suspension(_: &mut Draws, round: &mut Round) {
    /// The time in which all that was held leaves: at that rate a packet takes nanoseconds.
    const RELEASE: Span = Span::from_micros(2);
    let (on, off) = (Span::from_millis(1800), Span::from_millis(200));
    let held = WIFI_MBIT * (off + RELEASE).as_secs_f64() / RELEASE.as_secs_f64();
    round.rates.extend([
        (on.saturating_sub(RELEASE), mbit(WIFI_MBIT)),
        (off, Rate::ZERO),
        (RELEASE, mbit(held)),
    ]);
    round.delays.push((on + off, Span::ZERO));
}

fn spikes(draws: &mut Draws, round: &mut Round) {
    let spike = Span::from_secs(1);
    round.rates.push((WIFI_PERIOD, mbit(WIFI_MBIT)));
    round.delays.push((WIFI_PERIOD.saturating_sub(spike), Span::ZERO));
    let drawn = |_| (GRAIN, Span::from_millis(20) + Span::from_millis(120).mul_f64(draws.uniform()));
    round.delays.extend((0..spike.as_nanos() / GRAIN.as_nanos()).map(drawn));
}

fn fade(draws: &mut Draws, round: &mut Round) {
    let (before, faded) = (Span::from_secs(1), Span::from_secs(2));
    let after = WIFI_PERIOD.saturating_sub(before + faded);
    round.rates.extend([(before, mbit(WIFI_MBIT)), (faded, mbit(0.9 * WIFI_MBIT)), (after, mbit(WIFI_MBIT))]);
    round.delays.push((before, Span::ZERO));
    round.delays.extend((0..faded.as_nanos() / GRAIN.as_nanos()).map(|_| (GRAIN, wifi_jitter(draws))));
    round.delays.push((after, Span::ZERO));
}

/// A delay of `sim_link.c` for its jitter of 12 ms: a number of milliseconds, mostly 0 to 3; and in 11 of 84 cases some twelve
/// times 7.5 ms more. Each is spread over its last part.
fn wifi_jitter(draws: &mut Draws) -> Span {
    let mut parts = |mean: f64, part: Span| match draws.poisson(mean) {
        0 => Span::ZERO,
        count => part.mul_f64(f64::from(count) - draws.uniform()),
    };
    let short = parts(1.0, Span::from_millis(1));
    let long = parts(12.0, Span::from_micros(7500));
    if draws.happens(11.0 / 84.0) { short + long } else { short }
}

/// Fifteen seconds of one satellite. The numbers make the table of `docs/synthetic-links.md`.
fn phase(draws: &mut Draws, round: &mut Round) {
    const HALF: Span = Span::from_millis(500);
    const HALVES: usize = 30;
    /// The median length of LeoCC's boundaries with a delay above 25 ms.
    const GAP: Span = Span::from_millis(50);
    /// The delays of LeoCC's phases differ by this much.
    const DELAYS: Span = Span::from_micros(2400);
    const MEAN: f64 = 235.0;
    const FASTEST: f64 = 400.0;
    let level = MEAN * (1.0 + 0.36 * draws.normal()).max(0.1);
    let mut wander = Autoregressive::new(2.0, draws);
    round.delays.push((HALF * HALVES as u64, DELAYS.mul_f64(draws.uniform())));
    round.rates.push((GAP, Rate::ZERO));
    for index in 0..HALVES {
        let rate = level * (1.0 + 0.36 * wander.next(draws));
        let length = if index == 0 { HALF.saturating_sub(GAP) } else { HALF };
        round.rates.push((length, mbit(rate.clamp(0.0, FASTEST))));
    }
}

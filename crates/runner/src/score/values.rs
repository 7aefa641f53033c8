//! The values of runs, each from 0 to 1.

use super::PARTS;
use super::faults::Fault;
use cellcc_experiment::{Record, is_limit, next_to};
use cellcc_statistics::mean;

/// The share of lost packets that halves the value of a run (our choice).
const HALVING_LOSS: f64 = 0.01;

/// The values of a scheme.
pub(super) struct Values {
    /// Throughput, delay and loss of each run alone.
    pub(super) alone: Vec<[f64; 3]>,
    /// One per link that it shares with CUBIC.
    pub(super) harm: Vec<f64>,
    /// The share of faults after which it comes back.
    pub(super) faults: f64,
}

impl Values {
    /// The parts.
    pub(super) fn parts(&self) -> [f64; PARTS.len()] {
        let all = |count: usize| (0..count).collect::<Vec<_>>();
        self.parts_of(&all(self.alone.len()), &all(self.harm.len()))
    }

    /// The parts by these of its runs.
    pub(super) fn parts_of(&self, alone: &[usize], harm: &[usize]) -> [f64; PARTS.len()] {
        let average = |values: Vec<f64>| mean(&values).unwrap_or(0.0);
        let of_alone = |part: usize| average(alone.iter().map(|&run| self.alone[run][part]).collect());
        let harm = average(harm.iter().map(|&link| self.harm[link]).collect());
        [of_alone(0), of_alone(1), of_alone(2), harm, self.faults]
    }
}

/// True where two runs differ in their schemes alone.
fn is_like(one: &Record, other: &Record) -> bool {
    let key = |record: &'_ Record| {
        let scenario = &record.scenario;
        (scenario.trace.clone(), scenario.variation.clone(), scenario.seed)
    };
    key(one) == key(other)
}

/// Throughput, delay and loss of each run of a scheme, against the limit of its link.
pub(super) fn alone(scheme: &str, records: &[Record]) -> Vec<[f64; 3]> {
    let runs = records.iter().filter(|record| record.scenario.scheme == scheme);
    let value = |run: &Record| {
        let limit = records.iter().find(|other| is_limit(&other.scenario.scheme) && is_like(run, other))?;
        let (own, most) = (&run.total, limit.total.throughput_mbit_s);
        let throughput = if most > 0.0 { (own.throughput_mbit_s / most).min(1.0) } else { 1.0 };
        let rtt_ms = run.scenario.path.rtt.as_secs_f64() * 1000.0;
        // A run in which nothing left the link has no good part.
        let delay = own.queueing_delay_p95_ms.map_or(0.0, |p95_ms| rtt_ms / (rtt_ms + p95_ms));
        let loss = own.queueing_delay_p95_ms.map_or(0.0, |_| 1.0 / (1.0 + own.loss_ratio / HALVING_LOSS));
        Some([throughput, delay, loss])
    };
    runs.filter_map(value).collect()
}

/// The part of its throughput next to its like that the victim keeps next to a scheme: the mean of both orders of starting, on
/// each link.
pub(super) fn harm(scheme: &str, victim: &str, records: &[Record]) -> Vec<f64> {
    let links = records.iter().filter(|record| record.scenario.scheme == victim);
    let value = |link: &Record| {
        let throughput = |text: &str, flow: usize| {
            let run = records.iter().find(|other| other.scenario.scheme == text && is_like(link, other))?;
            Some(run.flows.get(flow)?.metrics.throughput_mbit_s)
        };
        let kept = [(next_to(victim, scheme), 0), (next_to(scheme, victim), 1)].map(|(text, flow)| {
            let like = throughput(&next_to(victim, victim), flow)?;
            let beside = throughput(&text, flow)?;
            Some(if like > 0.0 { (beside / like).min(1.0) } else { 1.0 })
        });
        mean(&kept.into_iter().flatten().collect::<Vec<_>>())
    };
    links.filter_map(value).collect()
}

/// The share of faults after which a scheme comes back.
pub(super) fn faults<'a>(scheme: &str, faults: impl Iterator<Item = (&'a Fault, &'a [Record])>) -> f64 {
    let is_back = |(fault, records): (&Fault, &[Record])| {
        let run = records.iter().find(|record| record.scenario.scheme == scheme);
        f64::from(u8::from(run.is_some_and(|run| fault.recovery(run).is_back())))
    };
    mean(&faults.map(is_back).collect::<Vec<_>>()).unwrap_or(0.0)
}

//! The score of a scheme: one number from 0 to 100, for people and programs that search for controllers. docs/how-to/score.md
//! describes it; `cellcc score` and Python's `score` print it.
//!
//! The runs are those of two Scenarios (alone on cellular links; next to CUBIC) and of [`faults`]. Each run has a value from 0 to 1 for
//! each part that it is about; a part is the mean of its values, and the score their weighted geometric mean: no part can buy
//! another out.

pub mod faults;
mod values;

use crate::{Request, RequestError};
use cellcc_experiment::{Driver, Mix, Plan, PlanFile, Record, expand_braces};
use cellcc_statistics::{percentile_interval, resamples};
use cellcc_units::Span;
use faults::FAULTS;
use libm::{exp, log};
use serde::Serialize;
use std::ops::Range;
use values::Values;

/// A part of the score.
pub struct Part {
    /// The name in tables.
    pub name: &'static str,
    /// The weight; all together are 1.
    pub weight: f64,
    /// The value of a run.
    pub meaning: &'static str,
}

/// The parts. The weights are ours: use and delay matter most and equally, and the order hardly depends on them
/// (docs/how-to/score.md).
pub const PARTS: [Part; 5] = [
    Part { name: "throughput", weight: 0.3, meaning: "throughput / that of a sender that knows the link" },
    Part { name: "delay", weight: 0.3, meaning: "base RTT / (base RTT + p95 of the queueing delay)" },
    Part { name: "loss", weight: 0.1, meaning: "1 / (1 + share of packets lost / 1%)" },
    Part { name: "harm", weight: 0.15, meaning: "CUBIC's throughput next to it / next to CUBIC, at most 1" },
    Part { name: "faults", weight: 0.15, meaning: "1 if it comes back after the fault" },
];

/// The least that a part counts as (our choice): a scheme without any throughput must not hide its other parts.
const LEAST: f64 = 0.01;

/// Weights change by this factor to see whether the order depends on them (our choice).
const CHANGE: f64 = 2.0;

/// The base RTT of the faults that a search must not see (our choice).
const HELD_OUT_RTT: Span = Span::from_millis(70);

/// Choice of links, base RTTs and seeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links {
    /// Those to search on.
    Search,
    /// Those that a search must not see.
    HeldOut,
}

impl Links {
    /// The Scenarios: alone, and next to CUBIC, each with its name; and the base RTT of the faults.
    fn scenarios(self) -> ([(&'static str, &'static str); 2], Span) {
        macro_rules! named {
            ($name:literal) => {
                (concat!("scenarios/score/", $name), include_str!(concat!("../../assets/score/", $name)))
            };
        }
        match self {
            Self::Search => ([named!("links.toml"), named!("harm.toml")], faults::RTT),
            Self::HeldOut => ([named!("held-out-links.toml"), named!("held-out-harm.toml")], HELD_OUT_RTT),
        }
    }
}

/// The score of a scheme.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Score {
    /// One more than the number of schemes whose whole interval is above this one's.
    pub rank: usize,
    /// The scheme.
    pub scheme: String,
    /// From 0 to 100.
    pub score: f64,
    /// The lower end of its 95 % interval over the runs.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The parts, each from 0 to 1.
    #[serde(flatten)]
    pub parts: Parts,
    /// Its best place among the schemes, by the score alone, if one weight is halved or doubled.
    pub best_place: usize,
    /// Its worst place.
    pub worst_place: usize,
}

/// The values of [`PARTS`], in their order.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[allow(missing_docs, reason = "PARTS has the meanings")]
pub struct Parts {
    pub throughput: f64,
    pub delay: f64,
    pub loss: f64,
    pub harm: f64,
    pub faults: f64,
}

/// The runs behind the scores of some schemes.
pub struct Scoring {
    plan: Plan,
    schemes: Vec<String>,
    victim: String,
    alone: Range<usize>,
    next_to_cubic: Range<usize>,
    /// Those of [`FAULTS`].
    faults: Vec<Range<usize>>,
}

impl Scoring {
    /// The runs of schemes, each `NAME` or `NAME(KEY=VALUE,...)`, or a file with the weights of a policy. Braces stand for several.
    ///
    /// # Errors
    /// A text that is not one scheme, and one that `driver` refuses.
    pub fn new(
        given: &[String],
        links: Links,
        driver: &dyn Driver,
        version: &str,
    ) -> Result<Self, RequestError> {
        let schemes = schemes(given)?;
        let mut plan = Plan {
            title: "Score".into(),
            baseline: String::new(),
            version: version.into(),
            runs: Vec::new(),
        };
        let mut add = |name: &str, file: PlanFile| -> Result<Range<usize>, RequestError> {
            let begin = plan.runs.len();
            plan.runs.extend(Request { file, name: name.into() }.plan(driver, version)?.runs);
            Ok(begin..plan.runs.len())
        };
        let (scenarios, rtt) = links.scenarios();
        let [alone, next_to_cubic] = scenarios.map(|(name, text)| {
            let mut file = Request::parse(name, text)?.file;
            file.schemes.clone_from(&schemes);
            Ok((file.harm.clone(), add(name, file)?))
        });
        let ((_, alone), (victim, next_to_cubic)) = (alone?, next_to_cubic?);
        let faults = FAULTS.iter().map(|fault| add(fault.name, fault.plan_file(&schemes, rtt)));
        let faults = faults.collect::<Result<_, _>>()?;
        Ok(Self { plan, schemes, victim, alone, next_to_cubic, faults })
    }

    /// The runs.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The scores from the Records of all runs, in plan order and with all of their series; the best first.
    ///
    /// # Errors
    /// Records of other runs.
    pub fn scores(&self, records: &[Record]) -> Result<Vec<Score>, RequestError> {
        let ids = self.plan.runs.iter().map(|run| run.id.to_string());
        if !ids.eq(records.iter().map(|record| record.id.clone())) {
            return Err(RequestError::new("a score needs the Record of each of its runs; run it again"));
        }
        let values = self.schemes.iter().map(|scheme| self.values(scheme, records)).collect::<Vec<_>>();
        let parts: Vec<[f64; PARTS.len()]> = values.iter().map(Values::parts).collect();
        let weights = PARTS.map(|part| part.weight);
        let numbers: Vec<f64> = parts.iter().map(|parts| number(parts, &weights)).collect();
        let intervals: Vec<(f64, f64)> =
            values.iter().zip(&numbers).map(|(values, number)| interval(values, *number)).collect();
        let orders: Vec<Vec<f64>> = changed_weights()
            .map(|weights| parts.iter().map(|parts| number(parts, &weights)).collect())
            .collect();
        let mut scores: Vec<Score> = (0..self.schemes.len())
            .map(|at| {
                let (low, high) = intervals[at];
                let places = || orders.iter().map(|order| place(order[at], order));
                let [throughput, delay, loss, harm, faults] = parts[at];
                Score {
                    rank: 1 + intervals.iter().filter(|(other, _)| *other > high).count(),
                    scheme: self.schemes[at].clone(),
                    score: numbers[at],
                    low,
                    high,
                    parts: Parts { throughput, delay, loss, harm, faults },
                    best_place: places().min().unwrap_or(1),
                    worst_place: places().max().unwrap_or(1),
                }
            })
            .collect();
        scores.sort_by(|one, other| other.score.total_cmp(&one.score));
        Ok(scores)
    }

    fn values(&self, scheme: &str, records: &[Record]) -> Values {
        let faults = self.faults.iter().zip(&FAULTS).map(|(runs, fault)| (fault, &records[runs.clone()]));
        Values {
            alone: values::alone(scheme, &records[self.alone.clone()]),
            harm: values::harm(scheme, &self.victim, &records[self.next_to_cubic.clone()]),
            faults: values::faults(scheme, faults),
        }
    }
}

/// The schemes that these texts mean, each once.
fn schemes(given: &[String]) -> Result<Vec<String>, RequestError> {
    let mut schemes: Vec<String> = Vec::new();
    for text in given {
        let named =
            if text.ends_with(".safetensors") { format!("learned(model={text})") } else { text.clone() };
        for text in expand_braces(&named).map_err(RequestError::new)? {
            let mix = Mix::parse(&text).map_err(RequestError::new)?;
            match mix.flows.as_slice() {
                [flow] if flow.scheme == mix.text => (),
                _ => {
                    return Err(RequestError::new(format!(
                        "`{text}` is not one scheme: write NAME or NAME(KEY=VALUE,...), several with spaces between"
                    )));
                }
            }
            if !schemes.contains(&mix.text) {
                schemes.push(mix.text);
            }
        }
    }
    Ok(schemes)
}

/// The weighted geometric mean of the parts, from 0 to 100.
fn number(parts: &[f64; PARTS.len()], weights: &[f64; PARTS.len()]) -> f64 {
    let logarithms = parts.iter().zip(weights).map(|(part, weight)| weight * log(part.max(LEAST)));
    100.0 * exp(logarithms.sum::<f64>() / weights.iter().sum::<f64>())
}

/// The 95 % interval of a score over its runs. The list of faults is no sample: it is whole.
fn interval(values: &Values, score: f64) -> (f64, f64) {
    let weights = PARTS.map(|part| part.weight);
    let drawn = resamples(&[values.alone.len(), values.harm.len()]);
    let scores = drawn.map(|drawn| number(&values.parts_of(&drawn[0], &drawn[1]), &weights));
    percentile_interval(scores.collect()).unwrap_or((score, score))
}

/// The weights, and each of them halved and doubled.
fn changed_weights() -> impl Iterator<Item = [f64; PARTS.len()]> {
    let weights = PARTS.map(|part| part.weight);
    let changed = (0..PARTS.len()).flat_map(move |at| {
        [CHANGE.recip(), CHANGE].map(|factor| {
            let mut changed = weights;
            changed[at] *= factor;
            changed
        })
    });
    std::iter::once(weights).chain(changed)
}

/// The place of a score among all of them, 1 for the highest.
fn place(score: f64, scores: &[f64]) -> usize {
    1 + scores.iter().filter(|other| **other > score).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Collected, Drivers, SeriesDetail, collect};
    use cellcc_experiment::Recordings;
    use std::num::NonZeroUsize;
    use std::sync::atomic::AtomicBool;

    const VERSION: &str = "test";

    fn scoring(given: &[&str], links: Links) -> Result<Scoring, RequestError> {
        let given: Vec<String> = given.iter().map(|&text| text.into()).collect();
        Scoring::new(&given, links, &driver(), VERSION)
    }

    fn driver() -> Drivers {
        Drivers::new(&[], &Recordings::default()).unwrap()
    }

    fn scored(given: &[&str], links: Links, jobs: usize) -> Vec<Score> {
        let scoring = scoring(given, links).unwrap();
        let jobs = NonZeroUsize::new(jobs).unwrap();
        let stop = AtomicBool::new(false);
        let Collected { records, .. } =
            collect(scoring.plan(), &driver(), jobs, SeriesDetail::Full, &(), &stop).unwrap();
        scoring.scores(&records).unwrap()
    }

    #[test]
    fn the_weights_are_shares_of_one() {
        assert!((PARTS.iter().map(|part| part.weight).sum::<f64>() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_score_is_the_same_for_any_number_of_jobs_and_whoever_else_is_scored() {
        let together = scored(&["vegas", "cubic"], Links::Search, 2);
        let [alone] = &scored(&["vegas"], Links::Search, 1)[..] else { panic!("one scheme") };
        assert_eq!(together[0].scheme, "vegas");
        let Score { score, low, high, parts, .. } = &together[0];
        assert_eq!((score, low, high, parts), (&alone.score, &alone.low, &alone.high, &alone.parts));
        // The column `faults, QUIC` of docs/evidence/league.md has 12 of 17 for CUBIC.
        assert!((together[1].parts.faults - 12.0 / 17.0).abs() < 1e-12, "{together:?}");
        assert!(alone.low < alone.score && alone.score < alone.high && alone.high < 100.0, "{alone:?}");
    }

    #[test]
    fn cubic_does_itself_no_harm_and_fills_links_and_queues() {
        let [Score { parts, .. }] = &scored(&["cubic"], Links::HeldOut, 2)[..] else { panic!("one scheme") };
        assert_eq!(parts.harm, 1.0, "it is its own measure");
        assert!(parts.throughput > 0.9 && parts.throughput <= 1.0, "{parts:?}");
        // It fills eight bandwidth-delay products of queue: a ninth is the base RTT, of one product a half.
        assert!((1.0 / 9.0..0.5).contains(&parts.delay), "{parts:?}");
    }

    #[test]
    fn a_file_of_weights_is_the_policy_in_it() {
        assert_eq!(schemes(&["p/mine.safetensors".into()]).unwrap(), ["learned(model=p/mine.safetensors)"]);
    }

    #[test]
    fn held_out_links_are_others_but_of_the_same_number() {
        let [search, held_out] =
            [Links::Search, Links::HeldOut].map(|links| scoring(&["cubic"], links).unwrap());
        assert_eq!(search.plan.runs.len(), held_out.plan.runs.len());
        let mut of_search = search.plan.runs.iter().map(|run| run.id);
        assert!(of_search.all(|id| held_out.plan.runs.iter().all(|run| run.id != id)));
        let names = |scoring: &Scoring| -> Vec<String> {
            scoring.plan.runs[scoring.alone.clone()].iter().map(|run| run.scenario.trace.clone()).collect()
        };
        assert!(names(&search).iter().all(|name| !names(&held_out).contains(name)));
    }

    #[test]
    fn a_text_that_is_not_one_scheme_is_refused() {
        for text in ["cubic+bbr", "2*cubic", "cubic@5s", "cubic:sized(1MB)", "nosuch"] {
            let refusal = scoring(&[text], Links::Search).map(drop).unwrap_err().to_string();
            assert!(refusal.contains(text), "{refusal}");
        }
        let twice = scoring(&["reminis(dtt={1.5x,2x})", "reminis(dtt=2x)"], Links::Search).unwrap();
        assert_eq!(twice.schemes, ["reminis(dtt=1.5x)", "reminis(dtt=2x)"]);
    }

    #[test]
    fn records_of_other_runs_are_refused() {
        assert!(scoring(&["cubic"], Links::Search).unwrap().scores(&[]).is_err());
    }

    #[test]
    fn a_part_that_is_nothing_counts_as_the_least() {
        let weights = PARTS.map(|part| part.weight);
        assert!((number(&[1.0; 5], &weights) - 100.0).abs() < 1e-9);
        assert!((number(&[0.0; 5], &weights) - 1.0).abs() < 1e-9);
        // A weight of 0.3 on a hundredth: 100 * 10^-0.6.
        assert!((number(&[0.0, 1.0, 1.0, 1.0, 1.0], &weights) - 25.118_864).abs() < 1e-4);
        assert_eq!(changed_weights().count(), 1 + 2 * PARTS.len());
    }
}

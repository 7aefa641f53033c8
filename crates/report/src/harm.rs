//! The harm that schemes do to a victim (Ware et al., Beyond Jain's Fairness Index, HotNets 2019): the part of a flow's
//! performance alone that it loses in competition with another one. A scheme may be deployed that does no more harm to the
//! victim than the victim does to itself.

use crate::comparison::{Comparison, Row, Trace, distinct, label_by};
use crate::tables::grid::{Cell, Grid, GridRow, titles};
use crate::tables::number::three_digits;
use cellcc_experiment::{HEAD_START, Metrics, Record, next_to};
use cellcc_statistics::{Average, Certainty, Kind, mean};

/// The meaning of the columns.
pub(crate) const NOTE: &str = "Harm: the fraction of its performance alone that the victim loses in competition with the scheme (0: nothing, 1: all, below 0: it \
    gains), over the time in which both run; each condition counts once, with the mean of the victim first and second. Excess: harm minus \
    that of a second victim. `no more harm`: the whole 95 % interval of the excess is at most 0.05 (cellcc's own margin); `more harm`: \
    it is all above; `undecided` otherwise. Found from: the smallest excess that this number and spread of conditions detects as `more harm` in 4 of 5 cases; a smaller undecided \
    excess needs more conditions. A victim with a harm above 0.9 starves, whatever the mean.";

/// The excess up to which a scheme does no more harm than the victim's own like. Our choice.
const MARGIN: f64 = 0.05;

/// The loss of a victim in competition with a flow: its metrics alone, and then.
type Measure = fn(&Metrics, &Metrics) -> Option<f64>;

/// Title, statistic, and the measure.
const MEASURES: [(&str, &str, Measure); 6] = [
    ("Throughput", "harm", |alone, shared| more_is_better(alone.throughput_mbit_s, shared.throughput_mbit_s)),
    ("Delay", "harm, mean", |alone, shared| {
        less_is_better(alone.one_way_delay_mean_ms?, shared.one_way_delay_mean_ms?)
    }),
    ("Delay", "harm, p95", |alone, shared| {
        less_is_better(alone.one_way_delay_p95_ms?, shared.one_way_delay_p95_ms?)
    }),
    ("Loss", "points", |alone, shared| Some((shared.loss_ratio - alone.loss_ratio) * 100.0)),
    ("Completion", "harm", |alone, shared| {
        // A flow that never completes has lost all.
        let never = f64::INFINITY;
        less_is_better(alone.completion_time_s?, shared.completion_time_s.unwrap_or(never))
    }),
    ("Missed", "share", |alone, shared| Some(shared.deadline_miss_ratio? - alone.deadline_miss_ratio?)),
];
const THROUGHPUT: usize = 0;
const COMPLETION: usize = 4;
const MISSED: usize = 5;

fn more_is_better(alone: f64, shared: f64) -> Option<f64> {
    (alone > 0.0).then(|| 1.0 - shared / alone)
}

fn less_is_better(alone: f64, shared: f64) -> Option<f64> {
    (shared > 0.0).then(|| 1.0 - alone / shared)
}

/// The admissibility of a scheme in competition with the victim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    NoMore,
    More,
    Undecided,
}

impl Verdict {
    /// Each bound is one-sided at 97.5 %.
    fn of(excess: &Average) -> Self {
        let all_same = (excess.certainty == Certainty::NoSpread).then_some((excess.value, excess.value));
        let Some((low, high)) = excess.certainty.interval().or(all_same) else { return Self::Undecided };
        match () {
            () if high <= MARGIN => Self::NoMore,
            () if low > MARGIN => Self::More,
            () => Self::Undecided,
        }
    }

    fn text(self) -> &'static str {
        match self {
            Self::NoMore => "no more harm",
            Self::More => "more harm",
            Self::Undecided => "undecided",
        }
    }
}

/// A victim and a scheme next to it, by one driver.
#[derive(Clone, Copy)]
struct Pair<'a> {
    victim: &'a str,
    scheme: &'a str,
    driver: &'a str,
}

/// Runs that differ in their schemes alone.
#[derive(Clone, Copy)]
struct Setting<'a> {
    trace: Trace<'a>,
    variation: &'a str,
    seed: u64,
}

/// A table for each victim whose rows are among the runs.
pub(crate) fn harm(comparison: &Comparison) -> Vec<Grid> {
    let rows: Vec<Row> = comparison.schemes().collect();
    let schemes = distinct(rows.iter().map(|row| row.scheme));
    let drivers = distinct(rows.iter().map(|row| row.driver));
    let victims = schemes.iter().filter(|victim| schemes.contains(&next_to(victim, victim).as_str()));
    let of_victim = |&victim: &&str| {
        let (before, after) = (format!("{victim}+"), format!("@{HEAD_START}"));
        let second = schemes.iter().filter_map(|text| text.strip_prefix(&*before)?.strip_suffix(&*after));
        let others = second.filter(|other| schemes.contains(&next_to(other, victim).as_str()));
        let pairs: Vec<Pair> = others
            .flat_map(|scheme| drivers.iter().map(move |&driver| Pair { victim, scheme, driver }))
            .collect();
        table(comparison, victim, &pairs)
    };
    victims.map(of_victim).collect()
}

fn table(comparison: &Comparison, victim: &str, pairs: &[Pair]) -> Grid {
    let measured: Vec<(&Pair, [Vec<f64>; MEASURES.len()])> = pairs
        .iter()
        .map(|pair| {
            (
                pair,
                MEASURES.map(|(.., measure)| {
                    pair.harm(comparison, measure).into_iter().map(|(value, _)| value).collect()
                }),
            )
        })
        .collect();
    let shown: Vec<usize> =
        (0..MEASURES.len()).filter(|&at| measured.iter().any(|(_, values)| !values[at].is_empty())).collect();
    // The purpose of the victim's source.
    let decides = [MISSED, COMPLETION].into_iter().find(|at| shown.contains(at)).unwrap_or(THROUGHPUT);
    let rows = measured.iter().map(|(pair, values)| {
        let harm = shown.iter().map(|&at| Cell::of(average(&values[at])));
        let excess = average(&pair.excess(comparison, MEASURES[decides].2));
        let excess = excess.filter(|_| pair.scheme != victim);
        let verdict = Cell::text(excess.as_ref().map_or("", |excess| Verdict::of(excess).text()).into());
        let found_from = excess.and_then(|excess| Some(MARGIN + excess.detectable()?));
        let worst = Cell::text(pair.worst(comparison, MEASURES[decides].2));
        GridRow::named(
            label_by(pair.scheme, pair.driver),
            harm.chain([Cell::of(excess), Cell::plain(found_from), verdict, worst]).collect(),
        )
    });
    let (title, ..) = MEASURES[decides];
    let last = [("Excess", title), ("Found from", "excess"), ("Verdict", ""), ("Worst", title)];
    Grid {
        caption: format!("Harm to {victim}{}", means_over(comparison)),
        of: vec!["Scheme".into()],
        rows: rows.collect(),
        columns: titles(shown.iter().map(|&at| (MEASURES[at].0, MEASURES[at].1)).chain(last)),
    }
}

/// The number and kind of values behind the means; empty where there is one value.
fn means_over(comparison: &Comparison) -> String {
    let values = by_condition(comparison, |_| Some(0.0));
    let conditions = distinct(values.iter().map(|(_, name)| name.as_str())).len();
    match (conditions, values.len()) {
        (_, 0 | 1) => String::new(),
        (1, seeds) => format!(": means over {seeds} seeds"),
        (conditions, _) => format!(": means over {conditions} conditions"),
    }
}

fn average(values: &[f64]) -> Option<Average> {
    Average::of(Kind::Mean, values, (f64::NEG_INFINITY, f64::INFINITY))
}

/// The mean over seeds of each condition, which is a trace and a variation; with a single condition, the value of each seed.
fn by_condition<'a>(
    comparison: &'a Comparison,
    value: impl Fn(Setting<'a>) -> Option<f64>,
) -> Vec<(f64, String)> {
    let variations = distinct(comparison.rows.iter().filter(|row| !row.is_limit()).map(|row| row.variation));
    let is_single = comparison.traces.len() * variations.len() == 1;
    let mut found = Vec::new();
    for &trace in &comparison.traces {
        for &variation in &variations {
            let values =
                comparison.seeds.iter().filter_map(|&seed| value(Setting { trace, variation, seed }));
            let values: Vec<f64> = values.collect();
            let parts: Vec<&str> =
                [trace.name, variation].into_iter().filter(|part| !part.is_empty()).collect();
            let name = parts.join(", ");
            match mean(&values) {
                Some(_) if is_single => found.extend(values.into_iter().map(|value| (value, name.clone()))),
                Some(mean) => found.push((mean, name)),
                None => (),
            }
        }
    }
    found
}

impl Pair<'_> {
    /// The victim's loss on each condition.
    fn harm(&self, comparison: &Comparison, measure: Measure) -> Vec<(f64, String)> {
        by_condition(comparison, |setting| {
            let orders = self.in_both_orders(comparison, setting, self.scheme, measure);
            mean(&orders.into_iter().flatten().collect::<Vec<_>>())
        })
    }

    /// By how much more than next to its like, in the same order under the same seed.
    fn excess(&self, comparison: &Comparison, measure: Measure) -> Vec<f64> {
        let excess = by_condition(comparison, |setting| {
            let [by_scheme, by_like] = [self.scheme, self.victim]
                .map(|scheme| self.in_both_orders(comparison, setting, scheme, measure));
            let both = by_scheme.into_iter().zip(by_like).filter_map(|(one, other)| Some(one? - other?));
            mean(&both.collect::<Vec<_>>())
        });
        excess.into_iter().map(|(value, _)| value).collect()
    }

    /// The condition with the most harm.
    fn worst(&self, comparison: &Comparison, measure: Measure) -> String {
        let harm = self.harm(comparison, measure).into_iter();
        let worst = harm.reduce(|one, other| if other.0 > one.0 { other } else { one });
        worst.map_or(String::new(), |(value, name)| format!("{}: {name}", three_digits(value)))
    }

    /// The harm where the victim comes first, and where it comes second.
    fn in_both_orders(
        &self,
        comparison: &Comparison,
        Setting { trace, variation, seed }: Setting,
        scheme: &str,
        measure: Measure,
    ) -> [Option<f64>; 2] {
        let flow = |schemes: &str, at: usize| {
            let runs = comparison.runs(Row { scheme: schemes, driver: self.driver, variation }, trace);
            let run: &&Record = runs.iter().find(|run| run.scenario.seed == seed)?;
            run.flows.get(at).map(|flow| flow.metrics.clone())
        };
        let alone = flow(self.victim, 0);
        [(next_to(self.victim, scheme), 0), (next_to(scheme, self.victim), 1)]
            .map(|(schemes, at)| measure(alone.as_ref()?, &flow(&schemes, at)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::number::NONE;
    use cellcc_experiment::{FlowRecord, Scenario};
    use cellcc_link::{Capacities, Capacity};
    use std::sync::Arc;

    const CONDITIONS: usize = 36;

    /// The harm of `bbr` to `cubic` under 36 conditions. Alone the victim has 10 Mbit/s, and next to its like 5.
    fn records(harm: impl Fn(usize) -> f64) -> Vec<Record> {
        let capacity = Arc::new(Capacity::unlimited());
        let capacities =
            Capacities { forward: vec![Arc::clone(&capacity)], reverse: capacity, notes: Vec::new() };
        let of = |condition: usize| {
            let rows = [
                ("cubic", vec![10.0]),
                ("cubic+cubic@5s", vec![5.0, 5.0]),
                ("cubic+bbr@5s", vec![1.0, 1.0]),
                ("bbr+cubic@5s", vec![1.0, 1.0]),
            ];
            rows.map(|(scheme, throughputs)| {
                let mut scenario: Scenario = serde_json::from_value(serde_json::json!({
                    "scheme": "", "trace": "", "seed": 1, "duration": "1s", "flows": []
                }))
                .unwrap();
                (scenario.scheme, scenario.variation) =
                    (scheme.into(), format!("path.queue={}pkt", condition + 1));
                let mut record = Record::empty(&scenario, "sim", &capacities);
                record.flows = throughputs.into_iter().map(flow).collect();
                record
            })
        };
        let mut records: Vec<Record> = (0..CONDITIONS).flat_map(of).collect();
        set(&mut records, harm);
        records
    }

    fn flow(throughput_mbit_s: f64) -> FlowRecord {
        FlowRecord { metrics: Metrics { throughput_mbit_s, ..Metrics::default() }, ..FlowRecord::default() }
    }

    /// Sets other harm under these conditions.
    fn set(records: &mut [Record], harm: impl Fn(usize) -> f64) {
        for (condition, rows) in records.chunks_mut(4).enumerate() {
            let next_to_bbr = 10.0 * (1.0 - harm(condition));
            rows[2].flows[0].metrics.throughput_mbit_s = next_to_bbr;
            rows[3].flows[1].metrics.throughput_mbit_s = next_to_bbr;
        }
    }

    fn excess(records: &[Record]) -> Average {
        let pair = Pair { victim: "cubic", scheme: "bbr", driver: cellcc_experiment::DEFAULT_DRIVER };
        average(&pair.excess(&Comparison::new(records), MEASURES[THROUGHPUT].2)).unwrap()
    }

    #[test]
    fn the_verdict_is_that_of_the_whole_interval() {
        let verdict = |harm: f64, spread: f64| {
            let noise = |condition: usize| if condition.is_multiple_of(2) { spread } else { -spread };
            Verdict::of(&excess(&records(|condition| harm + noise(condition))))
        };
        assert_eq!(verdict(0.5, 0.05), Verdict::NoMore);
        assert_eq!(verdict(0.9, 0.05), Verdict::More);
        assert_eq!(verdict(0.56, 0.3), Verdict::Undecided);
        assert_eq!(verdict(0.4, 0.0), Verdict::NoMore, "the same everywhere");
    }

    /// 36 conditions lie 0.3 above or below their mean: 3.0 standard errors of 0.0507 above the margin, and up to 5 % more for
    /// Student's t with 35 degrees of freedom.
    #[test]
    fn the_least_excess_that_is_found_follows_from_the_number_and_the_spread_of_conditions() {
        let spread = |condition: usize| if condition.is_multiple_of(2) { 0.3 } else { -0.3 };
        let [grid] = &harm(&Comparison::new(&records(|condition| 0.56 + spread(condition))))[..] else {
            panic!("one victim")
        };
        let at = grid.columns.iter().position(|(name, _)| name == "Found from").unwrap();
        let found_from: f64 = grid.rows[1].cells[at].value.parse().unwrap();
        assert!((0.20..0.215).contains(&found_from), "{found_from}");
        assert_eq!(grid.rows[0].cells[at].value, NONE, "the victim has no excess over its own like");
    }

    #[test]
    fn the_table_has_the_victims_own_harm_and_the_schemes_excess_with_the_worst_condition() {
        let records =
            records(|condition| if condition == 7 { 0.6 } else { 0.5 + 0.01 * (condition % 3) as f64 });
        let [grid] = &harm(&Comparison::new(&records))[..] else { panic!("one victim") };
        assert_eq!(grid.caption, "Harm to cubic: means over 36 conditions");
        let column = |title: &str| grid.columns.iter().position(|(name, _)| name == title).unwrap();
        let cell = |row: usize, title: &str| grid.rows[row].cells[column(title)].value.as_str();
        assert_eq!((&*grid.rows[0].of[0], cell(0, "Throughput"), cell(0, "Verdict")), ("cubic", "0.500", ""));
        assert_eq!((&*grid.rows[1].of[0], cell(1, "Verdict")), ("bbr", "no more harm"));
        assert_eq!(cell(1, "Worst"), "0.600: path.queue=8pkt");
        assert!(harm(&Comparison::new(&records[..1])).is_empty(), "without the rows there is no table");
    }

    /// A single condition was "means over 1 conditions", and its seeds were counted as conditions.
    #[test]
    fn the_title_counts_conditions_or_the_seeds_of_a_single_one() {
        let mut one = records(|_| 0.5)[..4].to_vec();
        let title = |records: &[Record]| harm(&Comparison::new(records))[0].caption.clone();
        assert_eq!(title(&one), "Harm to cubic");
        let again = one.iter().cloned().map(|mut record| {
            record.scenario.seed = 2;
            record
        });
        one.extend(again.collect::<Vec<_>>());
        assert_eq!(title(&one), "Harm to cubic: means over 2 seeds");
    }

    /// Normal noise of the excess from one condition to the next, and lognormal noise, both of a known mean.
    #[test]
    fn the_interval_holds_the_true_excess_in_93_to_97_of_100_draws() {
        const DRAWS: usize = 1000;
        let mut random = Noise(20_261_125);
        type Draw = fn(f64) -> f64;
        let spreads: [(&str, f64, Draw); 2] = [
            ("normal", 0.1, |z| 0.1 + 0.2 * z),
            // The mean of a lognormal spread is exp(s^2 / 2).
            ("lognormal", 0.1 * libm::exp(0.125), |z| 0.1 * libm::exp(0.5 * z)),
        ];
        let mut records = records(|_| 0.5);
        for (name, truth, draw) in spreads {
            let mut held = 0;
            for _ in 0..DRAWS {
                let drawn: Vec<f64> = (0..CONDITIONS).map(|_| draw(random.normal())).collect();
                set(&mut records, |at| 0.5 + drawn[at]);
                let Some((low, high)) = excess(&records).certainty.interval() else {
                    panic!("36 values have an interval");
                };
                held += usize::from((low..=high).contains(&truth));
            }
            assert!((930..=970).contains(&held), "{name}: {held} of {DRAWS}");
        }
    }

    /// A linear congruential generator (Knuth's MMIX).
    struct Noise(u64);

    impl Noise {
        fn uniform(&mut self) -> f64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((self.0 >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
        }

        /// A standard normal number (Box and Muller 1958).
        fn normal(&mut self) -> f64 {
            let (radius, angle) = (libm::sqrt(-2.0 * libm::log(self.uniform())), self.uniform());
            radius * libm::cos(std::f64::consts::TAU * angle)
        }
    }
}

//! Records by row of the tables and trace, and the averages over them.

use crate::conditions::{Condition, conditions, keys};
use crate::figure::Key;
use crate::tables::column::{Column, THROUGHPUT, UTILISATION};
use cellcc_experiment::{DEFAULT_DRIVER, LIMIT, Record, is_limit, row_name};
use cellcc_statistics::{Average, mean};
use std::collections::{BTreeMap, BTreeSet};

/// A row of the tables: a scheme, run by a driver, under one of the plan's variations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Row<'a> {
    pub(crate) scheme: &'a str,
    pub(crate) driver: &'a str,
    /// Empty where the plan varies nothing.
    pub(crate) variation: &'a str,
}

impl Row<'_> {
    /// True for the reference that is no scheme.
    pub(crate) fn is_limit(&self) -> bool {
        is_limit(self.scheme)
    }

    /// Its name in tables and figures: the limit is set apart.
    pub(crate) fn label(&self) -> String {
        row_name(&label(self.scheme), self.driver, self.variation)
    }
}

/// The name in tables and figures of a scheme that this driver ran.
pub(crate) fn label_by(scheme: &str, driver: &str) -> String {
    row_name(&label(scheme), driver, "")
}

/// A scheme's name in tables and figures.
pub(crate) fn label(scheme: &str) -> String {
    if is_limit(scheme) { scheme.replace(LIMIT, "(limit)") } else { scheme.into() }
}

/// Records by row and trace.
pub(crate) struct Comparison<'a> {
    /// In the order of first appearance, the limit last.
    pub(crate) rows: Vec<Row<'a>>,
    /// In the order of first appearance.
    pub(crate) traces: Vec<Trace<'a>>,
    /// In ascending order.
    pub(crate) seeds: Vec<u64>,
    /// Each row's name and style in figures; its group is the place of its line among [`lines`](Self::lines).
    pub(crate) keys: Vec<Key>,
    /// The lines whose variations are the rows: a scheme and the driver that ran it. Their groups are their places.
    pub(crate) lines: Vec<Key>,
    /// The conditions in which rows differ, in the order of the plan.
    pub(crate) conditions: Vec<Condition<'a>>,
    /// Those of them whose values have plots or places of their own, instead of marks.
    pub(crate) placed: Vec<&'a str>,
    /// By row, and the key of the trace.
    runs: BTreeMap<(Row<'a>, &'a str), Vec<&'a Record>>,
}

/// The traces of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum View<'a> {
    /// The averages over all of them.
    All,
    On(Trace<'a>),
}

/// A trace: its text in the Scenario, and a short name that no other trace has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Trace<'a> {
    pub(crate) key: &'a str,
    pub(crate) name: &'a str,
}

impl<'a> Comparison<'a> {
    pub(crate) fn new(records: &'a [Record]) -> Self {
        let mut rows: Vec<Row> = Vec::new();
        let mut traces: Vec<Trace> = Vec::new();
        let mut runs: BTreeMap<(Row, &str), Vec<&Record>> = BTreeMap::new();
        let (mut seen_rows, mut seen_traces) = (BTreeSet::new(), BTreeSet::new());
        let one_limit = one_limit(records);
        // Where one driver ran all, no name has to say so: its rows stand as those of the default one.
        let one_driver = distinct(of_schemes(records).map(|run| run.scenario.driver.as_str())).len() < 2;
        for record in records {
            let (scenario, key) = (&record.scenario, record.scenario.trace.as_str());
            let driver = if one_driver { DEFAULT_DRIVER } else { &scenario.driver };
            let mut row = Row { scheme: &scenario.scheme, driver, variation: &scenario.variation };
            let shared = one_limit && row.is_limit();
            if shared {
                row.variation = "";
            }
            if seen_rows.insert(row) {
                rows.push(row);
            }
            if seen_traces.insert(key) {
                traces.push(Trace { key, name: record.trace_name() });
            }
            let runs = runs.entry((row, key)).or_default();
            if !shared || runs.is_empty() {
                runs.push(record);
            }
        }
        rows.sort_by_key(Row::is_limit);
        tell_apart(&mut traces);
        let seeds: BTreeSet<u64> = records.iter().map(|record| record.scenario.seed).collect();
        let conditions = conditions(rows.iter().map(|row| row.variation));
        let (lines, keys) = keys(&rows, &conditions, &[]);
        let (seeds, placed) = (seeds.into_iter().collect(), Vec::new());
        Self { rows, traces, seeds, keys, lines, conditions, placed, runs }
    }

    /// Keeps these rows, in this order; colours and marks follow it.
    pub(crate) fn set_rows(&mut self, rows: Vec<Row<'a>>) {
        self.conditions = conditions(rows.iter().map(|row| row.variation));
        (self.lines, self.keys) = keys(&rows, &self.conditions, &self.placed);
        self.rows = rows;
    }

    /// The name of a run's trace.
    pub(crate) fn trace_name(&self, run: &Record) -> &'a str {
        let trace = self.traces.iter().find(|trace| trace.key == run.scenario.trace);
        trace.expect("the run is one of these").name
    }

    /// The runs of a row on a trace, one per seed.
    pub(crate) fn runs<'b>(&'b self, row: Row<'b>, trace: Trace<'b>) -> &'b [&'a Record] {
        self.runs.get(&(row, trace.key)).map_or(&[], Vec::as_slice)
    }

    /// All runs of a row, by trace.
    pub(crate) fn runs_of<'b>(&'b self, row: Row<'b>) -> impl Iterator<Item = &'a Record> {
        self.traces.iter().flat_map(move |&trace| self.runs(row, trace)).copied()
    }

    /// The runs of all rows.
    pub(crate) fn all_runs(&self) -> impl Iterator<Item = &'a Record> {
        self.rows.iter().flat_map(move |&row| self.runs_of(row))
    }

    /// On how many traces a row was run.
    pub(crate) fn traces_of(&self, row: Row) -> usize {
        self.traces.iter().filter(|&&trace| !self.runs(row, trace).is_empty()).count()
    }

    /// The average over seeds on one trace.
    pub(crate) fn on_trace(&self, row: Row, trace: Trace, column: &Column) -> Option<Average> {
        let values = self.runs(row, trace).iter().filter_map(|run| column.value(run));
        Average::of(column.average, &values.collect::<Vec<_>>(), column.range())
    }

    /// The mean over seeds on one trace.
    pub(crate) fn mean_on_trace(
        &self,
        row: Row,
        trace: Trace,
        quantity: impl Fn(&Record) -> Option<f64>,
    ) -> Option<f64> {
        mean(&self.runs(row, trace).iter().filter_map(|run| quantity(run)).collect::<Vec<_>>())
    }

    /// The average over traces of the value on each of them, all with equal weight; for a single trace, that over its seeds.
    pub(crate) fn average(&self, row: Row, column: &Column) -> Option<Average> {
        if let [only] = self.traces[..] {
            return self.on_trace(row, only, column);
        }
        Average::of(column.average, &self.by_trace(row, column), column.range())
    }

    /// The quantity on each trace that has it. A geometric mean over seeds is zero where one of them is.
    pub(crate) fn by_trace(&self, row: Row, column: &Column) -> Vec<f64> {
        let on_trace = |&trace: &Trace| match self.on_trace(row, trace, column) {
            Some(average) => Some(if average.not_positive > 0 { 0.0 } else { average.value }),
            // All of them are zero, or there are none.
            None => self.mean_on_trace(row, trace, |run| column.value(run)),
        };
        self.traces.iter().filter_map(on_trace).collect()
    }

    /// The mean over traces of the mean over seeds.
    pub(crate) fn mean(&self, row: Row, quantity: impl Fn(&Record) -> Option<f64>) -> Option<f64> {
        let on_trace = |&trace: &Trace| self.mean_on_trace(row, trace, &quantity);
        mean(&self.traces.iter().filter_map(on_trace).collect::<Vec<_>>())
    }

    /// The average over the traces of a view.
    pub(crate) fn in_view(&self, row: Row, view: View, column: &Column) -> Option<Average> {
        match view {
            View::All => self.average(row, column),
            View::On(trace) => self.on_trace(row, trace, column),
        }
    }

    /// The traces of a view.
    pub(crate) fn traces_in<'b>(&'b self, view: &'b View<'a>) -> &'b [Trace<'a>] {
        match view {
            View::All => &self.traces,
            View::On(trace) => std::slice::from_ref(trace),
        }
    }

    /// The rows without the limit's.
    pub(crate) fn schemes(&self) -> impl Iterator<Item = Row<'a>> {
        self.rows.iter().copied().filter(|row| !row.is_limit())
    }

    /// True where a run has a value of it.
    pub(crate) fn has(&self, column: &Column) -> bool {
        self.all_runs().any(|run| column.value(run).is_some())
    }

    /// The column of schemes' gain: utilisation, or the throughput if a run's link is not known.
    pub(crate) fn gets(&self) -> Column {
        let mut runs = self.schemes().flat_map(|row| self.runs_of(row));
        if runs.all(|run| UTILISATION.value(run).is_some()) { UTILISATION } else { THROUGHPUT }
    }

    /// The number and kind of values behind averages, if there are several.
    pub(crate) fn averages_over(&self) -> Option<(usize, &'static str)> {
        match (self.traces.len(), self.seeds.len()) {
            (0 | 1, 0 | 1) => None,
            (0 | 1, seeds) => Some((seeds, "seeds")),
            (traces, _) => Some((traces, "traces")),
        }
    }

    /// True where averages are over the seeds of a single trace.
    pub(crate) fn is_over_seeds(&self) -> bool {
        self.traces.len() == 1 && self.seeds.len() > 1
    }
}

/// The runs of schemes, without the limit's.
pub(crate) fn of_schemes(records: &[Record]) -> impl Iterator<Item = &Record> {
    records.iter().filter(|run| !is_limit(&run.scenario.scheme))
}

/// Each value once, in the order of first appearance.
pub(crate) fn distinct<T: Clone + Ord>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut seen = BTreeSet::new();
    values.filter(|value| seen.insert(value.clone())).collect()
}

/// True where the varied conditions do not change the limit: then one row says all.
fn one_limit(records: &[Record]) -> bool {
    let mut firsts: BTreeMap<(&str, &str), &Record> = BTreeMap::new();
    records.iter().filter(|run| is_limit(&run.scenario.scheme)).all(|run| {
        let first = firsts.entry((&run.scenario.scheme, &run.scenario.trace)).or_insert(run);
        first.total == run.total
    })
}

/// Traces of the same file name in different folders get their whole path as a name.
fn tell_apart(traces: &mut [Trace]) {
    let mut times: BTreeMap<&str, usize> = BTreeMap::new();
    for trace in traces.iter() {
        *times.entry(trace.name).or_default() += 1;
    }
    for trace in traces.iter_mut() {
        if times[trace.name] > 1 {
            trace.name = trace.key;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_stands_apart_whatever_it_sends() {
        let labels = ["limit", "2*limit:sized(1MB)@5s", "limited"].map(label);
        assert_eq!(labels, ["(limit)", "2*(limit):sized(1MB)@5s", "limited"]);
    }

    #[test]
    fn traces_of_one_file_name_are_distinguished_by_their_folder() {
        let mut traces =
            [("a/x.mbps", "x"), ("b/x.mbps", "x"), ("y", "y")].map(|(key, name)| Trace { key, name });
        tell_apart(&mut traces);
        assert_eq!(traces.map(|trace| trace.name), ["a/x.mbps", "b/x.mbps", "y"]);
    }
}

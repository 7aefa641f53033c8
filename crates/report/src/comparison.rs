//! Records by scheme and trace, and the averages over them.

use crate::statistics::{Estimate, half_width_95, mean};
use cellcc_experiment::{LIMIT, Record};
use std::collections::{BTreeMap, BTreeSet};

/// A scalar of a run; `None` where it does not exist.
pub(crate) type Quantity = fn(&Record) -> Option<f64>;

/// Records by scheme and trace.
pub(crate) struct Comparison<'a> {
    /// In the order of first appearance, the limit last.
    pub(crate) schemes: Vec<&'a str>,
    /// In the order of first appearance.
    pub(crate) traces: Vec<Trace<'a>>,
    /// In ascending order.
    pub(crate) seeds: Vec<u64>,
    /// By scheme, then by the key of the trace.
    runs: BTreeMap<&'a str, BTreeMap<&'a str, Vec<&'a Record>>>,
}

/// A trace: its text in the Scenario, and a short name that no other trace has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Trace<'a> {
    pub(crate) key: &'a str,
    pub(crate) name: &'a str,
}

impl<'a> Comparison<'a> {
    pub(crate) fn new(records: &'a [Record]) -> Self {
        let mut schemes: Vec<&str> = Vec::new();
        let mut traces: Vec<Trace> = Vec::new();
        let mut runs: BTreeMap<_, BTreeMap<_, Vec<_>>> = BTreeMap::new();
        let (mut seen_schemes, mut seen_traces) = (BTreeSet::new(), BTreeSet::new());
        for record in records {
            let (scheme, key) = (record.scenario.scheme.as_str(), record.scenario.trace.as_str());
            if seen_schemes.insert(scheme) {
                schemes.push(scheme);
            }
            if seen_traces.insert(key) {
                traces.push(Trace { key, name: record.trace_name() });
            }
            runs.entry(scheme).or_default().entry(key).or_default().push(record);
        }
        schemes.sort_by_key(|&scheme| scheme == LIMIT);
        tell_apart(&mut traces);
        let seeds: BTreeSet<u64> = records.iter().map(|record| record.scenario.seed).collect();
        Self { schemes, traces, seeds: seeds.into_iter().collect(), runs }
    }

    /// The runs of a scheme on a trace, one per seed.
    pub(crate) fn runs(&self, scheme: &str, trace: Trace) -> &[&'a Record] {
        self.runs.get(scheme).and_then(|traces| traces.get(trace.key)).map_or(&[], Vec::as_slice)
    }

    /// All runs of a scheme, by trace.
    pub(crate) fn runs_of(&self, scheme: &str) -> impl Iterator<Item = &'a Record> {
        self.traces.iter().flat_map(move |&trace| self.runs(scheme, trace)).copied()
    }

    /// On how many traces a scheme was run.
    pub(crate) fn traces_of(&self, scheme: &str) -> usize {
        self.traces.iter().filter(|&&trace| !self.runs(scheme, trace).is_empty()).count()
    }

    /// The mean over seeds on one trace, with its interval over seeds.
    pub(crate) fn on_trace(&self, scheme: &str, trace: Trace, quantity: Quantity) -> Option<Estimate> {
        let values: Vec<f64> = self.runs(scheme, trace).iter().filter_map(|run| quantity(run)).collect();
        Some(Estimate { mean: mean(&values)?, half_width: half_width_95(&values) })
    }

    /// The mean over traces of the mean over seeds. The interval is over seeds: each seed that was run on all of the
    /// scheme's traces contributes its mean over them.
    pub(crate) fn average(&self, scheme: &str, quantity: Quantity) -> Option<Estimate> {
        let by_trace: Vec<f64> = self
            .traces
            .iter()
            .filter_map(|&trace| self.on_trace(scheme, trace, quantity))
            .map(|estimate| estimate.mean)
            .collect();
        let mut by_seed: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
        for run in self.runs_of(scheme) {
            if let Some(value) = quantity(run) {
                by_seed.entry(run.scenario.seed).or_default().push(value);
            }
        }
        let whole: Vec<f64> = by_seed
            .values()
            .filter(|values| values.len() == by_trace.len())
            .filter_map(|values| mean(values))
            .collect();
        Some(Estimate { mean: mean(&by_trace)?, half_width: half_width_95(&whole) })
    }

    /// What the reader must know, each once: the runs' notes, and schemes that lack traces the others have.
    pub(crate) fn notes(&self) -> Vec<String> {
        let mut notes: Vec<(&str, &str, usize)> = Vec::new();
        let mut seen = BTreeMap::new();
        for scheme in &self.schemes {
            for note in self.runs_of(scheme).flat_map(|run| &run.notes) {
                let index = *seen.entry((*scheme, note.as_str())).or_insert_with(|| {
                    notes.push((scheme, note, 0));
                    notes.len() - 1
                });
                notes[index].2 += 1;
            }
        }
        let missing = self.schemes.iter().filter_map(|scheme| {
            let (has, all) = (self.traces_of(scheme), self.traces.len());
            (has < all).then(|| {
                format!(
                    "{scheme}: its averages are over {has} of {all} traces, the others have no finished run"
                )
            })
        });
        let noted = notes.iter().map(|(scheme, note, runs)| {
            let runs = if *runs == 1 { "1 run".into() } else { format!("{runs} runs") };
            format!("{scheme}: {note} ({runs})")
        });
        missing.chain(noted).collect()
    }
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
    fn traces_of_one_file_name_are_told_apart_by_their_folder() {
        let mut traces =
            [("a/x.mbps", "x"), ("b/x.mbps", "x"), ("y", "y")].map(|(key, name)| Trace { key, name });
        tell_apart(&mut traces);
        assert_eq!(traces.map(|trace| trace.name), ["a/x.mbps", "b/x.mbps", "y"]);
    }
}

//! The notes on a comparison: those of its runs, each once, as notes that differ in numbers only are one, and those on its rows.

use crate::comparison::{Comparison, Row, distinct, label_by};
use crate::tables::column::{Column, QUEUEING_MEAN, RTT_MEAN};
use cellcc_experiment::differing_settings;
use cellcc_statistics::Kind;
use cellcc_units::Span;
use std::collections::BTreeSet;

/// Schemes that a sentence names before it says `all`.
const MOST_NAMED: usize = 3;

/// In the order of first appearance.
#[derive(Debug, Default)]
struct Notes<'a>(Vec<Group<'a>>);

/// Notes that are alike.
#[derive(Debug)]
struct Group<'a> {
    /// The words between the numbers.
    words: Vec<&'a str>,
    /// By place, the numbers with their units.
    numbers: Vec<BTreeSet<&'a str>>,
    schemes: Vec<String>,
    traces: BTreeSet<&'a str>,
    runs: usize,
}

impl<'a> Notes<'a> {
    /// A note of a run of this scheme on this trace.
    fn add(&mut self, note: &'a str, scheme: String, trace: &'a str) {
        let (words, numbers) = parts(note);
        let found = self.0.iter().position(|group| group.words == words);
        let at = found.unwrap_or_else(|| {
            let numbers = vec![BTreeSet::new(); numbers.len()];
            self.0.push(Group { words, numbers, schemes: Vec::new(), traces: BTreeSet::new(), runs: 0 });
            self.0.len() - 1
        });
        let group = &mut self.0[at];
        group.numbers.iter_mut().zip(numbers).for_each(|(known, number)| {
            known.insert(number);
        });
        if !group.schemes.contains(&scheme) {
            group.schemes.push(scheme);
        }
        group.traces.insert(trace);
        group.runs += 1;
    }

    /// A sentence a group, of a comparison with so many schemes, the limit aside, and traces.
    fn sentences(&self, schemes: usize, traces: usize) -> Vec<String> {
        let sentence = |group: &Group| {
            let who = match group.schemes.len() {
                count if count >= schemes && count > MOST_NAMED => "all".to_owned(),
                _ => group.schemes.join(", "),
            };
            let runs = if group.runs == 1 { "1 run".into() } else { format!("{} runs", group.runs) };
            let on = match group.traces.len() {
                count if count == traces => String::new(),
                count => format!(" on {count} of {traces} traces"),
            };
            format!("{who}: {} ({runs}{on})", group.text())
        };
        self.0.iter().map(sentence).collect()
    }
}

impl Group<'_> {
    /// With the smallest and the largest number where they differ.
    fn text(&self) -> String {
        let range = |numbers: &BTreeSet<&str>| {
            let mut sorted: Vec<&str> = numbers.iter().copied().collect();
            sorted.sort_by(|one, other| size(one).total_cmp(&size(other)));
            match sorted[..] {
                [first, .., last] => format!("{first} to {last}"),
                _ => sorted.concat(),
            }
        };
        let numbers = self.numbers.iter().map(range).chain([String::new()]);
        self.words.iter().zip(numbers).map(|(words, number)| format!("{words}{number}")).collect()
    }
}

impl Comparison<'_> {
    /// Rows whose geometric mean leaves traces out, with the reason.
    pub(crate) fn left_out_of(&self, column: &Column) -> Vec<String> {
        let note = |row: Row| {
            let (all, values) = (self.traces_of(row), self.by_trace(row, column));
            let zero = values.iter().filter(|value| **value <= 0.0).count();
            let (kept, none) = (values.len() - zero, all - values.len());
            // Where it exists nowhere, or on all traces, there is nothing to say.
            ((none > 0 || zero > 0) && !values.is_empty()).then(|| {
                let (name, title, traces) = (row.label(), column.title, if all == 1 { "trace" } else { "traces" });
                format!(
                    "{name}: {title} is over {kept} of {all} {traces}; on {zero} it is zero, and on {none} there is none \
                     (no queueing delay)"
                )
            })
        };
        let rows = self.schemes().filter(|_| column.average == Kind::Geometric);
        rows.filter_map(note).collect()
    }

    /// The notes for the reader, each once: the runs' notes, and rows that lack traces the others have.
    pub(crate) fn notes(&self) -> Vec<String> {
        let mut notes = Notes::default();
        for &row in &self.rows {
            for &trace in &self.traces {
                for note in self.runs(row, trace).iter().flat_map(|run| &run.notes) {
                    notes.add(note, label_by(row.scheme, row.driver), trace.key);
                }
            }
        }
        let missing = self.rows.iter().filter_map(|&row| {
            let (has, all, name) = (self.traces_of(row), self.traces.len(), row.label());
            let lacks = format!(
                "{name}: its averages are over {has} of {all} traces, the others have no finished run"
            );
            (has < all).then_some(lacks)
        });
        let limits = distinct(self.rows.iter().filter(|row| row.is_limit()).map(|row| row.scheme)).len();
        let lines = self.lines.len() - limits;
        let noted = notes.sentences(lines, self.traces.len());
        // A driver's settings are the same for all rows that it runs, except for those of the schemes.
        let runs = self.schemes().flat_map(|row| self.runs_of(row));
        let differing = differing_settings(&runs.map(|run| &run.scenario).collect::<Vec<_>>());
        differing
            .into_iter()
            .chain(self.advised())
            .chain(missing)
            .chain(self.rtts_not_known())
            .chain(noted)
            .collect()
    }

    /// Which rows the network informs, where it does not inform all.
    fn advised(&self) -> Option<String> {
        let registry = cellcc_experiment::registry();
        let advised = registry.schemes().iter().filter(|info| info.needs.advice.is_some());
        let advised: BTreeSet<&str> = advised.map(|info| &*info.name).collect();
        let is_advised = |row: &Row| {
            let flows = self.runs_of(*row).next().into_iter().flat_map(|run| &run.scenario.flows);
            flows.filter_map(|flow| flow.scheme.split('(').next()).any(|name| advised.contains(name))
        };
        let (advised, others): (Vec<Row>, Vec<Row>) = self.schemes().partition(is_advised);
        let names: BTreeSet<&str> = advised.iter().map(|row| row.scheme).collect();
        let names: Vec<&str> = names.into_iter().collect();
        (!names.is_empty() && !others.is_empty()).then(|| {
            format!("{}: informed by the network, which tells the other rows nothing.", names.join(", "))
        })
    }

    /// Which rows have a shorter mean RTT than their packets waited, which looks like an error.
    fn rtts_not_known(&self) -> Option<String> {
        let mean = |row: Row, column: Column| Some(self.average(row, &column)?.value);
        let is_shorter = |row: &Row| {
            mean(*row, RTT_MEAN).zip(mean(*row, QUEUEING_MEAN)).is_some_and(|(rtt, wait)| rtt < wait)
        };
        let rows: Vec<String> = self.schemes().filter(is_shorter).map(|row| row.label()).collect();
        (!rows.is_empty()).then(|| {
            format!(
                "{}: the mean RTT is below the mean queueing delay, as the packets that waited longest came last, and their \
                 RTTs were not known when the run ended.",
                rows.join(", ")
            )
        })
    }
}

/// The words between numbers, one more than these, and the numbers, each with its unit.
fn parts(note: &str) -> (Vec<&str>, Vec<&str>) {
    let (mut words, mut numbers) = (Vec::new(), Vec::new());
    let mut rest = note;
    // A digit within a word is no number.
    let starts = |text: &str| {
        let digits = text.match_indices(|c: char| c.is_ascii_digit()).map(|(at, _)| at);
        let mut digits =
            digits.filter(|at| !text[..*at].ends_with(|c: char| c.is_alphanumeric() || c == '.'));
        digits.next()
    };
    while let Some(at) = starts(rest) {
        let end = rest[at..]
            .find(|c: char| !(c.is_ascii_alphanumeric() || c == '.'))
            .map_or(rest.len(), |end| at + end);
        words.push(&rest[..at]);
        numbers.push(&rest[at..end]);
        rest = &rest[end..];
    }
    words.push(rest);
    (words, numbers)
}

/// For the order of numbers with units.
fn size(number: &str) -> f64 {
    let digits = number.trim_end_matches(|c: char| !c.is_ascii_digit());
    number.parse::<Span>().map_or_else(|_| digits.parse().unwrap_or(0.0), Span::as_secs_f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four equal notes were there for each of seven schemes.
    #[test]
    fn notes_that_differ_in_numbers_only_are_one_with_their_range() {
        let mut notes = Notes::default();
        for scheme in ["cubic", "bbr", "vegas", "tide"] {
            notes.add("the trace lasts 104.814s and repeats within the 120s of the run", scheme.into(), "a");
            notes.add("the trace lasts 99s and repeats within the 120s of the run", scheme.into(), "b");
        }
        notes.add("DTT was raised to 21 ms", "cubic".into(), "c");
        assert_eq!(
            notes.sentences(4, 60),
            [
                "all: the trace lasts 99s to 104.814s and repeats within the 120s of the run (8 runs on 2 of 60 traces)",
                "cubic: DTT was raised to 21 ms (1 run on 1 of 60 traces)"
            ]
        );
    }

    #[test]
    fn a_digit_within_a_word_is_no_number() {
        assert_eq!(
            parts("RFC9002 and bbr2: 3 of 4"),
            (vec!["RFC9002 and bbr2: ", " of ", ""], vec!["3", "4"])
        );
    }
}

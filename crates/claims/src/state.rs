//! The verdicts of before: `claims/state.tsv`, which the command writes and people review as a difference.

use crate::scorecard::{each_interval, values};
use crate::{Judged, Scale, Verdict};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use thiserror::Error;

/// The verdicts of before, by claim and scale.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct State(BTreeMap<(String, String), Row>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Row {
    value: String,
    interval: String,
    verdict: Verdict,
    version: String,
}

/// A line that is no verdict.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{line}: {problem}; `cellcc reproduce --write` writes the file")]
pub struct StateError {
    line: usize,
    problem: String,
}

const HEADER: &str = "id\tscale\tvalue\tinterval\tverdict\tversion";
/// Digits of a value: more would change with every build.
pub(crate) const DIGITS: usize = 4;

impl State {
    /// Reads the file.
    ///
    /// # Errors
    /// The first line that is not of its form.
    pub fn parse(text: &str) -> Result<Self, StateError> {
        let mut rows = BTreeMap::new();
        for (index, line) in text.lines().enumerate() {
            let wrong = |problem: String| StateError { line: index + 1, problem };
            let cells: Vec<&str> = line.split('\t').collect();
            let [id, scale, value, interval, verdict, version] = cells.as_slice() else {
                return Err(wrong(format!("{} columns, and not 6", cells.len())));
            };
            if index == 0 && line == HEADER {
                continue;
            }
            let row = Row {
                value: (*value).to_owned(),
                interval: (*interval).to_owned(),
                verdict: verdict.parse().map_err(wrong)?,
                version: (*version).to_owned(),
            };
            rows.insert(((*id).to_owned(), (*scale).to_owned()), row);
        }
        Ok(Self(rows))
    }

    /// The verdict of before; none where the claim was not judged at this scale.
    pub fn verdict(&self, id: &str, scale: Scale) -> Option<Verdict> {
        self.0.get(&(id.to_owned(), scale.name().to_owned())).map(|row| row.verdict)
    }

    /// The value of before, as it is written.
    pub fn value(&self, id: &str, scale: Scale) -> Option<&str> {
        self.0.get(&(id.to_owned(), scale.name().to_owned())).map(|row| row.value.as_str())
    }

    /// The intervals of before, one for each number; empty where the value has none.
    pub fn intervals(&self, id: &str, scale: Scale) -> Vec<(f64, f64)> {
        let row = self.0.get(&(id.to_owned(), scale.name().to_owned()));
        let ends = |text: &str| {
            let (low, high) = text.split_once(" to ")?;
            Some((low.parse().ok()?, high.parse().ok()?))
        };
        row.and_then(|row| row.interval.split(", ").map(ends).collect()).unwrap_or_default()
    }

    /// Takes a verdict down. One that has not changed keeps the build that first gave it.
    pub fn set(&mut self, judged: &Judged, scale: Scale, version: &str) {
        let row = Row {
            value: values(judged, DIGITS),
            interval: each_interval(&judged.intervals, DIGITS),
            verdict: judged.verdict,
            version: version.to_owned(),
        };
        let key = (judged.id.clone(), scale.name().to_owned());
        let is_new =
            self.0.get(&key).is_none_or(|old| Row { version: old.version.clone(), ..row.clone() } != *old);
        if is_new {
            self.0.insert(key, row);
        }
    }

    /// Forgets claims that are no more.
    pub fn keep(&mut self, ids: &[&str]) {
        self.0.retain(|(id, _), _| ids.contains(&id.as_str()));
    }

    /// The file.
    pub fn text(&self) -> String {
        let mut text = format!("{HEADER}\n");
        for ((id, scale), Row { value, interval, verdict, version }) in &self.0 {
            let _ = writeln!(text, "{id}\t{scale}\t{value}\t{interval}\t{verdict}\t{version}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_that_has_not_changed_keeps_its_build() {
        let text = format!("{HEADER}\nREM-04\tpaper\t1.650\t1.5 to 1.8\tpartly\t0.1.0+old\n");
        let mut state = State::parse(&text).unwrap();
        assert_eq!(state.verdict("REM-04", Scale::Paper), Some(Verdict::Partly));
        assert_eq!(state.verdict("REM-04", Scale::Smaller), None);
        assert_eq!(state.intervals("REM-04", Scale::Paper), [(1.5, 1.8)]);
        assert_eq!(state.text(), text);
        state.keep(&[]);
        assert_eq!(state.text(), format!("{HEADER}\n"));
    }

    #[test]
    fn a_list_has_an_interval_for_each_of_its_numbers() {
        let state = |intervals: &str| {
            State::parse(&format!("{HEADER}\nREM-79\tpaper\t0.06, 0.60\t{intervals}\tpartly\tx\n")).unwrap()
        };
        let intervals = |text: &str| state(text).intervals("REM-79", Scale::Paper);
        assert_eq!(intervals("0.05 to 0.07, 0.58 to 0.63"), [(0.05, 0.07), (0.58, 0.63)]);
        assert_eq!([intervals(""), intervals("0.05 to never")], [[], []]);
    }

    #[test]
    fn a_line_of_another_form_is_named() {
        let error = State::parse(&format!("{HEADER}\nREM-04\tpaper\n")).unwrap_err().to_string();
        assert!(error.starts_with("2: 2 columns"), "{error}");
        let error = State::parse(&format!("{HEADER}\nR\tpaper\t1\t\tgood\tx\n")).unwrap_err().to_string();
        assert!(error.contains("`good` is no verdict"), "{error}");
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(text in "\\PC*") {
            let _ = State::parse(&text);
        }
    }
}

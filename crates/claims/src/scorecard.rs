//! Verdicts as people read them: counts, and Markdown.

use crate::state::DIGITS;
use crate::{Claim, Claims, Judged, Reason, Scale, State, Verdict};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Number of claims with each verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Counts {
    pub hit: usize,
    pub partly: usize,
    pub miss: usize,
    pub untested: usize,
}

impl Counts {
    /// Counts one more.
    pub fn add(&mut self, verdict: Verdict) {
        *match verdict {
            Verdict::Hit => &mut self.hit,
            Verdict::Partly => &mut self.partly,
            Verdict::Miss => &mut self.miss,
            Verdict::Untested => &mut self.untested,
        } += 1;
    }

    /// All of them.
    pub fn all(&self) -> usize {
        self.hit + self.partly + self.miss + self.untested
    }
}

/// Numbers of a list that are shown one by one; of more, the smallest and the largest.
const MOST_SHOWN: usize = 4;

/// The values with this many significant digits.
pub(crate) fn values(judged: &Judged, digits: usize) -> String {
    match &judged.stated {
        Some(stated) => stated.replace(['\t', '\n'], " "),
        None => numbers(&judged.values, digits),
    }
}

fn numbers(values: &[f64], digits: usize) -> String {
    let shown = |value: &f64| number(*value, digits);
    match values {
        [] => String::new(),
        few if few.len() <= MOST_SHOWN => few.iter().map(shown).collect::<Vec<_>>().join(", "),
        many => {
            let ends = many.iter().map(|value| (*value, *value));
            span(ends).map_or_else(String::new, |ends| from_to(ends, digits))
        }
    }
}

/// The intervals; of more numbers than are shown, from the lowest end to the highest.
fn intervals(intervals: &[(f64, f64)], digits: usize) -> String {
    // From never to never says nothing.
    if intervals.iter().any(|(low, _)| low.is_infinite()) {
        return String::new();
    }
    if intervals.len() <= MOST_SHOWN {
        return each_interval(intervals, digits);
    }
    span(intervals.iter().copied()).map_or_else(String::new, |ends| from_to(ends, digits))
}

/// All the intervals, as [`State`] keeps them.
pub(crate) fn each_interval(intervals: &[(f64, f64)], digits: usize) -> String {
    intervals.iter().map(|ends| from_to(*ends, digits)).collect::<Vec<_>>().join(", ")
}

fn span(intervals: impl Iterator<Item = (f64, f64)>) -> Option<(f64, f64)> {
    intervals.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)))
}

fn from_to((low, high): (f64, f64), digits: usize) -> String {
    format!("{} to {}", number(low, digits), number(high, digits))
}

/// A number with this many significant digits, and all of those before the point.
pub(crate) fn number(value: f64, digits: usize) -> String {
    if !value.is_finite() {
        return if value.is_nan() { "none".into() } else { "never".into() };
    }
    if value == 0.0 {
        return "0".into();
    }
    let before = libm::floor(libm::log10(value.abs())) as i32 + 1;
    let decimals = (digits as i32 - before).clamp(0, 6) as usize;
    format!("{value:.decimals$}")
}

impl Judged {
    /// The value as people read it.
    pub fn value_text(&self) -> String {
        values(self, 3)
    }

    /// Its intervals as people read them; empty where there are none.
    pub fn interval_text(&self) -> String {
        intervals(&self.intervals, 3)
    }

    /// Its quantity for further data sets, as people read it.
    pub fn also_texts(&self) -> impl Iterator<Item = (&str, String)> {
        self.also.iter().map(|(data, values)| (data.as_str(), numbers(values, 3)))
    }

    /// The verdict, marked where its intervals reach into another one.
    pub fn verdict_text(&self) -> String {
        let near = if self.near { ", near" } else { "" };
        format!("{}{near}", self.verdict)
    }
}

/// The titles of the papers' groups, in the order of pages.
const PAPERS: [(&str, &str); 4] =
    [("reminis", "Reminis"), ("rbbr", "RBBR"), ("natcp", "NATCP"), ("verus", "Verus")];

/// Claims by paper, as [`PAPERS`] has them, then others.
fn by_paper(claims: &Claims) -> Vec<(String, Vec<&Claim>)> {
    let mut groups: BTreeMap<(usize, &str), Vec<&Claim>> = BTreeMap::new();
    for claim in &claims.claims {
        let place = PAPERS.iter().position(|(group, _)| *group == claim.group).unwrap_or(PAPERS.len());
        groups.entry((place, &claim.group)).or_default().push(claim);
    }
    groups.into_iter().map(|((_, group), claims)| (paper_title(group).to_owned(), claims)).collect()
}

/// The title of a paper whose claims are in a file of this name.
pub fn paper_title(group: &str) -> &str {
    PAPERS.iter().find(|(known, _)| *known == group).map_or(group, |(_, title)| title)
}

/// Number of claims with each verdict of the state, one row per paper: for README.
pub fn short_markdown(claims: &Claims, state: &State) -> String {
    let mut text =
        String::from("| paper | claims | hit | partly | miss | not judged |\n|---|---|---|---|---|---|\n");
    let mut total = Counts::default();
    let row = |text: &mut String, name: &str, counts: &Counts| {
        let Counts { hit, partly, miss, untested } = counts;
        let _ = writeln!(text, "| {name} | {} | {hit} | {partly} | {miss} | {untested} |", counts.all());
    };
    for (title, claims) in by_paper(claims) {
        let mut counts = Counts::default();
        for claim in claims {
            let verdict = state.verdict(&claim.id, Scale::Paper).unwrap_or(Verdict::Untested);
            counts.add(verdict);
            total.add(verdict);
        }
        row(&mut text, &title, &counts);
    }
    row(&mut text, "all", &total);
    text
}

/// The page of all claims with the verdicts of the state.
pub fn markdown(claims: &Claims, state: &State) -> String {
    let mut text = format!(
        "# The papers' claims, and our results\n\n`cellcc reproduce --write` writes this page. \
         [How to run it, and how a claim is judged](../how-to/reproduce.md). In brackets: the 95 % interval of each number over traces; *near*: they \
         reach into another verdict, so that other recordings may give that. Run the commands in a clone; their traces are relative to the \
         folder of recorded traces.\n\n{}",
        short_markdown(claims, state)
    );
    for (title, claims_of) in by_paper(claims) {
        let _ = write!(
            text,
            "\n## {title}\n\n| claim | where | statement | paper | here | verdict |\n|---|---|---|---|---|---|\n"
        );
        for claim in &claims_of {
            let verdict = state.verdict(&claim.id, Scale::Paper);
            let ends = state.intervals(&claim.id, Scale::Paper);
            let near = if claim.bands().differ_in(&ends) { ", near" } else { "" };
            let mut here = state.value(&claim.id, Scale::Paper).unwrap_or("").to_owned();
            if !ends.is_empty() {
                let _ = write!(here, " ({})", intervals(&ends, DIGITS));
            }
            let ours = if claim.threshold_is_ours { ", our bound" } else { "" };
            let cells = [
                claim.id.as_str(),
                &claim.source,
                &claim.says,
                &claim.reports,
                &here,
                &verdict.map_or_else(|| "not run".into(), |verdict| format!("{verdict}{near}{ours}")),
            ];
            let cells = cells.map(|cell| cell.replace('|', "\\|"));
            let _ = writeln!(text, "| {} |", cells.join(" | "));
        }
        text += claims_of.first().map_or_else(String::new, |claim| causes(claims, &claim.group)).as_str();
    }
    text
}

/// Reasons why claims are missed or cannot be judged, once each: the cause, and the experiment that isolates it.
fn causes(claims: &Claims, group: &str) -> String {
    let of_group = reasons_of(claims, group);
    let lines: String = of_group
        .map(|reason| format!("- <a id=\"{}\"></a>**{}** {reason}\n", reason.id, shortened(&reason.claims)))
        .collect();
    if lines.is_empty() { lines } else { format!("\nThe reasons:\n\n{lines}") }
}

fn reasons_of<'a>(claims: &'a Claims, group: &'a str) -> impl Iterator<Item = &'a Reason> {
    let is_of_group = move |id: &String| claims.claims.iter().any(|one| one.id == *id && one.group == group);
    claims.reasons.iter().filter(move |reason| reason.claims.iter().any(is_of_group))
}

/// The reasons of a paper as its page has them: their claims and titles, which link to the text on the page of claims.
pub fn reasons_markdown(claims: &Claims, group: &str) -> String {
    let line = |reason: &Reason| {
        format!("- **{}** [{}](claims.md#{})\n", shortened(&reason.claims), reason.title, reason.id)
    };
    reasons_of(claims, group).map(line).collect()
}

/// `REM-06, 07, 08` of `REM-06`, `REM-07` and `REM-08`.
fn shortened(ids: &[String]) -> String {
    let mut text = String::new();
    let mut paper = "";
    for id in ids {
        let (own, number) = id.split_once('-').unwrap_or(("", id));
        let comma = if text.is_empty() { "" } else { ", " };
        text += comma;
        text += if own == paper { number } else { id };
        paper = own;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_the_digits_that_count() {
        let shown =
            [1.2345, 0.012_345, 123.45, 30_400.2, 0.0, -1.5, f64::INFINITY].map(|value| number(value, 3));
        assert_eq!(shown, ["1.23", "0.0123", "123", "30400", "0", "-1.50", "never"]);
    }
}

//! Verdicts as people read them: counts, and Markdown.

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

/// The values with this many significant digits; of more than four, the smallest and the largest.
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
        few if few.len() <= 4 => few.iter().map(shown).collect::<Vec<_>>().join(", "),
        many => {
            let smallest = many.iter().copied().reduce(f64::min).unwrap_or(f64::NAN);
            let largest = many.iter().copied().reduce(f64::max).unwrap_or(f64::NAN);
            format!("{} to {}", shown(&smallest), shown(&largest))
        }
    }
}

/// The interval, or nothing.
pub(crate) fn interval(judged: &Judged, digits: usize) -> String {
    judged.interval.map_or_else(String::new, |(low, high)| {
        format!("{} to {}", number(low, digits), number(high, digits))
    })
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

    /// Its interval as people read it; empty where there is none.
    pub fn interval_text(&self) -> String {
        interval(self, 3)
    }

    /// Its quantity for further data sets, as people read it.
    pub fn also_texts(&self) -> impl Iterator<Item = (&str, String)> {
        self.also.iter().map(|(data, values)| (data.as_str(), numbers(values, 3)))
    }

    /// The verdict, marked where its interval reaches into another one.
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
        "# What the papers say, and what comes out here\n\n`cellcc reproduce --write` writes this page. \
         [How to run it, and how a claim is judged](../how-to/reproduce.md). In brackets: the 95 % interval over traces; *near*: it \
         reaches into another verdict, so that other recordings may give that.\n\n{}",
        short_markdown(claims, state)
    );
    for (title, claims_of) in by_paper(claims) {
        let _ = write!(
            text,
            "\n## {title}\n\n| claim | where | what | paper | here | verdict |\n|---|---|---|---|---|---|\n"
        );
        for claim in &claims_of {
            let verdict = state.verdict(&claim.id, Scale::Paper);
            let value = state.value(&claim.id, Scale::Paper).unwrap_or("");
            let interval = state.interval(&claim.id, Scale::Paper);
            let near = interval.filter(|(_, ends)| claim.bands().differ_in(*ends)).map_or("", |_| ", near");
            let ours = if claim.threshold_is_ours { ", our bound" } else { "" };
            let cells = [
                claim.id.as_str(),
                &claim.source,
                &claim.says,
                &claim.reports,
                &(value.to_owned() + &interval.map_or_else(String::new, |(text, _)| format!(" ({text})"))),
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

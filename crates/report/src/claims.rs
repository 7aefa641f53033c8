//! The page of claims: each paper's figures, and its claims, one row each, with the paper's value and ours on one line.

use crate::Figure;
use crate::drawing::markup::escape;
use cellcc_claims::{Judged, paper_title};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// A claim as the page shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct ClaimRow<'a> {
    /// Its name.
    pub id: &'a str,
    /// Its paper.
    pub group: &'a str,
    /// Where in the paper.
    pub source: &'a str,
    /// The paper's statement.
    pub says: &'a str,
    /// The paper's value, as it has it.
    pub reports: &'a str,
    /// Our result, as text.
    pub here: String,
    /// The verdict; its first word is hit, partly, miss or untested.
    pub verdict: String,
    /// A remark.
    pub note: &'a str,
    /// The paper's number.
    pub paper: Option<f64>,
    /// The values of a hit.
    pub hit: Option<(f64, f64)>,
    /// Our results, where they are numbers.
    pub values: &'a [f64],
    /// The 95 % interval of each; empty where there are none.
    pub intervals: &'a [(f64, f64)],
}

impl<'a> From<&'a Judged> for ClaimRow<'a> {
    fn from(judged: &'a Judged) -> Self {
        Self {
            id: &judged.id,
            group: paper_title(&judged.group),
            source: &judged.source,
            says: &judged.says,
            reports: &judged.reports,
            here: with_interval(judged),
            verdict: verdict(judged),
            note: judged.why.as_deref().unwrap_or(&judged.note),
            paper: judged.paper,
            hit: judged.hit,
            values: &judged.values,
            intervals: &judged.intervals,
        }
    }
}

/// The result, with its intervals in brackets.
fn with_interval(judged: &Judged) -> String {
    match judged.interval_text() {
        none if none.is_empty() => judged.value_text(),
        interval => format!("{} ({interval})", judged.value_text()),
    }
}

/// The verdict, marked where it is near another one and where the bound is ours.
fn verdict(judged: &Judged) -> String {
    let ours = if judged.threshold_is_ours { ", our bound" } else { "" };
    format!("{}{ours}", judged.verdict_text())
}

/// A figure of a paper as the page shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct ClaimFigure<'a> {
    /// Its name.
    pub id: &'a str,
    /// Its paper.
    pub group: &'a str,
    /// Where in the paper.
    pub source: &'a str,
    /// The names of the claims about the same runs.
    pub claims: Vec<&'a str>,
    /// The drawing.
    pub figure: Figure,
}

/// Pixels of a line of values.
const WIDTH: f64 = 260.0;
const HEIGHT: f64 = 22.0;
/// The part of a line's width on either side of the drawing.
const MARGIN: f64 = 0.06;

const STYLE: &str = "body{font:15px/1.45 system-ui,sans-serif;margin:2rem auto;max-width:75rem;padding:0 1rem;color:#222;background:#fff}\
    h1,p,figcaption,small,code{overflow-wrap:anywhere}a{color:#0b57d0}code{font-size:.92em}\
    table{border-collapse:collapse;width:100%}th,td{text-align:left;vertical-align:top;padding:.3rem .6rem;border-bottom:1px solid #ddd}\
    td:nth-child(3){min-width:6rem}td:nth-child(4){min-width:17rem}td:first-child,td:last-child{white-space:nowrap}td:first-child small{white-space:normal}\
    .hit{color:#00704f;font-weight:600}.partly{color:#8a5a00;font-weight:600}.miss{color:#b03a00;font-weight:600}.untested{color:#666}\
    small{color:#555}svg{display:block}figure svg{max-width:100%;height:auto}\
    .figures{display:flex;flex-wrap:wrap;gap:1.5rem;align-items:flex-start;margin-bottom:1.5rem}figure{margin:0;max-width:100%}figcaption{max-width:34rem}\
    @media(max-width:48rem){thead{display:none}table,tbody,tr,td{display:block}tr{padding:.6rem 0;border-bottom:1px solid #888}\
    td{border:0;padding:.1rem 0;overflow-wrap:anywhere;white-space:normal!important}td:nth-child(n+3){min-width:0}td:nth-child(3)::before{content:'paper: '}\
    td:nth-child(4)::before{content:'here: '}}\
    @media(prefers-color-scheme:dark){body{color:#ddd;background:#15181b}a{color:#8ab4f8}th,td{border-color:#444}.hit{color:#3ecf9f}\
    .partly{color:#e6b04c}.miss{color:#ff8c55}.untested,small{color:#aaa}figure [fill='#FFFFFF']{fill:#15181b}\
    figure [fill='#1C1F23']{fill:#ddd}figure [stroke='#1C1F23']{stroke:#ddd}figure [stroke='#DDE0E3']{stroke:#333}\
    figure [fill='#D2D6DA']{fill:#3a3f44}}";

/// One HTML page that loads nothing. For each paper, in the order of the rows, the figures, and each claim with the paper's
/// value (a diamond), the values of a hit (a band), and our result (a dot with its 95 % interval).
pub fn claims_page(rows: &[ClaimRow], figures: &[ClaimFigure]) -> String {
    let mut page = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>{0}</title><style>{STYLE}</style></head><body><main><h1>{0}</h1><p>In figures a star or a dashed \
         line is the paper's value, or the paper's ratio times our result; over time the first run is drawn. In \
         tables, diamond: the paper. Band: the values of a hit. Dots and lines: our results, with the 95 % interval of each over traces. Each line \
         has its own scale.</p>\n",
        "The papers' claims, and our results"
    );
    let mut groups: Vec<&str> =
        rows.iter().map(|row| row.group).chain(figures.iter().map(|it| it.group)).collect();
    let mut seen = BTreeSet::new();
    groups.retain(|group| seen.insert(*group));
    for group in groups {
        let _ = writeln!(page, "<h2>{}</h2>\n<div class=\"figures\">", escape(group));
        for figure in figures.iter().filter(|figure| figure.group == group) {
            page.push_str(&with_claims(figure, rows));
        }
        page.push_str("</div>\n");
        let rows: Vec<&ClaimRow> = rows.iter().filter(|row| row.group == group).collect();
        if !rows.is_empty() {
            table(&mut page, &rows);
        }
    }
    page.push_str("</main></body></html>\n");
    page
}

/// A figure, where it stands in the paper, and the verdicts of the claims about its runs.
fn with_claims(ClaimFigure { id, source, claims, figure, .. }: &ClaimFigure, rows: &[ClaimRow]) -> String {
    let verdicts = rows.iter().filter(|row| claims.contains(&row.id)).map(|row| {
        let class = class(row);
        format!("<a href=\"#{0}\">{0}</a> <span class=\"{class}\">{class}</span>", escape(row.id))
    });
    let verdicts = verdicts.collect::<Vec<_>>().join(", ");
    let below = format!("<br><small>{}. {verdicts}</small></figcaption>", escape(source));
    let html = figure.html().replace("</figcaption>", &below);
    html.replacen("<figure>", &format!("<figure id=\"{}\">", escape(id)), 1)
}

/// The first word of the verdict.
fn class<'a>(row: &'a ClaimRow) -> &'a str {
    row.verdict.split(',').next().unwrap_or("untested")
}

fn table(page: &mut String, rows: &[&ClaimRow]) {
    page.push_str(
        "<table><thead><tr><th>claim</th><th>statement</th><th>paper</th><th>here (95 % interval)</th><th>verdict</th></tr></thead><tbody>\n",
    );
    for row in rows {
        let note = if row.note.is_empty() {
            String::new()
        } else {
            format!("<br><small>{}</small>", with_code(row.note))
        };
        let _ = writeln!(
            page,
            "<tr id=\"{0}\"><td>{0}<br><small>{1}</small></td><td>{2}{note}</td><td>{3}</td><td>{4}{5}</td><td class=\"{6}\">{7}</td></tr>",
            escape(row.id),
            escape(row.source),
            escape(row.says),
            escape(row.reports),
            escape(&row.here),
            line(row).unwrap_or_default(),
            escape(class(row)),
            escape(&row.verdict),
        );
    }
    page.push_str("</tbody></table>\n");
}

/// A text with the parts between backticks as code.
fn with_code(text: &str) -> String {
    let parts = text.split('`').map(escape).enumerate();
    parts
        .map(|(at, part)| if at % 2 == 1 { format!("<code>{part}</code>") } else { part.to_string() })
        .collect()
}

/// The line of values as SVG; none where there is no number to show.
fn line(row: &ClaimRow) -> Option<String> {
    let values: Vec<f64> = row.values.iter().copied().filter(|value| value.is_finite()).collect();
    if values.is_empty() {
        return None;
    }
    let ends = row.intervals.iter().chain(&row.hit).flat_map(|(low, high)| [*low, *high]);
    let shown = values.iter().copied().chain(row.paper).chain(ends);
    let shown: Vec<f64> = shown.filter(|number| number.is_finite()).collect();
    let smallest = shown.iter().copied().reduce(f64::min)?;
    let largest = shown.iter().copied().reduce(f64::max)?;
    if largest <= smallest {
        // The band of a bound is a point, and a value at it has nothing to compare with.
        return None;
    }
    let span = largest - smallest;
    let x =
        |number: f64| ((number - smallest) / span * (1.0 - 2.0 * MARGIN) + MARGIN).clamp(0.0, 1.0) * WIDTH;
    let middle = HEIGHT / 2.0;
    let mut svg = format!(
        "<svg width=\"{WIDTH}\" height=\"{HEIGHT}\" role=\"img\" aria-label=\"{}\">",
        escape(&format!("here {}, paper {}", row.here, row.reports))
    );
    if let Some((from, to)) = row.hit {
        // A band without an end goes to the edge.
        let (from, to) =
            (if from.is_finite() { x(from) } else { 0.0 }, if to.is_finite() { x(to) } else { WIDTH });
        let _ = write!(
            svg,
            "<rect x=\"{from:.1}\" y=\"3\" width=\"{:.1}\" height=\"{}\" fill=\"#009e73\" opacity=\".2\"/>",
            (to - from).max(1.0),
            HEIGHT - 6.0
        );
    }
    let _ = write!(
        svg,
        "<line x1=\"0\" x2=\"{WIDTH}\" y1=\"{middle}\" y2=\"{middle}\" stroke=\"currentColor\" opacity=\".3\"/>"
    );
    for (low, high) in row.intervals {
        let _ = write!(
            svg,
            "<line x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{middle}\" y2=\"{middle}\" stroke=\"#0072b2\" stroke-width=\"3\"/>",
            x(*low),
            x(*high)
        );
    }
    for value in values {
        let _ = write!(svg, "<circle cx=\"{:.1}\" cy=\"{middle}\" r=\"4.5\" fill=\"#0072b2\"/>", x(value));
    }
    if let Some(paper) = row.paper {
        let _ = write!(
            svg,
            "<path d=\"M{0:.1} {1} l5 6 l-5 6 l-5 -6z\" fill=\"none\" stroke=\"#d55e00\" stroke-width=\"2\"/>",
            x(paper),
            middle - 6.0
        );
    }
    svg.push_str("</svg>");
    Some(svg)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(values: &[f64]) -> ClaimRow<'_> {
        ClaimRow {
            id: "REM-04",
            group: "reminis",
            source: "abstract",
            says: "p95 <of> BBR2",
            reports: "2.2x",
            here: "1.65".into(),
            verdict: "partly, near".into(),
            note: "",
            paper: Some(2.2),
            hit: Some((1.76, f64::INFINITY)),
            values,
            intervals: &[(1.5, 1.8)],
        }
    }

    #[test]
    fn a_claim_has_its_verdict_and_the_papers_value_marked() {
        let page = claims_page(&[row(&[1.65])], &[]);
        assert!(
            page.contains("<td class=\"partly\">partly, near</td>") && page.contains("p95 &lt;of&gt; BBR2")
        );
        assert!(page.contains("<path d=") && page.contains("<circle"), "{page}");
        assert!(
            page.contains("<main><h1>") && page.contains("</main></body>"),
            "readers by ear jump to the main part"
        );
        assert!(!page.contains("NaN") && !page.contains("http"), "it loads nothing");
    }

    /// The drawing once shrank to 20 pixels with its column, and backticks stood in the notes.
    #[test]
    fn a_claims_drawing_keeps_its_width_and_its_note_has_code() {
        let page = claims_page(&[ClaimRow { note: "a `b<c>` d", ..row(&[1.65]) }], &[]);
        assert!(page.contains("<small>a <code>b&lt;c&gt;</code> d</small>"), "{page}");
        assert!(
            page.contains("<svg width=\"260\"") && !page.contains("svg{display:block;max-width"),
            "{page}"
        );
    }

    #[test]
    fn a_figure_stands_above_the_claims_of_its_paper_with_their_verdicts() {
        let figure = Figure { title: "delay <over> buffers".into(), ..Figure::default() };
        let figure =
            ClaimFigure { id: "REM-Fig-12", group: "reminis", source: "5.3", claims: vec!["REM-04"], figure };
        let page = claims_page(&[row(&[])], &[figure]);
        let drawn = page.find("<figure id=\"REM-Fig-12\">").unwrap();
        assert!(drawn < page.find("<table>").unwrap() && page.contains("delay &lt;over&gt; buffers"));
        assert!(
            page.contains("<a href=\"#REM-04\">REM-04</a> <span class=\"partly\">partly</span>"),
            "{page}"
        );
    }

    #[test]
    fn each_number_of_a_list_has_its_dot() {
        assert_eq!(claims_page(&[row(&[1.65, 2.5])], &[]).matches("<circle").count(), 2);
    }

    #[test]
    fn what_is_no_number_has_no_line() {
        for values in [&[][..], &[f64::INFINITY]] {
            assert!(!claims_page(&[row(values)], &[]).contains("<svg"));
        }
        let bound = ClaimRow { paper: None, hit: Some((1.0, 1.0)), intervals: &[], ..row(&[1.0, 1.0]) };
        assert!(!claims_page(&[bound], &[]).contains("<svg"), "nothing is drawn where all is one point");
    }
}

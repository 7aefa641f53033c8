//! The scorecard: in the terminal, as JSON, and as a page.

use super::Args;
use super::files::Library;
use crate::exit::{Exit, print, tell};
use crate::grid;
use crate::present::address;
use cellcc_claims::{Counts, Judged, Scale, Verdict, paper_title};
use cellcc_report::{ClaimFigure, ClaimRow, NONE, TableFormat, claims_page};
use cellcc_runner::OutputFolder;
use cellcc_version::VERSION;
use serde::Serialize;

const PAGE: &str = "claims.html";

#[derive(Serialize)]
struct Scorecard<'a> {
    version: &'a str,
    scale: &'a str,
    claims: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    #[serde(flatten)]
    judged: &'a Judged,
    /// The verdict of before.
    before: Option<Verdict>,
}

/// Shows the verdicts, and whether one differs from that of before. The bool of a claim: it was left out.
pub(super) fn scorecard(
    library: &Library,
    judged: &[(Judged, bool)],
    args: &Args,
    out: &OutputFolder,
) -> Result<bool, Exit> {
    if judged.is_empty() {
        return Ok(false);
    }
    let scale = args.scale();
    let rows: Vec<Row> = judged
        .iter()
        .map(|(judged, _)| Row { judged, before: library.state.verdict(&judged.id, scale) })
        .collect();
    let cells: Vec<Vec<String>> =
        rows.iter().zip(judged).map(|(row, (_, is_left_out))| cells(row, *is_left_out)).collect();
    let header = ["claim", "what", "paper", "here", "verdict", "before"];
    print(&grid::render(TableFormat::Table, &header, &cells, &rows)?)?;
    print(&format!("\n{}", summary(judged, scale)))?;

    let differs = |(row, (_, is_left_out)): &(&Row, &(Judged, bool))| {
        !is_left_out && row.before != Some(row.judged.verdict)
    };
    let changed: Vec<&Row> = rows.iter().zip(judged).filter(differs).map(|(row, _)| row).collect();
    for row in &changed {
        let before = row.before.map_or_else(|| "was not judged".into(), |before| format!("was {before}"));
        print(&format!("{}: {before}, is {}", row.judged.id, row.judged.verdict))?;
    }
    let has_changed = !changed.is_empty();
    let content = Scorecard { version: VERSION, scale: scale.name(), claims: rows };
    let json = serde_json::to_string_pretty(&content).map_err(Exit::failed)?;
    write(out, "scorecard.json", &json)?;
    Ok(has_changed)
}

/// Writes the page of claims and figures.
pub(super) fn page(
    judged: &[(Judged, bool)],
    figures: &[ClaimFigure],
    args: &Args,
    out: &OutputFolder,
) -> Result<(), Exit> {
    if judged.is_empty() && figures.is_empty() {
        return Ok(());
    }
    let rows: Vec<ClaimRow> = judged.iter().map(|(judged, _)| page_row(judged)).collect();
    write(out, PAGE, &claims_page("What the papers say, and what comes out here", &rows, figures))?;
    if !args.quiet {
        tell(&format!("page: {}", address(&out.path().join(PAGE))));
    }
    Ok(())
}

fn write(out: &OutputFolder, name: &str, text: &str) -> Result<(), Exit> {
    out.write(name, text.as_bytes())
        .map_err(|error| Exit::failed(format!("cannot write {}/{name}: {error}", out.path().display())))
}

fn cells(Row { judged, before }: &Row, is_left_out: bool) -> Vec<String> {
    let interval = judged.interval_text();
    let mut here = judged.value_text();
    if !interval.is_empty() {
        here = format!("{here} ({interval})");
    }
    if is_left_out {
        "left out".clone_into(&mut here);
    } else if judged.verdict == Verdict::Untested && here.is_empty() {
        here = judged.why.clone().unwrap_or_default();
    }
    for (data, values) in judged.also_texts() {
        here = format!("{here}; {data}: {values}");
    }
    let ours = if judged.threshold_is_ours { ", our threshold" } else { "" };
    vec![
        judged.id.clone(),
        judged.says.clone(),
        judged.reports.clone(),
        here,
        format!("{}{ours}", judged.verdict_text()),
        before.map_or_else(|| NONE.into(), |before| before.to_string()),
    ]
}

fn summary(judged: &[(Judged, bool)], scale: Scale) -> String {
    let mut counts = Counts::default();
    judged.iter().for_each(|(judged, _)| counts.add(judged.verdict));
    let near = judged.iter().filter(|(judged, _)| judged.near).count();
    let left_out = judged.iter().filter(|(_, is_left_out)| *is_left_out).count();
    let Counts { hit, partly, miss, untested } = counts;
    format!(
        "{} at scale {}: {hit} hit, {partly} partly, {miss} miss, {untested} not judged ({left_out} of them left out); {near} near \
         another verdict.\nOne again: cellcc reproduce {}",
        if counts.all() == 1 { "1 claim".into() } else { format!("{} claims", counts.all()) },
        scale.name(),
        judged[0].0.id
    )
}

fn page_row(judged: &Judged) -> ClaimRow<'_> {
    let single = if let [value] = judged.values.as_slice() { Some(*value) } else { None };
    ClaimRow {
        id: &judged.id,
        group: paper_title(&judged.group),
        source: &judged.source,
        says: &judged.says,
        reports: &judged.reports,
        here: judged.value_text(),
        verdict: judged.verdict_text(),
        note: judged.why.as_deref().unwrap_or(&judged.note),
        paper: judged.paper,
        hit: judged.hit,
        value: single,
        interval: judged.interval,
    }
}

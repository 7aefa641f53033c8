//! The scorecard: in the terminal, as JSON, and as a page.

use super::Args;
use crate::exit::{Exit, print, tell};
use crate::grid;
use crate::own::version;
use crate::present::address;
use cellcc_claims::{Counts, Scale, Verdict};
use cellcc_report::{ClaimFigure, ClaimRow, NONE, TableFormat, claims_page};
use cellcc_runner::OutputFolder;
use cellcc_runner::reproduce::{Judgement, Reproduced};

const PAGE: &str = "claims.html";

/// Shows the verdicts, and which of them are others than before.
pub(super) fn scorecard(reproduced: &Reproduced, args: &Args, out: &OutputFolder) -> Result<(), Exit> {
    let judgements = &reproduced.judgements;
    if judgements.is_empty() {
        return Ok(());
    }
    let rows: Vec<Vec<String>> = judgements.iter().map(cells).collect();
    let header = ["claim", "statement", "paper", "here", "verdict", "before"];
    print(&grid::render(TableFormat::Table, &header, &rows, judgements)?)?;
    print(&format!("\n{}", summary(judgements, args.scale())))?;
    for Judgement { judged, before, .. } in judgements.iter().filter(|one| one.differs()) {
        let before = before.map_or_else(|| "was not judged".into(), |before| format!("was {before}"));
        print(&format!("{}: {before}, is {}", judged.id, judged.verdict))?;
    }
    write(out, "scorecard.json", &reproduced.scorecard(version()))
}

/// Writes the page of claims and figures.
pub(super) fn page(reproduced: &Reproduced, args: &Args, out: &OutputFolder) -> Result<(), Exit> {
    let Reproduced { judgements, figures, .. } = reproduced;
    if judgements.is_empty() && figures.is_empty() {
        return Ok(());
    }
    let rows: Vec<ClaimRow> = judgements.iter().map(|one| (&one.judged).into()).collect();
    let figures: Vec<ClaimFigure> = figures.iter().map(Into::into).collect();
    write(out, PAGE, &claims_page(&rows, &figures))?;
    if !args.quiet {
        tell(&format!("page: {}", address(&out.path().join(PAGE))));
    }
    Ok(())
}

fn write(out: &OutputFolder, name: &str, text: &str) -> Result<(), Exit> {
    out.write(name, text.as_bytes())
        .map_err(|error| Exit::failed(format!("cannot write {}/{name}: {error}", out.path().display())))
}

fn cells(Judgement { judged, before, is_left_out }: &Judgement) -> Vec<String> {
    let interval = judged.interval_text();
    let mut here = judged.value_text();
    if !interval.is_empty() {
        here = format!("{here} ({interval})");
    }
    if *is_left_out {
        "left out".clone_into(&mut here);
    } else if judged.verdict == Verdict::Untested && here.is_empty() {
        here = judged.why.clone().unwrap_or_default();
    }
    for (data, values) in judged.also_texts() {
        here = format!("{here}; {data}: {values}");
    }
    let ours = if judged.threshold_is_ours { ", our bound" } else { "" };
    vec![
        judged.id.clone(),
        judged.says.clone(),
        judged.reports.clone(),
        here,
        format!("{}{ours}", judged.verdict_text()),
        before.map_or_else(|| NONE.into(), |before| before.to_string()),
    ]
}

fn summary(judgements: &[Judgement], scale: Scale) -> String {
    let mut counts = Counts::default();
    judgements.iter().for_each(|one| counts.add(one.judged.verdict));
    let near = judgements.iter().filter(|one| one.judged.near).count();
    let left_out = judgements.iter().filter(|one| one.is_left_out).count();
    let Counts { hit, partly, miss, untested } = counts;
    format!(
        "{} at scale {}: {hit} hit, {partly} partly, {miss} miss, {untested} not judged ({left_out} of them left out); {near} near \
         another verdict.\nOne again: cellcc reproduce {}",
        if counts.all() == 1 { "1 claim".into() } else { format!("{} claims", counts.all()) },
        scale.name(),
        judgements[0].judged.id
    )
}

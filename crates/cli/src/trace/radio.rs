//! `cellcc trace radio`.

use crate::exit::{Exit, print};
use crate::grid;
use cellcc_link::radio::{self, Findings, Grants, Pings};
use cellcc_report::{NONE, TableFormat};
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  ping -D -i 0.213 -c 150 HOST > ping.txt && cellcc trace radio ping.txt")]
pub(crate) struct Args {
    /// Logs of NR-Scope (CSV) of one cell, output of ping (best of ping -D -i 0.213 -c 150) of one network, or both.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Output format.
    #[arg(long, default_value = "table", value_name = "FORMAT")]
    format: Format,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Format {
    Table,
    Json,
}

pub(super) fn run(args: &Args) -> Result<(), Exit> {
    let recordings: Result<Vec<_>, _> = args.files.iter().map(|file| radio::read(file)).collect();
    let findings = Findings::new(&recordings.map_err(Exit::input)?);
    match args.format {
        Format::Json => print(&serde_json::to_string_pretty(&findings).map_err(Exit::failed)?),
        Format::Table => print(&sections(&findings)?.join("\n\n")),
    }
}

fn sections(findings: &Findings) -> Result<Vec<String>, Exit> {
    let directions = [("down", &findings.down), ("up", &findings.up)];
    let present = directions.iter().filter_map(|(name, grants)| Some((*name, grants.as_ref()?)));
    let (names, grants): (Vec<&str>, Vec<&Grants>) = present.unzip();
    let mut sections = Vec::new();
    if !grants.is_empty() {
        sections.push(table("blocks of the radio", &names, &blocks(&grants))?);
    }
    if let Some(pings) = &findings.pings {
        sections.push(table("pings", &["median over runs"], &of_pings(pings))?);
    }
    sections.push(conditions(findings));
    Ok(sections)
}

fn table(title: &str, columns: &[&str], rows: &[Vec<String>]) -> Result<String, Exit> {
    let header: Vec<&str> = std::iter::once(title).chain(columns.iter().copied()).collect();
    Ok(grid::render(TableFormat::Table, &header, rows, &[(); 0])?.trim_end().to_owned())
}

fn blocks(grants: &[&Grants]) -> Vec<Vec<String>> {
    let row = |name: &str, value: &dyn Fn(&Grants) -> String| {
        std::iter::once(name.to_owned()).chain(grants.iter().map(|grants| value(grants))).collect()
    };
    let mut rows: Vec<Vec<String>> = vec![
        row("grants", &|of| of.grants.to_string()),
        row("seconds", &|of| format!("{:.0}", of.seconds)),
        row("phones", &|of| of.users.to_string()),
        row("blocks", &|of| of.blocks.to_string()),
        row("sent again", &|of| percent(Some(of.again_share))),
        row("the same, of blocks seen from the start", &|of| percent(Some(of.again_share_seen))),
        row("a repetition comes after (median)", &|of| ms(of.again_ms)),
        row("the first repetition fails", &|of| percent(of.again_fails_share)),
        row("a later one fails", &|of| percent(of.later_fails_share)),
        row("held back by a repetition, in order", &|of| percent(of.held_back_share)),
        row("... mean over all blocks", &|of| ms(of.held_back_mean_ms)),
    ];
    for (index, lag) in grants[0].by_lag.iter().enumerate() {
        let shares = |of: &Grants| {
            let lag = &of.by_lag[index];
            format!("{} / {}", percent(lag.after_failed_share), percent(lag.after_good_share))
        };
        let name = format!("fails {}..{} ms after a failed / good one", lag.above_ms, lag.to_ms);
        rows.push(row(&name, &shares));
    }
    rows
}

fn of_pings(pings: &Pings) -> Vec<Vec<String>> {
    let mut rows = vec![
        ["runs".into(), pings.runs.to_string()],
        ["runs of less than 100 replies, left out".into(), pings.short_runs.to_string()],
        ["lost, of all pings".into(), percent(Some(pings.lost_share))],
        ["smallest".into(), ms(pings.smallest_ms)],
        ["median".into(), ms(pings.median_ms)],
        ["95th percentile".into(), ms(pings.p95_ms)],
        ["above the smallest, of the mean".into(), percent(pings.above_smallest_share)],
    ];
    if let Some(first) = &pings.first {
        let quartiles = format!("{} ({:.1} to {:.1})", ms(Some(first.p50_ms)), first.p25_ms, first.p75_ms);
        rows.push(["the first ping costs more by (quartiles)".into(), quartiles]);
        rows.push(["the second one".into(), ms(Some(first.second_p50_ms))]);
    }
    if let Some(cycle) = &pings.cycle {
        rows.push(["windows of 25 pings".into(), cycle.windows.to_string()]);
        for period in cycle.periods.iter().filter(|period| period.share > 0.0) {
            let shares =
                format!("{} / {}", percent(Some(period.share)), percent(Some(period.shuffled_share)));
            rows.push([format!("explained by {} ms / the same, shuffled", period.period_ms), shares]);
        }
    }
    rows.into_iter().map(Vec::from).collect()
}

/// The lines for a Scenario, or the reason for none.
fn conditions(findings: &Findings) -> String {
    let harq = |grants: &Option<Grants>| {
        let line = |grants: &Grants| match &grants.harq {
            Some(harq) => format!("\nharq = \"{harq}\""),
            None => "\n# no harq: it takes 100 failed blocks that follow others of their phone".into(),
        };
        grants.as_ref().map(line).unwrap_or_default()
    };
    let access = |pings: &Pings| match (&pings.access, &pings.cycle) {
        (Some(access), _) => format!("\naccess = \"{access}\""),
        (None, Some(_)) => "\n# no access: no cycle of requests shows in these pings".into(),
        (None, None) => {
            "\n# no access: it takes runs of 100 replies with their times (ping -D -c 150)".into()
        }
    };
    let access = findings.pings.as_ref().map(access).unwrap_or_default();
    format!(
        "# A download of this network; for an upload, swap the two.\n[path]{}\n[path.reverse]{}{access}",
        harq(&findings.down),
        harq(&findings.up)
    )
}

fn percent(share: Option<f64>) -> String {
    share.map_or(NONE.into(), |share| format!("{:.1} %", share * 100.0))
}

fn ms(value: Option<f64>) -> String {
    value.map_or(NONE.into(), |value| format!("{value:.1} ms"))
}

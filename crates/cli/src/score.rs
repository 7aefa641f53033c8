//! `cellcc score`: one number per scheme. `cellcc_runner::score` has the runs, the parts and their weights.

use crate::exit::{Exit, print};
use crate::grid;
use crate::interrupt::stop_on_signal;
use crate::own::version;
use crate::present;
use crate::running::{Bar, jobs};
use cellcc_experiment::Recordings;
use cellcc_report::TableFormat;
use cellcc_runner::score::{Links, PARTS, Score, Scoring};
use cellcc_runner::{Drivers, SeriesDetail, collect};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cellcc score tide cubic
  cellcc score 'reminis(dtt={1.5x,2x,3x})' --format json
  cellcc score policy.safetensors --held-out")]
pub(crate) struct Args {
    /// Schemes, NAME or NAME(KEY=VALUE,...), or files with the weights of a policy (.safetensors).
    #[arg(required = true, value_name = "SCHEME|FILE")]
    schemes: Vec<String>,
    /// Use other links, base RTTs and seeds, which a search must not see.
    #[arg(long)]
    held_out: bool,
    /// Number of parallel runs [default: one per CPU].
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
    /// Output format.
    #[arg(long, default_value = "table", value_parser = grid::format_parser())]
    format: TableFormat,
    /// Print only errors on standard error, without progress bar.
    #[arg(long, short)]
    quiet: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), Exit> {
    let driver = Drivers::new(&[], &Recordings::default())?;
    let links = if args.held_out { Links::HeldOut } else { Links::Search };
    let scoring = Scoring::new(&args.schemes, links, &driver, version())?;
    let stop = stop_on_signal(false)?;
    let bar = Bar::new(args.quiet);
    let collected = collect(scoring.plan(), &driver, jobs(args.jobs), SeriesDetail::Full, &bar, &stop);
    bar.clear();
    let collected = collected?;
    if collected.interrupted {
        return Err(Exit::Interrupted);
    }
    present::failures(&collected.failures)?;
    let scores = scoring.scores(&collected.records)?;
    let names = PARTS.map(|part| part.name);
    let header = ["rank", "scheme", "score"].into_iter().chain(names).chain(["other weights"]);
    let rows: Vec<Vec<String>> = scores.iter().map(cells).collect();
    let table = grid::render(args.format, &header.collect::<Vec<_>>(), &rows, &scores)?;
    let is_for_people = args.format == TableFormat::Table;
    print(&if is_for_people { format!("{table}\n{}", legend()) } else { table })
}

fn cells(score: &Score) -> Vec<String> {
    let Score { rank, scheme, score: number, low, high, parts, best_place, worst_place } = score;
    let numbers = [parts.throughput, parts.delay, parts.loss, parts.harm, parts.faults];
    let place = match best_place == worst_place {
        true => best_place.to_string(),
        false => format!("{best_place} to {worst_place}"),
    };
    [rank.to_string(), scheme.clone(), format!("{number:.1} ({low:.1}–{high:.1})")]
        .into_iter()
        .chain(numbers.map(|part| format!("{part:.3}")))
        .chain([place])
        .collect()
}

fn legend() -> String {
    let parts = PARTS.iter().map(|part| format!("  {:<10} {:<4} {}", part.name, part.weight, part.meaning));
    format!(
        "Score: weighted geometric mean of the parts x 100, and its 95 % interval over the runs. Equal ranks: the\n\
         intervals overlap. Other weights: places by the score alone if one weight is halved or doubled. The parts\n\
         are means over runs of\n{}",
        parts.collect::<Vec<_>>().join("\n")
    )
}

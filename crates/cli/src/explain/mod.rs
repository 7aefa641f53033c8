//! `cellcc explain`: how much of the queueing delay is the link's own, and how much the sender's.

mod against;
mod links;
mod results;

use crate::exit::{Exit, tell};
use crate::grid;
use cellcc_link::{Capacity, DelayFloor};
use cellcc_report::{FrontierFigure, TableFormat, UseAndDelay, frontier_figure};
use cellcc_units::{Ratio, Span};
use rayon::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Traces, as for `compare`: the least delay at several uses. Or a folder that `compare` left: the schemes beside it.
    #[arg(required = true, value_name = "TRACE|DIR")]
    what: Vec<String>,
    /// The RTT without any queue; of a folder, that of each run is taken.
    #[arg(long, value_name = "TIME", default_value = "40ms")]
    rtt: Span,
    /// How much of each trace; of a folder, that of each run is taken.
    #[arg(long, value_name = "TIME", default_value = "60s")]
    duration: Span,
    /// Write a picture here: use against delay, with the bound as a line.
    #[arg(long, value_name = "FILE.svg")]
    figure: Option<PathBuf>,
    /// Of results: the delay of the others beside that of this scheme at the same use, along the line that several values of its
    /// knob draw.
    #[arg(long, value_name = "SCHEME")]
    against: Option<String>,
    /// How to print it.
    #[arg(long, default_value = "table", value_parser = grid::format_parser())]
    format: TableFormat,
}

pub(crate) fn run(args: &Args) -> Result<(), Exit> {
    if args.rtt < Span::from_millis(1) {
        return Err(Exit::input(format!("--rtt {}: at least 1ms, the grain of traces", args.rtt)));
    }
    match args.what.as_slice() {
        [folder] if Path::new(folder).join("run-info.json").exists() => results::run(args, Path::new(folder)),
        _ if args.against.is_some() => Err(Exit::input(format!(
            "--against: {} is not a folder that `cellcc compare` left",
            args.what.join(" ")
        ))),
        traces => links::run(args, traces),
    }
}

/// The uses at which a trace's bound is told.
const USES: [f64; 3] = [0.90, 0.95, 0.98];
/// Those of the line in the picture.
const DRAWN_USES: [f64; 12] = [0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.925, 0.95, 0.97, 0.98, 0.99];

/// A part of a link, and the sender's RTT.
#[derive(Debug, Clone, PartialEq)]
struct Part {
    name: String,
    capacity: Arc<Capacity>,
    duration: Span,
    rtt: Span,
}

/// The bounds of the parts, in their order.
fn floors(parts: &[Part]) -> Result<Vec<DelayFloor>, Exit> {
    let floor = |part: &Part| DelayFloor::new(&part.capacity, part.duration, part.rtt);
    let floors: Vec<Option<DelayFloor>> = parts.par_iter().map(floor).collect();
    let floors = floors.into_iter().zip(parts).map(|(floor, Part { name, duration, rtt, .. })| {
        floor.ok_or_else(|| {
            Exit::input(format!(
                "{name}: carries nothing within {duration}, or that is shorter than the RTT of {rtt}: write a longer --duration"
            ))
        })
    });
    floors.collect()
}

/// Writes the picture where one is asked for: the means over the links, and of the schemes.
fn draw(
    args: &Args,
    title: &str,
    floors: &[DelayFloor],
    schemes: Vec<(String, Vec<UseAndDelay>)>,
) -> Result<(), Exit> {
    let Some(path) = &args.figure else { return Ok(()) };
    let frontier = DRAWN_USES.map(|utilisation| {
        let at = floors.iter().map(|floor| floor.at(Ratio::new(utilisation)).mean.as_millis_f64());
        UseAndDelay { utilisation, queueing_ms: at.sum::<f64>() / floors.len() as f64 }
    });
    let svg = frontier_figure(&FrontierFigure { title: title.into(), frontier: frontier.into(), schemes });
    std::fs::write(path, svg)
        .map_err(|error| Exit::failed(format!("cannot write {}: {error}", path.display())))?;
    tell(&format!("wrote {}", path.display()));
    Ok(())
}

/// Milliseconds as tables have them.
fn millis(value: f64) -> String {
    if value < 99.95 { format!("{value:.1}") } else { format!("{value:.0}") }
}

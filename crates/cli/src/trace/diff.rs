//! `cellcc trace diff`.

use crate::exit::{Exit, print};
use cellcc_record::{Agreement, compare_traces, opportunity_times};
use cellcc_runner::traces;
use cellcc_units::{Span, Time};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What the link is: a trace file, the name of a synthetic link, rate=... or step=...
    #[arg(value_name = "ORIGINAL")]
    original: String,
    /// What was recorded of it.
    #[arg(value_name = "RECORDED")]
    recorded: String,
}

/// Over how long a link without an end is looked at.
const ENDLESS: Span = Span::from_secs(60);

pub(super) fn run(args: &Args) -> Result<(), Exit> {
    let agreement = compare_traces(&times(&args.original)?, &times(&args.recorded)?)
        .ok_or_else(|| Exit::input("there is less than a second to compare: record for longer"))?;
    print(&serde_json::to_string_pretty(&agreement).map_err(Exit::failed)?)?;
    match agreement.holds() {
        true => Ok(()),
        false => Err(Exit::failed(format!(
            "they differ by more than {} or 1 ms, or by more than {:.0} % in a second",
            Agreement::TOLERATED,
            Agreement::TOLERATED_BIN * 100.0
        ))),
    }
}

fn times(text: &str) -> Result<Vec<Time>, Exit> {
    let capacity = super::open(&traces::normal(text))?.capacity;
    Ok(opportunity_times(&capacity, capacity.period().unwrap_or(ENDLESS)))
}

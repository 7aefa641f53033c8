//! `cellcc trace diff`.

use crate::exit::{Exit, print};
use cellcc_record::{Agreement, compare_traces, opportunity_times};
use cellcc_runner::traces;
use cellcc_units::{Bytes, Span, Time};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  cellcc trace diff lte-drive drive.down.mahi")]
pub(crate) struct Args {
    /// The link's own trace: a file, a synthetic link, rate=... or step=...
    #[arg(value_name = "ORIGINAL")]
    original: String,
    /// The trace recorded over it.
    #[arg(value_name = "RECORDED")]
    recorded: String,
    /// Output format: one sentence, or every number.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Format {
    Text,
    Json,
}

/// Over how long a link without an end is looked at.
const ENDLESS: Span = Span::from_secs(60);

pub(super) fn run(args: &Args) -> Result<(), Exit> {
    let agreement = compare_traces(&times(&args.original)?, &times(&args.recorded)?)
        .ok_or_else(|| Exit::input("there is less than a second to compare: record for longer"))?;
    print(&match args.format {
        Format::Text => sentence(&agreement),
        Format::Json => serde_json::to_string_pretty(&agreement).map_err(Exit::failed)?,
    })?;
    match agreement.holds() {
        true => Ok(()),
        false => Err(Exit::failed(format!(
            "they differ by more than {} or 1 ms, or by more than {:.0} % in a second",
            Agreement::TOLERATED,
            Agreement::TOLERATED_BIN * 100.0
        ))),
    }
}

fn sentence(agreement: &Agreement) -> String {
    format!(
        "the traces {} over {:.1} s, from {:.3} s of the original on: the cumulative curves differ by at most {}, by at most {} \
         where a shift of 1 ms does not make them meet, and the worst second by {:.1} %",
        if agreement.holds() { "agree" } else { "do not agree" },
        agreement.compared_s,
        agreement.offset_s,
        Bytes::new(agreement.max_cumulative_difference_bytes),
        Bytes::new(agreement.max_difference_beyond_1ms_bytes),
        agreement.worst_1s_bin * 100.0
    )
}

fn times(text: &str) -> Result<Vec<Time>, Exit> {
    let capacity = traces::open(text).map_err(Exit::input)?.capacity;
    Ok(opportunity_times(&capacity, capacity.period().unwrap_or(ENDLESS)))
}

//! Programs behind emulated links; `cellcc doctor`: the emulator's findings on this machine.

pub(crate) mod emulated;
pub(crate) mod graph;
pub(crate) mod mahimahi;
pub(crate) mod shell;

use crate::exit::{Exit, print};
use crate::grid;
use cellcc_emu::doctor::{Finding, State, emulator_can_run, examine};
use cellcc_emu::error::EmuError;
use cellcc_report::TableFormat;

impl From<EmuError> for Exit {
    fn from(error: EmuError) -> Self {
        match error {
            EmuError::Input(_) => Self::input(error),
            EmuError::Command { status, .. } => Self::Command(error.into(), status),
            EmuError::Missing(_) | EmuError::System { .. } => Self::failed(error),
        }
    }
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  cellcc doctor")]
pub(crate) struct Doctor {
    /// Output format.
    #[arg(long, default_value = "table", value_parser = grid::format_parser())]
    format: TableFormat,
}

pub(crate) fn doctor(args: &Doctor) -> Result<(), Exit> {
    let findings = examine();
    let header = ["what", "state", "detail", "what to do"];
    let rows: Vec<_> = findings.iter().map(row).collect();
    print(&grid::render(args.format, &header, &rows, &findings)?)?;
    match emulator_can_run(&findings) {
        true => Ok(()),
        false => Err(Exit::failed("the emulator cannot run here: see what is missing above")),
    }
}

fn row(finding: &Finding) -> Vec<String> {
    let state = match finding.state {
        State::Ok => "ok",
        State::Limited => "limited",
        State::Missing => "missing",
    };
    vec![finding.what.into(), state.into(), finding.detail.clone(), finding.remedy.clone()]
}

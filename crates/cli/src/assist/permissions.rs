//! `cellcc assist permissions`.

use crate::exit::{Exit, print};
use cellcc_netassist::daemon::Config;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  cellcc assist permissions netassist.toml > permissions.conf

nats-server includes the file: docs/how-to/netassist.md. It says who may publish and who may hear of whom: make it again where the \
configuration's users or servers change, and signal nats-server to read it again.")]
pub(crate) struct Args {
    /// The service's configuration, in TOML, with a table `nats`.
    #[arg(value_name = "FILE")]
    config: PathBuf,
}

pub(super) fn run(args: &Args) -> Result<ExitCode, Exit> {
    let config = Config::read(&args.config).map_err(Exit::input)?;
    print(config.permissions().map_err(Exit::input)?.trim_end())?;
    Ok(ExitCode::SUCCESS)
}

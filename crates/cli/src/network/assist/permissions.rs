//! `cellcc assist permissions`.

use crate::exit::{Exit, print};
use cellcc_netassist::Permissions;
use cellcc_netassist::daemon::Config;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cellcc assist permissions netassist.toml > permissions.conf
  cellcc assist permissions north.toml south.toml > permissions.conf      one broker for two sites

nats-server includes the file: docs/how-to/netassist-nats.md. It says who may publish and who may hear of whom: make it again where the \
configuration's users or servers change, and signal nats-server to read it again.")]
pub(crate) struct Args {
    /// The service's configuration, in TOML, with a table `nats`; of each site, where a broker has several.
    #[arg(value_name = "FILE", required = true)]
    configs: Vec<PathBuf>,
}

pub(super) fn run(args: &Args) -> Result<ExitCode, Exit> {
    let mut all = Permissions::default();
    for path in &args.configs {
        let config = Config::read(path).map_err(Exit::input)?;
        all = all.and(config.permissions().map_err(Exit::input)?).map_err(Exit::input)?;
    }
    print(all.to_string().trim_end())?;
    Ok(ExitCode::SUCCESS)
}

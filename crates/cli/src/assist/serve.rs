//! `cellcc assist serve`.

use super::host_counters;
use crate::exit::{Exit, print, tell};
use crate::process::{runtime, signals};
use cellcc_netassist::daemon::{Config, Daemon};
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cellcc assist certificates keys
  cellcc assist serve netassist.toml

docs/how-to/netassist.md has the configuration. An interrupt ends it.")]
pub(crate) struct Args {
    /// The configuration, in TOML.
    #[arg(value_name = "FILE")]
    config: PathBuf,
}

pub(super) fn run(args: &Args) -> Result<ExitCode, Exit> {
    let config = Config::read(&args.config).map_err(Exit::input)?;
    runtime()?.block_on(async {
        let daemon = Daemon::open(&config, host_counters::opener(), tell).await.map_err(Exit::input)?;
        let address = daemon.server().address().map_err(Exit::failed)?;
        let http = daemon
            .http_address()
            .map(|http| format!("\nhealth http://{http}/health\nmetrics http://{http}/metrics"));
        let page = daemon
            .https_address()
            .map(|https| format!("\npage https://{https}/, for the link of `cellcc assist page`"));
        print(&format!(
            "listening on quic://{address}{}{}",
            http.unwrap_or_default(),
            page.unwrap_or_default()
        ))?;
        let mut stop = signals();
        daemon
            .run(async move {
                let _ = stop.wait_for(|stop| *stop).await;
            })
            .await;
        Ok(ExitCode::SUCCESS)
    })
}

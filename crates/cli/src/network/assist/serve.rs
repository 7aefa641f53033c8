//! `cellcc assist serve`.

use super::host_counters;
use crate::exit::{Exit, print, tell};
use crate::network::process::{runtime, signals};
use cellcc_netassist::daemon::{Config, Daemon};
use std::path::PathBuf;
use std::process::ExitCode;
#[cfg(unix)]
use std::sync::Arc;
#[cfg(unix)]
use tokio::sync::Notify;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cellcc assist certificates keys
  cellcc assist serve netassist.toml

docs/how-to/netassist.md has the configuration. An interrupt ends it; after SIGHUP it opens the audit log again by its name, so that \
logrotate can rename it.")]
pub(crate) struct Args {
    /// The configuration, in TOML.
    #[arg(value_name = "FILE")]
    config: PathBuf,
}

pub(super) fn run(args: &Args) -> Result<ExitCode, Exit> {
    let config = Config::read(&args.config).map_err(Exit::input)?;
    runtime()?.block_on(async {
        let daemon = Daemon::open(&config, host_counters::opener(), tell).await.map_err(Exit::input)?;
        #[cfg(unix)]
        reopen_on_hang_up(daemon.reopen_audit_log())?;
        let mut stop = signals();
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
        daemon
            .run(async move {
                let _ = stop.wait_for(|stop| *stop).await;
            })
            .await;
        Ok(ExitCode::SUCCESS)
    })
}

/// A service has no terminal: what ends other programs says to it that its log was renamed.
#[cfg(unix)]
fn reopen_on_hang_up(audit_log: Arc<Notify>) -> Result<(), Exit> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut hang_ups = signal(SignalKind::hangup())
        .map_err(|error| Exit::failed(format!("cannot listen for SIGHUP: {error}")))?;
    tokio::spawn(async move {
        while hang_ups.recv().await.is_some() {
            audit_log.notify_one();
        }
    });
    Ok(())
}

//! Programs of a mobile edge: `cellcc assist serve`, the permissions for its broker, and the echo on a base station's host.

use crate::exit::{Exit, print, tell};
use crate::network::process::{runtime, signals};
use cellcc_netassist::Permissions;
use cellcc_netassist::daemon::{Config, Daemon};
use cellcc_netassist::probe::EchoHost;
use cellcc_netassist::source::OpenHostCounters;
use std::net::SocketAddr;
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

docs/how-to/netassist.md describes the configuration. An interrupt ends the service; after SIGHUP it reopens the audit log, so that logrotate can rename it.")]
pub(crate) struct Serve {
    /// The configuration, in TOML.
    #[arg(value_name = "FILE")]
    config: PathBuf,
}

pub(super) fn serve(args: &Serve) -> Result<ExitCode, Exit> {
    let config = Config::read(&args.config).map_err(Exit::input)?;
    runtime()?.block_on(async {
        let daemon = Daemon::open(&config, opener(), tell).await.map_err(Exit::input)?;
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

/// A service has no terminal, so SIGHUP, which ends other programs, means that its log was renamed.
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

/// Counts on an interface by the kernel; nothing, where cellcc is without the feature `kernel`.
#[cfg(not(all(target_os = "linux", feature = "kernel")))]
pub(super) fn opener() -> Option<OpenHostCounters> {
    None
}

#[cfg(all(target_os = "linux", feature = "kernel"))]
pub(super) use in_kernel::opener;

#[cfg(all(target_os = "linux", feature = "kernel"))]
mod in_kernel {
    use super::OpenHostCounters;
    use cellcc_assist::PassiveCounters;
    use cellcc_kernel::{HostCounters, Machine};

    struct InKernel(HostCounters);

    impl cellcc_netassist::source::HostCounters for InKernel {
        fn read(&self, user: usize) -> Result<PassiveCounters, String> {
            self.0.read(user).map_err(|error| error.to_string())
        }
    }

    pub(in crate::network::assist) fn opener() -> Option<OpenHostCounters> {
        Some(|interface, users| {
            let counters = HostCounters::open(interface, users, &Machine::current());
            Ok(Box::new(InKernel(counters.map_err(|error| error.to_string())?)))
        })
    }
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cellcc assist permissions netassist.toml > permissions.conf
  cellcc assist permissions north.toml south.toml > permissions.conf      one broker for two sites

nats-server includes the file (docs/how-to/netassist-nats.md). It lists who may publish, and which server may receive reports on which user: write it again when the configuration's users or servers change, and signal nats-server to reload it.")]
pub(crate) struct BrokerPermissions {
    /// Configuration of the service, in TOML, with a table `nats`; one per site of the broker.
    #[arg(value_name = "FILE", required = true)]
    configs: Vec<PathBuf>,
}

pub(super) fn permissions(args: &BrokerPermissions) -> Result<ExitCode, Exit> {
    let mut all = Permissions::default();
    for path in &args.configs {
        let config = Config::read(path).map_err(Exit::input)?;
        all = all.and(config.permissions().map_err(Exit::input)?).map_err(Exit::input)?;
    }
    print(all.to_string().trim_end())?;
    Ok(ExitCode::SUCCESS)
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  cellcc assist echo --listen 10.1.0.1:4445

The service sends it echoes where its configuration has a [[cell]] with `echo = \"10.1.0.1:4445\"`. No answer is longer than its request, but every sender gets one: let only the service reach the port.")]
pub(crate) struct Echo {
    /// UDP address to listen on.
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:4445")]
    listen: SocketAddr,
}

pub(super) fn echo(args: &Echo) -> Result<ExitCode, Exit> {
    runtime()?.block_on(async {
        let refused = |error| Exit::input(format!("--listen {}: {error}", args.listen));
        let host = EchoHost::bind(args.listen).await.map_err(refused)?;
        let mut stop = signals();
        print(&format!("listening on {}", host.address().map_err(Exit::failed)?))?;
        tokio::select! {
            () = host.run() => {}
            _ = stop.wait_for(|stop| *stop) => {}
        }
        Ok(ExitCode::SUCCESS)
    })
}

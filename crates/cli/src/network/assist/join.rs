//! `cellcc assist join`.

use super::Connect;
use crate::exit::{Exit, tell};
use crate::network::process::{runtime, signals};
use cellcc_control::Advice;
use cellcc_kernel::advice_now;
use cellcc_kernel::{DEFAULT_FOLDER, Pins};
use cellcc_netassist_client::{Client, KernelFeed, Role, established};
use std::collections::BTreeMap;
use std::fs;
use std::net::IpAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  cellcc tcp load cellcc_natcp
  cellcc tcp route add 10.45.0.0/16 cellcc_natcp
  cellcc assist join quic://edge:4443 --credentials keys/server-video-1

Without --user, it asks about the peers of all TCP connections of this network namespace. The service refuses addresses that are not its users.")]
pub(crate) struct Args {
    #[command(flatten)]
    connect: Connect,
    /// Ask about this user, even without a connection; may be repeated.
    #[arg(long, value_name = "ADDRESS")]
    user: Vec<IpAddr>,
    /// The user's signed consent (`cellcc assist ue --consent`); with one --user.
    #[arg(long, value_name = "TEXT", requires = "user")]
    consent: Option<String>,
    /// Folder of a BPF file system with the pins of loaded schemes.
    #[arg(long, value_name = "DIR", default_value = DEFAULT_FOLDER)]
    pins: PathBuf,
}

/// How often connections are looked at: a new one is reported about a second later at most.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

pub(super) fn run(args: &Args) -> Result<ExitCode, Exit> {
    if args.consent.is_some() && args.user.len() != 1 {
        return Err(Exit::input("--consent is one user's: give one --user"));
    }
    let pins = Pins::new(&args.pins);
    if !pins.loaded().iter().any(|scheme| scheme.takes_advice()) {
        return Err(Exit::input("no scheme that takes advice is loaded: `cellcc tcp load cellcc_natcp`"));
    }
    let settings = args.connect.settings(Role::Server)?;
    runtime()?.block_on(async {
        let advise = move |user, advice: &Advice| {
            pins.advise(user, &advice_now(advice)).map_err(|error| error.to_string())
        };
        let client = Client::start(settings, KernelFeed::new(advise).listener(tell));
        let client = client.map_err(Exit::failed)?;
        for user in &args.user {
            client.want(*user, 1, args.consent.clone());
        }
        let mut stop = signals();
        let mut known = BTreeMap::new();
        loop {
            if args.user.is_empty() {
                follow_connections(&client, &mut known);
            }
            tokio::select! {
                () = tokio::time::sleep(LOOK_INTERVAL) => {}
                _ = stop.wait_for(|stop| *stop) => return Ok(ExitCode::SUCCESS),
            }
        }
    })
}

/// Asks about each peer with as many flows as there are connections that send to it, at least one.
fn follow_connections(client: &Client, known: &mut BTreeMap<IpAddr, u16>) {
    let mut present: BTreeMap<IpAddr, u16> = BTreeMap::new();
    for file in ["/proc/net/tcp", "/proc/net/tcp6"] {
        let text = fs::read_to_string(file).unwrap_or_default();
        for connection in established(&text) {
            let count = present.entry(connection.peer).or_default();
            *count = count.saturating_add(u16::from(connection.is_sending));
        }
    }
    present.values_mut().for_each(|count| *count = (*count).max(1));
    for (peer, count) in &present {
        if known.get(peer) != Some(count) {
            client.want(*peer, *count, None);
        }
    }
    for peer in known.keys().filter(|peer| !present.contains_key(peer)) {
        client.want(*peer, 0, None);
    }
    *known = present;
}

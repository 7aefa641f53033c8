//! `cellcc assist count`: this host's counters of users as lines, for a service that then needs no right to count.

use super::serve::opener;
use crate::exit::{Exit, print, tell};
use crate::network::process::{runtime, signals};
use cellcc_http_port::ProblemLog;
use cellcc_netassist::daemon::Config;
use cellcc_netassist::source::{Host, UserCounters};
use cellcc_netassist::{Identities, ServiceClock};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cellcc assist count n6 netassist.toml                          print the lines
  cellcc assist count n6 netassist.toml --to 127.0.0.1:55556     send them to a service on this host

The service reads the lines with `kind = \"counters\"` (docs/how-to/netassist-sources.md). Counting needs Linux 6.6, CAP_BPF and CAP_NET_ADMIN; the service then needs neither.")]
pub(crate) struct Args {
    /// Interface that leads to the users.
    #[arg(value_name = "INTERFACE")]
    interface: String,
    /// Configuration of the service, whose `[[user]]` tables have the users' names and addresses.
    #[arg(value_name = "FILE")]
    config: PathBuf,
    /// Send each line in a UDP datagram to this address, instead of printing it.
    #[arg(long, value_name = "ADDRESS")]
    to: Option<SocketAddr>,
}

pub(super) fn run(args: &Args) -> Result<ExitCode, Exit> {
    let config = Config::read(&args.config).map_err(Exit::input)?;
    // No key leaves this program; they only spread the users' turns over a period.
    let identities = Identities::new(config.users, &[0; 32]).map_err(Exit::input)?;
    let receiver = args.to.map(connected).transpose()?;
    runtime()?.block_on(async {
        let host = Host::new(&args.interface, &identities, ServiceClock::start(), opener());
        let mut host = host.map_err(|problem| Exit::input(format!("{}: {problem}", args.interface)))?;
        let (mut stop, mut problems) = (signals(), ProblemLog::default());
        loop {
            let counted = tokio::select! {
                counted = host.counted() => counted,
                _ = stop.wait_for(|stop| *stop) => return Ok(ExitCode::SUCCESS),
            };
            let counted = counted.ok_or_else(|| Exit::input("the configuration has no [[user]] to count"))?;
            let problem = match counted {
                Ok(counted) => pass_on(&counted, receiver.as_ref())?,
                Err(problem) => Some(problem),
            };
            if let Some(line) = problem.and_then(|problem| problems.line(Instant::now(), &problem)) {
                tell(&line);
            }
        }
    })
}

/// Prints the lines, or sends them, or returns the reason why they cannot be sent.
fn pass_on(counted: &[UserCounters], receiver: Option<&UdpSocket>) -> Result<Option<String>, Exit> {
    for line in counted.iter().map(UserCounters::to_string) {
        match receiver.map(|receiver| receiver.send(line.as_bytes())) {
            None => print(&line)?,
            Some(Ok(_)) => {}
            Some(Err(error)) => {
                return Ok(Some(format!(
                    "the lines cannot be sent, so start a service that reads them: {error}"
                )));
            }
        }
    }
    Ok(None)
}

/// A socket that sends to this address.
fn connected(to: SocketAddr) -> Result<UdpSocket, Exit> {
    let any: IpAddr = if to.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((any, 0)).and_then(|socket| socket.connect(to).map(|()| socket));
    socket.map_err(|error| Exit::input(format!("--to {to}: {error}")))
}

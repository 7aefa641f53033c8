//! `cellcc assist ue`.

use super::{Connect, ServiceUrl, credentials};
use crate::exit::{Exit, print, tell};
use crate::network::own_flows::own_flows;
use crate::network::process::{runtime, signals};
use cellcc_netassist_client::statement::{CONSENT, MAX_CONSENT};
use cellcc_netassist_client::{Client, ClientEvent, PeerName, Role};
use cellcc_units::Span;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cellcc assist ue quic://edge:4443 --credentials keys/user-alice
  cellcc assist ue --credentials keys/user-alice --consent video-1 --duration 168h

The first reports the number of flows each second, the second prints a consent for that server.")]
pub(crate) struct Args {
    /// The service, quic://HOST:PORT, or its NATS broker, tls://HOST:PORT.
    #[arg(value_name = "URL", required_unless_present = "consent")]
    url: Option<ServiceUrl>,
    /// Folder with the device's certificate.
    #[arg(long, value_name = "DIR")]
    credentials: PathBuf,
    /// Number of active flows [default: the device's TCP connections with other hosts].
    #[arg(long, value_name = "COUNT")]
    flows: Option<u16>,
    /// Sign a consent that lets this server receive reports on this device; needs no connection.
    #[arg(long, value_name = "SERVER", conflicts_with_all = ["url", "flows"])]
    consent: Option<String>,
    /// How long the consent holds, at most 744h (31 days).
    #[arg(long = "duration", short = 'd', alias = "for", value_name = "TIME", default_value = "1h")]
    lasts: Span,
}

/// How often the service is informed: it forgets after five seconds.
const INTERVAL: Duration = Duration::from_secs(1);

pub(super) fn run(args: &Args) -> Result<ExitCode, Exit> {
    if let Some(server) = &args.consent {
        return consent(args, server);
    }
    let Some(url) = args.url.clone() else {
        return Err(Exit::input(
            "give the address of the service: quic://HOST:PORT, or tls://HOST:PORT of its NATS broker",
        ));
    };
    let settings = Connect { url, credentials: args.credentials.clone() }.settings(Role::User)?;
    runtime()?.block_on(async {
        let client = Client::start(settings, |event| match event {
            ClientEvent::Connected => tell("connected"),
            ClientEvent::Denied { reason, .. } => tell(&format!("NetAssist: {reason}")),
            ClientEvent::Lost(reason) => tell(&format!("NetAssist: {reason}; trying again")),
            ClientEvent::Record { .. } | ClientEvent::Granted(_) | ClientEvent::Unusable => {}
        });
        let client = client.map_err(Exit::failed)?;
        let mut stop = signals();
        loop {
            client.tell_flows(args.flows.unwrap_or_else(own_flows));
            tokio::select! {
                () = tokio::time::sleep(INTERVAL) => {}
                _ = stop.wait_for(|stop| *stop) => return Ok(ExitCode::SUCCESS),
            }
        }
    })
}

fn consent(args: &Args, server: &str) -> Result<ExitCode, Exit> {
    let server =
        PeerName::new(Role::Server, server).map_err(|error| Exit::input(format!("--consent: {error}")))?;
    if args.lasts > MAX_CONSENT {
        return Err(Exit::input("--duration: a consent holds for at most 744h (31 days)"));
    }
    let device = credentials(&args.credentials, Role::User)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_err(Exit::failed)?.as_secs();
    let until = now + args.lasts.as_nanos() / 1_000_000_000;
    print(&CONSENT.sign(&device, &server, until).map_err(Exit::failed)?)?;
    Ok(ExitCode::SUCCESS)
}

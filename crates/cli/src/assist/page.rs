//! `cellcc assist page`.

use super::credentials;
use crate::exit::{Exit, print};
use cellcc_netassist::pass::{MAX_PASS, sign};
use cellcc_netassist::{PeerName, Role};
use cellcc_units::Span;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cellcc assist page https://edge.example:9465 --credentials keys/operator-desk
  xdg-open \"$(cellcc assist page https://127.0.0.1:9465 --service edge --credentials keys/operator-desk)\"

Whoever has the link sees all users until its time is over. It is signed here, without a connection; the browser has to trust \
authority.pem, which docs/how-to/netassist.md says how to do.")]
pub(crate) struct Args {
    /// The service's page, https://HOST:PORT: `https` in its configuration.
    #[arg(value_name = "URL")]
    url: String,
    /// The folder with an operator's certificate.
    #[arg(long, value_name = "FOLDER")]
    credentials: PathBuf,
    /// The name in the service's certificate [default: the host in the URL].
    #[arg(long, value_name = "NAME")]
    service: Option<String>,
    /// How long the link holds, at most 168h (7 days).
    #[arg(long = "for", value_name = "TIME", default_value = "12h")]
    lasts: Span,
}

pub(super) fn run(args: &Args) -> Result<ExitCode, Exit> {
    let authority = authority(&args.url).ok_or_else(|| {
        Exit::input(format!("`{}` is no page of a service: write https://HOST:PORT", args.url))
    })?;
    let (service, flag) = match &args.service {
        Some(service) => (service.as_str(), "--service"),
        None => (host(authority), "the host in the URL; --service gives the service's name"),
    };
    let service = PeerName::new(Role::Service, service)
        .map_err(|error| Exit::input(format!("`{service}`, {flag}: {error}")))?;
    if args.lasts > MAX_PASS {
        return Err(Exit::input("--for: a link holds for 168h at most, 7 days"));
    }
    let operator = credentials(&args.credentials, Role::Operator)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_err(Exit::failed)?.as_secs();
    let until = now + args.lasts.as_nanos() / 1_000_000_000;
    let pass = sign(&operator, &service, until).map_err(Exit::failed)?;
    print(&format!("https://{authority}/#{pass}"))?;
    Ok(ExitCode::SUCCESS)
}

/// HOST:PORT of https://HOST:PORT, which may end with a slash.
fn authority(url: &str) -> Option<&str> {
    let authority = url.strip_prefix("https://")?.trim_end_matches('/');
    (!authority.is_empty() && !authority.contains(['/', '#', '?', '@'])).then_some(authority)
}

fn host(authority: &str) -> &str {
    authority.rsplit_once(':').map_or(authority, |(host, _)| host)
}

//! `cellcc assist page`.

use super::credentials;
use crate::exit::{Exit, print};
use cellcc_netassist_client::statement::{MAX_PASS, PASS};
use cellcc_netassist_client::{PeerName, Role};
use cellcc_units::Span;
use std::net::Ipv6Addr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

/// A link that has expired when it is printed is useless; it ends at a whole second.
const MIN_PASS: Span = Span::from_secs(1);

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cellcc assist page https://edge.example:9465 --credentials keys/operator-desk
  xdg-open \"$(cellcc assist page https://127.0.0.1:9465 \\
      --service edge --credentials keys/operator-desk)\"

The address shows up to 200 users to everyone who has it, until it expires. It is signed here, without a connection; the browser has to trust authority.pem (docs/how-to/netassist.md).")]
pub(crate) struct Args {
    /// The service's page, https://HOST:PORT: `https` in its configuration.
    #[arg(value_name = "URL")]
    url: String,
    /// Folder with an operator's certificate.
    #[arg(long, value_name = "DIR")]
    credentials: PathBuf,
    /// The name in the service's certificate [default: the host in the URL].
    #[arg(long, value_name = "NAME")]
    service: Option<String>,
    /// How long the address works: 1s to 168h (7 days).
    #[arg(long = "duration", short = 'd', alias = "for", value_name = "TIME", default_value = "12h")]
    lasts: Span,
}

pub(super) fn run(args: &Args) -> Result<ExitCode, Exit> {
    let page = Page::parse(&args.url).ok_or_else(|| {
        Exit::input(format!(
            "`{}` is no page of a service: write https://HOST:PORT, an IPv6 address as in https://[::1]:9465",
            args.url
        ))
    })?;
    let (service, flag) = match &args.service {
        Some(service) => (service.as_str(), "--service"),
        None => (page.host, "the host in the URL; --service gives the service's name"),
    };
    let service = PeerName::new(Role::Service, service)
        .map_err(|error| Exit::input(format!("`{service}`, {flag}: {error}")))?;
    if args.lasts < MIN_PASS || args.lasts > MAX_PASS {
        return Err(Exit::input("--duration: write a time from 1s to 168h (7 days)"));
    }
    let operator = credentials(&args.credentials, Role::Operator)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_err(Exit::failed)?.as_secs();
    let until = now + args.lasts.as_nanos() / 1_000_000_000;
    let pass = PASS.sign(&operator, &service, until).map_err(Exit::failed)?;
    print(&format!("https://{}:{}/#{pass}", page.host, page.port))?;
    Ok(ExitCode::SUCCESS)
}

/// Where the page is.
struct Page<'a> {
    /// A name, an IPv4 address, or an IPv6 address in brackets.
    host: &'a str,
    port: u16,
}

impl<'a> Page<'a> {
    /// https://HOST:PORT, which may end with a slash.
    fn parse(url: &'a str) -> Option<Self> {
        let (host, port) = url.strip_prefix("https://")?.trim_end_matches('/').rsplit_once(':')?;
        let is_host = match host.strip_prefix('[') {
            Some(address) => address.strip_suffix(']')?.parse::<Ipv6Addr>().is_ok(),
            None => {
                !host.is_empty() && host.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-'))
            }
        };
        let port = port.parse().ok().filter(|&port| port != 0)?;
        is_host.then_some(Self { host, port })
    }
}

//! `cellcc serve`: the other end of `cellcc get` and `cellcc put`.

#![allow(clippy::disallowed_methods, reason = "a server has sockets")]

use crate::exit::{Exit, print, tell};
use crate::network::advice;
use crate::network::process::{exit, most_open_files, qlog, runtime, signals};
use cellcc_control::split_list;
use cellcc_transfer::{Identity, Limits, Server, ServerSettings, TransferError};
use cellcc_units::{Bytes, Span};
use clap::ArgGroup;
use std::env;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cellcc serve                 for a first try: prints the other end's command
  cellcc serve --scheme reminis --root videos --listen '[::]:4433'
  cellcc serve --http site --scheme bbr
  cellcc serve --max-bytes 10GB --max-time 10min --allow cubic,bbr,reminis

After an interrupt, transfers have five seconds to finish; a second one ends at once.")]
#[command(group(ArgGroup::new("folders").args(["root", "http"]).multiple(true)))]
pub(crate) struct Args {
    /// Address to listen on; port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "0.0.0.0:4433")]
    listen: SocketAddr,
    /// Scheme of downloads that request no other.
    #[arg(long, value_name = "SCHEME", default_value = "cubic")]
    scheme: String,
    /// Schemes that downloads may request, e.g. cubic,bbr [default: all].
    #[arg(long, value_name = "LIST")]
    allow: Option<String>,
    /// Folder of files for download.
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// Let clients add files to the folder; existing files are never replaced.
    #[arg(long, requires = "root")]
    writable: bool,
    /// Folder of files for curl and browsers over HTTP/3, on the same port, with --scheme.
    #[arg(long, value_name = "DIR")]
    http: Option<PathBuf>,
    /// Serve names that begin with a dot, such as .git; without it, only those below /.well-known/.
    #[arg(long, requires = "folders")]
    hidden: bool,
    /// The certificate, in PEM [default: one made at the first start, and kept].
    #[arg(long, value_name = "FILE", requires = "key")]
    cert: Option<PathBuf>,
    /// Its private key, in PEM.
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,
    /// Accept only clients with a certificate of these authorities, in PEM.
    #[arg(long, value_name = "FILE")]
    client_ca: Option<PathBuf>,
    /// Most data connections at once per peer (an IPv4 address, or an IPv6 /64).
    #[arg(long, value_name = "COUNT", default_value_t = Limits::default().connections)]
    max_connections: u32,
    /// Most data connections at once for all peers together.
    #[arg(long, value_name = "COUNT", default_value_t = Limits::default().total_connections)]
    max_total_connections: u32,
    /// Most data per hour and peer, e.g. 10GB [default: no limit].
    #[arg(long, value_name = "SIZE")]
    max_bytes: Option<Bytes>,
    /// Most transfer time per hour and peer, e.g. 10min [default: no limit].
    #[arg(long, value_name = "TIME")]
    max_time: Option<Span>,
    #[command(flatten)]
    advice: advice::Args,
    /// Write one qlog file per data connection to this folder.
    #[arg(long, value_name = "DIR")]
    qlog: Option<PathBuf>,
    /// Print nothing about transfers on standard error.
    #[arg(long, short)]
    quiet: bool,
}

pub(crate) fn run(args: Args) -> Result<ExitCode, Exit> {
    let registry = cellcc_schemes::registry();
    let scheme = registry.parse(&args.scheme).map_err(|error| Exit::input(format!("--scheme: {error}")))?;
    let allowed: Vec<String> = split_list(args.allow.as_deref().unwrap_or_default())
        .into_iter()
        .map(|name| registry.parse(name).map(|scheme| scheme.info().name.to_string()))
        .collect::<Result<_, _>>()
        .map_err(|error| Exit::input(format!("--allow: {error}")))?;
    for (flag, folder) in [("--root", &args.root), ("--http", &args.http)] {
        if let Some(folder) = folder.as_deref().filter(|folder| !folder.is_dir()) {
            return Err(Exit::input(format!("{flag}: {} is not a folder", folder.display())));
        }
    }
    let identity = match (&args.cert, &args.key) {
        (Some(certificate), Some(key)) => Identity::load(certificate, key).map_err(exit)?,
        _ => kept_identity()?,
    };
    let quiet = args.quiet;
    let settings = ServerSettings {
        listen: args.listen,
        scheme,
        allowed,
        root: args.root,
        takes_files: args.writable,
        http: args.http,
        hidden: args.hidden,
        identity,
        client_authorities: args.client_ca,
        limits: Limits {
            connections: args.max_connections,
            total_connections: args.max_total_connections,
            files: files_of_one_address(),
            bytes: args.max_bytes,
            time: args.max_time,
        },
        qlog: qlog(args.qlog)?,
        advice: None,
        log: Box::new(move |line| {
            if !quiet {
                tell(line);
            }
        }),
    };
    runtime()?.block_on(async {
        let advice = args.advice.config().await?;
        serve(ServerSettings { advice, ..settings }).await
    })
}

/// A quarter of the files that this process may have open, so that one address never takes all.
fn files_of_one_address() -> u32 {
    const SHARE: u64 = 4;
    let share = u32::try_from(most_open_files() / SHARE).unwrap_or(u32::MAX);
    share.min(Limits::default().files)
}

async fn serve(settings: ServerSettings) -> Result<ExitCode, Exit> {
    let asks_for_certificates = settings.client_authorities.is_some();
    let key = settings.http.is_some().then(|| settings.identity.key_hash()).transpose().map_err(exit)?;
    let server = Server::bind(settings).map_err(exit)?;
    let address = server.address().map_err(Exit::failed)?;
    let pin = server.fingerprint();
    let own = if asks_for_certificates { " --cert FILE --key FILE" } else { "" };
    let mut stop = signals();
    print(&format!(
        "listening on {address}\ncertificate {pin}\ntry: cellcc get quic://{} --pin {pin}{own}",
        reachable(address)
    ))?;
    if let Some(key) = key {
        print(&by_http(reachable(address), &key))?;
    }
    server
        .run(async move {
            let _ = stop.wait_for(|stop| *stop).await;
            tell("no more transfers; those that run have 5 s (a second interrupt ends at once)");
        })
        .await;
    Ok(ExitCode::SUCCESS)
}

/// How curl and Chromium open the site. Chromium takes a key by its hash only in a profile that is named, and speaks HTTP/3
/// to a server that it does not know only where it must.
fn by_http(address: SocketAddr, key: &str) -> String {
    format!(
        "try: curl --http3-only --insecure https://{address}/\n\
         try: chromium --user-data-dir=$(mktemp -d) --origin-to-force-quic-on={address} \
         --ignore-certificate-errors-spki-list={key} https://{address}/"
    )
}

/// The certificate of earlier starts, so that its fingerprint stays; in memory where nothing can be kept.
pub(crate) fn kept_identity() -> Result<Identity, Exit> {
    let folder = env::var_os("XDG_STATE_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".local/state")));
    let kept = folder.map(|folder| Identity::kept_in(&folder.join("cellcc")));
    match kept {
        Some(Ok(identity)) => Ok(identity),
        Some(Err(error @ TransferError::File { .. })) => {
            tell(&format!("note: {error}; each start makes a new certificate"));
            Identity::made().map_err(exit)
        }
        Some(Err(error)) => Err(exit(error)),
        None => Identity::made().map_err(exit),
    }
}

/// An address at which others reach a server that listens on all.
fn reachable(address: SocketAddr) -> SocketAddr {
    if !address.ip().is_unspecified() {
        return address;
    }
    // Connecting a UDP socket sends nothing; it only asks which own address leads outside (here: to RFC 5737's and
    // RFC 3849's documentation networks).
    let towards = |own: IpAddr, outside: &str| {
        let socket = UdpSocket::bind((own, 0)).ok()?;
        socket.connect(outside).ok()?;
        socket.local_addr().ok()
    };
    let v4 = towards(Ipv4Addr::UNSPECIFIED.into(), "192.0.2.1:9");
    let own = v4.or_else(|| towards(Ipv6Addr::UNSPECIFIED.into(), "[2001:db8::1]:9"));
    let ip = own.map_or(Ipv4Addr::LOCALHOST.into(), |own| own.ip());
    SocketAddr::new(ip, address.port())
}

//! `cellcc assist`: NetAssist, the network-assistance service, and its clients.

#![allow(clippy::disallowed_methods, reason = "a service and its clients have clocks and sockets")]

mod certificates;
mod count;
mod demo;
#[cfg(all(target_os = "linux", feature = "kernel"))]
mod join;
mod page;
mod serve;
mod service_url;
mod ue;
mod watch;

use crate::exit::Exit;
#[cfg(all(target_os = "linux", not(feature = "kernel")))]
use crate::without_kernel as join;
use cellcc_netassist_client::{CertificateError, ClientSettings, Credentials, Role};
pub(crate) use service_url::ServiceUrl;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Make an authority and certificates for a first try.
    Certificates(certificates::Args),
    /// Run the service, which turns measurements into reports to servers.
    Serve(serve::Serve),
    /// Print the address of the service's page of all users, for a browser.
    Page(page::Args),
    /// Print the permissions that a NATS broker needs for a service's configuration.
    Permissions(serve::BrokerPermissions),
    /// On a base station's host: answer the service's echoes, which measure the network's part of the minimum RTT.
    Echo(serve::Echo),
    /// Write this host's counters of the users behind an interface, for a service that reads such lines.
    Count(count::Args),
    /// Show the service's reports about its users, live.
    Watch(watch::Args),
    /// Pass the service's reports to this machine's kernel, for `cellcc_natcp`, `cellcc_nacubic` and `cellcc_nabbr`.
    #[cfg(target_os = "linux")]
    Join(join::Args),
    /// Run three users of an emulated cell, with and without assistance, and write a report.
    Demo(demo::Args),
    /// On a user's device: report its number of flows to the service, or sign a consent.
    Ue(ue::Args),
}

/// The service, and who we are.
#[derive(Debug, clap::Args)]
pub(crate) struct Connect {
    /// The service, quic://HOST:PORT, or its NATS broker, tls://HOST:PORT.
    #[arg(value_name = "URL")]
    url: ServiceUrl,
    /// Folder with this program's certificate (`cellcc assist certificates`).
    #[arg(long, value_name = "DIR")]
    credentials: PathBuf,
}

impl Connect {
    fn settings(&self, role: Role) -> Result<ClientSettings, Exit> {
        settings(&self.url, &self.credentials, role)
    }
}

pub(crate) fn run(command: Command) -> Result<ExitCode, Exit> {
    match command {
        Command::Certificates(args) => certificates::run(&args),
        Command::Serve(args) => serve::serve(&args),
        Command::Page(args) => page::run(&args),
        Command::Permissions(args) => serve::permissions(&args),
        Command::Echo(args) => serve::echo(&args),
        Command::Count(args) => count::run(&args),
        Command::Watch(args) => watch::run(&args),
        #[cfg(target_os = "linux")]
        Command::Join(args) => join::run(&args),
        Command::Demo(args) => demo::run(&args),
        Command::Ue(args) => ue::run(&args),
    }
}

/// The settings of a client with the certificate in this folder.
pub(crate) fn settings(url: &ServiceUrl, folder: &Path, role: Role) -> Result<ClientSettings, Exit> {
    Ok(ClientSettings { service: url.address()?, credentials: credentials(folder, role)? })
}

fn credentials(folder: &Path, role: Role) -> Result<Credentials, Exit> {
    Credentials::load(folder, role).map_err(|error: CertificateError| Exit::input(error))
}

//! `cellcc assist certificates`.

use crate::exit::{Exit, print};
use cellcc_netassist::Authority;
use cellcc_netassist_client::{PeerName, Role};
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cellcc assist certificates keys                       edge, video-1, desk: enough for a first try
  cellcc assist certificates keys --server video-2 --user alice      two more of the same authority

Copy to each machine its own folder, and authority-key.pem to none. Certificates hold for 90 days.")]
pub(crate) struct Args {
    /// Folder of the authority and the certificates; an existing authority is used.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// A certificate for the service.
    #[arg(long, value_name = "NAME")]
    service: Vec<String>,
    /// A certificate for a server that receives reports about users.
    #[arg(long, value_name = "NAME")]
    server: Vec<String>,
    /// A certificate for a user's device.
    #[arg(long, value_name = "NAME")]
    user: Vec<String>,
    /// A certificate for an operator, who may watch all users.
    #[arg(long, value_name = "NAME")]
    operator: Vec<String>,
    /// A certificate for a NATS broker; its name is the host in the URL.
    #[arg(long, value_name = "HOST")]
    broker: Vec<String>,
}

pub(super) fn run(args: &Args) -> Result<ExitCode, Exit> {
    let all = [
        (Role::Service, &args.service),
        (Role::Server, &args.server),
        (Role::User, &args.user),
        (Role::Operator, &args.operator),
        (Role::Broker, &args.broker),
    ];
    let mut names = Vec::new();
    for (role, given) in all {
        for name in given {
            let name = PeerName::new(role, name);
            names.push(name.map_err(|error| Exit::input(format!("--{}: {error}", role.name())))?);
        }
    }
    if names.is_empty() {
        let first = [(Role::Service, "edge"), (Role::Server, "video-1"), (Role::Operator, "desk")];
        names.extend(first.into_iter().filter_map(|(role, name)| PeerName::new(role, name).ok()));
    }
    let authority = Authority::kept_in(&args.folder).map_err(Exit::input)?;
    for name in names {
        let folder = authority.issue(&name, &args.folder).map_err(Exit::input)?;
        print(&folder.display().to_string())?;
    }
    Ok(ExitCode::SUCCESS)
}

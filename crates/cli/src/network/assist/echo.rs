//! `cellcc assist echo`.

use crate::exit::{Exit, print};
use crate::network::process::{runtime, signals};
use cellcc_netassist::probe::EchoHost;
use std::net::SocketAddr;
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  cellcc assist echo --listen 10.1.0.1:4445

The service sends it echoes where its configuration has a [[cell]] with `echo = \"10.1.0.1:4445\"`. No answer is longer than what \
it answers, and anybody who can reach the port gets one: let only the service reach it.")]
pub(crate) struct Args {
    /// The address to receive at: UDP.
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:4445")]
    listen: SocketAddr,
}

pub(super) fn run(args: &Args) -> Result<ExitCode, Exit> {
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

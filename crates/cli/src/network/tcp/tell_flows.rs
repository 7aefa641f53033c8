//! `cellcc tcp tell-flows`.

use crate::exit::{Exit, tell};
use crate::network::own_flows::own_flows;
use crate::network::process::{runtime, signals};
use cellcc_kernel::{ControlGroup, FlowTeller};
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, clap::Args)]
pub(crate) struct TellFlows {
    /// A control group (version 2) with the programs whose connections tell it, such as /sys/fs/cgroup.
    #[arg(value_name = "CGROUP")]
    group: PathBuf,
    /// The number of active flows [default: the device's TCP connections with others].
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..))]
    flows: Option<u16>,
}

/// How often the number is looked up. Servers believe it for five seconds (PEER_FLOWS_LAST_US in bpf/peer_flows.h).
const INTERVAL: Duration = Duration::from_secs(1);

pub(super) fn tell_flows(args: &TellFlows) -> Result<(), Exit> {
    runtime()?.block_on(async {
        let teller = FlowTeller::start(&ControlGroup::open(&args.group)?)?;
        let mut stop = signals();
        let whose = if args.flows.is_some() { "a fixed" } else { "the device's" };
        tell(&format!(
            "new connections in {} tell {whose} number of flows; Ctrl-C ends it",
            args.group.display()
        ));
        loop {
            teller.tell(args.flows.unwrap_or_else(own_flows))?;
            tokio::select! {
                () = tokio::time::sleep(INTERVAL) => {}
                _ = stop.wait_for(|stop| *stop) => return Ok(()),
            }
        }
    })
}

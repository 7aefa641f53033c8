//! `cellcc tcp watch` and `cellcc tcp tell-flows`, which go on until they are interrupted.

#![allow(clippy::disallowed_methods, reason = "a command that goes on takes real time")]

use super::Where;
use crate::exit::{Exit, tell};
use crate::network::own_flows::own_flows;
use crate::network::process::{runtime, signals};
use crate::network::repeat::Repeat;
use cellcc_kernel::{ControlGroup, FlowTeller, Pins, Scheme, Socket, Sockets, Zone};
use cellcc_report::NONE;
use cellcc_units::Span;
use serde::Serialize;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  cellcc tcp watch

Target: for Reminis, the RTT that each socket aims for; for others, such as Tide, the delay setting (`cellcc tcp status`). \
Zones of Reminis: explore (below the target), slow (below, but rising), cut (above).")]
pub(crate) struct Watch {
    #[command(flatten)]
    repeat: Repeat,
    #[command(flatten)]
    place: Where,
}

const HEADER: [&str; 10] = [
    "socket",
    "scheme",
    "RTT, ms",
    "min RTT, ms",
    "target, ms",
    "zone",
    "window, pkt",
    "outstanding",
    "pacing, Mbit/s",
    "lost",
];

#[derive(Serialize)]
struct SocketObject {
    socket: String,
    scheme: &'static str,
    srtt_ms: f64,
    min_rtt_ms: Option<f64>,
    target_ms: Option<f64>,
    zone: Option<&'static str>,
    cwnd_packets: u32,
    outstanding_packets: u32,
    pacing_rate_mbit_per_s: Option<f64>,
    lost_packets: u32,
}

pub(super) fn watch(args: &Watch) -> Result<(), Exit> {
    let pins = Pins::new(&args.place.pins);
    if pins.loaded().is_empty() {
        // Live sockets keep a scheme that was unloaded: they are shown all the same.
        tell(&pins.nothing_loaded().to_string());
    }
    let sockets = Sockets::open()?;
    loop {
        let objects: Vec<_> = sockets.list()?.iter().map(|socket| object(socket, &pins)).collect();
        let rows: Vec<_> = objects.iter().map(row).collect();
        args.repeat.show(&HEADER, &rows, &objects)?;
        if args.repeat.once {
            return Ok(());
        }
        std::thread::sleep(args.repeat.every());
    }
}

fn object(socket: &Socket, pins: &Pins) -> SocketObject {
    let zone = socket.zone.and_then(|zone| match zone {
        Zone::Unknown => None,
        Zone::Explore => Some("explore"),
        Zone::Slow => Some("slow"),
        Zone::Cut => Some("cut"),
    });
    SocketObject {
        socket: socket.name.to_string(),
        scheme: socket.scheme.name(),
        srtt_ms: socket.srtt.as_millis_f64(),
        min_rtt_ms: socket.min_rtt.map(Span::as_millis_f64),
        target_ms: socket.target.or_else(|| set_target(pins, socket.scheme)).map(Span::as_millis_f64),
        zone,
        cwnd_packets: socket.cwnd,
        outstanding_packets: socket.outstanding,
        pacing_rate_mbit_per_s: socket.pacing_rate.map(|rate| rate.as_bytes_per_sec() as f64 * 8e-6),
        lost_packets: socket.lost,
    }
}

/// The delay that all sockets of a scheme aim for, where it is a setting.
fn set_target(pins: &Pins, scheme: Scheme) -> Option<Span> {
    let settings = pins.settings(scheme).ok()?;
    let (_, delay) =
        settings.values().iter().find(|(name, _)| matches!(name.as_ref(), "delay" | "target"))?;
    delay.parse().ok()
}

fn row(socket: &SocketObject) -> Vec<String> {
    let number = |value: Option<f64>| value.map_or(NONE.into(), |value| format!("{value:.1}"));
    vec![
        socket.socket.clone(),
        socket.scheme.into(),
        number(Some(socket.srtt_ms)),
        number(socket.min_rtt_ms),
        number(socket.target_ms),
        socket.zone.unwrap_or(NONE).into(),
        socket.cwnd_packets.to_string(),
        socket.outstanding_packets.to_string(),
        number(socket.pacing_rate_mbit_per_s),
        socket.lost_packets.to_string(),
    ]
}

#[derive(Debug, clap::Args)]
pub(crate) struct TellFlows {
    /// Control group (version 2) of the programs whose connections report it, such as /sys/fs/cgroup.
    #[arg(value_name = "CGROUP")]
    group: PathBuf,
    /// Number of active flows [default: the device's TCP connections with other hosts].
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

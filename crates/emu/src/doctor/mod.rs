//! The abilities of this machine, and remedies for missing ones.

mod clock;

use crate::device::{Backend, Device};
use crate::error::EmuError;
use crate::namespace::{Namespace, enter_user_namespace_if_needed};
use crate::netlink::Netlink;
use crate::sys;
use crate::topology::{leftovers, orphans};
use clock::{Wakes, timer_resolution};
use rustix::net::sockopt::socket_recv_buffer_size;
use rustix::system::uname;
use rustix::thread::{CapabilitySet, capabilities};
use serde::Serialize;
use std::fs;
use std::os::fd::AsFd;
use std::time::Duration;

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The checked ability.
    pub what: &'static str,
    /// The verdict.
    pub state: State,
    /// The finding.
    pub detail: String,
    /// The remedy; empty if none is needed.
    pub remedy: String,
}

/// The verdict of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// As good as the emulator needs.
    Ok,
    /// Usable, within the limits that the detail names.
    Limited,
    /// Features that depend on it do not work.
    Missing,
}

impl State {
    fn ok_if(good: bool) -> Self {
        if good { Self::Ok } else { Self::Limited }
    }
}

impl Finding {
    fn new(what: &'static str, state: State, detail: impl Into<String>, remedy: impl Into<String>) -> Self {
        let remedy = if state == State::Ok { String::new() } else { remedy.into() };
        Self { what, state, detail: detail.into(), remedy }
    }
}

const NAMESPACES: &str = "network namespaces";
const TUN: &str = "TUN devices";
const PACKET: &str = "veth and AF_PACKET";

/// Looks at everything the emulator needs or can use; takes about half a second. Must be called before the process has a
/// second thread: an ordinary user's process enters a user namespace, as the emulator would.
pub fn examine() -> Vec<Finding> {
    // Before the user namespace, which has no such rights.
    let bpf = bpf();
    let namespaces = namespaces();
    let fabric = Namespace::create();
    let mut findings = vec![namespaces];
    findings.extend(tun(&fabric));
    findings.extend(packet(&fabric));
    findings.extend([clock(), cpus(), congestion_controls(), left_over(), bpf]);
    findings
}

/// True if the emulator runs on a machine with these findings.
pub fn emulator_can_run(findings: &[Finding]) -> bool {
    let there = |what| findings.iter().any(|f| f.what == what && f.state != State::Missing);
    there(NAMESPACES) && (there(TUN) || there(PACKET))
}

fn namespaces() -> Finding {
    let find = || {
        let unprivileged = enter_user_namespace_if_needed()?;
        Namespace::create()?;
        let reaches_host = Netlink::open()?.may_change();
        Ok::<_, EmuError>(match (unprivileged, reaches_host) {
            (false, true) => Finding::new(NAMESPACES, State::Ok, "as this user", ""),
            _ => Finding::new(
                NAMESPACES,
                State::Limited,
                "in a user namespace; this machine's own network is out of reach",
                "run as root to reach it",
            ),
        })
    };
    find().unwrap_or_else(|error| {
        Finding::new(NAMESPACES, State::Missing, error.to_string(), "run as root, or follow the detail")
    })
}

fn tun(fabric: &Result<Namespace, EmuError>) -> Vec<Finding> {
    const OFFLOADS: &str = "TUN offloads";
    const WITHOUT: &str =
        "give this user access to /dev/net/tun, or go without: `--backend veth` needs no device file";
    let attach = || {
        let namespace = fabric.as_ref().map_err(ToString::to_string)?;
        let offload = || {
            let file = crate::device::open_tun()?;
            sys::tun_attach(file.as_fd(), "cellcc-%d")?;
            sys::tun_offload(file.as_fd())
        };
        namespace.run(offload).map_err(|error| error.to_string())?.map_err(|error| error.to_string())
    };
    match attach() {
        Ok(offload) => {
            let udp = offload == sys::TunOffload::TcpAndUdp;
            let detail =
                if udp { "TCP and UDP super-packets (TSO, USO)" } else { "TCP super-packets (TSO) only" };
            vec![
                Finding::new(TUN, State::Ok, "/dev/net/tun opens", ""),
                Finding::new(
                    OFFLOADS,
                    State::ok_if(udp),
                    detail,
                    "Linux 6.2 and later hand over UDP unsegmented",
                ),
            ]
        }
        Err(detail) => vec![Finding::new(TUN, State::Missing, detail, WITHOUT)],
    }
}

fn packet(fabric: &Result<Namespace, EmuError>) -> Vec<Finding> {
    /// Below this, 10 Gbit/s overruns the buffer whenever its thread is 2 ms late.
    const ENOUGH_BYTES: usize = 4 << 20;
    const BUFFERS: &str = "socket buffers";
    let make = || {
        let fabric = fabric.as_ref().map_err(ToString::to_string)?;
        let device = Namespace::create()
            .and_then(|near| Device::create(Backend::Packet, &near, fabric, 1500, "cellcc doctor"));
        let device = device.map_err(|error| error.to_string())?;
        socket_recv_buffer_size(device.fd()).map_err(|error| error.to_string())
    };
    match make() {
        Ok(bytes) => {
            let detail = format!("a socket of the veth back end gets {} KiB", bytes >> 10);
            let remedy = "let root set `sysctl net.core.rmem_max=67108864 net.core.wmem_max=67108864`";
            vec![
                Finding::new(PACKET, State::Ok, "super-packets with PACKET_VNET_HDR", ""),
                Finding::new(BUFFERS, State::ok_if(bytes >= ENOUGH_BYTES), detail, remedy),
            ]
        }
        Err(detail) => vec![Finding::new(
            PACKET,
            State::Missing,
            detail,
            "a kernel with CONFIG_VETH and CONFIG_PACKET has it",
        )],
    }
}

fn clock() -> Finding {
    /// The emulator's promise for releases under load at 1 Gbit/s, p99.
    const GOOD: Duration = Duration::from_micros(300);
    let resolution = timer_resolution();
    let wakes = Wakes::measure();
    let us = |duration: Duration| duration.as_micros();
    let detail = format!(
        "timers of {} ns; a thread wakes {} us late at p50, {} us at p99, {} us at most",
        resolution.as_nanos(),
        us(wakes.p50),
        us(wakes.p99),
        us(wakes.max)
    );
    let state = State::ok_if(resolution <= Duration::from_micros(1) && wakes.p99 <= GOOD);
    Finding::new(
        "clock",
        state,
        detail,
        "leave the machine to the emulator; on a virtual one, give it CPUs of its own",
    )
}

fn cpus() -> Finding {
    let count = std::thread::available_parallelism().map_or(1, usize::from);
    let detail = format!("{count} for this process");
    Finding::new(
        "CPUs",
        State::ok_if(count >= 2),
        detail,
        "each direction has a thread of its own: give it two",
    )
}

fn congestion_controls() -> Finding {
    const WANTED: [&str; 3] = ["reno", "cubic", "bbr"];
    let read = |file| fs::read_to_string(format!("/proc/sys/net/ipv4/{file}")).unwrap_or_default();
    let available = read("tcp_available_congestion_control");
    let lacking: Vec<&str> = WANTED
        .into_iter()
        .filter(|wanted| !available.split_whitespace().any(|name| name == *wanted))
        .collect();
    let modules: Vec<String> = lacking.iter().map(|name| format!("tcp_{name}")).collect();
    let remedy = format!("let root run `modprobe -a {}`", modules.join(" "));
    Finding::new("TCP congestion controls", State::ok_if(lacking.is_empty()), available.trim(), remedy)
}

fn left_over() -> Finding {
    const WHAT: &str = "left by killed emulators";
    match Netlink::open().and_then(|mut netlink| netlink.links()) {
        Ok(links) => {
            let links: Vec<String> = leftovers(&links).into_iter().map(|link| link.name).collect();
            let programs = orphans();
            let remedy = match (links.is_empty(), programs.is_empty()) {
                (_, true) => "the next start removes it",
                (true, false) => "end them with kill",
                (false, false) => "end the programs with kill; the next start removes the links",
            };
            let names = [links, programs].concat();
            let detail = if names.is_empty() { "nothing".into() } else { names.join(", ") };
            Finding::new(WHAT, State::ok_if(names.is_empty()), detail, remedy)
        }
        Err(error) => Finding::new(WHAT, State::Limited, error.to_string(), "see the detail"),
    }
}

/// Checks that algorithms can be put into the kernel's TCP. Only looks; nothing is loaded.
fn bpf() -> Finding {
    /// The first kernel with links for struct_ops, which vanish with their loader.
    const OLDEST: (u32, u32) = (6, 4);
    let release = uname().release().to_string_lossy().into_owned();
    let mut numbers = release.split(['.', '-']).map_while(|part| part.parse::<u32>().ok());
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    let effective = capabilities(None).map_or(CapabilitySet::empty(), |sets| sets.effective);
    let may = effective.contains(CapabilitySet::BPF | CapabilitySet::PERFMON)
        || effective.contains(CapabilitySet::SYS_ADMIN);
    let jit = fs::read_to_string("/proc/sys/net/core/bpf_jit_enable");
    let checks = [
        (version >= OLDEST, "Linux 6.4 or later"),
        (
            fs::metadata("/sys/kernel/btf/vmlinux").is_ok(),
            "a kernel with CONFIG_DEBUG_INFO_BTF (/sys/kernel/btf/vmlinux)",
        ),
        // Only root may read it. For others the last check fails anyway.
        (jit.map_or(!may, |value| value.trim() != "0"), "`sysctl net.core.bpf_jit_enable=1`"),
        (may, "root, or the capabilities BPF and PERFMON"),
    ];
    let needs: Vec<&str> = checks.into_iter().filter(|(met, _)| !met).map(|(_, need)| need).collect();
    let state = if needs.is_empty() { State::Ok } else { State::Missing };
    let detail =
        format!("Linux {release}; used by `cellcc tcp` alone, which is in a build with the feature `kernel`");
    Finding::new("BPF struct_ops", state, detail, format!("it takes {}", needs.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(what: &'static str, state: State) -> Finding {
        Finding::new(what, state, "", "")
    }

    #[test]
    fn the_emulator_runs_with_namespaces_and_either_back_end() {
        use State::{Limited, Missing, Ok};
        for (namespaces, tun, packet, runs) in [
            (Ok, Ok, Missing, true),
            (Limited, Missing, Limited, true),
            (Ok, Missing, Missing, false),
            (Missing, Ok, Ok, false),
        ] {
            let findings = [finding(NAMESPACES, namespaces), finding(TUN, tun), finding(PACKET, packet)];
            assert_eq!(emulator_can_run(&findings), runs, "{findings:?}");
        }
    }

    #[test]
    fn what_is_not_well_has_a_remedy() {
        for finding in examine() {
            assert_eq!(finding.state == State::Ok, finding.remedy.is_empty(), "{finding:?}");
        }
    }
}

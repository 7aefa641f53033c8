//! The names that `kernel:NAME` may have.

use crate::exit::Exit;
use cellcc_schemes::IN_KERNEL;
use cellcc_units::instead;
use std::fs;

/// The congestion controls that Linux can be built with (net/ipv4/Kconfig of 6.18). Where one is missing, a module is.
const OF_LINUX: [&str; 17] = [
    "bbr",
    "bic",
    "cdg",
    "cubic",
    "dctcp",
    "highspeed",
    "htcp",
    "hybla",
    "illinois",
    "lp",
    "nv",
    "reno",
    "scalable",
    "vegas",
    "veno",
    "westwood",
    "yeah",
];

/// Refuses a name that neither Linux, nor this machine's kernel, nor cellcc has: a slip of the keyboard is no missing module, which
/// is skipped.
pub(super) fn refuse_unknown(text: &str) -> Result<(), Exit> {
    let name = text.split('(').next().unwrap_or(text);
    let here = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap_or_default();
    let ours = IN_KERNEL.iter().flat_map(|scheme| [scheme.registry, scheme.name]);
    let known: Vec<&str> =
        OF_LINUX.into_iter().chain(ours).chain(here.split_whitespace()).chain(["newreno"]).collect();
    if known.contains(&name) {
        return Ok(());
    }
    let there = instead(name, "there are", &known.join(", "));
    Err(Exit::input(format!(
        "kernel:{name}: neither Linux nor cellcc has a congestion control of this name{there}"
    )))
}

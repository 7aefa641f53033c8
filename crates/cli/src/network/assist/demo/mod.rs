//! `cellcc assist demo`: three users of one emulated cell, the same flows with and without assistance.
//!
//! One process runs the real parts: a cell whose base station sends its counters in JSON over a WebSocket, `cellcc assist
//! serve`, which reads them, a server, and a client for each user. Real time.
//!
//! | transport | cell | server | rights |
//! |---|---|---|---|
//! | `quic` | on loopback | `cellcc serve` | none |
//! | `tcp` | the emulator's | the kernel's TCP, with reports as by `cellcc assist join` | root |

mod edge;
mod quic;
#[cfg(all(target_os = "linux", feature = "kernel"))]
mod tcp;

use crate::exit::{Exit, print, tell, write_file};
use crate::free_folder::{first_free, new_folder, numbered};
use crate::present::address;
use crate::terminal;
use cellcc_control::split_list;
use cellcc_report::TableFormat;
use cellcc_units::{QueueLimit, Span};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cellcc assist demo
  cellcc assist demo --schemes 'cubic,nacap(base=bbr)' --duration 30s --out demo
  sudo cellcc assist demo --transport quic,tcp

Users share the cell's slots in turn. Each scheme runs on the same links, from their beginning.")]
pub(crate) struct Args {
    /// Schemes, one after the other; assisted ones get their reports from NetAssist.
    #[arg(long, value_name = "LIST", default_value = "cubic,bbr,nacubic,natcp")]
    schemes: String,
    /// quic, without special rights; tcp, the kernel's, as root; or both.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "quic")]
    transport: Vec<Transport>,
    /// Duration of each run.
    #[arg(long, short, alias = "time", value_name = "TIME", default_value = "12s")]
    duration: Span,
    /// New folder for the Records, the report and the audit log [default: the first free one of cellcc-out/netassist-demo, -2,
    /// -3, ...].
    #[arg(long, short, value_name = "DIR")]
    out: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Transport {
    Quic,
    Tcp,
}

/// The users, and the link of each.
const USERS: [(&str, &str); 3] = [("alice", "lte-drive"), ("bob", "lte-static"), ("carol", "rate=24Mbit/s")];
/// Each way; together the 20 ms of `cellcc compare`.
const DELAY: Span = Span::from_millis(10);
/// A base station's deep queue: a second of 12 Mbit/s.
const QUEUE: QueueLimit = QueueLimit::Packets(1000);

pub(super) fn run(args: &Args) -> Result<ExitCode, Exit> {
    let registry = cellcc_schemes::registry();
    let schemes = split_list(&args.schemes)
        .into_iter()
        .map(|text| registry.parse(text).map(|_| text.to_owned()))
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| Exit::input(format!("--schemes: {error}")))?;
    let (assisted, unassisted): (Vec<&str>, Vec<&str>) = schemes
        .iter()
        .map(String::as_str)
        .partition(|text| registry.parse(text).is_ok_and(|scheme| scheme.advice_request().is_some()));
    let out = match &args.out {
        Some(out) => new_folder(out)?,
        None => first_free(numbered("cellcc-out/netassist-demo"))?,
    };
    let round = Rounds { schemes: &schemes, time: args.duration, out: &out };
    let (mut records, mut gains) = (Vec::new(), Vec::new());
    for transport in &args.transport {
        let (name, of_transport) = match transport {
            Transport::Quic => ("QUIC", quic::rounds(&round)?),
            Transport::Tcp => ("TCP", tcp::rounds(&round)?),
        };
        let of_scheme = |scheme: &&str| cellcc_report::gain(&of_transport, scheme, &unassisted);
        gains.extend(assisted.iter().filter_map(of_scheme).map(|gain| format!("In {name}, {gain}")));
        records.extend(of_transport);
    }
    let lines: Vec<_> =
        records.iter().map(serde_json::to_string).collect::<Result<_, _>>().map_err(Exit::failed)?;
    let report = out.join("report.html");
    write_file(&out.join("runs.jsonl"), lines.join("\n") + "\n")?;
    write_file(&report, cellcc_report::html("NetAssist: three users of a cell", &records, None))?;
    let wrapped = |text: &str| cellcc_report::wrapped(text, terminal::width());
    for gain in &gains {
        print(&wrapped(gain))?;
    }
    let table = cellcc_report::table(&records, TableFormat::Table, None, terminal::width());
    let users = USERS.map(|(name, _)| name).join(", ");
    print(&format!("\nEach trace is a user of the cell: {users}.\n\n{table}"))?;
    print(&format!("report: {}\n{}", address(&report), wrapped(LIVE_PAGE)))?;
    Ok(ExitCode::SUCCESS)
}

/// The runs, and the folder of their files.
struct Rounds<'a> {
    schemes: &'a [String],
    time: Span,
    out: &'a Path,
}

/// Where an operator goes on.
const LIVE_PAGE: &str = "your own cell, live in a browser: `cellcc assist serve` with `https` in its configuration, then \
                         `cellcc assist page`: docs/how-to/netassist.md";

/// Tells of a round that begins.
fn tell_of_round(transport: &str, scheme: &str, time: Span) {
    tell(&format!("{scheme} in {transport}: {} users, {time}", USERS.len()));
}

/// In the place of the kernel's TCP, where this build or this system has none of our schemes for it.
#[cfg(not(all(target_os = "linux", feature = "kernel")))]
mod tcp {
    use super::Rounds;
    use crate::exit::Exit;
    use cellcc_experiment::Record;

    pub(super) fn rounds(_: &Rounds) -> Result<Vec<Record>, Exit> {
        Err(Exit::input(
            "--transport tcp: this build has none of our schemes for the kernel's TCP; docs/how-to/kernel.md says how to have it",
        ))
    }
}

//! The measurements of cellcc: `cargo run --release -p cellcc-measure -- NAME [ARGUMENT...]`.
//!
//! Without a name it lists them. Those of the simulator need no other crate than its own (`--no-default-features`), so that CI
//! counts a packet's instructions without building the rest.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for the terminal")]

mod faults;
mod simulator;
mod wrong_feedback;

#[cfg(feature = "network")]
mod emulator;
#[cfg(feature = "network")]
mod kernel_cost;
#[cfg(feature = "network")]
mod kernel_leaks;
#[cfg(feature = "network")]
mod moving_users;
#[cfg(feature = "network")]
mod netassist_throughput;
#[cfg(feature = "network")]
mod netassist_tree;
#[cfg(feature = "network")]
mod quic_cost;
#[cfg(feature = "network")]
mod quic_virtual;
#[cfg(feature = "network")]
mod server_flood;

use std::error::Error;
use std::process::ExitCode;

/// The arguments after a measurement's name.
type Arguments<'a> = &'a [&'a str];
type Outcome<T> = Result<T, Box<dyn Error>>;

struct Measurement {
    name: &'static str,
    arguments: &'static str,
    about: &'static str,
    run: fn(Arguments) -> Outcome<ExitCode>,
}

const fn row(
    name: &'static str,
    arguments: &'static str,
    about: &'static str,
    run: fn(Arguments) -> Outcome<ExitCode>,
) -> Measurement {
    Measurement { name, arguments, about, run }
}

/// Those that show a rate or a time take minutes and need a machine without other work.
const MEASUREMENTS: &[Measurement] = &[
    row("packets", "", "packets a second of the simulator", |_| simulator::packets::print().map(succeeded)),
    row("acks", "", "time of an acknowledgement, by scheme", |_| {
        simulator::acks::print_times().map(succeeded)
    }),
    row("packet-instructions", "", "instructions of a simulated packet; fails above the bound", |_| {
        simulator::stages::check().map(succeeded)
    }),
    row("packet-stages", "", "instructions of a simulated packet by stage and scheme", |_| {
        simulator::stages::print_table().map(succeeded)
    }),
    row("packet-misses", "", "cache misses of a simulated packet; fails above the bound", |_| {
        simulator::misses::check().map(succeeded)
    }),
    row(
        "many-flows",
        "[SCHEME FLOWS]",
        "cache misses and time of a packet, by flows and scheme, or one row of the table; half an hour",
        |arguments| match arguments {
            [] => simulator::misses::print_table().map(succeeded),
            [scheme, flows] => simulator::misses::print_row(scheme, flows.parse()?).map(succeeded),
            _ => usage("many-flows"),
        },
    ),
    #[cfg(feature = "network")]
    row(
        "many-flows-figure",
        "PAGE",
        "the figure of that table in a page, as SVG",
        |arguments| match arguments {
            [page] => simulator::figure::print(page).map(succeeded),
            _ => usage("many-flows-figure"),
        },
    ),
    row("instructions", "", "instructions of an acknowledgement, by scheme; half an hour", |_| {
        simulator::acks::print_instructions().map(succeeded)
    }),
    row(
        "part",
        "tell SCHEME TIMES | run SCHEME MS | packets-of SCHEME MS | flows-of SCHEME FLOWS MS",
        "one run of the above, for a profiler",
        simulator::part,
    ),
    row(
        "faults",
        "quic | rack | ack50k",
        "every scheme under seventeen faults, by loss detection, or under thinned acknowledgements",
        faults::run,
    ),
    row(
        "wrong-feedback",
        "FOLDER",
        "NATCP under eight kinds of wrong reports, on a folder of traces",
        wrong_feedback::run,
    ),
    #[cfg(feature = "network")]
    row(
        "emulator",
        "[--help]",
        "the emulator's throughput and punctuality; root, half an hour",
        emulator::run,
    ),
    #[cfg(feature = "network")]
    row(
        "kernel-cost",
        "['SCHEME;SCHEME' PAIRS]",
        "cost of the schemes in the kernel's TCP; root",
        kernel_cost::run,
    ),
    #[cfg(feature = "network")]
    row(
        "kernel-leaks",
        "[FOLDER]",
        "loads, unloads and connects thousands of times; root",
        kernel_leaks::run,
    ),
    #[cfg(feature = "network")]
    row(
        "quic-cost",
        "loopback | mapping | rate | serve SCHEME | fetch ADDRESS:PORT SECONDS",
        "cost of a scheme in QUIC over sockets",
        quic_cost::run,
    ),
    #[cfg(feature = "network")]
    row(
        "quic-virtual",
        "time | instructions | run alone MS | run SCHEME MS",
        "speed of QUIC in virtual time",
        quic_virtual::run,
    ),
    #[cfg(feature = "network")]
    row("server-flood", "PROGRAM", "memory of `cellcc serve` under floods; ten minutes", server_flood::run),
    #[cfg(feature = "network")]
    row(
        "netassist",
        "[quic|nats USERS SERVERS SECONDS RUNS]",
        "reports that NetAssist passes on; 15 minutes",
        netassist_throughput::run,
    ),
    #[cfg(feature = "network")]
    row("netassist-tree", "", "the needs of NetAssist for ten million users", netassist_tree::run),
    #[cfg(feature = "network")]
    row("moving-users", "PROGRAM TIME", "three users who move between two daemons; root", moving_users::run),
];

fn succeeded((): ()) -> ExitCode {
    ExitCode::SUCCESS
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let chosen = arguments.split_first().and_then(|(name, arguments)| {
        MEASUREMENTS.iter().find(|row| row.name == *name).map(|row| (row, arguments))
    });
    let Some((measurement, arguments)) = chosen else {
        eprintln!("usage: cellcc-measure NAME [ARGUMENT...], where NAME is one of\n");
        for Measurement { name, arguments, about, .. } in MEASUREMENTS {
            eprintln!("  {name} {arguments}\n      {about}");
        }
        return ExitCode::from(2);
    };
    (measurement.run)(arguments).unwrap_or_else(|error| {
        eprintln!("{}: {error}", measurement.name);
        ExitCode::FAILURE
    })
}

/// Refuses arguments: says which a measurement takes.
fn usage(name: &str) -> Outcome<ExitCode> {
    let takes = MEASUREMENTS.iter().find(|row| row.name == name).map_or("", |row| row.arguments);
    eprintln!("usage: cellcc-measure {name} {takes}");
    Ok(ExitCode::from(2))
}

//! `cellcc-measure quic-virtual`: how fast `quic-virtual` is next to noq's protocol engine by itself.
//!
//! | argument | measurement |
//! |---|---|
//! | `time` | packets of data in a second of processor time, in turns, and their ratio |
//! | `instructions` | instructions for a packet of data, counted by callgrind: the same in every run |
//! | `run alone MS`, `run SCHEME MS` | one of them, for that much virtual time: to be profiled |

#![allow(clippy::disallowed_methods, clippy::print_stdout, clippy::print_stderr, reason = "a benchmark")]

#[path = "../../../quic-drivers/tests/alone/mod.rs"]
mod alone;
mod constant;

use crate::{Arguments, Outcome, usage};
use alone::{Alone, Sent};
use cellcc_experiment::{Driver, Plan, PlanFile, RunError};
use cellcc_quic_drivers::VirtualDriver;
use cellcc_test_support::benchmark::{Median, ROUNDS, instructions, processor_time};
use cellcc_units::{Bytes, QueueLimit, Rate, Span};
use constant::ConstantWindow;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// noq by itself.
const ALONE: &str = "alone";
/// Schemes in `quic-virtual`: the cheapest one, and one that paces, for which each packet also needs a timer.
const SCHEMES: [&str; 2] = ["fixed-window(window=2000pkt)", "bbr"];

/// The link of both, and a window that fills it with 333 packets to spare.
const RATE: Rate = Rate::from_bytes_per_sec(125_000_000);
const RTT: Span = Span::from_millis(20);
const WINDOW_PACKETS: u64 = 2000;
const PACKET: Bytes = Bytes::new(1500);
/// noq's count of it.
const PAYLOAD: Bytes = Bytes::new(1472);

/// Virtual time of a run that is timed: 80,000 packets, where the scheme fills the link from the start.
const TIMED: Duration = Duration::from_secs(1);
/// Virtual times of two runs whose difference has no handshake in it.
const COUNTED_MS: [u64; 2] = [100, 300];

pub(crate) fn run(arguments: Arguments) -> Outcome<ExitCode> {
    match arguments {
        ["time"] => time()?,
        ["instructions"] => count()?,
        ["run", what, ms] => {
            let sent = carry(what, Duration::from_millis(ms.parse()?))?;
            println!("{} {}", sent.packets, sent.acks);
        }
        _ => return usage("quic-virtual"),
    }
    Ok(ExitCode::SUCCESS)
}

fn carry(what: &str, duration: Duration) -> Result<Sent, RunError> {
    if what != ALONE {
        return quic_virtual(what, duration);
    }
    let alone = Alone {
        rate: RATE,
        rtt: RTT,
        queue: usize::MAX,
        send_window: |_| (WINDOW_PACKETS + 16) * PACKET.get(),
        seed: 1,
        congestion: Arc::new(ConstantWindow(WINDOW_PACKETS * PAYLOAD.get())),
    };
    alone::run(alone, duration)
}

fn quic_virtual(scheme: &str, duration: Duration) -> Result<Sent, RunError> {
    let driver = VirtualDriver::new(cellcc_schemes::registry());
    let mut file = PlanFile {
        schemes: vec![scheme.into()],
        traces: vec!["rate=1Gbit/s".into()],
        duration: Span::from_nanos(duration.as_nanos() as u64),
        ..PlanFile::default()
    };
    file.path.rtt = RTT;
    file.path.queue = QueueLimit::Packets(3200).into();
    let plan = Plan::new(&file, &driver, "speed").map_err(|error| RunError(error.to_string()))?;
    let run = plan.runs.iter().find(|run| !run.scenario.flows.is_empty());
    let record = driver.run(&run.ok_or_else(|| RunError("no run has the flow".into()))?.scenario)?;
    Ok(Sent { packets: record.total.sent_packets, acks: record.total.sent_acks.unwrap_or(0) })
}

/// Thousands of packets in a second of processor time.
fn speed(what: &str) -> Result<f64, RunError> {
    let began = processor_time();
    let sent = carry(what, TIMED)?;
    Ok(sent.packets as f64 / 1e3 / (processor_time() - began).as_secs_f64())
}

fn time() -> Result<(), RunError> {
    let mut alone = [0.0; ROUNDS];
    let mut whole = [[0.0; ROUNDS]; SCHEMES.len()];
    for round in 0..ROUNDS {
        alone[round] = speed(ALONE)?;
        for (scheme, speeds) in SCHEMES.iter().zip(&mut whole) {
            speeds[round] = speed(scheme)?;
        }
    }
    println!("thousand packets of data a second, {ROUNDS} rounds in turns: median (98.8 % interval)");
    println!("{:44} {}", "noq-proto alone", Median::of(alone));
    for (scheme, speeds) in SCHEMES.iter().zip(whole) {
        let ratios = std::array::from_fn(|round| speeds[round] / alone[round]);
        println!("{:44} {}", format!("quic-virtual, {scheme}"), Median::of(speeds));
        println!("{:44} {}", "  of noq-proto alone", Median::of(ratios));
    }
    Ok(())
}

/// Instructions, and acknowledgements, for a packet of data.
fn counted(what: &str) -> Result<(f64, f64), String> {
    let mut counts = [(0.0, 0.0, 0.0); 2];
    for (count, ms) in counts.iter_mut().zip(COUNTED_MS) {
        let (instructions, printed) = instructions(&["quic-virtual", "run", what, &ms.to_string()])?;
        let mut numbers = printed.split_whitespace().filter_map(|number| number.parse().ok());
        let mut number = || numbers.next().ok_or_else(|| format!("`{printed}` are not two numbers"));
        *count = (instructions as f64, number()?, number()?);
    }
    let [before, after] = counts;
    let packets = after.1 - before.1;
    Ok(((after.0 - before.0) / packets, (after.2 - before.2) / packets))
}

fn count() -> Result<(), String> {
    let (alone, acks) = counted(ALONE)?;
    println!(
        "for a packet of data: instructions, acknowledgements; the speed of noq-proto alone that this allows"
    );
    println!("{:44} {alone:6.0} {acks:6.3}", "noq-proto alone");
    for scheme in SCHEMES {
        let (whole, acks) = counted(scheme)?;
        println!("{:44} {whole:6.0} {acks:6.3} {:6.3}", format!("quic-virtual, {scheme}"), alone / whole);
    }
    Ok(())
}

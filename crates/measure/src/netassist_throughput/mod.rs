//! Processors, memory and delays of a service and its servers by number of users: `cellcc-measure netassist`.
//!
//! On loopback: this process is the service, whose measurements a thread makes; each server is a process of its own that is
//! subscribed to all users; with NATS a broker stands between them. Each user is measured every 50 ms, at its own time of the
//! period.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a measurement takes real time and prints"
)]

mod edge;
mod subscriber;

use crate::{Arguments, Outcome, usage};
use anyhow::{Context, Result};
use cellcc_test_support::memory_kib;
use edge::{Edge, PERIOD};
use std::fmt::Display;
use std::process::ExitCode;
use std::time::Duration;
use subscriber::Subscriber;

const HEADER: &str = "\
| transport | users | servers | records/s | lost of | latency p50, p99, max, ms | kbit/s a user | \
service: cores, users a core, B a user | each server: cores, users a core, B a user | broker: cores, users a core, B a user |
|---|---|---|---|---|---|---|---|---|---|";

/// Users, servers, seconds and runs of the series in docs/evidence/netassist.md.
const SERIES: [(u64, u64, u64, u64); 7] = [
    (1000, 1, 60, 5),
    (5000, 1, 20, 1),
    (10_000, 1, 20, 1),
    (20_000, 1, 20, 1),
    (1000, 2, 20, 1),
    (1000, 4, 20, 1),
    (1000, 8, 20, 1),
];

pub(crate) fn run(arguments: Arguments) -> Outcome<ExitCode> {
    match arguments {
        [] => {
            println!("{HEADER}");
            for (users, servers, seconds, runs) in SERIES {
                [false, true]
                    .into_iter()
                    .try_for_each(|nats| print_runs(nats, users, servers, seconds, runs))?;
            }
        }
        [subscriber::ROLE, address, keys, index, users] => {
            subscriber::run(address, keys.as_ref(), index.parse()?, users.parse()?)?;
        }
        [transport @ ("quic" | "nats"), users, servers, seconds, runs] => {
            println!("{HEADER}");
            let through_broker = *transport == "nats";
            print_runs(through_broker, users.parse()?, servers.parse()?, seconds.parse()?, runs.parse()?)?;
        }
        _ => return usage("netassist"),
    }
    Ok(ExitCode::SUCCESS)
}

fn print_runs(through_broker: bool, users: u64, servers: u64, seconds: u64, runs: u64) -> Result<()> {
    for _ in 0..runs {
        println!("{}", measure(through_broker, users, servers, Duration::from_secs(seconds))?);
    }
    Ok(())
}

/// One run: its row of the table.
fn measure(through_broker: bool, users: u64, servers: u64, time: Duration) -> Result<String> {
    let empty = resident_bytes("self")?;
    let mut edge = Edge::start(through_broker, users, servers)?;
    let subscribers =
        (0..servers).map(|index| Subscriber::start(&edge, index, users)).collect::<Result<Vec<_>>>()?;
    // Memory for a user's first records is already allocated.
    edge.measure(Duration::from_secs(1));
    let sent_before = edge.sent_bytes();
    let before = Usages::now(&edge, &subscribers)?;
    let (measured, took) = edge.measure(time);
    std::thread::sleep(Duration::from_millis(500));
    let after = Usages::now(&edge, &subscribers)?;
    let sent = edge.sent_bytes() - sent_before;
    let resident = resident_bytes("self")?.saturating_sub(empty);
    let broker_resident = edge.broker_resident()?;
    let heard = subscribers.into_iter().map(Subscriber::end).collect::<Result<Vec<_>>>()?;
    let secs = took.as_secs_f64();
    let column = |cpu: Duration, bytes: u64| {
        let cores = cpu.as_secs_f64() / secs;
        format!("{cores:.3}, {:.0}, {}", users as f64 / cores, bytes / users)
    };
    let records: u64 = heard.iter().map(|heard| heard.records).sum();
    // Records of the second before, which does not count, also arrive.
    let expected = (measured + users * (1_000_000_000 / PERIOD.as_nanos())) * servers;
    let worst = |of: fn(&subscriber::SubscriberFigures) -> f64| heard.iter().map(of).fold(0.0, f64::max);
    let kbit = if through_broker {
        "-".into()
    } else {
        format!("{:.2}", sent as f64 * 8.0 / 1000.0 / (users * servers) as f64 / secs)
    };
    let each = |total: Duration| total / servers as u32;
    let server_bytes = heard.iter().map(|heard| heard.bytes).max().unwrap_or_default();
    Ok(format!(
        "| {} | {users} | {servers} | {:.0} | {} of {expected} | {:.2}, {:.2}, {:.1} | {kbit} | {} | {} | {} |",
        if through_broker { "NATS" } else { "QUIC" },
        measured as f64 / secs,
        expected.saturating_sub(records),
        worst(|heard| heard.p50_ms),
        worst(|heard| heard.p99_ms),
        worst(|heard| heard.max_ms),
        column(after.service - before.service, resident),
        column(each(after.servers - before.servers), server_bytes),
        broker_resident.map_or("-".into(), |bytes| column(after.broker - before.broker, bytes)),
    ))
}

/// Processor time until now.
struct Usages {
    service: Duration,
    servers: Duration,
    broker: Duration,
}

impl Usages {
    fn now(edge: &Edge, subscribers: &[Subscriber]) -> Result<Self> {
        let servers = subscribers.iter().map(|subscriber| processor_time(subscriber.process()));
        let broker = edge.broker().map(processor_time).transpose()?;
        Ok(Self {
            service: processor_time("self")?,
            servers: servers.sum::<Result<_>>()?,
            broker: broker.unwrap_or_default(),
        })
    }
}

/// `USER_HZ` of proc(5), which Linux keeps at 100 for programs.
const TICK: Duration = Duration::from_millis(10);
/// `utime` and `stime` of proc(5), counted from the state, which follows the name in brackets.
const TIMES: [usize; 2] = [11, 12];

/// Processor time of all threads of a process.
fn processor_time(process: impl Display) -> Result<Duration> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
    let (_, after) = text.rsplit_once(')').context("no name")?;
    let fields: Vec<_> = after.split_whitespace().collect();
    let ticks = TIMES.iter().map(|&at| Ok(fields.get(at).context("no times")?.parse::<u32>()?));
    Ok(TICK * ticks.sum::<Result<u32>>()?)
}

/// Memory that a process has now.
fn resident_bytes(process: impl Display) -> Result<u64> {
    Ok(memory_kib(process, "VmRSS")? * 1024)
}

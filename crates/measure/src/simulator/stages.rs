//! The cost of a data packet in instructions: one number with a bound, and a table by stage.
//!
//! Callgrind counts a run of one second and one of two. The difference, divided by the packets that left between, is free of
//! start-up and of the plan, and the same every time. By stage: the difference at each address goes to the innermost frame of
//! the address' inline stack that lies in a file of a stage. So nothing is estimated, and nothing is counted twice.

use super::packets::scenario;
use crate::Outcome;
use cellcc_experiment::{Driver, LIMIT};
use cellcc_sim::SimDriver;
use cellcc_test_support::benchmark::callgrind;
use cellcc_units::Span;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::Seek;
use std::path::Path;
use std::process::Command;

/// The scheme whose packet is bounded, and its bound: the 1,630 measured and 2 %, the effect of another compiler;
/// docs/evidence/cost/packet.md has the table.
const BOUNDED: (&str, f64) = ("cubic", 1_660.0);
/// Those of the table.
const SCHEMES: [&str; 7] = [BOUNDED.0, "bbr", "reminis", "tide", "verus", "rbbr", LIMIT];
const RTT: Span = Span::from_millis(20);
/// How long the two runs last.
const COUNTED_MS: [u64; 2] = [1000, 2000];

/// Files and folders under `crates`, and the stage that they are. The first that fits counts; code in no such file belongs to
/// its caller.
const STAGES: &[(&str, &str)] = &[
    ("link/src/capacity", "service clock"),
    ("link/src/drop_tail_link.rs", QUEUE),
    ("link/src/aqm_link.rs", QUEUE),
    ("link/src/queue", QUEUE),
    ("link/src/delay", QUEUE),
    ("link/src/stages/loss.rs", LINK),
    ("link/src/stages", QUEUE),
    ("link", LINK),
    ("control/src/flow.rs", "flow accounting"),
    ("control/src/rtt.rs", "RTT estimate"),
    ("control/src/pacer.rs", SENDER),
    ("sim/src/sender.rs", SENDER),
    ("sim/src/recovery.rs", LOSSES),
    ("sim/src/rack.rs", LOSSES),
    ("sim/src/lost_data.rs", LOSSES),
    ("sim/src/receiver.rs", RECEIVER),
    ("sim/src/ack_schedule.rs", RECEIVER),
    ("sim/src/arrivals.rs", RECEIVER),
    ("sim/src", ENDS),
    ("experiment/src/virtual_time/network.rs", ENDS),
    ("experiment/src/virtual_time", "event loop"),
    ("experiment/src/meters/distribution.rs", HISTOGRAMS),
    ("experiment/src/meters/levels.rs", HISTOGRAMS),
    ("experiment/src/meters", "meters: counters and bins of time"),
    ("experiment/src/application.rs", "source"),
    ("control/src/growth", SCHEME),
    ("control/src/filters.rs", SCHEME),
    ("fixed", SCHEME),
    ("schemes", SCHEME),
];
const LINK: &str = "link: which kind, random loss";
const QUEUE: &str = "queue and delay line, both ways";
const SENDER: &str = "sender: window, pacing, departure, timers";
const LOSSES: &str = "loss detection, lost data";
const RECEIVER: &str = "receiver: log, when to acknowledge";
const ENDS: &str = "ends and network, the code between these";
const HISTOGRAMS: &str = "meters: histograms";
const SCHEME: &str = "scheme";
/// Code in no stage: the C library's copies, allocation.
const OTHER: &str = "other";

/// Instructions of a run.
struct Counted {
    packets: f64,
    instructions: f64,
    by_address: BTreeMap<u64, f64>,
}

/// Runs one flow, and prints how many packets it sent.
pub(crate) fn run(scheme: &str, ms: u64) -> Outcome<()> {
    let driver = SimDriver::new(cellcc_schemes::registry());
    let record = driver.run(&scenario(&driver, scheme, RTT, Span::from_millis(ms))?)?;
    println!("{}", record.total.sent_packets);
    Ok(())
}

fn count(scheme: &str, ms: u64) -> Outcome<Counted> {
    let file = tempfile::NamedTempFile::new()?;
    let out = format!("--callgrind-out-file={}", file.path().display());
    let options = ["--dump-instr=yes", "--compress-pos=no", "--compress-strings=no", &out];
    let (instructions, printed) = callgrind(&options, &["part", "packets-of", scheme, &ms.to_string()])?;
    let by_address = by_address(&std::fs::read_to_string(file.path())?, &std::env::current_exe()?);
    Ok(Counted { packets: printed.trim().parse()?, instructions: instructions as f64, by_address })
}

/// The instructions in a profile of callgrind's at each address of `program`: lines `0xADDRESS LINE COUNT`, after a line
/// `ob=PROGRAM`. A line after `calls=` is the cost of the call, which is with the called function.
fn by_address(profile: &str, program: &Path) -> BTreeMap<u64, f64> {
    let mut counts = BTreeMap::new();
    let mut lines = profile.lines();
    let mut is_in_program = false;
    while let Some(line) = lines.next() {
        if let Some(object) = line.strip_prefix("ob=") {
            is_in_program = Path::new(object) == program;
        } else if line.starts_with("calls=") {
            lines.next();
        } else if let Some(line) = line.strip_prefix("0x").filter(|_| is_in_program) {
            let mut fields = line.split(' ');
            let address = fields.next().and_then(|address| u64::from_str_radix(address, 16).ok());
            let count = fields.nth(1).and_then(|count| count.parse::<u64>().ok());
            if let (Some(address), Some(count)) = (address, count) {
                *counts.entry(address).or_default() += count as f64;
            }
        }
    }
    counts
}

/// Instructions for a data packet of `scheme`, and how many of them each address has.
fn of_a_packet(scheme: &str) -> Outcome<(f64, BTreeMap<u64, f64>)> {
    let [short, long] = COUNTED_MS.map(|ms| count(scheme, ms));
    let (short, mut long) = (short?, long?);
    let packets = long.packets - short.packets;
    for (address, count) in short.by_address {
        *long.by_address.entry(address).or_default() -= count;
    }
    long.by_address.values_mut().for_each(|count| *count /= packets);
    Ok(((long.instructions - short.instructions) / packets, long.by_address))
}

/// Sums by stage.
fn by_stage(by_address: &BTreeMap<u64, f64>) -> Outcome<BTreeMap<&'static str, f64>> {
    let mut asked = tempfile::tempfile()?;
    let addresses: String = by_address.keys().map(|address| format!("{address:#x}\n")).collect();
    std::io::Write::write_all(&mut asked, addresses.as_bytes())?;
    asked.rewind()?;
    let answer = Command::new("addr2line")
        .args(["--addresses", "--inlines", "--exe"])
        .arg(std::env::current_exe()?)
        .stdin(asked)
        .output()
        .map_err(|error| format!("addr2line of binutils does not start: {error}; install it"))?;
    let answer = String::from_utf8(answer.stdout)?;
    let mut stages = BTreeMap::new();
    // An address in a line by itself, and the frames in the lines after it, the innermost first.
    let frames = answer.split("0x").skip(1).map(|block| block.lines().skip(1).find_map(stage_of));
    for (count, stage) in by_address.values().zip(frames) {
        if let Some(stage) = stage {
            *stages.entry(stage).or_default() += count;
        }
    }
    Ok(stages)
}

/// The stage that a frame lies in: `/path/crates/sim/src/sender.rs:12`.
fn stage_of(frame: &str) -> Option<&'static str> {
    let (_, file) = frame.rsplit_once("/crates/")?;
    STAGES.iter().find(|(place, _)| file.starts_with(place)).map(|(_, stage)| *stage)
}

/// Prints the instructions of a packet of each scheme by stage, as a table in Markdown.
pub(crate) fn print_table() -> Outcome<()> {
    let packets = SCHEMES.iter().map(|scheme| of_a_packet(scheme)).collect::<Outcome<Vec<_>>>()?;
    println!("{}", table(&SCHEMES, &packets)?);
    Ok(())
}

fn table(schemes: &[&str], packets: &[(f64, BTreeMap<u64, f64>)]) -> Outcome<String> {
    let columns = packets.iter().map(|(_, addresses)| by_stage(addresses)).collect::<Outcome<Vec<_>>>()?;
    let mut stages: Vec<&str> = columns[0].keys().copied().collect();
    stages.sort_by(|one, other| columns[0][other].total_cmp(&columns[0][one]));
    let mut text = format!("| stage | {} |\n|---|{}\n", schemes.join(" | "), "---|".repeat(schemes.len()));
    let mut row = |name: &str, of: &dyn Fn(usize) -> f64| {
        let counts: String = (0..schemes.len()).map(|column| format!(" {:.0} |", of(column))).collect();
        writeln!(text, "| {name} |{counts}")
    };
    let of = |column: usize, stage| columns[column].get(stage).copied().unwrap_or(0.0);
    for stage in stages {
        row(stage, &|column| of(column, stage))?;
    }
    row(OTHER, &|column| (packets[column].0 - columns[column].values().sum::<f64>()).max(0.0))?;
    row("**sum**", &|column| packets[column].0)?;
    Ok(text)
}

/// Prints the instructions of a packet of one flow.
///
/// # Errors
/// Where they are more than the bound: then with the table by stage.
pub(crate) fn check() -> Outcome<()> {
    let (scheme, bound) = BOUNDED;
    let packet = of_a_packet(scheme)?;
    println!("{:.0} instructions for a data packet of {scheme}; the bound is {bound:.0}", packet.0);
    if packet.0 <= bound {
        return Ok(());
    }
    let table = table(&[scheme], &[packet])?;
    Err(format!("more than the bound; by stage, to be compared with docs/evidence/cost/packet.md:\n{table}")
        .into())
}

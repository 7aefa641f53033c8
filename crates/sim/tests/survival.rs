//! Every scheme lives through what a cellular path does to it: nothing panics, no flow is stuck, and what the path
//! still offers is used again.

mod common;

use cellcc_control::Registry;
use cellcc_experiment::{PlanFile, Record};
use cellcc_units::{Ratio, Span};
use common::compare;

/// What happens to a flow, and when it is judged.
struct Hardship {
    name: &'static str,
    trace: &'static str,
    change: fn(&mut PlanFile),
    /// Five seconds after the change: the second before this one is looked at.
    judged_at: usize,
    /// Half of the capacity must be used in that second by every scheme that adapts to a path.
    half_is_due: bool,
}

const HARDSHIPS: [Hardship; 9] = [
    Hardship {
        name: "outage 10 s",
        trace: "step=20Mbit/s@10s,0Mbit/s@10s,20Mbit/s@10s",
        change: |_| (),
        judged_at: 25,
        half_is_due: true,
    },
    Hardship {
        name: "rate / 1000",
        trace: "step=200Mbit/s@10s,0.2Mbit/s@10s",
        change: |_| (),
        judged_at: 15,
        half_is_due: true,
    },
    Hardship {
        name: "rate * 10",
        trace: "step=10Mbit/s@10s,100Mbit/s@10s",
        change: |_| (),
        judged_at: 15,
        half_is_due: false,
    },
    Hardship {
        name: "loss 5 %",
        trace: "rate=20Mbit/s",
        change: |file| file.path.extra_loss = "0%@10s,5%@10s".into(),
        judged_at: 15,
        half_is_due: false,
    },
    Hardship {
        name: "reordering",
        trace: "rate=20Mbit/s",
        change: |file| file.path.reordered = Ratio::new(0.05),
        judged_at: 15,
        half_is_due: false,
    },
    Hardship {
        name: "RTT * 3",
        trace: "rate=20Mbit/s",
        change: |file| file.path.extra_delay = "0ms@10s,40ms@10s".into(),
        judged_at: 15,
        half_is_due: true,
    },
    Hardship {
        name: "1 packet",
        trace: "rate=20Mbit/s",
        change: |file| file.path.queue = "1pkt".parse().expect("a limit"),
        judged_at: 15,
        half_is_due: false,
    },
    Hardship {
        name: "2 Gbit/s",
        trace: "rate=2Gbit/s",
        change: |file| file.duration = Span::from_secs(6),
        judged_at: 5,
        half_is_due: true,
    },
    Hardship {
        name: "2G, 1 BDP",
        trace: "rate=2Gbit/s",
        change: |file| {
            file.duration = Span::from_secs(6);
            file.path.queue = "3333pkt".parse().expect("a limit");
        },
        judged_at: 5,
        half_is_due: true,
    },
];

/// Schemes that do not adapt to a path: what they use is what they were told.
const FIXED: [&str; 2] = ["fixed-window", "fixed-rate"];

/// What falls short, and why that is the scheme's own.
const SHORT: [(&str, &str, &str); 10] = [
    ("vegas", "RTT * 3", "its minimum RTT never rises (La, Walrand and Anantharam 1999)"),
    ("verus(preset=sigcomm15)", "RTT * 3", "the paper's minimum delay never rises either"),
    ("newreno", "2 Gbit/s", SHALLOW),
    ("vegas", "2 Gbit/s", SHALLOW),
    ("reminis", "2 Gbit/s", SHALLOW),
    ("reminis(profile=literal)", "2 Gbit/s", SHALLOW),
    ("reminis(profile=following)", "2 Gbit/s", SHALLOW),
    ("verus", "2 Gbit/s", SHALLOW),
    ("verus(preset=sigcomm15)", "2 Gbit/s", SHALLOW),
    ("reminis(profile=literal)", "2G, 1 BDP", "it uses half of any link (docs/fidelity/reminis.md)"),
];

/// 500 packets are 0.15 of a bandwidth-delay product there; with a whole one they do better (`2G, 1 BDP`).
const SHALLOW: &str = "it overflows a queue of 3 ms before it fills the path, and answers the loss";

fn schemes() -> Vec<String> {
    let registry = Registry::default();
    let mut texts: Vec<String> = registry.schemes().iter().map(|info| info.name.to_string()).collect();
    texts.extend(VARIANTS.iter().map(|text| text.to_string()));
    texts
}

/// Presets and profiles that behave as schemes of their own.
const VARIANTS: [&str; 7] = [
    "reminis(profile=following)",
    "reminis(profile=literal)",
    "reminis(profile=code2022)",
    "rbbr(profile=paced)",
    "natcp(source=oracle)",
    "verus(preset=sigcomm15)",
    "verus(preset=robust)",
];

/// The share of what the link offered in the second before `judged_at`.
fn use_in_second(record: &Record, judged_at: usize) -> f64 {
    let in_second = |name: &str| -> f64 {
        let column = record.series.column(name).expect("every run has it");
        column[(judged_at - 1) * 10..judged_at * 10].iter().map(|value| f64::from(*value)).sum()
    };
    in_second("flow0.throughput_mbit_s") / in_second("capacity_mbit_s")
}

/// The longest time without a delivery after the start, but for the outage itself, in tenths of a second.
fn longest_silence(record: &Record) -> usize {
    let delivered = record.series.column("flow0.throughput_mbit_s").expect("every run has it");
    let offered = record.series.column("capacity_mbit_s").expect("every run has it");
    let (mut longest, mut silent) = (0, 0);
    for (delivered, offered) in delivered.iter().zip(offered) {
        silent = if *delivered > 0.0 { 0 } else { silent + usize::from(*offered > 0.0) };
        longest = longest.max(silent);
    }
    longest
}

#[test]
fn every_scheme_survives_what_a_cellular_path_does() {
    let schemes = schemes();
    let names: Vec<&str> = schemes.iter().map(String::as_str).collect();
    let mut rows: Vec<String> = names.iter().map(|name| format!("{name:<26}")).collect();
    let mut header = format!("{:<26}", "used 5 s after");
    let mut failures = Vec::new();
    for hardship in &HARDSHIPS {
        header += &format!("{:>13}", hardship.name);
        let records = compare(&names, hardship.trace, |file| {
            file.duration = Span::from_secs(30);
            file.path.queue = "500pkt".parse().expect("a limit");
            (hardship.change)(file);
        });
        for ((record, row), name) in records[1..].iter().zip(&mut rows).zip(&names) {
            let used = use_in_second(record, hardship.judged_at);
            *row += &format!("{used:>13.2}");
            if FIXED.contains(name) {
                continue;
            }
            let is_short = hardship.half_is_due && used < 0.5;
            let is_known = SHORT.iter().any(|(scheme, what, _)| scheme == name && *what == hardship.name);
            if is_short != is_known {
                failures.push(format!("{name} uses {used:.2} after `{}`", hardship.name));
            }
            // A probe after a time-out doubles its wait; ten seconds of outage leave at most as much to wait.
            let silence = longest_silence(record);
            if silence > 50 {
                failures.push(format!(
                    "{name} is silent for {silence} tenths of a second in `{}`",
                    hardship.name
                ));
            }
        }
    }
    let table = header + "\n" + &rows.join("\n") + "\n";
    insta::assert_snapshot!(table);
    assert!(failures.is_empty(), "{failures:#?}");
}

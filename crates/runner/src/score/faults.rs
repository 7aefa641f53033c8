//! The faults after which a scheme should come back. docs/fidelity/faults.md has the causes where one does not.
//!
//! A link of 20 Mbit/s with a queue of 200 packets, for 60 s, or until 30 s after an outage; network assistance is an oracle.

use cellcc_experiment::{PlanFile, Record, ReportSource};
use cellcc_units::{QueueLimit, Ratio, Span};

/// The link without a fault.
const LINK: &str = "rate=20Mbit/s";
/// The base RTT of that link.
pub const RTT: Span = Span::from_millis(40);
/// Bins of the series in a second.
const BINS_A_SECOND: usize = 10;
/// A second with half of the link is to begin within this time, and a mean share of a half is to hold for as long again.
const RECOVERY_SECONDS: usize = 10;
/// The share of the link with which a scheme is back.
const BACK: f64 = 0.5;

/// A fault, and how it changes the runs.
pub struct Fault {
    /// The name in tables.
    pub name: &'static str,
    change: fn(&mut PlanFile),
    /// When it ends, or begins where it does not end, in seconds.
    over_at: usize,
    /// The link's rate from then on, in Mbit/s.
    link: f64,
}

/// A flow after a fault.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Recovery {
    /// The time from the fault's end to the first second with half of the link, in seconds. None where there is no such second.
    pub after_s: Option<f64>,
    /// The mean share of the link from 10 to 20 s after the fault's end.
    pub share: f64,
}

impl Recovery {
    /// True where the flow came back within 10 s, and stayed.
    pub fn is_back(&self) -> bool {
        self.after_s.is_some_and(|after| after <= RECOVERY_SECONDS as f64) && self.share >= BACK
    }
}

impl Fault {
    const fn new(name: &'static str, change: fn(&mut PlanFile), over_at: usize) -> Self {
        Self { name, change, over_at, link: 20.0 }
    }

    /// The runs of these schemes under the fault, on a link with this base RTT.
    pub fn plan_file(&self, schemes: &[String], rtt: Span) -> PlanFile {
        let mut file = link(schemes, rtt);
        (self.change)(&mut file);
        file
    }

    /// The recovery of the first flow of a run with all of its series.
    pub fn recovery(&self, record: &Record) -> Recovery {
        let rates = record.series.column("flow0.throughput_mbit_s").unwrap_or_default();
        let shares: Vec<f64> = rates.iter().map(|&rate| f64::from(rate) / self.link).collect();
        let mean = |shares: &[f64]| cellcc_statistics::mean(shares).unwrap_or(0.0);
        let after = shares.get(self.over_at * BINS_A_SECOND..).unwrap_or_default();
        let first = after.windows(BINS_A_SECOND).position(|second| mean(second) >= BACK);
        let later = RECOVERY_SECONDS * BINS_A_SECOND..2 * RECOVERY_SECONDS * BINS_A_SECOND;
        Recovery {
            after_s: first.map(|first| first as f64 / BINS_A_SECOND as f64),
            share: mean(after.get(later).unwrap_or_default()),
        }
    }
}

/// The runs of these schemes on the link without a fault.
pub fn link(schemes: &[String], rtt: Span) -> PlanFile {
    let mut file = PlanFile {
        schemes: schemes.to_vec(),
        traces: vec![LINK.into()],
        duration: Span::from_secs(60),
        ..PlanFile::default()
    };
    file.path.rtt = rtt;
    file.path.queue = QueueLimit::Packets(200).into();
    file.netassist.source = ReportSource::Oracle;
    file
}

fn trace(file: &mut PlanFile, trace: &str) {
    file.traces = vec![trace.into()];
}

/// Gives the acknowledgements a link of their own.
pub fn reverse(file: &mut PlanFile, trace: &str, packets: u64) {
    file.path.reverse.trace = trace.into();
    file.path.reverse.queue = QueueLimit::Packets(packets).into();
}

fn outage(file: &mut PlanFile, seconds: u64) {
    trace(file, &format!("step=20Mbit/s@20s,0bit/s@{seconds}s,20Mbit/s@30s"));
    file.duration = Span::from_secs(20 + seconds + 30);
}

/// All of them.
pub const FAULTS: [Fault; 17] = [
    Fault::new("outage1", |file| outage(file, 1), 21),
    Fault::new("outage10", |file| outage(file, 10), 30),
    Fault::new("outage30", |file| outage(file, 30), 50),
    Fault::new("outage120", |file| outage(file, 120), 140),
    Fault::new("drop1000", |file| trace(file, "step=20Mbit/s@20s,20kbit/s@10s,20Mbit/s@30s"), 30),
    Fault {
        link: 100.0,
        ..Fault::new("rise1000", |file| trace(file, "step=100kbit/s@20s,100Mbit/s@40s"), 20)
    },
    Fault::new("loss5", |file| file.path.extra_loss = "0%@20s,5%@10s,0%@30s".into(), 30),
    Fault::new("loss30", |file| file.path.extra_loss = "0%@20s,30%@10s,0%@30s".into(), 30),
    Fault::new("loss5s", |file| file.path.loss = Ratio::new(0.05), 0),
    Fault::new("loss30s", |file| file.path.loss = Ratio::new(0.3), 0),
    Fault::new("rttx3", |file| file.path.extra_delay = "0ms@20s,80ms@40s".into(), 20),
    Fault::new("rttx3t", |file| file.path.extra_delay = "0ms@20s,80ms@10s,0ms@30s".into(), 30),
    Fault::new("q1", |file| file.path.queue = QueueLimit::Packets(1).into(), 0),
    Fault::new("ackloss3", |file| reverse(file, "step=100Mbit/s@20s,0bit/s@3s,100Mbit/s@37s", 1), 23),
    Fault::new("ack50k", |file| reverse(file, "rate=50kbit/s", 100), 0),
    Fault::new(
        "reorder",
        |file| {
            (file.path.reordered, file.path.reordered_by) =
                ("5%".parse().expect("a share"), Span::from_millis(30))
        },
        0,
    ),
    Fault::new(
        "jitter",
        |file| (file.path.jitter, file.path.jitter_reorders) = (Span::from_millis(30), true),
        0,
    ),
];

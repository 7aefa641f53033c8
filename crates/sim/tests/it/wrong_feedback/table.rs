//! A flow's results with reports that become wrong, against its base scheme alone: one row per fault.

use cellcc_experiment::{AdviceRoute, Driver, NetAssist, Outage, Plan, PlanFile, Record, ReportSource};
use cellcc_sim::SimDriver;
use cellcc_units::{QueueLimit, Ratio, Span, Time};
use std::fmt::{self, Display, Formatter};

/// Reports are right until then.
const WRONG_FROM: Time = Time::from_nanos(20_000_000_000);
/// Five seconds later, in bins of the series.
const JUDGED_FROM: usize = 250;
const DURATION: Span = Span::from_secs(60);

/// The change to the reports.
pub(crate) struct Fault {
    pub(crate) name: &'static str,
    change: fn(&mut NetAssist),
}

pub(crate) const FAULTS: [Fault; 12] = [
    Fault { name: "right", change: |_| () },
    Fault { name: "right, every 200 ms", change: |netassist| netassist.period = Span::from_millis(200) },
    Fault { name: "right, every 400 ms", change: |netassist| netassist.period = Span::from_millis(400) },
    Fault { name: "right, in band", change: |netassist| netassist.route = AdviceRoute::InBand },
    Fault {
        name: "stopped",
        change: |netassist| netassist.outages = vec![Outage { from: WRONG_FROM, to: Time::NEVER }],
    },
    Fault { name: "500 ms late", change: |netassist| netassist.late = Span::from_millis(500) },
    Fault {
        name: "500 ms late, age unknown",
        change: |netassist| (netassist.late, netassist.age_known) = (Span::from_millis(500), false),
    },
    Fault { name: "half of them twice", change: |netassist| netassist.duplicated = Ratio::new(0.5) },
    Fault { name: "half of them overtaken", change: |netassist| netassist.reordered = Ratio::new(0.5) },
    Fault { name: "ten times too high", change: |netassist| netassist.scale = Ratio::new(10.0) },
    Fault { name: "ten times too low", change: |netassist| netassist.scale = Ratio::new(0.1) },
    Fault { name: "zero", change: |netassist| netassist.scale = Ratio::ZERO },
];

/// From five seconds after the reports became wrong on: means over the traces of the ratio of a flow to its base scheme alone.
pub(crate) struct Row {
    pub(crate) throughput: f64,
    pub(crate) rtt: f64,
    /// The trace on which the flow has least.
    pub(crate) least_throughput: f64,
    /// The flow with its guard switched off.
    pub(crate) unguarded_throughput: f64,
    pub(crate) unguarded_rtt: f64,
}

impl Display for Row {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { throughput, rtt, least_throughput, unguarded_throughput, unguarded_rtt } = self;
        write!(
            f,
            "{throughput:.3} ({least_throughput:.2}) {rtt:.3}; {unguarded_throughput:.3} {unguarded_rtt:.3}"
        )
    }
}

/// The row of `fault` for NATCP, whose base is CUBIC, over these traces.
pub(crate) fn row(fault: &Fault, source: ReportSource, traces: &[String]) -> Row {
    let driver = SimDriver::new(cellcc_schemes::registry());
    let mut file = PlanFile {
        schemes: ["natcp", "natcp(guard=off)", "cubic"].map(String::from).to_vec(),
        traces: traces.to_vec(),
        duration: DURATION,
        netassist: NetAssist { source, wrong_from: WRONG_FROM, ..NetAssist::default() },
        ..PlanFile::default()
    };
    // The NATCP paper's path (section 3).
    file.path.rtt = Span::from_millis(10);
    file.path.queue = QueueLimit::Packets(100).into();
    (fault.change)(&mut file.netassist);
    let plan = Plan::new(&file, &driver, "wrong feedback").expect("the traces can be read");
    // The runs of a trace follow each other; the first is the limit.
    let ratios: Vec<[f64; 4]> = plan
        .runs
        .chunks(4)
        .map(|runs| {
            let run = |index: usize| judged(&driver.run(&runs[index].scenario).expect("the run succeeds"));
            let (guarded, unguarded, base) = (run(1), run(2), run(3));
            [guarded.0 / base.0, guarded.1 / base.1, unguarded.0 / base.0, unguarded.1 / base.1]
        })
        .collect();
    let mean = |index: usize| ratios.iter().map(|ratios| ratios[index]).sum::<f64>() / ratios.len() as f64;
    Row {
        throughput: mean(0),
        rtt: mean(1),
        least_throughput: ratios.iter().map(|ratios| ratios[0]).fold(f64::INFINITY, f64::min),
        unguarded_throughput: mean(2),
        unguarded_rtt: mean(3),
    }
}

/// Mean throughput, and the mean RTT of delivered packets, from five seconds after the reports became wrong on.
fn judged(record: &Record) -> (f64, f64) {
    let series = |name| record.series.column(name).expect("every flow has it").iter().copied().map(f64::from);
    let rates = series("flow0.throughput_mbit_s").skip(JUDGED_FROM);
    let rtts = series("flow0.rtt_ms").skip(JUDGED_FROM);
    let (mut delivered, mut weighted, mut weight, mut bins) = (0.0, 0.0, 0.0, 0.0);
    for (rate, rtt) in rates.zip(rtts) {
        (delivered, bins) = (delivered + rate, bins + 1.0);
        if rtt.is_finite() {
            (weighted, weight) = (weighted + rtt * rate, weight + rate);
        }
    }
    (delivered / bins, weighted / weight)
}

//! Packets per second of one core with all metrics and series on, each the median of five runs, and the cost per packet at a
//! small and at a large window.

use crate::Outcome;
use cellcc_experiment::{Driver, LIMIT, Plan, PlanFile, Resolved};
use cellcc_sim::SimDriver;
use cellcc_units::{QueueLimit, Span};
use std::time::Instant;

const RUNS: usize = 5;

/// One flow of `scheme`, or the row [`LIMIT`], on a link of 1 Gbit/s with a queue of 3200 packets.
pub(crate) fn scenario(driver: &SimDriver, scheme: &str, rtt: Span, duration: Span) -> Outcome<Resolved> {
    scenario_on(driver, scheme, "rate=1Gbit/s", rtt, duration)
}

/// One flow of `scheme`, or the row [`LIMIT`], on `link` with a queue of 3200 packets.
pub(crate) fn scenario_on(
    driver: &SimDriver,
    scheme: &str,
    link: &str,
    rtt: Span,
    duration: Span,
) -> Outcome<Resolved> {
    let mut file = PlanFile {
        // The row is in every plan.
        schemes: vec![if scheme == LIMIT { "cubic" } else { scheme }.into()],
        traces: vec![link.into()],
        duration,
        ..PlanFile::default()
    };
    file.path.rtt = rtt;
    file.path.queue = QueueLimit::Packets(3200).into();
    let mut runs = Plan::new(&file, driver, "speed")?.runs.into_iter().map(|run| run.scenario);
    let run = runs.find(|scenario| scenario.flows.is_empty() == (scheme == LIMIT));
    run.ok_or_else(|| format!("no run of {scheme}").into())
}

/// Median nanoseconds per data packet of `scheme`.
fn nanos_per_packet(scheme: &str, rtt: Span, duration: Span) -> f64 {
    let driver = SimDriver::new(cellcc_schemes::registry());
    let scenario = scenario(&driver, scheme, rtt, duration).expect("the plan is a constant");
    let mut costs: Vec<f64> = (0..RUNS)
        .map(|_| {
            let started = Instant::now();
            let record = driver.run(&scenario).expect("the run succeeds");
            started.elapsed().as_nanos() as f64 / record.total.sent_packets as f64
        })
        .collect();
    costs.sort_by(f64::total_cmp);
    costs[RUNS / 2]
}

/// Measures, and prints.
pub(crate) fn print() -> Outcome<()> {
    let (rtt, minute) = (Span::from_millis(20), Span::from_secs(60));
    println!("one flow, 1 Gbit/s, 20 ms, 60 s, queue of 3200 packets, one core, median of {RUNS}:");
    for scheme in ["cubic", "reminis", "bbr", "vegas", "westwood", "copa", "c2tcp", "vivace", "bbr2"] {
        let nanos = nanos_per_packet(scheme, rtt, minute);
        println!("  {scheme:<8} {:6.2} million packets/s  {nanos:6.1} ns/packet", 1e3 / nanos);
    }
    let small = nanos_per_packet("fixed-window(window=17pkt)", Span::from_micros(200), minute);
    let large = nanos_per_packet("fixed-window(window=10000pkt)", Span::from_millis(120), minute);
    println!(
        "fixed window, 1 Gbit/s: {small:.1} ns/packet at 17 packets, {large:.1} at 10000: {:.2} times",
        large / small
    );
    Ok(())
}

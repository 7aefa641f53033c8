//! Cache misses of a data packet where many flows share a link, which instructions do not show.
//!
//! Cachegrind counts a run of one second and one of two, as callgrind does for a packet's [stages](super::stages): the difference,
//! divided by the packets that left between. It knows no prefetching, so that a processor waits for fewer.

use super::packets::scenario_on;
use crate::Outcome;
use cellcc_experiment::Driver;
use cellcc_sim::SimDriver;
use cellcc_test_support::benchmark::{Misses, cachegrind, processor_time};
use cellcc_units::Span;

/// The bounded scheme; flows, and the most misses of the last level for a data packet: the measured ones plus a tenth, the
/// effect of another compiler or allocator.
const BOUNDED: &str = "bbr";
const BOUNDS: [(usize, f64); 3] = [(1, 7.3), (100, 9.0), (1_000, 39.0)];

/// Those of the table in docs/evidence/cost/packet.md.
pub(crate) const SCHEMES: [&str; 3] = ["cubic", BOUNDED, "tide"];
const FLOWS: [usize; 5] = [1, 10, 100, 1_000, 10_000];

/// 2 Gbit/s over 40 ms hold 6,667 packets: seven of each of a thousand flows.
const LINK: &str = "rate=2Gbit/s";
const RTT: Span = Span::from_millis(40);
/// How long the two runs last.
const COUNTED_MS: [u64; 2] = [1000, 2000];

/// Runs so many flows of a scheme. Gives how many packets they sent.
fn sent(scheme: &str, flows: usize, ms: u64) -> Outcome<u64> {
    let driver = SimDriver::new(cellcc_schemes::registry());
    let scenario = scenario_on(&driver, &format!("{flows}*{scheme}"), LINK, RTT, Span::from_millis(ms))?;
    Ok(driver.run(&scenario)?.total.sent_packets)
}

/// Runs flows, and prints how many packets they sent.
pub(crate) fn run(scheme: &str, flows: usize, ms: u64) -> Outcome<()> {
    println!("{}", sent(scheme, flows, ms)?);
    Ok(())
}

/// Misses of a data packet, in the first level and in the last.
fn of_a_packet(scheme: &str, flows: usize) -> Outcome<(f64, f64)> {
    let flows = flows.to_string();
    let count = |ms: u64| -> Outcome<(Misses, f64)> {
        let (misses, printed) = cachegrind(&["part", "flows-of", scheme, &flows, &ms.to_string()])?;
        Ok((misses, printed.trim().parse()?))
    };
    let [short, long] = COUNTED_MS.map(count);
    let ((before, fewer), (after, more)) = (short?, long?);
    let each = |before: u64, after: u64| after.saturating_sub(before) as f64 / (more - fewer);
    Ok((each(before.first, after.first), each(before.last, after.last)))
}

/// Nanoseconds of a processor for a data packet of the second second.
fn nanos(scheme: &str, flows: usize) -> Outcome<f64> {
    let timed = |ms: u64| -> Outcome<(f64, f64)> {
        let started = processor_time();
        let sent = sent(scheme, flows, ms)?;
        Ok(((processor_time() - started).as_nanos() as f64, sent as f64))
    };
    let [short, long] = COUNTED_MS.map(timed);
    let ((before, fewer), (after, more)) = (short?, long?);
    Ok((after - before) / (more - fewer))
}

/// Prints the misses and the time of a data packet, by scheme and number of flows, as a table in Markdown.
pub(crate) fn print_table() -> Outcome<()> {
    println!("| scheme, flows | first level | last level | ns |\n|---|---|---|---|");
    SCHEMES
        .iter()
        .flat_map(|scheme| FLOWS.map(|flows| (scheme, flows)))
        .try_for_each(|(scheme, flows)| print_row(scheme, flows))
}

/// Prints a row of that table.
pub(crate) fn print_row(scheme: &str, flows: usize) -> Outcome<()> {
    let ((first, last), nanos) = (of_a_packet(scheme, flows)?, nanos(scheme, flows)?);
    println!("| {scheme}, {flows} | {first:.1} | {last:.1} | {nanos:.0} |");
    Ok(())
}

/// Prints the misses of a data packet where few and many flows share the link.
///
/// # Errors
/// Where they are more than the bound.
pub(crate) fn check() -> Outcome<()> {
    let mut above = Vec::new();
    for (flows, bound) in BOUNDS {
        let (_, last) = of_a_packet(BOUNDED, flows)?;
        println!(
            "{flows} flows of {BOUNDED}: {last:.1} misses of the last level for a data packet; the bound is {bound}"
        );
        above.extend((last > bound).then(|| flows.to_string()));
    }
    if above.is_empty() {
        return Ok(());
    }
    Err(format!(
        "more misses than the bound at {} flows; docs/evidence/cost/packet.md has those before",
        above.join(", ")
    )
    .into())
}

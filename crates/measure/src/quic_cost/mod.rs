//! `cellcc-measure quic-cost`: the adapter's cost relative to noq's own CUBIC, and the rate on the wire.
//!
//! | argument | measurement |
//! |---|---|
//! | `loopback` | goodput over loopback: noq's CUBIC, ours, a fixed window; medians of interleaved rounds |
//! | `mapping` | a sender's cost of a socket that maps ECN codepoints, packets with ECT(1): interleaved pairs |
//! | `rate` | IP bytes at the receiver against the rate that a scheme sets, 1 Mbit/s to 1 Gbit/s |
//! | `serve SCHEME` and `fetch ADDRESS SECONDS` | processor time per packet of one transfer over any link, such as an emulated
//! one |
//!
//! `stock` is noq's CUBIC, `stock/BYTES` the same with a send quantum.

#![allow(clippy::disallowed_methods, clippy::print_stdout, reason = "a program that measures in real time")]

mod ends;
mod stock;

use crate::{Arguments, Outcome, usage};
use ends::{Carried, Sockets, carry, fetch, serve};
use std::process::ExitCode;
use std::time::Duration;

/// Interleaved, so that a disturbance meets all alike. Single transfers of one scheme differ by an eighth, by how the system
/// places their four threads on two processors: of fifteen the median is known within 4 %, of five within 7.
const ROUNDS: usize = 15;
const LOOPBACK_TIME: Duration = Duration::from_secs(3);
const RATE_TIME: Duration = Duration::from_secs(10);
/// 2000 packets are all in flight whenever the receiver waits for a processor; 400,000 hold nothing back, as noq's own window
/// does not, which ends with 665 MB.
const WHAT: [&str; 4] = ["stock", "cubic", "fixed-window(window=2000pkt)", "fixed-window(window=400000pkt)"];
const RATES_MBIT_S: [u64; 7] = [1, 3, 10, 30, 100, 300, 1000];

pub(crate) fn run(arguments: Arguments) -> Outcome<ExitCode> {
    match arguments {
        ["loopback"] => loopback(),
        ["mapping"] => mapping(),
        ["rate"] => rates(),
        ["serve", scheme] => serve(scheme),
        ["fetch", address, seconds] => match (address.parse(), seconds.parse()) {
            (Ok(address), Ok(seconds)) => fetch(address, Duration::from_secs(seconds)),
            _ => return usage("quic-cost"),
        },
        _ => return usage("quic-cost"),
    }
    Ok(ExitCode::SUCCESS)
}

fn loopback() {
    let mut results: Vec<Vec<Carried>> = vec![Vec::new(); WHAT.len()];
    for _ in 0..ROUNDS {
        for (what, results) in WHAT.iter().zip(&mut results) {
            results.push(carry(&Sockets::WithThread, what, LOOPBACK_TIME));
        }
    }
    println!("goodput over loopback, several streams; medians of {ROUNDS} interleaved rounds");
    for (index, what) in WHAT.iter().enumerate() {
        let goodput = median(results[index].iter().map(Carried::goodput_gbit_s));
        let pairs = results[index].iter().zip(&results[0]);
        let ratios: Vec<_> =
            pairs.map(|(this, stock)| this.goodput_gbit_s() / stock.goodput_gbit_s()).collect();
        let (ratio, error) = (median(ratios.iter().copied()), error_of_median(&ratios));
        let cpu = median(results[index].iter().map(Carried::cpu_us_per_packet));
        println!("{what:30} {goodput:6.2} Gbit/s  {ratio:5.3} (+-{error:5.3}) of stock  {cpu:5.2} us/packet");
    }
}

fn mapping() {
    let cpu = |sockets: Sockets, scheme| carry(&sockets, scheme, LOOPBACK_TIME).cpu_us_per_packet();
    let pair = |_| {
        let without = cpu(Sockets::Own, "fixed-rate(rate=400Mbit/s)");
        (without, cpu(Sockets::Mapping(Default::default()), "fixed-rate(rate=400Mbit/s,ect1=on)"))
    };
    let (without, with): (Vec<_>, Vec<_>) = (0..ROUNDS).map(pair).unzip();
    let more: Vec<f64> = with.iter().zip(&without).map(|(with, without)| with - without).collect();
    let (without, with) = (median(without.into_iter()), median(with.into_iter()));
    let (difference, error) = (median(more.iter().copied()), error_of_median(&more));
    println!("the sender's us/packet, medians of {ROUNDS} interleaved pairs");
    println!(
        "{without:5.2} without, {with:5.2} with the map; the difference of a pair: {difference:6.3} (+-{error:5.3})"
    );
}

fn rates() {
    println!("IP bytes at the receiver over {} s, against the rate that was set", RATE_TIME.as_secs());
    for rate in RATES_MBIT_S {
        let carried = carry(&Sockets::WithThread, &format!("fixed-rate(rate={rate}Mbit/s)"), RATE_TIME);
        let share = carried.on_link_mbit_s() / rate as f64;
        println!("{rate:5} Mbit/s  {share:6.4} of it  {:5.2} us/packet", carried.cpu_us_per_packet());
    }
}

/// The standard error of the median of values that are spread normally.
fn error_of_median(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    (std::f64::consts::FRAC_PI_2 * variance / count).sqrt()
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<_> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

//! `cellcc-measure kernel-cost`: the cost of the schemes relative to the kernel's CUBIC, as root, with nothing else running.
//!
//! A sender in one network namespace, a receiver in another, a veth pair between them. Runs of a scheme and of CUBIC alternate,
//! and the ratio of each pair counts, until the median ratio is known within 2 %, or for so many pairs. CUBIC that TCP itself
//! paces at the rate that NATCP is advised tells what of NATCP's cost is pacing.

#![allow(clippy::disallowed_methods, clippy::print_stdout, reason = "a program that measures in real time")]

mod median;
mod processor;
mod spaces;
mod transfer;

use crate::{Arguments, Outcome, usage};
use cellcc_kernel::AdviceValue;
use cellcc_kernel::{Held, Machine, Scheme, Written};
use median::Median;
use spaces::{RECEIVER, Spaces};
use std::process::ExitCode;
use std::time::Duration;
use transfer::{Load, Transfer};

/// Reminis' target is far above veth's RTT, as on a cellular path, so that it does not hold back. NATCP needs advice.
const SCHEMES: [&str; 4] = ["reminis(dtt=40ms)", "nacubic", "natcp", PACED];
/// The kernel's CUBIC, paced at [`ADVISED`].
const PACED: &str = "cubic paced";
/// Bytes per second: wider than any load.
const ADVISED: u64 = 12_500_000_000;
/// The most pairs: ten minutes in all.
const MOST_PAIRS: usize = 16;
/// The baseline of the others.
const BASELINE: &str = "cubic";
const RUN: Duration = Duration::from_millis(2500);
/// The half-width of the interval at which to stop.
const CLOSE_ENOUGH: f64 = 0.02;
/// Reminis' paper, Figure 17.
const PAPER_MBIT_S: u64 = 720;

pub(crate) fn run(arguments: Arguments) -> Outcome<ExitCode> {
    let (schemes, most_pairs) = match arguments {
        [] => (SCHEMES.map(String::from).to_vec(), MOST_PAIRS),
        [schemes, pairs] if pairs.parse::<usize>().is_ok() => {
            (schemes.split(';').map(String::from).collect(), pairs.parse().unwrap_or(MOST_PAIRS))
        }
        _ => return usage("kernel-cost"),
    };
    let machine = Machine::current();
    if let Some(refusal) = Scheme::ALL.into_iter().find_map(|scheme| machine.permits(scheme).err()) {
        println!("{refusal}");
        return Ok(ExitCode::FAILURE);
    }
    let _spaces = Spaces::build();
    println!("calls of the programs, with {PAPER_MBIT_S} Mbit/s, and their part of a gigabyte's CPU time");
    schemes.iter().for_each(|scheme| calls(scheme, &machine));
    println!("processor time per gigabyte, ratio to CUBIC: median, half-width of its 95 % interval, pairs");
    for load in [Load::Unlimited, Load::Rate(PAPER_MBIT_S)] {
        schemes.iter().for_each(|scheme| compare(scheme, load, &machine, most_pairs));
    }
    Ok(ExitCode::SUCCESS)
}

/// A scheme by its name in the kernel, which it has left when this value goes.
fn hold(scheme: &str, machine: &Machine) -> (String, Option<Held>) {
    if scheme == PACED {
        return (PACED.into(), None);
    }
    let Some(written) = Written::read(scheme).expect("a scheme") else { return (scheme.into(), None) };
    let held = Held::load(written.scheme, machine).expect("loaded");
    held.set(&written.settings).expect("set");
    (written.scheme.name().into(), Some(held))
}

/// Runs with a scheme; it has advice of a path that is wider than the load.
fn run_with(name: &str, held: Option<&Held>, load: Load) -> Transfer {
    let advise = || {
        let Some(held) = held else { return };
        let mut advice = AdviceValue::default();
        (advice.bandwidth.0, advice.min_rtt.0, advice.period.0, advice.flows) = (ADVISED, 1_000, 50_000, 1);
        advice.measured_at.0 = transfer::monotonic_us();
        held.advise(RECEIVER, &advice).expect("advised");
    };
    let (name, most) = if name == PACED { (BASELINE, Some(ADVISED)) } else { (name, None) };
    transfer::run(name, most, load, RUN, advise)
}

fn compare(scheme: &str, load: Load, machine: &Machine, most_pairs: usize) {
    let (name, held) = hold(scheme, machine);
    let (mut ratios, mut costs, mut rates) = (Vec::new(), Vec::new(), Vec::new());
    let mut known = Median::of(&[]);
    while ratios.len() < most_pairs && !known.is_within(CLOSE_ENOUGH) {
        let of_scheme = || run_with(&name, held.as_ref(), load);
        let of_cubic = || run_with(BASELINE, None, load);
        // The order also alternates: the later one of a pair may find a warmer machine.
        let (own, base) = if ratios.len() % 2 == 0 {
            let own = of_scheme();
            (own, of_cubic())
        } else {
            let base = of_cubic();
            (of_scheme(), base)
        };
        ratios.push(own.cpu_s_per_gigabyte() / base.cpu_s_per_gigabyte());
        costs.push(own.cpu_s_per_gigabyte());
        rates.push(own.gbit_per_s());
        known = Median::of(&ratios);
    }
    let (cost, rate) = (Median::of(&costs).value, Median::of(&rates).value);
    println!(
        "{load:12} {scheme:20} {:5.3} +-{:5.3}  {:2} pairs  {cost:5.3} s/GB  {rate:6.3} Gbit/s",
        known.value,
        known.half_width,
        ratios.len()
    );
}

fn calls(scheme: &str, machine: &Machine) {
    let (name, held) = hold(scheme, machine);
    let Some(held) = held else { return };
    let before = held.calls();
    let load = Load::Rate(PAPER_MBIT_S);
    let transfer = processor::with_program_statistics(|| run_with(&name, Some(&held), load));
    let mut total = 0;
    for (before, after) in before.iter().zip(held.calls()) {
        let (count, nanos) = (after.count - before.count, after.nanos - before.nanos);
        total += nanos;
        // Others are called only at losses, or when a connection begins.
        if count > 100 {
            let each = nanos as f64 / count as f64;
            println!("{scheme:20} {:18} {each:6.0} ns  {count:6} calls", after.program);
        }
    }
    let base = run_with(BASELINE, None, load).cpu_s_per_gigabyte();
    let share = total as f64 / 1e9 / transfer.gigabytes_with_beginning() / base;
    println!("{scheme:20} {:18} {:6.2} % of CUBIC's {base:5.3} s/GB", "in all", share * 100.0);
}

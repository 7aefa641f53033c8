//! Prints a synthetic link: the second at which each step begins, and its rate in Mbit/s. Without a seed, the
//! typical one.
//!
//! `cargo run -p cellcc-measure --bin synthetic_rates -- lte-drive`
#![allow(clippy::print_stdout, reason = "printing is what it is for")]

use cellcc_link::synthetic::{DEFAULT_LENGTH, generate, names};
use cellcc_units::Time;

fn main() -> Result<(), String> {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().ok_or("usage: synthetic_rates NAME [SEED]")?;
    let link = names().iter().find(|link| link.name == name).ok_or(format!("no link is called `{name}`"))?;
    let seed = match arguments.next() {
        None => link.typical_seed,
        Some(seed) => seed.parse().map_err(|error| format!("seed `{seed}`: {error}"))?,
    };
    let steps = generate(link.name, seed, DEFAULT_LENGTH).unwrap_or_default();
    let mut begin = Time::ZERO;
    for (span, rate) in steps {
        println!("{:.2}\t{:.3}", begin.as_secs_f64(), rate.as_mbit_per_sec());
        begin += span;
    }
    Ok(())
}

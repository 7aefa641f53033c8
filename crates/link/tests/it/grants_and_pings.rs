//! Repetitions and access against what was recorded of them. The summary figures are held always; logs and pings are read where an
//! environment variable names their folder.

mod grants;
mod pings;

use cellcc_link::{Capacity, Delay, Delivery, Link, LinkConfig, Packet, Poll};
use cellcc_units::{Bytes, Rate, Span, Time};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Debug, Clone, Copy)]
struct Full;

impl Packet for Full {
    fn size(&self) -> Bytes {
        Bytes::new(1500)
    }
}

/// What packets that come at these times meet on a link of a gigabit with half of a path of 34 ms behind it.
fn crossings(config: LinkConfig, seed: u64, times: impl IntoIterator<Item = Time>) -> Vec<Delivery<Full>> {
    let capacity = Arc::new(Capacity::constant(Rate::from_mbit_per_sec(1_000.0)).unwrap());
    let delay = Delay::constant(Span::from_millis(17));
    let mut link = Link::new(LinkConfig { capacity, delay, ..config }, seed);
    times.into_iter().for_each(|at| link.enqueue(at, Full).expect("there is room"));
    let next = || match link.poll(Time::ZERO + Span::from_secs(1_000_000)) {
        Poll::Ready(delivery) => Some(delivery),
        _ => None,
    };
    std::iter::from_fn(next).collect()
}

/// The folder that a variable names; says what is left out where it names none.
fn folder(variable: &str, of: &str) -> Option<PathBuf> {
    let named = std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
    if named.is_none() {
        writeln!(std::io::stderr(), "left out: {variable} names no folder of {of}").expect("stderr");
    }
    named
}

/// All files below a folder whose name is accepted, in order.
fn files(folder: &Path, accepts: &dyn Fn(&str) -> bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            found.extend(files(&path, accepts));
        } else if accepts(&name) {
            found.push(path);
        }
    }
    found.sort();
    found
}

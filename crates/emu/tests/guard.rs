//! The guard of an emulator that ends kills nothing that runs in another one.
//!
//! A guard is started by a process of one thread, which the test harness's are not: hence a program of its own.

#![allow(clippy::disallowed_methods, reason = "real time has clocks and processes")]

#[path = "real_time/common/mod.rs"]
mod common;

use cellcc_emu::guard::Guard;
use cellcc_emu::namespace::Namespace;
use common::can_run;
use rustix::fs::fstat;
use std::process::Command;
use std::time::{Duration, Instant};

/// Time within which the kernel has given a free number to a new namespace; mostly at once.
const NUMBER_IS_FREE: Duration = Duration::from_secs(2);

fn main() {
    if !can_run() {
        return;
    }
    let mut guard = Guard::start().unwrap();
    let first = Namespace::create().unwrap();
    guard.protect(&first).unwrap();
    let number = fstat(&first).unwrap().st_ino;
    drop(first);
    let began = Instant::now();
    // The lowest free number comes first: those before it stay taken.
    let mut others = Vec::new();
    while began.elapsed() < NUMBER_IS_FREE
        && others.last().is_none_or(|other| fstat(other).unwrap().st_ino != number)
    {
        others.push(Namespace::create().unwrap());
        std::thread::sleep(Duration::from_millis(50));
    }
    let mut command = Command::new("sleep");
    others.last().unwrap().command(command.arg("60"));
    let mut running = command.spawn().unwrap();
    drop(guard);
    let ended = running.try_wait().unwrap();
    running.kill().unwrap();
    running.wait().unwrap();
    assert!(ended.is_none(), "the guard of an emulator that has ended killed another's command: {ended:?}");
}

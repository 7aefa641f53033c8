//! The signals that people, terminals and service managers end a program with.

use crate::exit::{Exit, tell};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// The first interrupt ends the runs in virtual time, and lets those in real time, where there are some, come to their end; the
/// second does not.
pub(crate) fn stop_on_signal(is_real_time: bool) -> Result<Arc<AtomicBool>, Exit> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    let handler = move || {
        if flag.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
        let run = if is_real_time { ", and the run in real time comes to its end" } else { "" };
        tell(&format!("interrupted: no further run is begun{run}\nonce more to leave at once"));
    };
    on_interrupt_or_hangup(handler)?;
    Ok(stop)
}

/// Calls `act` from a thread of its own at each Ctrl-C and SIGTERM.
#[cfg(feature = "network")]
pub(crate) fn on_interrupt(act: impl FnMut() + Send + 'static) -> Result<(), Exit> {
    listen(&[signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM], act)
}

/// Calls `act` as [`on_interrupt`] does, and also at each SIGHUP, which a closed terminal sends.
pub(crate) fn on_interrupt_or_hangup(act: impl FnMut() + Send + 'static) -> Result<(), Exit> {
    #[cfg(unix)]
    let hangup = signal_hook::consts::SIGHUP;
    #[cfg(not(unix))]
    let hangup = signal_hook::consts::SIGTERM;
    listen(&[signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, hangup], act)
}

/// A signal that was ignored when the program began stays ignored, as `nohup` and the background jobs of a script expect.
#[cfg(unix)]
fn listen(signals: &[i32], mut act: impl FnMut() + Send + 'static) -> Result<(), Exit> {
    let ignored = ignored();
    let heeded = signals.iter().filter(|number| ignored >> (**number - 1) & 1 == 0);
    let mut signals = signal_hook::iterator::Signals::new(heeded).map_err(failed)?;
    let listen = move || signals.forever().for_each(|_| act());
    thread::Builder::new().name("interrupts".into()).spawn(listen).map(drop).map_err(failed)
}

#[cfg(not(unix))]
fn listen(signals: &[i32], mut act: impl FnMut() + Send + 'static) -> Result<(), Exit> {
    /// Nothing here waits for a signal of this system.
    const LOOK_EVERY: std::time::Duration = std::time::Duration::from_millis(50);
    let came = Arc::new(AtomicBool::new(false));
    for &number in signals {
        signal_hook::flag::register(number, Arc::clone(&came)).map_err(failed)?;
    }
    let listen = move || loop {
        thread::sleep(LOOK_EVERY);
        if came.swap(false, Ordering::Relaxed) {
            act();
        }
    };
    thread::Builder::new().name("interrupts".into()).spawn(listen).map(drop).map_err(failed)
}

fn failed(error: std::io::Error) -> Exit {
    Exit::failed(format!("cannot listen for Ctrl-C: {error}"))
}

/// The signals that this process ignores, a bit each, from signal 1. Elsewhere than on Linux it is not known, and none.
#[cfg(unix)]
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

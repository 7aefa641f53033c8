//! The signals by which people, terminals and service managers end a program.

use crate::exit::Exit;
use std::future::poll_fn;
use std::task::Poll;
use std::thread;
use tokio::runtime::Builder;

/// Calls `act` from a thread of its own at each Ctrl-C, SIGTERM and SIGHUP.
pub(crate) fn on_interrupt(mut act: impl FnMut() + Send + 'static) -> Result<(), Exit> {
    let failed = |error| Exit::failed(format!("cannot listen for Ctrl-C: {error}"));
    let runtime = Builder::new_current_thread().enable_io().build().map_err(failed)?;
    let mut interrupts = {
        let _entered = runtime.enter();
        Interrupts::of_terminals()
    };
    let listen = move || {
        runtime.block_on(async {
            loop {
                interrupts.next().await;
                act();
            }
        });
    };
    thread::Builder::new().name("interrupts".into()).spawn(listen).map(drop).map_err(failed)
}

/// Signals that ask the program to end. One that was ignored when the program began stays ignored, as `nohup` and the background
/// jobs of a script expect.
#[cfg(unix)]
pub(crate) struct Interrupts(Vec<tokio::signal::unix::Signal>);

#[cfg(unix)]
impl Interrupts {
    /// Ctrl-C and SIGTERM.
    pub(crate) fn new() -> Self {
        use tokio::signal::unix::SignalKind;
        Self::of(&[SignalKind::interrupt(), SignalKind::terminate()])
    }

    /// These, and what a closed terminal sends.
    fn of_terminals() -> Self {
        use tokio::signal::unix::SignalKind;
        Self::of(&[SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()])
    }

    fn of(signals: &[tokio::signal::unix::SignalKind]) -> Self {
        let ignored = ignored();
        let is_heeded = |number: i32| ignored >> (number - 1) & 1 == 0;
        let heeded = signals.iter().filter(|signal| is_heeded(signal.as_raw_value()));
        Self(heeded.filter_map(|signal| tokio::signal::unix::signal(*signal).ok()).collect())
    }

    /// Waits for the next one.
    pub(crate) async fn next(&mut self) {
        poll_fn(|context| {
            let come = self.0.iter_mut().any(|signal| signal.poll_recv(context).is_ready());
            if come { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
}

/// The signals that this process ignores, a bit each, from signal 1. Elsewhere than on Linux it is not known, and none.
#[cfg(unix)]
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// Ctrl-C.
#[cfg(not(unix))]
pub(crate) struct Interrupts;

#[cfg(not(unix))]
impl Interrupts {
    pub(crate) fn new() -> Self {
        Self
    }

    fn of_terminals() -> Self {
        Self
    }

    /// Waits for the next one.
    pub(crate) async fn next(&mut self) {
        let _ = tokio::signal::ctrl_c().await;
    }
}

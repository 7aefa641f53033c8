//! Runs under way: how many at a time, and how far they are, on standard error; nothing where that is not a terminal.

use crate::exit::tell;
use cellcc_runner::{Host, Progress, Tally};
use cellcc_units::printable;
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use std::fmt::Write;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The bar counts millionths of runs: one run on a fast link may take hours.
const PARTS: u64 = 1_000_000;

/// Number of runs that go on at a time: `--jobs`, or one per processor.
pub(crate) fn jobs(given: Option<u16>) -> NonZeroUsize {
    let jobs = given.map_or_else(|| Host::this().cpus, usize::from);
    NonZeroUsize::new(jobs).unwrap_or(NonZeroUsize::MIN)
}

#[derive(Debug)]
pub(crate) struct Bar {
    bar: ProgressBar,
    tally: Arc<Mutex<Tally>>,
    quiet: bool,
}

impl Bar {
    pub(crate) fn new(quiet: bool) -> Self {
        let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(None, target);
        let tally = Arc::new(Mutex::new(Tally::default()));
        let template = "{bar:30} {ended} runs, {elapsed} so far{left}  {wide_msg}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            let tally = Arc::clone(&tally);
            let style = style.with_key("left", |state: &ProgressState, out: &mut dyn Write| {
                // Before any progress there is no estimate.
                let left = state.eta();
                if left >= Duration::from_secs(1) {
                    let _ = write!(out, ", {:#} left", HumanDuration(left));
                }
            });
            bar.set_style(style.with_key("ended", move |_: &ProgressState, out: &mut dyn Write| {
                let Tally { ended, runs, .. } = *lock(&tally);
                // Only drawing can fail here.
                let _ = write!(out, "{ended} of {runs}");
            }));
        }
        Self { bar, tally, quiet }
    }

    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }

    fn ended(&self, label: &str, failed: bool) {
        self.show(label, |tally| tally.ended(label, failed));
    }

    /// Takes a change, and shows what is under way; where no run says so, `label`.
    fn show(&self, label: &str, change: impl FnOnce(&mut Tally)) {
        let (position, message) = {
            let mut tally = lock(&self.tally);
            change(&mut tally);
            let message = match tally.failed {
                0 => printable(tally.now().as_deref().unwrap_or(label)).into(),
                failed => format!("{failed} failed"),
            };
            ((tally.share() * tally.runs as f64 * PARTS as f64) as u64, message)
        };
        self.bar.set_message(message);
        self.bar.set_position(position);
    }
}

/// Lock order: the bar's own lock, then this one.
fn lock(tally: &Mutex<Tally>) -> MutexGuard<'_, Tally> {
    tally.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Progress for Bar {
    fn begin(&self, runs: usize, finished: usize) {
        lock(&self.tally).begin(runs, finished);
        self.bar.set_length(runs as u64 * PARTS);
        self.bar.set_position(finished as u64 * PARTS);
        // Runs of an earlier part took no time now: they must not count for the time left.
        self.bar.reset_eta();
        self.bar.enable_steady_tick(Duration::from_millis(200));
    }

    fn expects(&self, expected: &mut dyn Iterator<Item = (String, f64)>) {
        lock(&self.tally).expects(expected);
    }

    fn advanced(&self, label: &str, share: f64) {
        self.show(label, |tally| tally.advanced(label, share));
    }

    fn finished(&self, label: &str) {
        self.ended(label, false);
    }

    fn repeats(&self, what: &str) {
        if !self.quiet {
            tell(&format!("{what}: the runs that this touches are repeated"));
        }
    }

    fn failed(&self, label: &str, _: &str) {
        self.ended(label, true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression: the bar did not move during a run.
    #[test]
    fn a_run_under_way_moves_the_bar() {
        let bar = Bar::new(true);
        bar.begin(4, 1);
        bar.advanced("cubic on 3g, seed 1", 0.25);
        bar.advanced("bbr on 3g, seed 1", 0.5);
        bar.advanced("cubic on 3g, seed 1", 0.75);
        assert_eq!(bar.bar.position(), 2_250_000);
        bar.finished("cubic on 3g, seed 1");
        bar.failed("bbr on 3g, seed 1", "");
        assert_eq!((bar.bar.position(), bar.bar.length()), (3_000_000, Some(4_000_000)));
        bar.clear();
    }
}

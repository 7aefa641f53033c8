//! How far the runs are, on standard error; nothing where that is not a terminal.

use crate::exit::tell;
use cellcc_runner::Progress;
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The bar counts millionths of runs: one run on a fast link may take hours.
const PARTS: u64 = 1_000_000;

#[derive(Debug)]
pub(super) struct Bar {
    bar: ProgressBar,
    counts: Arc<Mutex<Counts>>,
    quiet: bool,
}

#[derive(Debug, Default)]
struct Counts {
    ended: u64,
    failed: u64,
    runs: u64,
    /// The parts of the runs under way that are done.
    under_way: BTreeMap<String, u64>,
}

impl Bar {
    pub(super) fn new(quiet: bool) -> Self {
        let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(None, target);
        let counts = Arc::new(Mutex::new(Counts::default()));
        let template = "{bar:30} {ended} runs, {elapsed} so far{left}  {wide_msg}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            let counts = Arc::clone(&counts);
            let style = style.with_key("left", |state: &ProgressState, out: &mut dyn Write| {
                // Before anything has moved nobody knows.
                let left = state.eta();
                if left >= Duration::from_secs(1) {
                    let _ = write!(out, ", {:#} left", HumanDuration(left));
                }
            });
            bar.set_style(style.with_key("ended", move |_: &ProgressState, out: &mut dyn Write| {
                let Counts { ended, runs, .. } = *lock(&counts);
                // Only what is drawn fails to be drawn.
                let _ = write!(out, "{ended} of {runs}");
            }));
        }
        Self { bar, counts, quiet }
    }

    pub(super) fn clear(&self) {
        self.bar.finish_and_clear();
    }

    /// A run under way has done this share of its time.
    pub(super) fn advanced(&self, label: &str, share: f64) {
        let position = {
            let mut counts = lock(&self.counts);
            let parts = (share.clamp(0.0, 1.0) * PARTS as f64) as u64;
            match counts.under_way.get_mut(label) {
                Some(done) => *done = parts,
                None => _ = counts.under_way.insert(label.into(), parts),
            }
            counts.position()
        };
        self.bar.set_position(position);
    }

    fn ended(&self, label: &str, failed: bool) {
        let (position, failed) = {
            let mut counts = lock(&self.counts);
            counts.under_way.remove(label);
            counts.ended += 1;
            counts.failed += u64::from(failed);
            (counts.position(), counts.failed)
        };
        self.bar.set_message(if failed == 0 { label.to_owned() } else { format!("{failed} failed") });
        self.bar.set_position(position);
    }
}

impl Counts {
    fn position(&self) -> u64 {
        self.ended * PARTS + self.under_way.values().sum::<u64>()
    }
}

/// The bar is drawn with its own lock held, and takes this one then: never the other way round.
fn lock(counts: &Mutex<Counts>) -> MutexGuard<'_, Counts> {
    counts.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Progress for Bar {
    fn begin(&self, runs: usize, finished: usize) {
        let (runs, finished) = (runs as u64, finished as u64);
        *lock(&self.counts) = Counts { ended: finished, runs, ..Counts::default() };
        self.bar.set_length(runs * PARTS);
        self.bar.set_position(finished * PARTS);
        // Runs of an earlier part took no time now: they must not count for the time left.
        self.bar.reset_eta();
        self.bar.enable_steady_tick(Duration::from_millis(200));
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

    /// The bar stood still until a run had ended, be that in hours.
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

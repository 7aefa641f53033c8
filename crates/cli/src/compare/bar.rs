//! How far the runs are, on standard error; nothing where that is not a terminal.

use crate::exit::tell;
use cellcc_runner::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

#[derive(Debug)]
pub(super) struct Bar {
    bar: ProgressBar,
    failed: AtomicUsize,
    quiet: bool,
}

impl Bar {
    pub(super) fn new(quiet: bool) -> Self {
        let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(None, target);
        let template = "{bar:30} {pos} of {len} runs, {elapsed} so far, {eta} left  {wide_msg}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        Self { bar, failed: AtomicUsize::new(0), quiet }
    }

    pub(super) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

impl Progress for Bar {
    fn begin(&self, runs: usize, finished: usize) {
        self.bar.set_length(runs as u64);
        self.bar.set_position(finished as u64);
        // Runs of an earlier part took no time now: they must not count for the time left.
        self.bar.reset_eta();
        self.bar.enable_steady_tick(Duration::from_millis(200));
    }

    fn finished(&self, label: &str) {
        if self.failed.load(Ordering::Relaxed) == 0 {
            self.bar.set_message(label.to_owned());
        }
        self.bar.inc(1);
    }

    fn repeats(&self, what: &str) {
        if !self.quiet {
            tell(&format!("{what}: the runs that this touches are repeated"));
        }
    }

    fn failed(&self, _: &str, _: &str) {
        let failed = self.failed.fetch_add(1, Ordering::Relaxed) + 1;
        self.bar.set_message(format!("{failed} failed"));
        self.bar.inc(1);
    }
}

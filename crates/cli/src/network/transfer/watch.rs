//! The live view of a transfer, redrawn in its place.

use super::text::{amount, introduction};
use cellcc_transfer::{Interval, Started};
use cellcc_units::printable_lines;
use indicatif::{ProgressBar, ProgressStyle};
use std::collections::VecDeque;
use std::fmt::Write as _;

/// The number of intervals in the plot of the rate.
const SHOWN_INTERVALS: usize = 60;
/// From little to most.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// See [the module](self).
pub(crate) struct Watch {
    view: ProgressBar,
    introduction: String,
    rates_mbit_s: VecDeque<f64>,
}

impl Watch {
    /// `None` where standard error is no terminal.
    pub(crate) fn new() -> Option<Self> {
        let view = ProgressBar::new_spinner();
        if view.is_hidden() {
            return None;
        }
        // A template without parts that could be wrong.
        let style =
            ProgressStyle::with_template("{msg}").unwrap_or_else(|_| ProgressStyle::default_spinner());
        view.set_style(style);
        Some(Self { view, introduction: String::new(), rates_mbit_s: VecDeque::new() })
    }

    pub(crate) fn start(&mut self, started: &Started) {
        self.introduction = printable_lines(&introduction(started)).into();
        self.view.set_message(self.introduction.clone());
        self.view.tick();
    }

    pub(crate) fn show(&mut self, interval: &Interval) {
        if self.rates_mbit_s.len() == SHOWN_INTERVALS {
            self.rates_mbit_s.pop_front();
        }
        self.rates_mbit_s.push_back(interval.goodput().as_mbit_per_sec());
        self.view.set_message(text(&self.introduction, interval, &self.rates_mbit_s));
        self.view.tick();
    }

    /// Removes the view and restores the screen.
    pub(crate) fn close(&self) {
        self.view.finish_and_clear();
    }
}

fn text(introduction: &str, interval: &Interval, rates_mbit_s: &VecDeque<f64>) -> String {
    let number = |value: Option<f64>| value.map_or("-".into(), |value| format!("{value:.1}"));
    let most = rates_mbit_s.iter().copied().fold(0.0, f64::max);
    let mut text = format!("{introduction}\n\n");
    // Writing to a String cannot fail.
    let _ = writeln!(text, "  {:7.1} s", interval.to.as_secs_f64());
    let now = interval.goodput().as_mbit_per_sec();
    let _ =
        writeln!(text, "  goodput      {now:>9.1} Mbit/s   {} max {most:.1}", sparkline(rates_mbit_s, most));
    let min = interval.senders().filter_map(|sender| sender.min_rtt_ms).reduce(f64::min);
    let _ = writeln!(text, "  RTT          {:>9} ms   min {}", number(interval.rtt_ms()), number(min));
    let (window, inflight) = (amount(interval.window()), amount(interval.inflight()));
    let _ = writeln!(text, "  cwnd         {window:>12}   in flight {inflight}");
    let _ = writeln!(text, "  pacing rate  {:>9} Mbit/s", number(interval.pacing_rate_mbit_s()));
    let _ = writeln!(text, "  lost         {:>9} packets", interval.lost_packets);
    // The first of several connections shows its internal values.
    if let Some(sender) = interval.senders().next() {
        for (name, value) in &sender.internals {
            let _ = writeln!(text, "  {name:<28} {value:.4}");
        }
    }
    text
}

fn sparkline(rates: &VecDeque<f64>, most: f64) -> String {
    let top = BARS.len() - 1;
    let bar = |rate: &f64| BARS[((rate / most.max(1e-9) * top as f64).round() as usize).min(top)];
    rates.iter().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_rate_has_the_highest_bar() {
        assert_eq!(sparkline(&VecDeque::from([0.0, 5.0, 10.0]), 10.0), "▁▅█");
        assert_eq!(sparkline(&VecDeque::from([0.0]), 0.0), "▁");
    }
}

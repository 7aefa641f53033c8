//! How a transfer is shown: lines and a table, JSON lines, a live view, or nothing.

use super::args::Shown;
use super::json::{end_json, interval_json, start_json};
use super::text::{introduction, line, summary};
use super::watch::Watch;
use crate::exit::{Exit, print};
use cellcc_transfer::{Outcome, Progress};

/// How a transfer is shown.
pub(super) struct Display {
    kind: Kind,
    /// Standard output is closed, or cannot be written.
    failure: Option<Exit>,
}

enum Kind {
    Lines { has_header: bool },
    Json,
    Watch(Watch),
    Quiet,
}

impl Display {
    pub(super) fn new(shown: &Shown) -> Self {
        let watch = || Watch::new().map_or(Kind::Lines { has_header: false }, Kind::Watch);
        let kind = match shown {
            Shown { format, .. } if format.is_json() => Kind::Json,
            Shown { quiet: true, .. } => Kind::Quiet,
            Shown { watch: true, .. } => watch(),
            _ => Kind::Lines { has_header: false },
        };
        Self { kind, failure: None }
    }

    pub(super) fn show(&mut self, progress: Progress) {
        match (&mut self.kind, progress) {
            (Kind::Quiet, _) => {}
            (Kind::Json, Progress::Started(started)) => self.json(&start_json(started)),
            (Kind::Json, Progress::Interval(interval)) => self.json(&interval_json(interval)),
            (Kind::Watch(watch), Progress::Started(started)) => watch.start(started),
            (Kind::Watch(watch), Progress::Interval(interval)) => watch.show(interval),
            (Kind::Lines { .. }, Progress::Started(started)) => self.print(&introduction(started)),
            (Kind::Lines { has_header }, Progress::Interval(interval)) => {
                if !std::mem::replace(has_header, true) {
                    self.print("   Time, s     Received     Mbit/s     RTT, ms         cwnd    Lost");
                }
                self.print(&line(interval));
            }
        }
    }

    fn json(&mut self, value: &serde_json::Value) {
        self.print(&value.to_string());
    }

    /// A line on standard output, as long as it has a reader.
    fn print(&mut self, text: &str) {
        if self.failure.is_none() {
            self.failure = print(text).err();
        }
    }

    /// Leaves the terminal as it was.
    pub(super) fn close(&mut self) {
        if let Kind::Watch(watch) = &self.kind {
            watch.close();
        }
    }

    pub(super) fn end(mut self, outcome: &Outcome) -> Result<(), Exit> {
        if matches!(self.kind, Kind::Json) {
            self.json(&end_json(outcome));
        } else {
            self.print(&summary(outcome));
        }
        self.failure.map_or(Ok(()), Err)
    }
}

//! How a transfer is shown: lines and a table, JSON lines, a live view, or nothing.

use super::args::Shown;
use super::json::{end_json, interval_json, start_json};
use crate::exit::{Exit, print, tell};
use crate::watch::Watch;
use cellcc_transfer::{Interval, Outcome, Progress, Started};
use cellcc_units::Bytes;

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
            Shown { json: true, .. } => Kind::Json,
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
            (Kind::Lines { .. }, Progress::Started(started)) => tell(&introduction(started)),
            (Kind::Lines { has_header }, Progress::Interval(interval)) => {
                if !std::mem::replace(has_header, true) {
                    tell("   Time, s     Received     Mbit/s     RTT, ms         cwnd    Lost");
                }
                tell(&line(interval));
            }
        }
    }

    fn json(&mut self, value: &serde_json::Value) {
        if self.failure.is_none() {
            self.failure = print(&value.to_string()).err();
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
            self.failure = print(&summary(outcome)).err();
        }
        self.failure.map_or(Ok(()), Err)
    }
}

pub(crate) fn introduction(started: &Started) -> String {
    let Started { server, software, scheme, connections, streams } = started;
    let are = if *connections == 1 { "connection" } else { "connections" };
    format!("{server} ({software}): {connections} {are} of {streams} streams, sent by {scheme}")
}

fn line(interval: &Interval) -> String {
    let real = |value: Option<f64>| value.map_or("-".into(), |value| format!("{value:.1}"));
    format!(
        "{:>10} {:>12} {:>10.1} {:>11} {:>12} {:>7}",
        format!("{:.1}-{:.1}", interval.from.as_secs_f64(), interval.to.as_secs_f64()),
        amount(interval.received),
        interval.goodput().as_mbit_per_sec(),
        real(interval.rtt_ms()),
        amount(interval.window()),
        interval.lost_packets,
    )
}

/// An amount with three significant digits or so.
pub(crate) fn amount(bytes: Bytes) -> String {
    let value = bytes.as_f64();
    match bytes.get() {
        0..=999 => format!("{value:.0} B"),
        1_000..=999_999 => format!("{:.1} kB", value / 1e3),
        1_000_000..=999_999_999 => format!("{:.2} MB", value / 1e6),
        _ => format!("{:.2} GB", value / 1e9),
    }
}

/// The table at the end.
fn summary(outcome: &Outcome) -> String {
    let rtt = outcome.rtt().summary();
    let (sent, lost) = outcome.packets();
    let percent = |part: u64, whole: u64| part as f64 * 100.0 / whole.max(1) as f64;
    let mut rows = vec![
        ("scheme", outcome.started().scheme.clone()),
        ("received", format!("{} in {:.2} s", amount(outcome.received()), outcome.active().as_secs_f64())),
        ("goodput", format!("{:.2} Mbit/s", outcome.goodput().as_mbit_per_sec())),
    ];
    if let Some(rtt) = rtt {
        let text = format!("{:.2} / {:.2} / {:.2} ms", rtt.mean_ms, rtt.p50_ms, rtt.p95_ms);
        rows.push(("RTT mean / p50 / p95", text));
    }
    rows.push(("packets lost", format!("{lost} of {sent} ({:.3} %)", percent(lost, sent))));
    if let Some((frames, missed)) = outcome.frames() {
        rows.push(("frames late", format!("{:.2} % of {frames}", missed * 100.0)));
    }
    if outcome.is_interrupted() {
        rows.push(("interrupted", "yes".into()));
    }
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    rows.into_iter().for_each(|(name, value)| _ = table.add_row([name.to_owned(), value]));
    table.trim_fmt()
}

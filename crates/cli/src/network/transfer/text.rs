//! A transfer in words and numbers.

use cellcc_transfer::{Interval, Outcome, Started};
use cellcc_units::Bytes;

/// The text at the begin of a transfer.
pub(super) fn introduction(started: &Started) -> String {
    let Started { server, software, scheme, connections, streams } = started;
    let are = if *connections == 1 { "connection" } else { "connections" };
    format!("{server} ({software}): {connections} {are} of {streams} streams, sent by {scheme}")
}

/// The line of an interval.
pub(super) fn line(interval: &Interval) -> String {
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
pub(super) fn amount(bytes: Bytes) -> String {
    let value = bytes.as_f64();
    match bytes.get() {
        0..=999 => format!("{value:.0} B"),
        1_000..=999_999 => format!("{:.1} kB", value / 1e3),
        1_000_000..=999_999_999 => format!("{:.2} MB", value / 1e6),
        _ => format!("{:.2} GB", value / 1e9),
    }
}

/// The table at the end.
pub(super) fn summary(outcome: &Outcome) -> String {
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

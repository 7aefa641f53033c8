//! Output of `ping` as recorded delays.

use super::forms::{Content, Given};
use super::series::{Series, number};
use super::{Delays, Problem, TraceError, clock, shown};
use cellcc_units::Span;

/// Grains of 10 us: seconds since 1970 in 64 bits are exact to a quarter of a microsecond.
const GRAINS_PER_MS: f64 = 100.0;

/// The round-trip time of each ping, from when it was sent; a lost one leaves the one before in force.
pub(super) fn read(given: &Given<'_>) -> Result<Content, TraceError> {
    let mut series = Series::new(given.name);
    for run in runs(given)? {
        let mut pings = run.timed().ok_or_else(|| given.whole(Problem::NoTimes))?;
        let begin = pings.iter().map(|ping| ping.0).fold(f64::INFINITY, f64::min);
        pings.sort_by(|one, other| one.0.total_cmp(&other.0));
        for (sent_ms, rtt_ms) in pings {
            let secs = ((sent_ms - begin) * GRAINS_PER_MS).round() / (GRAINS_PER_MS * 1e3);
            series.push(None, secs, Span::from_secs_f64(rtt_ms / 1e3))?;
        }
        series.end_run();
    }
    Ok(Delays { steps: series.finish()?, are_round_trips: true }.into())
}

/// One `ping`, from its first line to its summary.
#[derive(Debug, Default)]
struct Run {
    replies: Vec<Reply>,
    /// The mean interval between pings, from the summary.
    interval_ms: Option<f64>,
}

#[derive(Debug)]
struct Reply {
    /// Counted on where the 16 bits of the packet wrap.
    sequence: i64,
    rtt_ms: f64,
    /// When it came back, where the line has a stamp.
    stamp_s: Option<f64>,
}

impl Run {
    /// When each ping was sent, in milliseconds from any origin, and its RTT: by the stamps, or by its number and the mean
    /// interval.
    fn timed(&self) -> Option<Vec<(f64, f64)>> {
        let start_s = self.replies.first()?.stamp_s;
        let at = |reply: &Reply| {
            let sent = match start_s.zip(reply.stamp_s) {
                Some((start_s, stamp_s)) => (stamp_s - start_s) * 1e3 - reply.rtt_ms,
                None => reply.sequence as f64 * self.interval_ms?,
            };
            Some((sent, reply.rtt_ms))
        };
        let same_clock = self.replies.iter().all(|reply| reply.stamp_s.is_some() == start_s.is_some());
        if same_clock { self.replies.iter().map(at).collect() } else { None }
    }
}

const A_SEQUENCE: &str = "the number of a ping, such as `icmp_seq=12`: 0 to 65535";
const AN_RTT: &str = "the milliseconds of a ping, such as `time=34.5`";
const A_COUNT: &str = "a number of packets: 0 to 4294967295";

/// The runs with replies.
fn runs(given: &Given<'_>) -> Result<Vec<Run>, TraceError> {
    let (mut runs, mut run) = (Vec::new(), Run::default());
    for (line, text) in (1..).zip(given.text.lines()) {
        let at = |problem| given.at(line, problem);
        let (stamp_s, text) = stamped(text);
        if text.starts_with("PING ") {
            runs.push(std::mem::take(&mut run));
        } else if text.contains(" packets transmitted, ") {
            run.interval_ms = interval_ms(text).map_err(at)?;
        } else if text.contains("icmp_seq=") && text.contains("time=") && !text.ends_with("(DUP!)") {
            let before = run.replies.last().map_or(0, |reply| reply.sequence);
            run.replies.push(reply(text, stamp_s, before).map_err(at)?);
        }
    }
    runs.push(run);
    runs.retain(|run| !run.replies.is_empty());
    Ok(runs)
}

/// The text after `key`, up to a blank.
fn after<'a>(text: &'a str, key: &str) -> &'a str {
    let value = text.split_once(key).map_or("", |(_, value)| value);
    value.split_whitespace().next().unwrap_or_default()
}

fn reply(text: &str, stamp_s: Option<f64>, before: i64) -> Result<Reply, Problem> {
    let sequence = after(text, "icmp_seq=");
    let not_one = |_| Problem::NotANumber { text: shown(sequence), expected: A_SEQUENCE };
    let sequence: u16 = sequence.parse().map_err(not_one)?;
    // The nearest number to the one before, earlier or later, with these 16 bits.
    let step = sequence.wrapping_sub(before as u16) as i16;
    Ok(Reply { sequence: before + i64::from(step), rtt_ms: number(after(text, "time="), AN_RTT)?, stamp_s })
}

/// The stamp before a line, and the line: seconds since 1970 as `ping -D` writes them, `[1727547704.081116]`, or a date such as
/// `[2025-03-15T12:34:56.123456+00:00]`, before each line of the output.
fn stamped(text: &str) -> (Option<f64>, &str) {
    let parts = text.strip_prefix('[').and_then(|text| text.split_once(']'));
    let stamp = parts.and_then(|(stamp, _)| number(stamp, "").ok().or_else(|| clock::date(stamp)));
    match (stamp, parts) {
        (Some(_), Some((_, rest))) => (stamp, rest.trim_start()),
        _ => (None, text),
    }
}

/// The mean interval by a summary with a time: `150 packets transmitted, 149 received, 0.67% packet loss, time 29999ms`.
fn interval_ms(text: &str) -> Result<Option<f64>, Problem> {
    let sent = text.split_whitespace().next().unwrap_or_default();
    let not_one = |_| Problem::NotANumber { text: shown(sent), expected: A_COUNT };
    let intervals = sent.parse::<u32>().map_err(not_one)?.saturating_sub(1);
    let took_ms = number(after(text, ", time ").trim_end_matches("ms"), "").ok();
    Ok(took_ms.filter(|_| intervals > 0).map(|took_ms| took_ms / f64::from(intervals)))
}

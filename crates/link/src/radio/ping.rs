//! Output of `ping`: the wait of a single packet, and of the first one after a pause.

use super::blocks::span;
use super::cycle::Cycle;
use crate::capacity::stats::{mean, percentile, sorted};
use crate::trace::{Problem, TraceError, date, number, shown};

/// One `ping`, from its first line to its summary.
#[derive(Debug, Clone, Default)]
pub(super) struct Run {
    replies: Vec<Reply>,
    /// The summary: packets sent, packets that came back, and the time that it took.
    summary: Option<(u64, u64, Option<f64>)>,
}

#[derive(Debug, Clone, Copy)]
struct Reply {
    /// Counted on where the 16 bits of the packet wrap.
    sequence: i64,
    rtt_ms: f64,
    /// When it came back, where the line has a stamp.
    stamp_s: Option<f64>,
}

/// The findings of pings. Values of a run come from runs of at least 100 replies: the smallest of a few has no meaning.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Pings {
    /// How many runs of at least 100 replies.
    pub runs: usize,
    /// How many of fewer, which count for nothing but losses.
    pub short_runs: usize,
    /// How many packets were sent.
    pub sent: u64,
    /// Share of them that never came back.
    pub lost_share: f64,
    /// Smallest RTT of a run, median over runs.
    pub smallest_ms: Option<f64>,
    /// Median RTT of a run, median over runs.
    pub median_ms: Option<f64>,
    /// The part of a run's mean above its smallest, as a share of the mean, median over runs.
    pub above_smallest_share: Option<f64>,
    /// 95th percentile of a run, median over runs.
    pub p95_ms: Option<f64>,
    /// The first ping of a run.
    pub first: Option<FirstPing>,
    /// The cycle of the uplink's requests; null where nothing says when pings were sent.
    pub cycle: Option<Cycle>,
    /// The condition `access`, as a Scenario has it; null where no cycle shows.
    pub access: Option<String>,
}

/// The extra delay of a run's first ping over the median of its 6th to 30th.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct FirstPing {
    /// How many runs, of those whose first ping came back.
    pub runs: usize,
    /// First quartile.
    pub p25_ms: f64,
    /// Median.
    pub p50_ms: f64,
    /// Third quartile.
    pub p75_ms: f64,
    /// Median of the second ping, in comparison.
    pub second_p50_ms: f64,
}

/// The runs of the published shares have about 150 replies.
const FEWEST_REPLIES: usize = 100;
/// The pings that the first one is held against: the first five may be of a phone that wakes up.
const LATER: std::ops::Range<usize> = 5..30;
/// Fewer first pings tell nothing: of ten runs without any difference, a first quartile above zero comes in one of twenty.
const FEWEST_FIRST: usize = 10;

impl Pings {
    /// The numbers of all runs; nothing where there are none.
    pub(super) fn new(runs: &[&Run]) -> Option<Self> {
        let sent: u64 = runs.iter().map(|run| run.sent()).sum();
        let received: u64 = runs.iter().map(|run| run.received().min(run.sent())).sum();
        let long: Vec<&Run> =
            runs.iter().copied().filter(|run| run.replies.len() >= FEWEST_REPLIES).collect();
        let of_runs = |value: fn(&[f64]) -> Option<f64>| -> Option<f64> {
            let values: Vec<f64> = long.iter().filter_map(|run| value(&sorted(&run.rtts_ms()))).collect();
            percentile(&sorted(&values), 50)
        };
        let first = FirstPing::new(&long);
        let timed: Vec<_> = long.iter().filter_map(|run| run.timed()).collect();
        let cycle = Cycle::new(&timed);
        (!runs.is_empty()).then(|| Self {
            runs: long.len(),
            short_runs: runs.len() - long.len(),
            sent,
            lost_share: (sent - received) as f64 / sent.max(1) as f64,
            smallest_ms: of_runs(|rtts| percentile(rtts, 0)),
            median_ms: of_runs(|rtts| percentile(rtts, 50)),
            above_smallest_share: of_runs(|rtts| mean(rtts).map(|mean| 1.0 - rtts[0] / mean)),
            p95_ms: of_runs(|rtts| percentile(rtts, 95)),
            access: access(cycle.as_ref(), first.as_ref()),
            first,
            cycle,
        })
    }
}

impl FirstPing {
    fn new(runs: &[&Run]) -> Option<Self> {
        let above = |run: &&Run, index: usize| {
            let later = percentile(&sorted(&run.rtts_ms()[LATER]), 50)?;
            let is_first = run.replies[0].sequence <= 1; // some begin with 0
            is_first.then(|| run.replies[index].rtt_ms - later)
        };
        let of = |index| sorted(&runs.iter().filter_map(|run| above(run, index)).collect::<Vec<_>>());
        let (first, second) = (of(0), of(1));
        Some(Self {
            runs: first.len(),
            p25_ms: percentile(&first, 25)?,
            p50_ms: percentile(&first, 50)?,
            p75_ms: percentile(&first, 75)?,
            second_p50_ms: percentile(&second, 50)?,
        })
    }

    /// A phone's wake-up time: the median, if three of four first pings take longer, and the second ones less than half of it.
    fn wake_ms(&self) -> Option<f64> {
        let is_shown =
            self.runs >= FEWEST_FIRST && self.p25_ms > 0.0 && self.second_p50_ms < self.p50_ms / 2.0;
        is_shown.then_some(self.p50_ms)
    }
}

fn access(cycle: Option<&Cycle>, first: Option<&FirstPing>) -> Option<String> {
    let mut text = format!("request={}", span(cycle?.request_ms?));
    if let Some(wake_ms) = first.and_then(FirstPing::wake_ms) {
        text += &format!(", wake={}", span(wake_ms.round().max(1.0)));
    }
    Some(text)
}

impl Run {
    fn is_empty(&self) -> bool {
        self.replies.is_empty() && self.summary.is_none()
    }

    fn rtts_ms(&self) -> Vec<f64> {
        self.replies.iter().map(|reply| reply.rtt_ms).collect()
    }

    /// By the summary, or by the numbers of the packets.
    fn sent(&self) -> u64 {
        let first = self.replies.iter().map(|reply| reply.sequence).min().unwrap_or(1).min(1);
        let numbered = self.replies.iter().map(|reply| reply.sequence - first + 1).max().unwrap_or(0);
        self.summary.map_or(numbered as u64, |(sent, _, _)| sent)
    }

    fn received(&self) -> u64 {
        self.summary.map_or(self.replies.len() as u64, |(_, received, _)| received)
    }

    /// When each ping was sent, in milliseconds since whenever, and its RTT: by the stamps, or by its number and the mean interval.
    pub(super) fn timed(&self) -> Option<Vec<(f64, f64)>> {
        let interval_ms = self.summary.and_then(|(sent, _, took_ms)| {
            let intervals = sent.checked_sub(1).filter(|&intervals| intervals > 0)?;
            Some(took_ms? / intervals as f64)
        });
        let start_s = self.replies.first()?.stamp_s.unwrap_or(0.0);
        let at = |reply: &Reply| {
            let by_stamp = reply.stamp_s.map(|stamp_s| (stamp_s - start_s) * 1e3 - reply.rtt_ms);
            let sent = by_stamp.or_else(|| Some(reply.sequence as f64 * interval_ms?))?;
            Some((sent, reply.rtt_ms))
        };
        let is_stamped = |reply: &Reply| reply.stamp_s.is_some();
        let same_clock = self.replies.iter().all(is_stamped) || !self.replies.iter().any(is_stamped);
        if same_clock { self.replies.iter().map(at).collect() } else { None }
    }
}

const A_SEQUENCE: &str = "the number of a ping, such as `icmp_seq=12`: 0 to 65535";
const AN_RTT: &str = "the milliseconds of a ping, such as `time=34.5`";
const A_COUNT: &str = "a number of packets: 0 to 4294967295";

/// The runs of a file.
pub(super) fn parse(file: &str, text: &str) -> Result<Vec<Run>, TraceError> {
    let (mut runs, mut run) = (Vec::new(), Run::default());
    for (line, text) in (1..).zip(text.lines()) {
        let at = |problem| TraceError::at(file, line, problem);
        let (stamp_s, text) = stamped(text);
        if text.starts_with("PING ") {
            runs.push(std::mem::take(&mut run));
        } else if text.contains(" packets transmitted, ") {
            run.summary = Some(summary(text).map_err(at)?);
        } else if text.contains("icmp_seq=") && text.contains("time=") && !text.ends_with("(DUP!)") {
            let before = run.replies.last().map_or(0, |reply| reply.sequence);
            run.replies.push(reply(text, stamp_s, before).map_err(at)?);
        }
    }
    runs.push(run);
    runs.retain(|run| !run.is_empty());
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
    let stamp = parts.and_then(|(stamp, _)| number(stamp, "").ok().or_else(|| date(stamp)));
    match (stamp, parts) {
        (Some(_), Some((_, rest))) => (stamp, rest.trim_start()),
        _ => (None, text),
    }
}

/// `150 packets transmitted, 149 received, 0.67% packet loss, time 29999ms`.
fn summary(text: &str) -> Result<(u64, u64, Option<f64>), Problem> {
    let count = |text: &str| {
        let word = text.split_whitespace().next().unwrap_or_default();
        word.parse::<u32>()
            .map(u64::from)
            .map_err(|_| Problem::NotANumber { text: shown(word), expected: A_COUNT })
    };
    let took = after(text, ", time ").trim_end_matches("ms");
    Ok((count(text)?, count(after(text, " packets transmitted, "))?, number(took, "").ok()))
}

//! Conclusions from the arrivals on the link: a trace, and its reliability.

use crate::wire::Arrival;
use crate::wire::Report;
use cellcc_link::Capacity;
use cellcc_units::{Bytes, Rate, Span, Time};
use hdrhistogram::Histogram;
use serde::Serialize;
use std::io::{self, Write};

/// A recorded direction of a path.
#[derive(Debug, Clone)]
pub struct Recording {
    begun_at: Time,
    packet: Bytes,
    times: Vec<Time>,
    summary: Summary,
}

/// Facts about a recording.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// From the first arrival that counts to the last, in seconds.
    pub duration_s: f64,
    /// Packets that arrived in it.
    pub packets: u64,
    /// Their size, IP header included.
    pub packet_bytes: u64,
    /// Mean rate in Mbit/s.
    pub mean_mbit_s: f64,
    /// Packets that did not arrive: the queue was full, or the radio lost them.
    pub lost_packets: u64,
    /// Their share of all that were sent.
    pub lost_share: f64,
    /// Packets that the receiver's socket had no room for: lost here, not on the path.
    pub socket_overflows: u64,
    /// Seconds before the queue was there; not part of the trace.
    pub warm_up_s: f64,
    /// Share of the time in which the queue was empty: there the trace shows the sender, not the link.
    pub unsaturated_share: f64,
    /// The longest such time in seconds.
    pub longest_unsaturated_s: f64,
    /// How long the packets waited at the bottleneck, in milliseconds.
    pub queueing_ms: Quantiles,
    /// Round-trip times as the sender saw them, in milliseconds.
    pub rtt_ms: Quantiles,
}

/// Quantiles of a distribution of times, in milliseconds, right within 0.1 %.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Quantiles {
    pub min: f64,
    pub p50: f64,
    pub p95: f64,
    pub p99: f64,
    pub max: f64,
}

/// Times in microseconds, mergeable; see [`Quantiles`].
#[derive(Debug, Clone)]
pub(crate) struct Times(Histogram<u64>);

impl Default for Times {
    fn default() -> Self {
        // 1 us to an hour, three digits. The bounds are in range, so that this does not fail.
        Self(Histogram::new_with_bounds(1, 3_600_000_000, 3).unwrap_or_else(|_| unreachable!("valid bounds")))
    }
}

impl Times {
    pub(crate) fn push(&mut self, span: Span) {
        self.0.saturating_record(span.as_nanos() / 1000);
    }

    pub(crate) fn quantiles(&self) -> Quantiles {
        let millis = |micros: u64| micros as f64 / 1e3;
        let at = |quantile| millis(self.0.value_at_quantile(quantile));
        match self.0.is_empty() {
            true => Quantiles::default(),
            false => Quantiles {
                min: millis(self.0.min()),
                p50: at(0.5),
                p95: at(0.95),
                p99: at(0.99),
                max: millis(self.0.max()),
            },
        }
    }
}

/// Finds where a recording begins: at the first packet that waited as long as the queue should, or that follows a
/// lost packet, which shows that the queue was full.
#[derive(Debug, Clone)]
pub(crate) struct Beginning {
    enough: Span,
    least_delay: Option<i64>,
    next_number: u64,
    /// The first arrival of the next report, unless a report is lost.
    next_reported: u64,
    at: Option<Time>,
}

impl Beginning {
    pub(crate) fn new(enough: Span) -> Self {
        Self { enough, least_delay: None, next_number: 0, next_reported: 0, at: None }
    }

    pub(crate) fn push(&mut self, arrival: &Arrival) {
        let least = self.least_delay.map_or(arrival.delay(), |least| least.min(arrival.delay()));
        let waited = Span::from_nanos(arrival.delay().abs_diff(least));
        if self.at.is_none() && (waited >= self.enough || arrival.number > self.next_number) {
            self.at = Some(arrival.arrived);
        }
        self.least_delay = Some(least);
        self.next_number = self.next_number.max(arrival.number.saturating_add(1));
    }

    /// Adds the arrivals of a report. Where the report before it was lost, a gap in the numbers is no packet loss.
    pub(crate) fn push_report(&mut self, report: &Report) {
        let Some(first) = report.arrivals.first() else { return };
        if report.first != self.next_reported {
            self.next_number = self.next_number.max(first.number);
        }
        self.next_reported = report.first.saturating_add(report.arrivals.len() as u64);
        report.arrivals.iter().for_each(|arrival| self.push(arrival));
    }

    /// On the receiver's clock.
    pub(crate) fn at(&self) -> Option<Time> {
        self.at
    }
}

/// The inputs of a recording.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sources<'a> {
    /// In order of arrival.
    pub(crate) log: &'a [Arrival],
    /// How long a packet waits where the queue is there.
    pub(crate) enough: Span,
    /// Size of a packet.
    pub(crate) packet: Bytes,
    /// How much to keep.
    pub(crate) length: Span,
    /// As measured by the sender.
    pub(crate) rtts: &'a Times,
    /// Packets that the receiver's socket had no room for.
    pub(crate) overflows: u64,
}

impl Recording {
    /// `None` where fewer than two packets arrived, or all at the same time.
    pub(crate) fn new(sources: Sources<'_>) -> Option<Self> {
        let Sources { log, enough, packet, length, rtts, overflows } = sources;
        let mut beginning = Beginning::new(enough);
        log.iter().for_each(|arrival| beginning.push(arrival));
        let begun_at = beginning.at().unwrap_or(log.first()?.arrived);
        let begin = log.partition_point(|arrival| arrival.arrived < begun_at);
        let end = log.partition_point(|arrival| arrival.arrived <= begun_at + length);
        // The first packet is at zero, where no packet could have been waiting yet.
        let (first, kept) = log.get(begin..end)?.split_first()?;
        let last = kept.last()?;

        let duration = Some(last.arrived.since(begun_at)).filter(|duration| *duration > Span::ZERO)?;
        let highest = kept.iter().map(|arrival| arrival.number).max()?;
        let packets = kept.len() as u64;
        let lost = highest.saturating_sub(first.number).saturating_sub(packets);
        let (queueing, empty) = queue(beginning.least_delay?, &log[begin..end]);
        let seconds = duration.as_secs_f64();
        let summary = Summary {
            duration_s: seconds,
            packets,
            packet_bytes: packet.get(),
            mean_mbit_s: Rate::from_transfer(packet * packets, duration).as_mbit_per_sec(),
            lost_packets: lost,
            lost_share: lost as f64 / (lost + packets) as f64,
            socket_overflows: overflows,
            warm_up_s: begun_at.since(log.first()?.arrived).as_secs_f64(),
            unsaturated_share: empty.sum.as_secs_f64() / seconds,
            longest_unsaturated_s: empty.longest.as_secs_f64(),
            queueing_ms: queueing.quantiles(),
            rtt_ms: rtts.quantiles(),
        };
        let times = kept.iter().map(|arrival| Time::ZERO + arrival.arrived.since(begun_at)).collect();
        Some(Self { begun_at, packet, times, summary })
    }

    /// When it began, on the receiver's `CLOCK_MONOTONIC`.
    pub fn begun_at(&self) -> Time {
        self.begun_at
    }

    /// When each packet arrived, counted from the beginning, to the nanosecond.
    pub fn times(&self) -> &[Time] {
        &self.times
    }

    /// Facts about it.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// Writes it as a Mahimahi trace: for each 1500 bytes, the millisecond at which they had arrived.
    ///
    /// # Errors
    /// Of the writer.
    pub fn write_mahimahi(&self, out: &mut impl Write) -> io::Result<()> {
        let (size, mut carried) = (Capacity::OPPORTUNITY, Bytes::ZERO);
        for time in &self.times {
            carried += self.packet;
            while carried >= size {
                carried -= size;
                // Never zero: Mahimahi takes an opportunity at zero for one at the end.
                writeln!(out, "{}", time.as_nanos().div_ceil(1_000_000).max(1))?;
            }
        }
        Ok(())
    }
}

/// Times without a queue.
#[derive(Debug, Default)]
struct EmptyQueue {
    sum: Span,
    longest: Span,
}

/// How long each packet waited, and how long the queue was empty. A packet that waited less than the gap before its
/// arrival found the link idle for the rest of the gap.
fn queue(least_delay: i64, arrivals: &[Arrival]) -> (Times, EmptyQueue) {
    let (mut queueing, mut empty) = (Times::default(), EmptyQueue::default());
    for pair in arrivals.windows(2) {
        let waited = Span::from_nanos(pair[1].delay().abs_diff(least_delay));
        queueing.push(waited);
        let idle = pair[1].arrived.since(pair[0].arrived).saturating_sub(waited);
        empty.sum += idle;
        empty.longest = empty.longest.max(idle);
    }
    (queueing, empty)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    fn recording(log: &[(u64, u64, u64)], packet: u64) -> Option<Recording> {
        let log: Vec<Arrival> = log
            .iter()
            .map(|&(number, sent, arrived)| Arrival { number, sent: at(sent), arrived: at(arrived) })
            .collect();
        Recording::new(Sources {
            log: &log,
            enough: Span::from_millis(20),
            packet: Bytes::new(packet),
            length: Span::from_secs(10),
            rtts: &Times::default(),
            overflows: 0,
        })
    }

    fn text(recording: &Recording) -> String {
        let mut text = Vec::new();
        recording.write_mahimahi(&mut text).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn a_recording_begins_when_the_queue_is_there() {
        // The clocks are 1 s apart; the third packet is the first that waits for 20 ms.
        let log = [(0, 1000, 5), (1, 1000, 15), (2, 1000, 25), (3, 1000, 35), (4, 1000, 35), (5, 1000, 46)];
        let recording = recording(&log, 1500).unwrap();
        assert_eq!(text(&recording), "10\n10\n21\n");
        assert_eq!((recording.begun_at(), recording.summary().warm_up_s), (at(25), 0.02));
        assert_eq!(recording.summary().unsaturated_share, 0.0);
    }

    #[test]
    fn a_queue_that_runs_dry_is_noticed() {
        let log = [(0, 0, 10), (1, 0, 30), (2, 60, 70), (3, 60, 80)];
        // Sent at 60 with nothing before it since 30: its 70 is 10 of delay and 40 less 0 of an idle link.
        let recording = recording(&log, 1500).unwrap();
        assert_eq!(recording.summary().longest_unsaturated_s, 0.04);
        assert_eq!(recording.summary().unsaturated_share, 0.04 / 0.05);
    }

    #[test]
    fn losses_are_counted_and_take_no_opportunity() {
        let recording = recording(&[(0, 0, 10), (2, 0, 20), (5, 0, 30)], 1500).unwrap();
        assert_eq!((recording.summary().lost_packets, text(&recording).as_str()), (2, "10\n"));
    }

    #[test]
    fn smaller_packets_share_an_opportunity() {
        let recording =
            recording(&[(0, 0, 10), (1, 0, 30), (2, 0, 40), (3, 0, 50), (4, 0, 60)], 1000).unwrap();
        assert_eq!(text(&recording), "20\n30\n");
    }

    #[test]
    fn packets_of_one_instant_are_no_recording() {
        assert!(recording(&[(0, 0, 10)], 1500).is_none() && recording(&[], 1500).is_none());
        assert!(recording(&[(0, 0, 10), (1, 0, 10), (2, 0, 10)], 1500).is_none());
    }

    #[test]
    fn only_a_gap_between_arrivals_that_are_all_known_is_a_loss() {
        let arrival = |number| Arrival { number, sent: at(10 * number), arrived: at(10 * number + 5) };
        let begins = |second_report_at: u64| {
            let mut beginning = Beginning::new(Span::from_millis(20));
            beginning.push_report(&Report { first: 0, arrivals: vec![arrival(0)] });
            beginning.push_report(&Report { first: second_report_at, arrivals: vec![arrival(7)] });
            beginning.at()
        };
        assert_eq!((begins(1), begins(7)), (Some(at(75)), None));
    }
}

//! Frames with a deadline, as the receiver sees them.

use crate::{Application, Distribution, Metrics, Source};
use cellcc_units::{Span, Time};
use std::collections::{BTreeMap, BTreeSet};

/// Counts frames that arrived whole and in time.
#[derive(Debug, Clone)]
pub struct Frames {
    deadline: Span,
    /// Distinct segments received of each frame that is not whole yet.
    partial: BTreeMap<u64, BTreeSet<u64>>,
    in_time: u64,
    /// Frames created before this do not count.
    from: Time,
    shown: Shown,
}

/// Quality of an adaptive stream for its viewer. Delays are `None` where no frame arrived.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs, reason = "the names are those of `Metrics`")]
pub struct MediaOutcome {
    pub frame_delay_p50_ms: Option<f64>,
    pub frame_delay_p95_ms: Option<f64>,
    pub freezes: u64,
    pub freeze_ratio: f64,
    pub media_rate_mbit_s: f64,
    pub rate_switches: u64,
    pub frames_discarded: u64,
}

impl MediaOutcome {
    /// Takes it down among the metrics of its flow.
    pub(crate) fn fill(self, metrics: &mut Metrics) {
        metrics.frame_delay_p50_ms = self.frame_delay_p50_ms;
        metrics.frame_delay_p95_ms = self.frame_delay_p95_ms;
        metrics.freezes = Some(self.freezes);
        metrics.freeze_ratio = Some(self.freeze_ratio);
        metrics.media_rate_mbit_s = Some(self.media_rate_mbit_s);
        metrics.rate_switches = Some(self.rate_switches);
        metrics.frames_discarded = Some(self.frames_discarded);
    }
}

impl Frames {
    /// No frame has arrived yet; each has `deadline` from its creation. Those created before `from` do not count.
    pub fn new(deadline: Span, from: Time) -> Self {
        Self { deadline, partial: BTreeMap::new(), in_time: 0, from, shown: Shown::default() }
    }

    /// A segment arrives, for the first time or again.
    pub fn on_segment(&mut self, now: Time, segment: u64, application: &Application) {
        let Some((frame, segments)) = application.frame_of(segment) else { return };
        let created_at = application.frame_created_at(frame);
        let in_time = now <= created_at + self.deadline;
        if !in_time && !application.is_adaptive() {
            self.partial.remove(&frame); // Late already: nothing can save it.
            return;
        }
        let arrived = self.partial.entry(frame).or_default();
        arrived.insert(segment);
        if arrived.len() as u64 == segments {
            // A repeated segment after this opens an entry that never fills again; it is small.
            self.partial.remove(&frame);
            if created_at >= self.from {
                self.in_time += u64::from(in_time);
                self.shown.on_frame(now, frame, created_at);
            }
        }
    }

    /// Frames whose deadline fell before `end`, and the share of them that missed it. None where there was no frame.
    pub fn outcome(&self, application: &Application, end: Time) -> Option<(u64, f64)> {
        let due = (0..).take_while(|&frame| {
            let created = application.frame_created_at(frame);
            created < application.stop() && created + self.deadline <= end
        });
        let due = due.filter(|&frame| application.frame_created_at(frame) >= self.from).count() as u64;
        let missed = due.saturating_sub(self.in_time);
        (due > 0).then(|| (due, missed as f64 / due as f64))
    }

    /// Quality of an adaptive stream for its viewer until `end`.
    pub fn media_outcome(&self, application: &Application, end: Time) -> Option<MediaOutcome> {
        let (media_rate_mbit_s, rate_switches, frames_discarded) = application.media(self.from)?;
        let delays = self.shown.delays.summary();
        let (freezes, frozen) = self.shown.until(end);
        let seen = end.since(self.from.max(application.start()));
        Some(MediaOutcome {
            frame_delay_p50_ms: delays.map(|delays| delays.p50_ms),
            frame_delay_p95_ms: delays.map(|delays| delays.p95_ms),
            freezes,
            freeze_ratio: frozen.as_secs_f64() / seen.as_secs_f64().max(f64::MIN_POSITIVE),
            media_rate_mbit_s,
            rate_switches,
            frames_discarded,
        })
    }
}

/// Frames as a viewer sees them: whole, and none older than the last.
#[derive(Debug, Clone, Default)]
struct Shown {
    /// From creation to the arrival of the last byte.
    delays: Distribution,
    last: Option<(u64, Time)>,
    freezes: u64,
    frozen: Span,
}

impl Shown {
    fn on_frame(&mut self, now: Time, frame: u64, created_at: Time) {
        self.delays.add(now.since(created_at));
        if self.last.is_none_or(|(last, _)| frame > last) {
            (self.freezes, self.frozen) = self.until(now);
            self.last = Some((frame, now));
        }
    }

    /// Freezes, and how long they lasted together, up to `now`: gaps between frames above 3 frame times and above a frame time
    /// and 150 ms, as WebRTC counts them.
    fn until(&self, now: Time) -> (u64, Span) {
        let frame_time = Span::from_nanos(1_000_000_000 / Source::FRAMES_PER_SECOND);
        let gap = self.last.map_or(Span::ZERO, |(_, shown)| now.since(shown));
        if gap > (frame_time * 3).max(frame_time + Span::from_millis(150)) {
            (self.freezes + 1, self.frozen + gap)
        } else {
            (self.freezes, self.frozen)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_of_more_than_a_frame_and_150_ms_is_a_freeze_and_a_late_older_frame_ends_none() {
        let at = |millis| Time::ZERO + Span::from_millis(millis);
        let mut shown = Shown::default();
        for (now, frame) in [(20, 0), (186, 1), (300, 3), (400, 2), (467, 4)] {
            shown.on_frame(at(now), frame, at(0));
        }
        assert_eq!((shown.freezes, shown.frozen), (1, Span::from_millis(167)));
        assert_eq!(shown.until(at(1467)), (2, Span::from_millis(1167)));
        assert_eq!(shown.delays.summary().unwrap().max_ms.round(), 467.0);
    }
}

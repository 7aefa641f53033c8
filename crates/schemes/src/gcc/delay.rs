//! The delay gradient: groups of packets, the trend of their delay, and whether it shows over-use.

use cellcc_units::{Span, Time};
use std::collections::VecDeque;

/// Packets sent within this of a group's first are one group; so is a burst that arrives as fast (libwebrtc).
const GROUP: Span = Span::from_millis(5);
const BURST: Span = Span::from_millis(5);
const LONGEST_BURST: Span = Span::from_millis(100);
/// Groups out of order in a row after which all restarts (libwebrtc).
const MOST_REORDERED: u32 = 3;
/// Constants of the trend (libwebrtc): smoothing, window in groups, gain, and the groups up to which that grows.
const SMOOTHING: f64 = 0.9;
const WINDOW: usize = 20;
const GAIN: f64 = 4.0;
const MOST_GROUPS: u32 = 60;
/// Constants of the threshold (libwebrtc): first value, gains per ms above and below, bounds, and the size of a spike.
const FIRST_THRESHOLD: f64 = 12.5;
const GAIN_ABOVE: f64 = 0.0087;
const GAIN_BELOW: f64 = 0.039;
const THRESHOLDS: (f64, f64) = (6.0, 600.0);
const SPIKE: f64 = 15.0;
const LONGEST_STEP_MS: f64 = 100.0;
/// Over-use is over the threshold for longer than this of send time (libwebrtc).
const OVERUSE_MS: f64 = 10.0;

/// The delay's verdict on the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Usage {
    Normal,
    Over,
    Under,
}

/// Packets that left together.
#[derive(Debug, Clone, Copy)]
struct Group {
    first_sent: Time,
    last_sent: Time,
    first_arrived: Time,
    last_arrived: Time,
}

/// Judges by arrivals in their order.
#[derive(Debug)]
pub(super) struct Detector {
    previous: Option<Group>,
    current: Option<Group>,
    reordered: u32,
    trend: Trend,
}

impl Detector {
    pub(super) fn new() -> Self {
        Self { previous: None, current: None, reordered: 0, trend: Trend::new() }
    }

    pub(super) fn usage(&self) -> Usage {
        self.trend.usage
    }

    /// The trend as it is compared with the threshold, and that, in ms.
    pub(super) fn shown(&self) -> (f64, f64) {
        (self.trend.modified, self.trend.threshold)
    }

    pub(super) fn on_arrival(&mut self, sent: Time, arrived: Time) {
        let Some(group) = &mut self.current else {
            self.current = Some(Group {
                first_sent: sent,
                last_sent: sent,
                first_arrived: arrived,
                last_arrived: arrived,
            });
            return;
        };
        if sent < group.first_sent {
            return;
        }
        if group.takes(sent, arrived) {
            group.last_sent = group.last_sent.max(sent);
            group.last_arrived = arrived;
            return;
        }
        let ended = *group;
        if let Some(previous) = self.previous {
            if ended.last_arrived < previous.last_arrived {
                self.reordered += 1;
                if self.reordered >= MOST_REORDERED {
                    *self = Self { trend: std::mem::replace(&mut self.trend, Trend::new()), ..Self::new() };
                }
                return;
            }
            self.reordered = 0;
            let sent_ms = millis(ended.last_sent) - millis(previous.last_sent);
            let arrived_ms = millis(ended.last_arrived) - millis(previous.last_arrived);
            self.trend.on_group(sent_ms, arrived_ms, millis(arrived));
        }
        self.previous = Some(ended);
        self.current =
            Some(Group { first_sent: sent, last_sent: sent, first_arrived: arrived, last_arrived: arrived });
    }
}

impl Group {
    fn takes(&self, sent: Time, arrived: Time) -> bool {
        if sent == self.last_sent || sent.since(self.first_sent) <= GROUP {
            return true;
        }
        let (apart, sent_apart) = (arrived.since(self.last_arrived), sent.since(self.last_sent));
        apart < sent_apart && apart <= BURST && arrived.since(self.first_arrived) < LONGEST_BURST
    }
}

fn millis(time: Time) -> f64 {
    time.as_secs_f64() * 1e3
}

/// The trendline and the adaptive threshold.
#[derive(Debug)]
struct Trend {
    groups: u32,
    delay: f64,
    smoothed: f64,
    /// Arrival and smoothed delay of the last groups.
    points: VecDeque<(f64, f64)>,
    slope: f64,
    modified: f64,
    threshold: f64,
    updated_ms: Option<f64>,
    /// For how long it has been over, and how often in a row.
    over_ms: Option<f64>,
    times_over: u32,
    usage: Usage,
}

impl Trend {
    fn new() -> Self {
        Self {
            groups: 0,
            delay: 0.0,
            smoothed: 0.0,
            points: VecDeque::new(),
            slope: 0.0,
            modified: 0.0,
            threshold: FIRST_THRESHOLD,
            updated_ms: None,
            over_ms: None,
            times_over: 0,
            usage: Usage::Normal,
        }
    }

    /// A group left `sent_ms` after the last, and arrived `arrived_ms` after it; it is `now_ms`.
    fn on_group(&mut self, sent_ms: f64, arrived_ms: f64, now_ms: f64) {
        self.groups += 1;
        self.delay += arrived_ms - sent_ms;
        self.smoothed = SMOOTHING * self.smoothed + (1.0 - SMOOTHING) * self.delay;
        self.points.push_back((now_ms, self.smoothed));
        if self.points.len() > WINDOW {
            self.points.pop_front();
        }
        let before = self.slope;
        if self.points.len() == WINDOW {
            self.slope = slope(&self.points).unwrap_or(before);
        }
        if self.groups < 2 {
            return;
        }
        self.modified = f64::from(self.groups.min(MOST_GROUPS)) * self.slope * GAIN;
        self.judge(sent_ms, before);
        self.adapt(self.modified.abs(), now_ms);
    }

    fn judge(&mut self, sent_ms: f64, slope_before: f64) {
        if self.modified > self.threshold {
            let over = self.over_ms.map_or(sent_ms / 2.0, |over| over + sent_ms);
            self.over_ms = Some(over);
            self.times_over += 1;
            if over > OVERUSE_MS && self.times_over > 1 && self.slope >= slope_before {
                self.over_ms = Some(0.0);
                self.times_over = 0;
                self.usage = Usage::Over;
            }
            return;
        }
        self.over_ms = None;
        self.times_over = 0;
        self.usage = if self.modified < -self.threshold { Usage::Under } else { Usage::Normal };
    }

    fn adapt(&mut self, modified: f64, now_ms: f64) {
        let since = now_ms - self.updated_ms.replace(now_ms).unwrap_or(now_ms);
        if modified > self.threshold + SPIKE {
            return;
        }
        let gain = if modified < self.threshold { GAIN_BELOW } else { GAIN_ABOVE };
        self.threshold += gain * (modified - self.threshold) * since.min(LONGEST_STEP_MS);
        self.threshold = self.threshold.clamp(THRESHOLDS.0, THRESHOLDS.1);
    }
}

/// The slope of the line with the least squares; `None` if all points have one time.
fn slope(points: &VecDeque<(f64, f64)>) -> Option<f64> {
    let count = points.len() as f64;
    let mean_x = points.iter().map(|(x, _)| x).sum::<f64>() / count;
    let mean_y = points.iter().map(|(_, y)| y).sum::<f64>() / count;
    let (mut above, mut below) = (0.0, 0.0);
    for (x, y) in points {
        above += (x - mean_x) * (y - mean_y);
        below += (x - mean_x) * (x - mean_x);
    }
    (below > 0.0).then(|| above / below)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_threshold_follows_the_trend_by_the_published_gains() {
        let mut trend = Trend::new();
        trend.adapt(0.0, 0.0);
        assert_eq!(trend.threshold, 12.5, "no time has passed");
        trend.adapt(20.0, 50.0);
        assert!((trend.threshold - 15.7625).abs() < 1e-12, "{}", trend.threshold);
        trend.adapt(5.0, 100.0);
        assert_eq!(trend.threshold, 6.0);
        trend.adapt(21.1, 150.0);
        assert_eq!(trend.threshold, 6.0, "a spike changes nothing");
    }

    #[test]
    fn a_queue_that_grows_is_overuse_and_one_that_drains_is_underuse() {
        let usage = |apart_us: u64| {
            let mut detector = Detector::new();
            for group in 0..40 {
                let (sent, arrived) = (group * 10_000, group * apart_us);
                let at = |micros| Time::from_nanos((1_000_000 + micros) * 1000);
                detector.on_arrival(at(sent), at(arrived));
            }
            detector.usage()
        };
        assert_eq!([usage(10_000), usage(12_000), usage(8_000)], [Usage::Normal, Usage::Over, Usage::Under]);
    }

    #[test]
    fn packets_of_one_burst_are_one_group() {
        let at = |millis: u64| Time::from_nanos(millis * 1_000_000);
        let group =
            Group { first_sent: at(0), last_sent: at(0), first_arrived: at(20), last_arrived: at(20) };
        assert!(group.takes(at(5), at(40)));
        assert!(!group.takes(at(6), at(40)));
        assert!(group.takes(at(20), at(24)), "held on the way, and released with the group");
        assert!(!group.takes(at(4000), at(120)), "no burst is so long");
    }
}

//! The text of early September 2026: the window grows faster while the RTT is at its floor.
//!
//! Its sections: 1.1 object delivery and 1.2 low latency, 3 overview, 4 sender state, 5 accelerated increase, 6 observing the
//! bottleneck queue (6.1 the full-queue round-trip time, 6.2 per-period minima, 6.3 recalibration), 7 properties. Names of values
//! are its names.
//!
//! Left open there: an acknowledgement that carries no RTT sample changes no observation. "In congestion avoidance" leaves out
//! recovery. Before a first `full_rtt` nothing is faster and nothing is observed again. `cwnd_epoch` is ssthresh, which is the
//! window that each of our epochs begins with. After a recalibration's cut `W_max` is unset and not the reduced window: the curve
//! is the same, and so is the next cut, since the window only grows until then.

use super::{Congestion, Model, Pace, Seen, Stage};
use cellcc_control::growth::Cubic;
use cellcc_units::{Bytes, Span, Time};

/// Section 5: "full_rtt > bottom_rtt() + 10ms", and section 6.3: "smoothed_rtt >= bottom_rtt() + 10ms".
const READABLE_QUEUE: Span = Span::from_millis(10);
/// Section 5: "full_rtt > latest_rtt * 1.05".
const HEADROOM: f64 = 1.05;
/// Section 5, `drain_threshold`: "min_rtt + 2ms", "cur_period_min + 2ms", and `ratio`: "2ms / drain_threshold()".
const QUEUE_PER_ROUND: Span = Span::from_millis(2);
/// Section 5, `ratio`: "1/40".
const LEAST_RATIO: f64 = 1.0 / 40.0;
/// Section 6.2, `update`: "est.variance = 5ms".
const FIRST_VARIANCE: Span = Span::from_millis(5);
/// Section 6.3: "beta_recalibration = 1 / (2 * (2 - beta_cubic))".
const BETA_RECALIBRATION: f64 = 1.0 / (2.0 * (2.0 - Cubic::BETA));

/// The state of section 4.
#[derive(Debug, Clone, Default)]
pub(super) struct Floor {
    full_rtt: Option<Span>,
    cur_period_min: Option<Span>,
    past_periods_min: Option<Estimate>,
    last_high_queue_at: Time,
    bytes_accelerated: Bytes,
    /// The recovery period was entered from slow start.
    from_slow_start: bool,
    /// In the slow start that a recalibration began.
    recalibrates: bool,
}

#[derive(Debug, Clone, Copy)]
struct Estimate {
    smoothed: Span,
    variance: Span,
}

impl Estimate {
    /// Section 6.2, `update`.
    fn update(past: Option<Self>, sample: Span) -> Self {
        match past {
            None => Self { smoothed: sample, variance: FIRST_VARIANCE },
            Some(Self { smoothed, variance }) => Self {
                variance: (variance * 3 + smoothed.abs_diff(sample)) / 4,
                smoothed: (smoothed * 7 + sample) / 8,
            },
        }
    }
}

impl Floor {
    /// Section 4, `bottom_rtt`.
    fn bottom_rtt(&self, min_rtt: Span) -> Span {
        let floor = self
            .past_periods_min
            .map_or(min_rtt, |past| past.smoothed.saturating_sub(past.variance).max(min_rtt));
        self.cur_period_min.map_or(floor, |least| floor.min(least))
    }

    /// Section 5, `drain_threshold`.
    fn drain_threshold(&self, past: Estimate, min_rtt: Span) -> Span {
        let estimated_floor = past.smoothed.saturating_sub(past.variance / 2);
        let threshold = estimated_floor.max(min_rtt + QUEUE_PER_ROUND);
        self.cur_period_min.map_or(threshold, |least| threshold.min(least + QUEUE_PER_ROUND))
    }

    /// Section 5, `abba_cwnd`: `drain_threshold`, where the two ends of the queue can be told apart.
    fn open_threshold(&self, min_rtt: Span) -> Option<Span> {
        let past = self.past_periods_min?;
        let is_readable = self.full_rtt? > self.bottom_rtt(min_rtt) + READABLE_QUEUE;
        is_readable.then(|| self.drain_threshold(past, min_rtt))
    }

    /// Section 6.3: the observation of the full queue is due again.
    fn is_outdated(&mut self, seen: &Seen<'_>, full_rtt: Span) -> bool {
        let bottom = self.bottom_rtt(seen.rtt.min());
        if seen.rtt.smoothed() >= bottom + READABLE_QUEUE {
            self.last_high_queue_at = seen.now;
            return false;
        }
        let is_readable = full_rtt > bottom + READABLE_QUEUE;
        if is_readable && self.bytes_accelerated < seen.window.mul_f64((1.0 - Cubic::BETA) / 4.0) {
            return false;
        }
        let intervals = if is_readable { 2 } else { 8 };
        let interval = expected_high_queue_interval(seen.ssthresh.in_packets(seen.packet), full_rtt, bottom);
        seen.now.since(self.last_high_queue_at) >= interval * intervals
    }
}

/// Section 6.3, `expected_high_queue_interval`.
fn expected_high_queue_interval(cwnd_epoch: f64, full_rtt: Span, bottom_rtt: Span) -> Span {
    let k = libm::cbrt((cwnd_epoch / Cubic::BETA - cwnd_epoch) / Cubic::C);
    let full = full_rtt.as_secs_f64();
    let reno = Cubic::C * k * k * k / Cubic::ALPHA * full;
    Span::from_secs_f64(k.min(reno) * libm::cbrt(full / bottom_rtt.as_secs_f64()))
}

/// Section 5, `ratio`.
fn ratio(drain_threshold: Span) -> f64 {
    let by_queue = QUEUE_PER_ROUND.as_secs_f64() / drain_threshold.as_secs_f64();
    by_queue.clamp(LEAST_RATIO, (1.0 / Cubic::BETA - 1.0) / 2.0)
}

impl Model for Floor {
    fn on_ack(&mut self, seen: &Seen<'_>) -> Pace {
        if let Some(sample) = seen.sample.filter(|_| seen.stage != Stage::Recovery) {
            self.cur_period_min = Some(self.cur_period_min.map_or(sample, |least| least.min(sample)));
        }
        let (Some(full_rtt), Some(latest), Stage::Avoidance, true) =
            (self.full_rtt, seen.rtt.latest(), seen.stage, seen.cwnd_limited)
        else {
            return Pace::Cubic;
        };
        if seen.sample.is_some() && self.is_outdated(seen, full_rtt) {
            self.recalibrates = true;
            return Pace::SlowStart;
        }
        match self.open_threshold(seen.rtt.min()) {
            Some(threshold) if full_rtt > latest.mul_f64(HEADROOM) && latest < threshold => {
                let accelerated = seen.window + seen.acked.mul_f64(ratio(threshold));
                if accelerated > seen.cubic {
                    self.bytes_accelerated += accelerated - seen.window;
                }
                Pace::Faster(accelerated)
            }
            _ => Pace::Cubic,
        }
    }

    fn on_congestion(&mut self, event: &Congestion) -> Option<f64> {
        if let Some(least) = self.cur_period_min.take() {
            self.past_periods_min = Some(Estimate::update(self.past_periods_min, least));
        }
        if event.marked {
            self.last_high_queue_at = event.now;
        }
        self.bytes_accelerated = Bytes::ZERO;
        self.from_slow_start = event.from_slow_start;
        std::mem::take(&mut self.recalibrates).then_some(BETA_RECALIBRATION)
    }

    fn on_recovered(&mut self, now: Time, _window: Bytes, srtt: Span) {
        if self.from_slow_start {
            self.full_rtt = Some(srtt);
            self.last_high_queue_at = now;
        }
    }

    /// Section 4: "with one exception: last_high_queue_at is retained".
    fn restore(&mut self, after: &Self) {
        self.last_high_queue_at = after.last_high_queue_at;
    }

    fn threshold(&self, _window: Bytes, min_rtt: Span) -> Option<Span> {
        self.open_threshold(min_rtt)
    }
}

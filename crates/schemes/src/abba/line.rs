//! The text of late September 2026: the RTT as a line over the window, and faster growth where the RTT lies below it.
//!
//! Its sections: 1.1 object delivery and 1.2 active queue management, 2 conventions, 3 overview, 4 the round-trip time model (4.1
//! the high point, 4.2 the low point, 4.3 fitting the line, 4.4 beyond the observed range), 5 accelerated increase, 6 properties.
//! Names of values are its names. Its section 6.2 says itself that the gain is too large for the weaker reduction after a mark of
//! RFC 8511, which CUBIC here does not have.
//!
//! Left open there: "through the end of the recovery period" leaves out the acknowledgement that ends it, whose packet left after the
//! cut. `rtt_floor()`, "the lowest round-trip time observed over the last round trip", is over the last smoothed RTT. The line beyond
//! the observed range is drawn at an acknowledgement in congestion avoidance, before the increase.

use super::{Congestion, Model, Pace, Seen, Stage};
use cellcc_control::{filters::RecentMin, growth::Cubic};
use cellcc_units::{Bytes, Span, Time};

/// Section 3: "RTT_SPAN_THRESH, 5ms".
const RTT_SPAN_THRESH: f64 = 0.005;
/// Section 3: "MAX_SLOPE_RATIO, 2/3".
const MAX_SLOPE_RATIO: f64 = 2.0 / 3.0;
/// Section 5: "gain = 2 / 3 * (1 - w_ref / cwnd)".
const GAIN: f64 = 2.0 / 3.0;
/// Section 5: "min(segments_acked * gain, cwnd / 2)".
const MOST_PER_ACK: f64 = 0.5;

/// The state of section 4.
#[derive(Debug, Clone, Default)]
pub(super) struct Line {
    high: Option<Point>,
    low: Option<Point>,
    fit: Option<Fit>,
    /// The period began with a mark: samples of its recovery do not count.
    marked: bool,
    floor: RecentMin<Span>,
}

/// A window in bytes, and the RTT in seconds that it had.
#[derive(Debug, Clone, Copy)]
struct Point {
    cwnd: f64,
    rtt: f64,
}

/// An RTT of `a * cwnd + b`, in seconds and bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Fit {
    a: f64,
    b: f64,
}

impl Fit {
    fn rtt(self, cwnd: f64) -> f64 {
        self.a * cwnd + self.b
    }
}

impl Line {
    /// Section 4.2: the low point moves, and section 4.3, `fit`.
    fn set_low(&mut self, low: Point) {
        self.low = Some(low);
        let Some(high) = self.high.filter(|high| high.cwnd > low.cwnd) else { return };
        let span = high.rtt - low.rtt;
        self.fit = Some(if span < RTT_SPAN_THRESH {
            Fit { a: 0.0, b: low.rtt }
        } else {
            let a = (span / (high.cwnd - low.cwnd)).min(low.rtt / low.cwnd) * MAX_SLOPE_RATIO;
            Fit { a, b: low.rtt - a * low.cwnd }
        });
    }

    /// Section 4.4: far beyond the high point the line begins at the origin.
    fn extrapolate(&mut self, cwnd: f64) {
        let (Some(high), Some(floor)) = (self.high, self.floor.min()) else { return };
        if self.fit.is_none_or(|fit| fit.b != 0.0) && cwnd > high.cwnd * (2.0 - Cubic::BETA) {
            let floor = floor.as_secs_f64();
            let target = self.fit.map_or(floor, |fit| fit.rtt(cwnd).max(floor));
            self.fit = Some(Fit { a: target / cwnd, b: 0.0 });
        }
    }
}

impl Model for Line {
    fn on_ack(&mut self, seen: &Seen<'_>) -> Pace {
        let cwnd = seen.window.as_f64();
        if let Some(sample) = seen.sample {
            self.floor.add(seen.now, sample, seen.rtt.smoothed());
            let rtt = sample.as_secs_f64();
            match (seen.stage, &mut self.high, self.low) {
                (Stage::Recovery, Some(high), _) if !self.marked => high.rtt = high.rtt.min(rtt),
                (Stage::Avoidance, _, Some(low)) if rtt < low.rtt => self.set_low(Point { cwnd, rtt }),
                _ => {}
            }
        }
        if seen.stage != Stage::Avoidance {
            return Pace::Cubic;
        }
        self.extrapolate(cwnd);
        let (Some(fit), Some(latest), true) = (self.fit, seen.rtt.latest(), seen.cwnd_limited) else {
            return Pace::Cubic;
        };
        let latest = latest.as_secs_f64();
        if fit.a <= 0.0 || latest >= fit.rtt(cwnd) {
            return Pace::Cubic;
        }
        let w_ref = (latest - fit.b) / fit.a;
        let gain = GAIN * (1.0 - w_ref / cwnd);
        Pace::Faster(seen.window + seen.acked.mul_f64(gain).min(seen.window.mul_f64(MOST_PER_ACK)))
    }

    fn on_congestion(&mut self, event: &Congestion) -> Option<f64> {
        let floor = self.floor.min().filter(|_| event.marked);
        let rtt = floor.unwrap_or(event.latest_rtt).as_secs_f64();
        self.high = Some(Point { cwnd: event.window.as_f64(), rtt });
        (self.low, self.fit, self.marked) = (None, None, event.marked);
        None
    }

    fn on_recovered(&mut self, _now: Time, window: Bytes, _srtt: Span) {
        if let Some(high) = self.high {
            self.set_low(Point { cwnd: window.as_f64(), rtt: high.rtt });
        }
    }

    fn threshold(&self, window: Bytes, _min_rtt: Span) -> Option<Span> {
        let fit = self.fit.filter(|fit| fit.a > 0.0)?;
        Some(Span::from_secs_f64(fit.rtt(window.as_f64())))
    }
}

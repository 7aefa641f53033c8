//! The sender's window: enough packets in flight to keep a queue at the bottleneck.

use crate::wire::Arrival;
use cellcc_units::{ParseError, Span, Time};
use std::fmt;
use std::str::FromStr;

/// How long packets are to wait at the bottleneck.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueDelay {
    lower: Span,
    upper: Span,
}

impl QueueDelay {
    /// 250 ms to 1 s. The original keeps the round-trip time between 750 ms and 3 s. A third of that overflows the
    /// operator's queue less, and still bridges most gaps of an LTE link.
    pub const DEFAULT: Self = Self { lower: Span::from_millis(250), upper: Span::from_secs(1) };

    /// The window grows while packets wait less than `lower`, and shrinks where they wait more than `upper`. `None`
    /// unless `lower` is above 1 ms and `upper` at least twice it and at most a minute: the window answers one
    /// round-trip time late and may double in it.
    pub fn new(lower: Span, upper: Span) -> Option<Self> {
        let range = Span::from_millis(1)..=Span::from_secs(60);
        (range.contains(&lower) && range.contains(&upper) && upper >= lower * 2)
            .then_some(Self { lower, upper })
    }

    /// Below this the window grows.
    pub fn lower(self) -> Span {
        self.lower
    }

    /// Above this it shrinks.
    pub fn upper(self) -> Span {
        self.upper
    }
}

impl FromStr for QueueDelay {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let parse = || {
            let (lower, upper) = text.split_once("..")?;
            Self::new(lower.parse().ok()?, upper.parse().ok()?)
        };
        parse().ok_or_else(|| {
            ParseError::new(
                text,
                "a range of queueing delays such as `250ms..1s`: from 1ms up to 1min, the second at least twice the first",
            )
        })
    }
}

impl fmt::Display for QueueDelay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.lower, self.upper)
    }
}

/// As TCP begins (RFC 6928).
const INITIAL_WINDOW: u64 = 10;
/// At 0.1 Mbit/s four packets of 1500 bytes are 480 ms of queue.
const MIN_WINDOW: u64 = 4;
/// 1 s at 12 Gbit/s.
const MAX_WINDOW: u64 = 1 << 20;
/// A round that loses more than this share meets a queue that is full already: a larger window would only waste data.
const FULL_QUEUE_LOSS: f64 = 1.0 / 8.0;
/// A round that loses more than this share has a window far above the path's capacity.
const OVERFLOW_LOSS: f64 = 1.0 / 4.0;
/// A round lasts as long as the queue: a larger step could empty the queue before its effect is seen.
const LARGEST_STEP_DOWN: f64 = 0.5;

/// The sender without its socket: what to send when.
///
/// ```text
///              queueing delay < lower: + 1 for each packet that arrived (doubles in a round-trip time)
/// each report: unless the round before lost more than 1/8 of its packets
///
/// each round:  least queueing delay > upper: x sqrt(lower x upper) / delay
///              loss > 1/4: x the share that arrived
///              (neither below half)
/// silence of `upper`: one packet beyond the window, so that the end of an outage is noticed
/// ```
#[derive(Debug, Clone)]
pub struct Saturator {
    bounds: QueueDelay,
    window: u64,
    next_number: u64,
    /// One above the highest number that is reported: packets below it have arrived or are lost.
    reported_below: u64,
    /// The smallest one-way delay so far, with the unknown offset between the two clocks.
    least_delay: Option<i64>,
    round: Round,
    grows: bool,
    last_activity: Time,
    rtt: Option<Span>,
    queueing: Span,
}

/// The packets that were in flight together.
#[derive(Debug, Clone, Copy)]
struct Round {
    first: u64,
    end: u64,
    arrived: u64,
    least_queueing: Span,
}

impl Saturator {
    /// Nothing sent yet.
    pub fn new(bounds: QueueDelay, now: Time) -> Self {
        Self {
            bounds,
            window: INITIAL_WINDOW,
            next_number: 0,
            reported_below: 0,
            least_delay: None,
            round: Round { first: 0, end: 0, arrived: 0, least_queueing: Span::MAX },
            grows: true,
            last_activity: now,
            rtt: None,
            queueing: Span::ZERO,
        }
    }

    /// The number of the packet to send now; `None`: wait until [`Saturator::next_wake`] or a report.
    pub fn next_packet(&mut self, now: Time) -> Option<u64> {
        if self.in_flight() >= self.window && now < self.next_wake() {
            return None;
        }
        let number = self.next_number;
        self.next_number += 1;
        self.last_activity = now;
        Some(number)
    }

    /// When to send although the window is full, if no report comes before.
    pub fn next_wake(&self) -> Time {
        self.last_activity + self.bounds.upper
    }

    /// A report came at `now`, with the arrivals since the one before.
    pub fn on_report(&mut self, now: Time, arrivals: &[Arrival]) {
        for arrival in arrivals {
            self.on_arrival(arrival);
        }
        if let Some(last) = arrivals.last() {
            self.last_activity = now;
            self.rtt = Some(now.since(last.sent));
        }
    }

    fn on_arrival(&mut self, arrival: &Arrival) {
        // A packet that was never sent cannot have arrived.
        if arrival.number >= self.next_number {
            return;
        }
        let least = self.least_delay.map_or(arrival.delay(), |least| least.min(arrival.delay()));
        self.least_delay = Some(least);
        self.queueing = Span::from_nanos(arrival.delay().abs_diff(least));
        self.round.arrived += 1;
        self.round.least_queueing = self.round.least_queueing.min(self.queueing);
        self.reported_below = self.reported_below.max(arrival.number + 1);
        if self.grows && self.queueing < self.bounds.lower {
            self.window = (self.window + 1).min(MAX_WINDOW);
        }
        if self.reported_below > self.round.end {
            self.end_round();
        }
    }

    fn end_round(&mut self) {
        let Round { first, arrived, least_queueing, .. } = self.round;
        let share = (arrived as f64 / (self.reported_below - first).max(1) as f64).min(1.0);
        self.grows = 1.0 - share <= FULL_QUEUE_LOSS;
        let (lower, upper) = (self.bounds.lower.as_secs_f64(), self.bounds.upper.as_secs_f64());
        let factor = if least_queueing > self.bounds.upper {
            (lower * upper).sqrt() / least_queueing.as_secs_f64()
        } else if 1.0 - share > OVERFLOW_LOSS {
            share
        } else {
            1.0
        };
        self.window = ((self.window as f64 * factor.max(LARGEST_STEP_DOWN)) as u64).max(MIN_WINDOW);
        self.round = Round {
            first: self.reported_below,
            end: self.next_number,
            arrived: 0,
            least_queueing: Span::MAX,
        };
    }

    /// Packets that have neither arrived nor are known to be lost.
    pub fn in_flight(&self) -> u64 {
        self.next_number - self.reported_below
    }

    /// The window in packets.
    pub fn window(&self) -> u64 {
        self.window
    }

    /// Packets sent so far.
    pub fn sent(&self) -> u64 {
        self.next_number
    }

    /// The round-trip time of the packet reported last; `None` before the first report.
    pub fn rtt(&self) -> Option<Span> {
        self.rtt
    }

    /// How long the packet reported last waited at the bottleneck.
    pub fn queueing(&self) -> Span {
        self.queueing
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn millis(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    fn send_all(sender: &mut Saturator, now: Time) -> Vec<u64> {
        std::iter::from_fn(|| sender.next_packet(now)).collect()
    }

    fn arrival(number: u64, sent: u64, arrived: u64) -> Arrival {
        Arrival { number, sent: millis(sent), arrived: millis(arrived) }
    }

    #[test]
    fn the_window_doubles_while_the_queue_is_short() {
        let mut sender = Saturator::new(QueueDelay::DEFAULT, Time::ZERO);
        assert_eq!(send_all(&mut sender, Time::ZERO).len(), 10);
        let arrivals: Vec<Arrival> = (0..10).map(|number| arrival(number, 0, 7)).collect();
        sender.on_report(millis(20), &arrivals);
        assert_eq!(send_all(&mut sender, millis(20)).len(), 20);
        assert_eq!(sender.rtt(), Some(Span::from_millis(20)));
    }

    #[test]
    fn a_queue_between_the_bounds_leaves_the_window_as_it_is() {
        let mut sender = Saturator::new(QueueDelay::DEFAULT, Time::ZERO);
        send_all(&mut sender, Time::ZERO);
        sender.on_report(millis(10), &[arrival(0, 0, 5)]);
        let window = sender.window();
        let later: Vec<Arrival> = (1..10).map(|number| arrival(number, 0, 305)).collect();
        sender.on_report(millis(310), &later);
        assert_eq!(sender.window(), window);
    }

    #[test]
    fn a_queue_above_the_upper_bound_shrinks_the_window_once_a_round() {
        let mut sender = Saturator::new(QueueDelay::DEFAULT, Time::ZERO);
        send_all(&mut sender, Time::ZERO);
        let first: Vec<Arrival> = (0..10).map(|number| arrival(number, 0, 5)).collect();
        sender.on_report(millis(10), &first);
        let sent = send_all(&mut sender, millis(10));
        let window = sender.window();
        let late: Vec<Arrival> = sent.iter().map(|&number| arrival(number, 10, 3000)).collect();
        sender.on_report(millis(3000), &late[..1]);
        let more = send_all(&mut sender, millis(3000));
        sender.on_report(millis(3000), &late[1..]);
        assert_eq!(sender.window(), window, "this round began with short delays");
        let late: Vec<Arrival> = more.iter().map(|&number| arrival(number, 3000, 6000)).collect();
        sender.on_report(millis(6000), &late);
        assert_eq!(sender.window(), window / 2);
    }

    #[test]
    fn silence_is_broken_by_a_packet_beyond_the_window() {
        let mut sender = Saturator::new(QueueDelay::DEFAULT, Time::ZERO);
        send_all(&mut sender, Time::ZERO);
        assert_eq!(sender.next_packet(millis(999)), None);
        assert_eq!(sender.next_packet(millis(1000)), Some(10));
        assert_eq!((sender.next_packet(millis(1000)), sender.next_wake()), (None, millis(2000)));
    }

    #[test]
    fn a_range_of_delays_is_read_and_a_narrow_one_refused() {
        assert_eq!("250ms..1s".parse(), Ok(QueueDelay::DEFAULT));
        assert_eq!(QueueDelay::DEFAULT.to_string(), "250ms..1s");
        for text in ["1s", "1s..250ms", "250ms..300ms", "0s..1s", "1s..1h"] {
            assert!(text.parse::<QueueDelay>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_report_makes_the_window_leave_its_range_or_panics(
            reports in proptest::collection::vec(
                (any::<u64>(), proptest::collection::vec((0u64..300, any::<u64>(), any::<u64>()), 0..20)), 1..50
            )
        ) {
            let mut sender = Saturator::new(QueueDelay::DEFAULT, Time::ZERO);
            for (now, arrivals) in reports {
                let now = Time::from_nanos(now);
                for _ in 0..100 { sender.next_packet(now); }
                let arrivals: Vec<Arrival> = arrivals.into_iter().map(|(number, sent, arrived)| Arrival {
                    number, sent: Time::from_nanos(sent), arrived: Time::from_nanos(arrived)
                }).collect();
                sender.on_report(now, &arrivals);
                prop_assert!((MIN_WINDOW..=MAX_WINDOW).contains(&sender.window()));
                prop_assert!(sender.in_flight() <= sender.sent());
            }
        }
    }
}

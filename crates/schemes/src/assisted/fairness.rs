//! Who says how many flows share the user's bottleneck: beta in the paper's equation 1.

use cellcc_assist::Advice;
use cellcc_control::{
    Arguments, Arrival, Context, Feedback, Parameter, ReceiverComponent, Verdict, filters::WindowedMax, kind,
};
use cellcc_units::{Bytes, Rate, Span, Time};

pub(super) const FAIRNESS: Parameter<kind::Choice<Fairness>> = fairness(Fairness::Network);

/// The parameter with the default of one scheme.
pub(super) const fn fairness(default: Fairness) -> Parameter<kind::Choice<Fairness>> {
    Parameter::new(
        "fairness",
        kind::Choice(&[
            ("network", Fairness::Network),
            ("report", Fairness::Report),
            ("acks", Fairness::Acks),
            ("none", Fairness::None),
        ]),
        default,
        "who shares among the user's flows: by the network's count, by the user's in its ACKs, by regulated ACKs, nobody",
        "paper, section 2.1: the user; the network's own count needs no change there",
    )
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fairness {
    Network,
    Report,
    Acks,
    None,
}

impl Fairness {
    /// Beta, by the network's advice and the user's last report.
    pub(super) fn flows(self, advice: &Advice, reported: u32) -> u32 {
        match self {
            Self::Network => advice.flows,
            Self::Report => reported,
            // The receiver sees to the share.
            Self::Acks | Self::None => 1,
        }
        .max(1)
    }
}

/// The receiver-side component, where the arguments need one.
pub(super) fn receiver(arguments: &Arguments, _context: &Context) -> Option<Box<dyn ReceiverComponent>> {
    match arguments.get(&FAIRNESS) {
        Fairness::Report => Some(Box::new(FlowReporter { report: FlowReport::FIRST })),
        Fairness::Acks => Some(Box::new(AckRegulator::new())),
        Fairness::Network | Fairness::None => None,
    }
}

/// How many flows the user has: NATCP's only message, two bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FlowReport {
    /// Counts the changes of `flows`, modulo 256, so that a report that arrives late is known.
    pub(super) change: u8,
    /// The flows; 255 also stands for more.
    pub(super) flows: u8,
}

impl FlowReport {
    /// One flow is what both ends assume until the user says otherwise.
    pub(super) const FIRST: Self = Self { change: 0, flows: 1 };

    pub(super) fn encode(self) -> Feedback {
        Feedback::new(&[self.change, self.flows]).expect("two bytes fit")
    }

    fn decode(message: &Feedback) -> Option<Self> {
        match *message.as_bytes() {
            [change, flows] => Some(Self { change, flows }),
            _ => None,
        }
    }

    fn is_newer_than(self, other: Self) -> bool {
        (1..=u8::MAX / 2).contains(&self.change.wrapping_sub(other.change))
    }

    /// The sender takes a report where it is newer than this one.
    pub(super) fn update(&mut self, message: &Feedback) -> Verdict {
        match Self::decode(message) {
            None => Verdict::Malformed,
            Some(report) if report.is_newer_than(*self) => {
                *self = report;
                Verdict::Taken
            }
            Some(_) => Verdict::Stale,
        }
    }
}

/// Tells the sender with every ACK how many flows the user has: a report that is lost is made good by the next.
#[derive(Debug)]
struct FlowReporter {
    report: FlowReport,
}

impl ReceiverComponent for FlowReporter {
    fn on_packet(&mut self, _arrival: &Arrival) {}

    fn on_user_flows(&mut self, _now: Time, flows: u32) {
        let flows = u8::try_from(flows).unwrap_or(u8::MAX);
        if flows != self.report.flows {
            self.report = FlowReport { change: self.report.change.wrapping_add(1), flows };
        }
    }

    fn feedback(&mut self, _now: Time) -> Option<Feedback> {
        Some(self.report.encode())
    }
}

/// The user's rate is taken over this time: the paper's feedback period.
const RATE_SPAN: Span = Span::from_millis(50);
/// The largest of so many rates is what the user's link can do (500 ms): with the last rate alone, which the regulated ACKs
/// themselves set, two flows on TMobile-LTE-driving.down used 63 % of it.
const RATES: u64 = 10;
/// An ACK waits for this long at most, since the sender's probe time-out does not know of the wait: half of the smallest
/// that Linux' TCP has (`TCP_RTO_MIN`, 200 ms).
const MAX_WAIT: Span = Span::from_millis(100);

/// Lets ACKs leave at the flow's share of what arrives for its user, so that a sender with a full window can send no more
/// than that (the paper's indirect way, section 2.1, which leaves the rule open).
#[derive(Debug)]
struct AckRegulator {
    flows: u32,
    /// All that arrived for the user, and when its rate was taken last.
    arrived: Bytes,
    taken: Bytes,
    taken_at: Time,
    rates: WindowedMax<Rate>,
    taken_count: u64,
    share: Option<Rate>,
    /// When the next ACK may leave, and the last one left.
    next_at: Time,
    released_at: Time,
}

impl AckRegulator {
    fn new() -> Self {
        Self {
            flows: 1,
            arrived: Bytes::ZERO,
            taken: Bytes::ZERO,
            taken_at: Time::ZERO,
            rates: WindowedMax::new(RATES),
            taken_count: 0,
            share: None,
            next_at: Time::ZERO,
            released_at: Time::ZERO,
        }
    }
}

impl ReceiverComponent for AckRegulator {
    fn on_packet(&mut self, arrival: &Arrival) {
        let elapsed = arrival.now.since(self.taken_at);
        if elapsed >= RATE_SPAN {
            self.taken_count += 1;
            self.rates.add(self.taken_count, Rate::from_transfer(self.arrived - self.taken, elapsed));
            let rate = self.rates.max().filter(|_| self.flows > 1);
            self.share = rate.map(|rate| rate.mul_f64(1.0 / f64::from(self.flows)));
            self.taken = self.arrived;
            self.taken_at = arrival.now;
        }
    }

    fn on_user_flows(&mut self, _now: Time, flows: u32) {
        self.flows = flows;
    }

    fn on_user_arrivals(&mut self, _now: Time, arrived: Bytes) {
        self.arrived = arrived;
    }

    fn release_at(&self, _now: Time, _bytes: Bytes) -> Time {
        self.next_at.min(self.released_at + MAX_WAIT)
    }

    fn holds_acks(&self) -> bool {
        true
    }

    fn on_released(&mut self, now: Time, bytes: Bytes) {
        self.released_at = now;
        self.next_at = match self.share {
            Some(share) => self.next_at.max(now - RATE_SPAN) + share.time_for(bytes).min(MAX_WAIT),
            None => now,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_taken_once_and_neither_older_ones_nor_other_bytes_are() {
        let mut known = FlowReport::FIRST;
        let report = |change, flows| FlowReport { change, flows }.encode();
        assert_eq!(known.update(&report(1, 3)), Verdict::Taken);
        assert_eq!(known.update(&report(1, 3)), Verdict::Stale);
        assert_eq!(known.update(&report(255, 9)), Verdict::Stale, "two changes before");
        assert_eq!(known.update(&Feedback::new(&[2]).expect("short")), Verdict::Malformed);
        assert_eq!(known.flows, 3);
    }
}

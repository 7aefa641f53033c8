//! The source of the number of flows that share the user's bottleneck: beta in the paper's equation 1.

use cellcc_control::{
    Ack, Advice, Arguments, Arrival, Context, Controller, Event, Feedback, Limits, Loss, Observer, Parameter,
    ReceiverComponent, Sent, Tag, Verdict, filters::WindowedMax, kind,
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
        "division among the user's flows: by the network's count, by the user's in its ACKs, by regulated ACKs, or none",
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

/// The user's number of flows: NATCP's only message, two bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FlowReport {
    /// Counts the changes of `flows`, modulo 256, so that a report that arrives late is known.
    pub(super) change: u8,
    /// The flows; 255 also stands for more.
    pub(super) flows: u8,
}

impl FlowReport {
    /// Both ends assume one flow until the user reports another number.
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
/// The largest of this many rates is the capacity of the user's link (500 ms): with the last rate alone, which the regulated
/// ACKs themselves set, two flows on TMobile-LTE-driving.down used 63 % of it.
const RATES: u64 = 10;
/// The longest gap between two ACKs, since the sender's probe time-out does not know of it: half of the smallest time-out of
/// Linux's TCP (`TCP_RTO_MIN`, 200 ms).
const MAX_WAIT: Span = Span::from_millis(100);

/// Releases ACKs at the flow's share of its user's arrivals, so that a sender with a full window can send no more than that
/// (the paper's indirect way, section 2.1, which leaves the rule open).
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
    /// Times at which the next ACK may leave and the last one left.
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

// A scheme that runs behind limits that are not its own: it sees everything, and decides when asked.

/// The base of an assisted scheme. Its window must not grow without bound behind a smaller limit, and must grow behind
/// one that lets as much through as it would itself. So it learns that it is the limit exactly in rounds in which the data in
/// flight reach its own window.
pub(super) struct Background {
    base: Box<dyn Controller>,
    limits: Limits,
    round: u64,
    /// The last round in which the base's own window was reached.
    reached_round: Option<u64>,
    /// Limits are exceeded, in a probe: the base must not grow by the data in flight then.
    pub(super) exceeds: bool,
    /// The last round in which they were.
    exceeded_round: Option<u64>,
}

impl Background {
    pub(super) fn new(base: Box<dyn Controller>) -> Self {
        Self {
            limits: base.limits(),
            base,
            round: 0,
            reached_round: None,
            exceeds: false,
            exceeded_round: None,
        }
    }

    /// The base scheme's limits.
    pub(super) fn limits(&self) -> Limits {
        self.limits
    }

    pub(super) fn on_sent(&mut self, sent: &Sent) -> Tag {
        self.note(sent.inflight, sent.packet_size);
        let tag = self.base.on_sent(sent);
        self.limits = self.base.limits();
        tag
    }

    /// `alone` where the limits are the base's own, and the flow's judgement of them is true.
    pub(super) fn on_ack(&mut self, ack: &Ack<'_>, alone: bool) {
        self.round = ack.round;
        self.note(ack.inflight_before, ack.packet_size);
        let reached = self.reached_round.is_some_and(|reached| ack.round.saturating_sub(1) <= reached);
        let mut judged = *ack;
        if !alone {
            judged.cwnd_limited = reached;
        }
        self.base.on_ack(&judged);
        self.limits = self.base.limits();
    }

    pub(super) fn on_loss(&mut self, loss: &Loss<'_>) {
        self.base.on_loss(loss);
        self.limits = self.base.limits();
    }

    pub(super) fn on_event(&mut self, now: Time, event: Event) {
        self.base.on_event(now, event);
        self.limits = self.base.limits();
    }

    pub(super) fn next_timer(&self) -> Option<Time> {
        self.base.next_timer()
    }

    pub(super) fn on_timer(&mut self, now: Time) {
        if self.base.next_timer().is_some_and(|due| due <= now) {
            self.base.on_timer(now);
            self.limits = self.base.limits();
        }
    }

    pub(super) fn observe(&self, observer: &mut dyn Observer) {
        self.base.observe(observer);
    }

    fn note(&mut self, inflight: Bytes, packet_size: Bytes) {
        if self.exceeds {
            self.exceeded_round = Some(self.round);
        }
        let is_of_probe = self.exceeded_round.is_some_and(|exceeded| self.round <= exceeded + 1);
        if !is_of_probe && inflight + packet_size > self.limits.window {
            self.reached_round = Some(self.round);
        }
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

//! The receiver's side: the component of the peer's scheme that runs here.

use super::message::{Body, Message, Refusal, VERSION};
use super::totals::{Arrivals, Totals};
use cellcc_control::{Context, Feedback, ReceiverComponent, Registry, Signal, Verdict};
use cellcc_units::{Bytes, Rate, Span, Time};

/// Totals are polled this often while data arrive: a fifth of RBBR's sampling interval (10 ms), so that the error at the
/// interval's edges is small against the variation of cellular links, and above the resolution of timers (1 ms).
pub const POLL_INTERVAL: Span = Span::from_millis(2);
/// Polling interval after [`IDLE_AFTER`] without data. The first data after that are seen this much later.
const IDLE_POLL_INTERVAL: Span = Span::from_millis(20);
const IDLE_AFTER: Span = Span::from_millis(100);

/// Interval between feedback messages.
const FEEDBACK_INTERVAL: Span = Span::from_millis(10);
/// The interval below [`SLOW_RATE`], where messages are a larger share: they stay below 40 kbit/s.
const SLOW_FEEDBACK_INTERVAL: Span = Span::from_millis(20);
const SLOW_RATE: Rate = Rate::from_bytes_per_sec(20_000_000 / 8);
/// Bytes that must arrive between two feedback messages, three quarters of a packet: more than the acknowledgements that
/// feedback itself causes (70 bytes each), so that an idle connection sends none.
const MIN_BYTES_BETWEEN_FEEDBACK: Bytes = Bytes::new(1125);
/// Unchanged feedback, such as a number of flows, is repeated this often, in case it was lost.
const REPEAT_INTERVAL: Span = Span::from_millis(100);

/// The context of a component: full packets on an Ethernet path, and ten of them at first (RFC 9002, section 7.2).
pub(super) const CONTEXT: Context = Context::new(Bytes::new(1500), Bytes::new(15_000), 0);

/// The peer's flow, as an offer named it, and our answer.
pub(super) struct ReceiverRole {
    flow: u32,
    scheme: String,
    receiver: Result<Receiver, Refusal>,
    answer_is_due: bool,
}

/// The component, with the times of its polls and its feedback.
struct Receiver {
    component: Box<dyn ReceiverComponent>,
    arrivals: Arrivals,
    /// The newest signal. The component gets it with the next packet.
    signal: Option<Signal>,
    arrived_at: Time,
    poll_at: Time,
    feedback_at: Time,
    fed_back_at: Time,
    since_feedback: Bytes,
    last_feedback: Option<(Feedback, Time)>,
}

impl ReceiverRole {
    /// Builds the component of the offer.
    pub(super) fn new(
        now: Time,
        registry: &Registry,
        flow: u32,
        versions: &[u8],
        scheme: String,
        totals: Totals,
    ) -> Self {
        let receiver = if versions.contains(&VERSION) {
            build(registry, &scheme).map(|component| Receiver::new(now, component, totals))
        } else {
            Err(Refusal::Version)
        };
        Self { flow, scheme, receiver, answer_is_due: true }
    }

    pub(super) fn flow(&self) -> u32 {
        self.flow
    }

    /// The scheme whose component runs.
    pub(super) fn scheme(&self) -> Option<&str> {
        self.receiver.is_ok().then_some(&self.scheme)
    }

    /// The component, to observe.
    pub(super) fn component(&self) -> Option<&dyn ReceiverComponent> {
        self.receiver.as_ref().ok().map(|receiver| receiver.component.as_ref())
    }

    /// Answers a repeated offer: the first answer was lost.
    pub(super) fn answer_again(&mut self) {
        self.answer_is_due = true;
    }

    pub(super) fn on_user_flows(&mut self, now: Time, flows: u32) {
        if let Ok(receiver) = &mut self.receiver {
            receiver.component.on_user_flows(now, flows);
        }
    }

    /// Keeps a signal for the next packet. Returns the component's verdict on the signal that was kept before.
    pub(super) fn on_signal(&mut self, signal: Signal) -> Option<Verdict> {
        let receiver = self.receiver.as_mut().ok()?;
        let earlier = receiver.signal.replace(signal)?;
        Some(receiver.component.on_signal(&earlier))
    }

    /// True while a signal waits for the packet that it comes with.
    pub(super) fn keeps_signal(&self) -> bool {
        self.receiver.as_ref().is_ok_and(|receiver| receiver.signal.is_some())
    }

    /// Passes arrivals on. Returns the component's verdict on the kept signal, if a packet has arrived since.
    pub(super) fn on_totals(&mut self, now: Time, totals: Totals) -> Option<Verdict> {
        self.receiver.as_mut().ok()?.on_totals(now, totals)
    }

    pub(super) fn next_wake(&self) -> Option<Time> {
        let poll_at = self.receiver.as_ref().ok().map(|receiver| receiver.poll_at);
        if self.answer_is_due { Some(Time::ZERO) } else { poll_at }
    }

    /// The next message to the sender, if one is due.
    pub(super) fn poll(&mut self, now: Time) -> Option<Message> {
        let flow = self.flow;
        if std::mem::take(&mut self.answer_is_due) {
            let answer = self.receiver.as_ref().map(|_| VERSION).map_err(|refusal| *refusal);
            return Some(Message { flow, body: Body::Answer(answer) });
        }
        let feedback = self.receiver.as_mut().ok()?.feedback(now)?;
        Some(Message { flow, body: Body::Feedback(feedback) })
    }
}

fn build(registry: &Registry, scheme: &str) -> Result<Box<dyn ReceiverComponent>, Refusal> {
    let scheme = registry.parse(scheme).map_err(|_| Refusal::UnknownScheme)?;
    scheme.build_receiver(&CONTEXT).ok_or(Refusal::NoComponent)
}

impl Receiver {
    fn new(now: Time, component: Box<dyn ReceiverComponent>, totals: Totals) -> Self {
        Self {
            component,
            arrivals: Arrivals::new(now, totals),
            signal: None,
            arrived_at: now,
            poll_at: now + POLL_INTERVAL,
            feedback_at: now + FEEDBACK_INTERVAL,
            fed_back_at: now,
            since_feedback: Bytes::ZERO,
            last_feedback: None,
        }
    }

    fn on_totals(&mut self, now: Time, totals: Totals) -> Option<Verdict> {
        let arrived = self.arrivals.show(now, totals, self.component.as_mut(), &mut self.signal);
        if arrived.datagrams > 0 {
            self.arrived_at = now;
        }
        self.since_feedback += arrived.bytes;
        let is_idle = now.since(self.arrived_at) > IDLE_AFTER;
        self.poll_at = now + if is_idle { IDLE_POLL_INTERVAL } else { POLL_INTERVAL };
        if self.component.next_timer().is_some_and(|due| due <= now) {
            // Its feedback is collected at the next feedback interval, not now.
            self.component.on_timer(now);
        }
        arrived.signal
    }

    fn feedback(&mut self, now: Time) -> Option<Feedback> {
        if now < self.feedback_at || self.since_feedback < MIN_BYTES_BETWEEN_FEEDBACK {
            return None;
        }
        let rate = Rate::from_transfer(self.since_feedback, now.since(self.fed_back_at));
        let every = if rate < SLOW_RATE { SLOW_FEEDBACK_INTERVAL } else { FEEDBACK_INTERVAL };
        // Counted from the due time, so that a late poll does not delay all that follow.
        self.feedback_at = (self.feedback_at + every).max(now);
        self.fed_back_at = now;
        self.since_feedback = Bytes::ZERO;
        let feedback = self.component.feedback(now)?;
        let is_known =
            self.last_feedback.is_some_and(|(last, at)| last == feedback && now.since(at) < REPEAT_INTERVAL);
        if is_known {
            return None;
        }
        self.last_feedback = Some((feedback, now));
        Some(feedback)
    }
}

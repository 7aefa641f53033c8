//! The receiver's side: the half of the peer's scheme that runs here.

use super::message::{Body, Message, Refusal, VERSION};
use super::totals::{Arrivals, Totals};
use cellcc_control::{Context, Feedback, ReceiverHalf, Registry, Signal};
use cellcc_units::{Bytes, Rate, Span, Time};

/// Totals are looked at this often while data comes: a fifth of RBBR's sampling interval (10 ms), so that what
/// the edges of an interval are off by is small against what cellular links vary by, and no finer than timers are (1 ms).
pub const POLL: Span = Span::from_millis(2);
/// ... and this often when nothing has come for [`IDLE_AFTER`]: what comes then is seen so much later, once.
const IDLE_POLL: Span = Span::from_millis(20);
const IDLE_AFTER: Span = Span::from_millis(100);

/// Feedback leaves this often ...
const FEEDBACK_EVERY: Span = Span::from_millis(10);
/// ... or this, below [`SLOW`], where a packet of its own weighs more (issue: at most 40 kbit/s).
const FEEDBACK_EVERY_SLOW: Span = Span::from_millis(20);
const SLOW: Rate = Rate::from_bytes_per_sec(20_000_000 / 8);
/// So much must have arrived since the last feedback, three quarters of a packet: more than the acknowledgements that
/// feedback itself causes (70 bytes each), so that an idle connection falls silent.
const FEEDBACK_AFTER: Bytes = Bytes::new(1125);
/// A count of flows that has not changed is repeated this often, in case it was lost.
const FLOWS_EVERY: Span = Span::from_millis(100);

/// What a half is built with: full packets on an Ethernet path, and RFC 9002's ten of them (section 7.2).
pub(super) const CONTEXT: Context =
    Context { packet: Bytes::new(1500), initial_window: Bytes::new(15_000), seed: 0 };

/// The peer's flow, as an offer named it, and our answer.
pub(super) struct Running {
    flow: u32,
    scheme: String,
    half: Result<Half, Refusal>,
    answer_is_due: bool,
}

struct Half {
    half: Box<dyn ReceiverHalf>,
    arrivals: Arrivals,
    signal: Option<Signal>,
    newest_epoch: Option<u32>,
    arrived_at: Time,
    poll_at: Time,
    feedback_at: Time,
    fed_back_at: Time,
    since_feedback: Bytes,
    flows: Option<(u32, Time)>,
    flows_sequence: u64,
}

impl Running {
    /// Builds what the offer asks for.
    pub(super) fn new(
        now: Time,
        registry: &Registry,
        flow: u32,
        versions: &[u8],
        scheme: String,
        totals: Totals,
    ) -> Self {
        let half = if versions.contains(&VERSION) {
            build(registry, &scheme).map(|half| Half::new(now, half, totals))
        } else {
            Err(Refusal::Version)
        };
        Self { flow, scheme, half, answer_is_due: true }
    }

    pub(super) fn flow(&self) -> u32 {
        self.flow
    }

    /// The scheme whose half runs.
    pub(super) fn scheme(&self) -> Option<&str> {
        self.half.is_ok().then_some(&self.scheme)
    }

    /// The half, to look at.
    pub(super) fn half(&self) -> Option<&dyn ReceiverHalf> {
        self.half.as_ref().ok().map(|half| half.half.as_ref())
    }

    /// The same offer again: the answer was lost.
    pub(super) fn answer_again(&mut self) {
        self.answer_is_due = true;
    }

    pub(super) fn on_user_flows(&mut self, now: Time, flows: u32) {
        if let Ok(half) = &mut self.half {
            half.half.on_user_flows(now, flows);
        }
    }

    /// Keeps a signal for the next packet. False where it is out of date, or there is no half.
    pub(super) fn on_signal(&mut self, signal: Signal) -> bool {
        self.half.as_mut().is_ok_and(|half| half.on_signal(signal))
    }

    pub(super) fn on_totals(&mut self, now: Time, totals: Totals) {
        if let Ok(half) = &mut self.half {
            half.on_totals(now, totals);
        }
    }

    pub(super) fn next_wake(&self) -> Option<Time> {
        let half = self.half.as_ref().ok().map(|half| half.poll_at);
        if self.answer_is_due { Some(Time::ZERO) } else { half }
    }

    /// What is due to the sender.
    pub(super) fn poll(&mut self, now: Time) -> Option<Message> {
        let flow = self.flow;
        if std::mem::take(&mut self.answer_is_due) {
            let answer = self.half.as_ref().map(|_| VERSION).map_err(|refusal| *refusal);
            return Some(Message { flow, body: Body::Answer(answer) });
        }
        let body = self.half.as_mut().ok()?.feedback(now)?;
        Some(Message { flow, body })
    }
}

fn build(registry: &Registry, scheme: &str) -> Result<Box<dyn ReceiverHalf>, Refusal> {
    let scheme = registry.parse(scheme).map_err(|_| Refusal::UnknownScheme)?;
    scheme.build_receiver_half(&CONTEXT).ok_or(Refusal::NoHalf)
}

impl Half {
    fn new(now: Time, half: Box<dyn ReceiverHalf>, totals: Totals) -> Self {
        Self {
            half,
            arrivals: Arrivals::new(now, totals),
            signal: None,
            newest_epoch: None,
            arrived_at: now,
            poll_at: now + POLL,
            feedback_at: now + FEEDBACK_EVERY,
            fed_back_at: now,
            since_feedback: Bytes::ZERO,
            flows: None,
            flows_sequence: 0,
        }
    }

    fn on_signal(&mut self, signal: Signal) -> bool {
        let is_older =
            self.newest_epoch.is_some_and(|newest| signal.epoch.wrapping_sub(newest) > u32::MAX / 2);
        if !is_older {
            self.newest_epoch = Some(signal.epoch);
            self.signal = Some(signal);
        }
        !is_older
    }

    fn on_totals(&mut self, now: Time, totals: Totals) {
        let arrived = self.arrivals.show(now, totals, self.half.as_mut(), &mut self.signal);
        if arrived.datagrams > 0 {
            self.arrived_at = now;
        }
        self.since_feedback += arrived.bytes;
        let is_idle = now.since(self.arrived_at) > IDLE_AFTER;
        self.poll_at = now + if is_idle { IDLE_POLL } else { POLL };
        if self.half.next_timer().is_some_and(|due| due <= now) {
            // Whether it wants to be heard at once or with an acknowledgement: it is asked at the next tick.
            self.half.on_timer(now);
        }
    }

    fn feedback(&mut self, now: Time) -> Option<Body> {
        if now < self.feedback_at || self.since_feedback < FEEDBACK_AFTER {
            return None;
        }
        let rate = Rate::from_transfer(self.since_feedback, now.since(self.fed_back_at));
        let every = if rate < SLOW { FEEDBACK_EVERY_SLOW } else { FEEDBACK_EVERY };
        // From when it was due: a look that comes late does not make all that follow late.
        self.feedback_at = (self.feedback_at + every).max(now);
        self.fed_back_at = now;
        self.since_feedback = Bytes::ZERO;
        match self.half.feedback(now)? {
            Feedback::Rate(rate) => Some(Body::Feedback(rate)),
            Feedback::UserFlows(flows) => {
                let is_known =
                    self.flows.is_some_and(|(told, at)| told == flows && now.since(at) < FLOWS_EVERY);
                if is_known {
                    return None;
                }
                self.flows = Some((flows, now));
                self.flows_sequence += 1;
                Some(Body::UserFlows { sequence: self.flows_sequence, flows })
            }
        }
    }
}

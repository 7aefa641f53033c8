//! The receiver-side component of a scheme: its inputs, its messages to the sender, and the release of acknowledgements.

use crate::contract::Ecn;
use crate::message::{ArrivalReport, Feedback, Signal, Verdict};
use crate::observer::Observer;
use cellcc_units::{Bytes, Time};

/// The part of a scheme that runs at the receiver. Pure, like a [`Controller`](crate::Controller).
pub trait ReceiverComponent: Send {
    /// A data packet arrived.
    fn on_packet(&mut self, arrival: &Arrival);

    /// The sender's signal arrived. Called before [`on_packet`](Self::on_packet) of the packet that brought it.
    fn on_signal(&mut self, _signal: &Signal) -> Verdict {
        Verdict::Malformed
    }

    /// The number of flows that this receiver's user now has, this one included.
    fn on_user_flows(&mut self, _now: Time, _flows: u32) {}

    /// The total bytes that have arrived for this receiver's user, over all its flows. Called before each packet.
    fn on_user_arrivals(&mut self, _now: Time, _arrived: Bytes) {}

    /// When [`on_timer`](Self::on_timer) wants to be called next; asked again after every event.
    fn next_timer(&self) -> Option<Time> {
        None
    }

    /// The time of its timer has come.
    fn on_timer(&mut self, _now: Time) {}

    /// True where feedback must leave now, although no acknowledgement is due. Asked after [`on_timer`](Self::on_timer).
    fn has_urgent_feedback(&self, _now: Time) -> bool {
        false
    }

    /// An acknowledgement is about to leave: the feedback on it to the sender.
    fn feedback(&mut self, _now: Time) -> Option<Feedback> {
        None
    }

    /// The report of arrival times on it; where there is one, feedback waits for the next acknowledgement.
    fn report(&mut self, _now: Time) -> Option<ArrivalReport> {
        None
    }

    /// When the acknowledgement of the next `bytes` may leave. A time before or at `now` is at once. A later one slows the
    /// sender down by its ACK clock; the driver asks again when it has come.
    fn release_at(&self, now: Time, _bytes: Bytes) -> Time {
        now
    }

    /// True if [`release_at`](Self::release_at) ever delays acknowledgements; a driver that cannot, refuses the scheme.
    fn holds_acks(&self) -> bool {
        false
    }

    /// An acknowledgement of `bytes` left.
    fn on_released(&mut self, _now: Time, _bytes: Bytes) {}

    /// Names the values inside for plots and for the Record.
    fn observe(&self, _observer: &mut dyn Observer) {}
}

/// A data packet that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Arrival {
    /// When it arrived.
    pub now: Time,
    /// Its number, counted by the sender from zero without gaps.
    pub number: u64,
    /// Its size on the link.
    pub bytes: Bytes,
    /// The codepoint that it arrived with; not ECN-capable where the driver cannot tell.
    pub ecn: Ecn,
}

impl Arrival {
    /// A packet that arrived at `now`.
    pub const fn new(now: Time, number: u64, bytes: Bytes, ecn: Ecn) -> Self {
        Self { now, number, bytes, ecn }
    }
}

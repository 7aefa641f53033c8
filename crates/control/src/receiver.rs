//! The receiver's half of a scheme: what it sees, what it sends back, and when acknowledgements may leave.

use crate::contract::Observer;
use crate::schemes::RbbrMessage;
use cellcc_units::{Bytes, Rate, Span, Time};

/// The half of a scheme that runs at the receiver. Pure, like a [`Controller`](crate::Controller).
pub trait ReceiverHalf: Send + dyn_clone::DynClone {
    /// A data packet arrived.
    fn on_packet(&mut self, arrival: &Arrival);

    /// The number of flows that this receiver's user now has, this one included.
    fn on_user_flows(&mut self, _now: Time, _flows: u32) {}

    /// So many bytes have arrived for this receiver's user up to now, over all its flows. Told before each packet.
    fn on_user_arrivals(&mut self, _now: Time, _arrived: Bytes) {}

    /// When [`on_timer`](Self::on_timer) wants to be called next; asked again after every event.
    fn next_timer(&self) -> Option<Time> {
        None
    }

    /// The time asked for has come. True where feedback is to leave now, although no acknowledgement is due.
    fn on_timer(&mut self, _now: Time) -> bool {
        false
    }

    /// An acknowledgement is about to leave: what goes with it to the sender.
    fn feedback(&mut self, _now: Time) -> Option<Feedback> {
        None
    }

    /// When the acknowledgement of the next `bytes` may leave. A time before or at `now` is at once; a later one
    /// regulates the sender by its ACK clock, and is asked for again when it has come.
    fn release_at(&self, now: Time, _bytes: Bytes) -> Time {
        now
    }

    /// Whether [`release_at`](Self::release_at) ever holds acknowledgements back; a driver that cannot, refuses the scheme.
    fn holds_acks(&self) -> bool {
        false
    }

    /// An acknowledgement of `bytes` left.
    fn on_released(&mut self, _now: Time, _bytes: Bytes) {}

    /// Names the values inside for plots and for the Record.
    fn observe(&self, _observer: &mut dyn Observer) {}
}

dyn_clone::clone_trait_object!(ReceiverHalf);

/// A data packet that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// When it arrived.
    pub now: Time,
    /// Its number, counted by the sender from zero without gaps.
    pub number: u64,
    /// Its size on the link.
    pub bytes: Bytes,
    /// What the sender's half says with it.
    pub signal: Option<Signal>,
}

/// What a sender's half tells its receiver's half: whether its rate is the path's (RBBR paper, section III.C).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signal {
    /// What the receiver is to do with what arrives from here on.
    pub estimation: Estimation,
    /// Counts the changes of `estimation`, so that an older signal that arrives late is known.
    pub epoch: u32,
}

/// What arrivals tell about the path, hence what a receiver's estimate of its rate does with them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Estimation {
    /// The path limits the sender: arrivals tell its rate.
    Run,
    /// The path has little queued and may idle at times: arrivals tell a lower bound, which may only raise the estimate.
    RaiseOnly,
    /// The sender limits itself: arrivals tell nothing.
    Suspend,
}

/// What a receiver's half tells the sender's half.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Feedback {
    /// RBBR: the rate at which data arrives.
    Rate(RateFeedback),
    /// NATCP: how many flows the user has (beta in the paper's equation 1).
    UserFlows(u32),
}

impl Feedback {
    /// What it adds to the packet that carries it.
    pub fn wire_size(&self) -> Bytes {
        match self {
            Self::Rate(feedback) => RbbrMessage::Feedback(*feedback).wire_size(),
            // Type and count.
            Self::UserFlows(_) => Bytes::new(2),
        }
    }
}

/// The rate that an RBBR receiver estimates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateFeedback {
    /// Counts feedback, so that the newest is known.
    pub sequence: u64,
    /// The estimate; `None` while there is none.
    pub rate: Option<Rate>,
    /// The interval over which the last sample was taken.
    pub interval: Span,
    /// All bytes received so far: more than was sent is a lie.
    pub received: Bytes,
    /// Estimation is suspended; `rate` is what it was before.
    pub frozen: bool,
    /// The largest burst above the estimate of late, for a window that outlasts aggregation.
    pub burst: Bytes,
}

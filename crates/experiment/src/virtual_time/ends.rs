//! The two ends of a flow, which a driver in virtual time adds to the loop.

use super::Network;
use crate::{Application, MediaOutcome, RunError};
use cellcc_control::{Advice, Limits, Observed};
use cellcc_link::Packet;
use cellcc_units::{Bytes, Time};

/// Both ends of a flow. All calls come in the order of time.
pub trait Ends: Sized {
    /// A packet that the sending end puts on the forward path.
    type Data: Packet;
    /// A packet that the receiving end puts on the reverse path.
    type Ack: Packet;
    /// Lists that an end refills with each event. All flows share them: a thousand flows' own would not stay in a cache.
    type Scratch: Default;

    /// A packet arrives at the receiving end, which left the sending end at `sent_at`.
    ///
    /// # Errors
    /// The flow cannot go on.
    fn on_data(
        &mut self,
        network: &mut Network<'_, Self>,
        sent_at: Time,
        data: Self::Data,
    ) -> Result<(), RunError>;

    /// An acknowledgement arrives at the sending end.
    ///
    /// # Errors
    /// The flow cannot go on.
    fn on_ack(&mut self, network: &mut Network<'_, Self>, ack: Self::Ack) -> Result<(), RunError>;

    /// A report of the network arrives at the sending end.
    fn on_advice(&mut self, network: &mut Network<'_, Self>, advice: &Advice);

    /// Handles everything due by now. Called once at time zero, and then at [`next_wake`](Self::next_wake).
    ///
    /// # Errors
    /// The flow cannot go on.
    fn on_wake(&mut self, network: &mut Network<'_, Self>) -> Result<(), RunError>;

    /// Time of the next work of [`on_wake`](Self::on_wake), once all work due by `now` is done; read again after every
    /// call.
    fn next_wake(&self, now: Time) -> Time;

    /// True if the receiving end runs a component of the scheme, which is told of the user's flows and arrivals.
    fn has_receiver_component(&self) -> bool;

    /// The number of the user's flows that are open, this one included, where it has changed.
    fn on_user_flows(&mut self, now: Time, flows: u32);

    /// All that has arrived for the user, over all its flows. Called before each packet.
    fn on_user_arrivals(&mut self, _now: Time, _arrived: Bytes) {}

    /// The data that the flow has to send.
    fn application(&self) -> &Application;

    /// Time at which the last byte of a sized source was acknowledged.
    fn completed_at(&self) -> Option<Time>;

    /// Number of frames until `end`, and the share of them that missed its deadline.
    fn frames(&self, end: Time) -> Option<(u64, f64)>;

    /// Quality of an adaptive stream for its viewer until `end`.
    fn media(&self, _end: Time) -> Option<MediaOutcome> {
        None
    }

    /// Fate of ECT(1) on the path by the receiver's counts, for the ends of an L4S scheme that request them.
    fn ecn_validation(&self) -> Option<&'static str> {
        None
    }

    /// The scheme's present limits.
    fn limits(&self) -> Limits;

    /// Number of the scheme's decisions on its limits so far.
    fn decisions(&self) -> u64;

    /// Collects the values that both ends of the scheme report.
    fn observe(&self, observed: &mut Observed);

    /// Notes for the reader of the Record, besides the scheme's own.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}

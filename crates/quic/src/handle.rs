//! The way to a connection's congestion control from outside of noq.

use crate::controller::SchemeController;
use crate::pacing::Timers;
use crate::packet_size::PacketSize;
use crate::sender::{Observed, Sender, Snapshot};
use crate::shared_flow::SharedFlow;
use cellcc_control::{Advice, Feedback, Signal, Verdict};
use cellcc_units::{Bytes, Span, Time};
use noq_proto::PathId;
use noq_proto::congestion::Controller;
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

/// The way to a connection's congestion control from outside of noq. Clones are the same flow.
///
/// Calls that may let more leave say so: whoever calls them has noq look again (`Connection::set_send_window` does,
/// whatever the value).
#[derive(Clone)]
pub struct SchemeHandle(Arc<SharedFlow>);

impl SchemeHandle {
    pub(crate) fn new(flow: Arc<SharedFlow>) -> Self {
        Self(flow)
    }

    /// The congestion control of a connection's first path; `None` where that is not one of ours.
    pub fn of(connection: &noq::Connection) -> Option<Self> {
        connection.congestion_state(PathId::ZERO).and_then(Self::from_state)
    }

    /// The same for a connection without sockets.
    pub fn of_proto(connection: &noq_proto::Connection) -> Option<Self> {
        connection.congestion_state(PathId::ZERO).and_then(|state| Self::from_state(state.clone_box()))
    }

    pub(crate) fn from_state(state: Box<dyn Controller>) -> Option<Self> {
        state.into_any().downcast::<SchemeController>().ok().map(|controller| controller.handle())
    }

    /// True where both lead to the same flow. A connection that moves to another path begins a new one.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The scheme's canonical text.
    pub fn scheme(&self) -> &str {
        self.0.scheme()
    }

    /// A moment of noq's clock on the flow's.
    pub fn time(&self, now: Instant) -> Time {
        self.0.time(now)
    }

    /// Somebody calls [`on_time`](Self::on_time) when [`next_time`](Self::next_time) asks for it, from now on; or nobody does
    /// any longer, and noq's own pacer keeps the scheme's rate. True where more may leave than before.
    pub fn set_timers(&self, timers: Timers) -> bool {
        self.0.with(|sender| sender.set_timers(timers)).1
    }

    /// When [`on_time`](Self::on_time) has something to do; changes with everything that happens.
    pub fn next_time(&self) -> Option<Instant> {
        let next = self.0.lock().next_timer().filter(|&next| next < Time::NEVER)?;
        Some(self.0.instant(next))
    }

    /// Does what is due: the scheme's timer, a paced packet. True where more may leave than before.
    pub fn on_time(&self, now: Instant) -> bool {
        let now = self.time(now);
        self.0.with(|sender| sender.on_time(now)).1
    }

    /// The receiver-side component has sent something; no more than `sent` bytes can have arrived there, headers included.
    /// Gives what the scheme finds in it, and true where more may leave than before.
    pub fn on_feedback(&self, now: Instant, feedback: &Feedback, sent: Bytes) -> (Verdict, bool) {
        let now = self.time(now);
        self.0.with(|sender| sender.on_feedback(now, feedback, sent))
    }

    /// The network has said something about the bottleneck. True where more may leave than before.
    pub fn on_advice(&self, now: Instant, advice: &Advice) -> bool {
        let now = self.time(now);
        self.0.with(|sender| sender.on_advice(now, advice)).1
    }

    /// The peer runs the receiver-side component: from now on signals to it are messages that must be sent.
    pub fn on_component_found(&self) {
        self.0.with(Sender::on_component_found);
    }

    /// The signal that is due to the receiver-side component. To be followed by [`on_signal_queued`](Self::on_signal_queued).
    pub fn signal(&self) -> Option<Signal> {
        self.0.lock().signal()
    }

    /// noq has the signal, and puts it into the next packet.
    pub fn on_signal_queued(&self, signal: Signal) {
        self.0.with(|sender| sender.on_signal_queued(signal));
    }

    /// The headers before a UDP payload, where they are not IPv4's.
    pub fn set_headers(&self, headers: Bytes) {
        self.0.with(|sender| sender.set_size(PacketSize { headers, ..sender.size() }));
    }

    /// How often the scheme has decided on its limits so far.
    pub fn decisions(&self) -> u64 {
        self.0.lock().decisions()
    }

    /// Where the flow stands.
    pub fn snapshot(&self) -> Snapshot {
        self.0.lock().snapshot()
    }

    /// What the scheme shows of its inside; curves too, where `observed` wants them.
    pub fn observe(&self, observed: &mut Observed) {
        self.0.lock().observe(observed);
    }

    /// The RTT samples since the last call, where the [`Congestion`](crate::Congestion) keeps them.
    pub fn take_rtt_samples(&self) -> Vec<(Time, Span)> {
        self.0.lock().take_rtt_samples()
    }

    /// Waits until there is a [`signal`](Self::signal) to send or, where `until` is given, [`next_time`](Self::next_time) is
    /// before that.
    pub(crate) async fn sooner_than(&self, until: Option<Instant>) {
        self.0.sooner_than(until.map_or(Time::ZERO, |until| self.time(until))).await;
    }
}

impl fmt::Debug for SchemeHandle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("SchemeHandle").field(&self.0.scheme()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Congestion;
    use std::pin::{Pin, pin};
    use std::task::{Context, Waker};
    use std::time::Duration;

    const RTT: Span = Span::from_micros(100);

    /// A Reminis that has sent a packet, and when that was.
    fn reminis() -> (SchemeHandle, Instant) {
        let sent = Instant::now();
        let mut controller = Congestion::named("reminis").unwrap().factory().build(sent, 1200);
        controller.on_packet_sent(sent, 1200, 0);
        (SchemeHandle::from_state(controller).unwrap(), sent)
    }

    /// An RTT later the packet is acknowledged; the scheme's timer is due after another.
    fn acknowledge(handle: &SchemeHandle, sent: Instant) {
        let sent = handle.time(sent);
        handle.0.with(|sender| {
            sender.on_packet_acknowledged(sent, 0);
            sender.on_acknowledged(sent + RTT, Bytes::ZERO, false);
        });
    }

    fn is_ready(wait: Pin<&mut impl Future>) -> bool {
        wait.poll(&mut Context::from_waker(Waker::noop())).is_ready()
    }

    #[test]
    fn a_timer_that_is_set_while_somebody_waits_for_a_later_one_ends_the_wait() {
        let (handle, sent) = reminis();
        let mut wait = pin!(handle.sooner_than(Some(sent + Duration::from_millis(10))));
        assert!(!is_ready(wait.as_mut()));
        acknowledge(&handle, sent);
        assert!(is_ready(wait));
    }

    #[test]
    fn a_timer_that_was_set_before_the_wait_for_a_later_one_ends_it_at_once() {
        let (handle, sent) = reminis();
        acknowledge(&handle, sent);
        assert!(is_ready(pin!(handle.sooner_than(Some(sent + Duration::from_millis(10))))));
    }

    #[test]
    fn timers_within_a_grain_wake_nobody() {
        let (handle, sent) = reminis();
        acknowledge(&handle, sent);
        for round_trips in 2..5 {
            // Its answer is a timer again, sooner than whoever calls it can come back.
            handle.on_time(sent + Duration::from_micros(100) * round_trips);
            assert!(!is_ready(pin!(handle.sooner_than(None))));
        }
    }
}

//! The handles to a connection's congestion control outside of noq: one to watch the flow, and one to drive it.

use crate::controller::SchemeController;
use crate::pacing::Timers;
#[cfg(feature = "sockets")]
use crate::packet_size::PacketSize;
use crate::sender::{Observed, Sender, Snapshot};
use crate::shared_flow::SharedFlow;
use cellcc_control::{Advice, Feedback, Signal, Verdict};
use cellcc_units::{Bytes, Span, Time};
use noq_proto::PathId;
use noq_proto::congestion::Controller;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Instant;

/// The view of a connection's congestion control, for the program around noq. Clones view the same flow.
#[derive(Clone)]
pub struct Monitor(Arc<SharedFlow>);

impl Monitor {
    /// The congestion control of a connection's first path; `None` if it is not one of ours.
    #[cfg(feature = "sockets")]
    pub fn of(connection: &noq::Connection) -> Option<Self> {
        connection.congestion_state(PathId::ZERO).and_then(Self::from_state)
    }

    pub(crate) fn from_state(state: Box<dyn Controller>) -> Option<Self> {
        state.into_any().downcast::<SchemeController>().ok().map(|controller| Self(controller.into_flow()))
    }

    /// True if both view the same flow. A connection that moves to another path begins a new flow.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The scheme's canonical text.
    pub fn scheme(&self) -> &str {
        self.0.scheme()
    }

    /// The flow's present state.
    pub fn snapshot(&self) -> Snapshot {
        self.0.lock().snapshot()
    }

    /// The scheme's internal values; curves too, if `observed` asks for them.
    pub fn observe(&self, observed: &mut Observed) {
        self.0.lock().observe(observed);
    }

    /// The RTT samples since the last call, if the [`Congestion`](crate::Congestion) keeps them.
    pub fn take_rtt_samples(&self) -> Vec<(Time, Span)> {
        self.0.lock().take_rtt_samples()
    }
}

impl fmt::Debug for Monitor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Monitor").field(&self.0.scheme()).finish()
    }
}

/// The effect of a call on noq.
#[must_use = "where more may leave, noq must be woken"]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MayLeave {
    /// More may leave than before: wake noq, with `Connection::set_send_window` and any value.
    More,
    /// No more than before may leave.
    NoMore,
}

impl MayLeave {
    fn more_if(opened: bool) -> Self {
        if opened { Self::More } else { Self::NoMore }
    }
}

/// The flow behind a [`Monitor`], for those who drive it: they call timers and bring messages, advice and marks.
#[derive(Debug, Clone)]
pub struct DrivenFlow(Monitor);

impl DrivenFlow {
    /// The flow of a connection without sockets.
    pub fn of_proto(connection: &noq_proto::Connection) -> Option<Self> {
        let state = connection.congestion_state(PathId::ZERO)?;
        Monitor::from_state(state.clone_box()).map(Self)
    }

    /// The flow that `monitor` views.
    #[cfg(feature = "sockets")]
    pub(crate) fn viewed_by(monitor: &Monitor) -> Self {
        Self(monitor.clone())
    }

    /// A time of noq's clock on the flow's clock.
    pub fn time(&self, now: Instant) -> Time {
        self.0.0.time(now)
    }

    /// Says who calls [`on_time`](Self::on_time) at [`next_time`](Self::next_time) from now on. With [`Timers::None`] noq's
    /// own pacer keeps the scheme's rate.
    pub fn set_timers(&self, timers: Timers) -> MayLeave {
        MayLeave::more_if(self.0.0.with(|sender| sender.set_timers(timers)).1)
    }

    /// The time of the next call of [`on_time`](Self::on_time). Every event may change it.
    pub fn next_time(&self) -> Option<Instant> {
        self.next_timer().map(|next| self.0.0.instant(next))
    }

    /// The time of the next timer on the flow's clock.
    pub fn next_timer(&self) -> Option<Time> {
        self.0.0.lock().next_timer().filter(|&next| next < Time::NEVER)
    }

    /// Runs the scheme's timer and releases paced packets, if due.
    pub fn on_time(&self, now: Instant) -> MayLeave {
        let now = self.time(now);
        MayLeave::more_if(self.0.0.with(|sender| sender.on_time(now)).1)
    }

    /// The receiver-side component sent feedback. `sent`: all bytes sent so far, headers included; more cannot have arrived.
    pub fn on_feedback(&self, now: Instant, feedback: &Feedback, sent: Bytes) -> (Verdict, MayLeave) {
        let now = self.time(now);
        let (verdict, opened) = self.0.0.with(|sender| sender.on_feedback(now, feedback, sent));
        (verdict, MayLeave::more_if(opened))
    }

    /// The UDP payload that has reached the peer with CE since the flow began. The scheme learns it with the next acknowledgement.
    pub fn on_marked(&self, payload: Bytes) {
        self.0.0.with(|sender| sender.on_marked(payload));
    }

    /// The network reported about the bottleneck.
    pub fn on_advice(&self, now: Instant, advice: &Advice) -> MayLeave {
        let now = self.time(now);
        MayLeave::more_if(self.0.0.with(|sender| sender.on_advice(now, advice)).1)
    }

    /// The peer runs the receiver-side component: from now on its signals must be sent as messages.
    pub fn on_component_found(&self) {
        self.0.0.with(Sender::on_component_found);
    }

    /// The signal to send to the receiver-side component, if one is due. Call
    /// [`on_signal_queued`](Self::on_signal_queued) after sending it.
    pub fn signal(&self) -> Option<Signal> {
        self.0.0.lock().signal()
    }

    /// noq has the signal and puts it into the next packet.
    pub fn on_signal_queued(&self, signal: Signal) {
        self.0.0.with(|sender| sender.on_signal_queued(signal));
    }

    /// Sets the size of the headers before a UDP payload; the default is IPv4's.
    #[cfg(feature = "sockets")]
    pub(crate) fn set_headers(&self, headers: Bytes) {
        self.0.0.with(|sender| sender.set_size(PacketSize { headers, ..sender.size() }));
    }

    /// The number of decisions of the scheme on its limits so far.
    pub fn decisions(&self) -> u64 {
        self.0.0.lock().decisions()
    }

    /// Waits for a [`signal`](Self::signal) to send or, with `until`, for a [`next_time`](Self::next_time) before that.
    #[cfg(feature = "sockets")]
    pub(crate) async fn wait_for_earlier_timer(&self, until: Option<Instant>) {
        self.0.0.wait_for_earlier_timer(until.map_or(Time::ZERO, |until| self.time(until))).await;
    }
}

/// All that can be watched.
impl Deref for DrivenFlow {
    type Target = Monitor;

    fn deref(&self) -> &Monitor {
        &self.0
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

    /// Reminis after sending one packet, and the time of sending.
    fn reminis() -> (DrivenFlow, Instant) {
        let sent = Instant::now();
        let mut controller = Congestion::named("reminis").unwrap().factory().build(sent, 1200);
        controller.on_packet_sent(sent, 1200, 0);
        (DrivenFlow(Monitor::from_state(controller).unwrap()), sent)
    }

    /// An RTT later the packet is acknowledged; the scheme's timer is due after another.
    fn acknowledge(handle: &DrivenFlow, sent: Instant) {
        let sent = handle.time(sent);
        handle.0.0.with(|sender| {
            sender.on_packet_acknowledged(sent, 0);
            sender.on_acknowledged(sent + RTT, Bytes::ZERO, false);
        });
    }

    fn is_ready(wait: Pin<&mut impl Future>) -> bool {
        wait.poll(&mut Context::from_waker(Waker::noop())).is_ready()
    }

    #[test]
    fn a_timer_set_during_the_wait_for_a_later_one_ends_the_wait() {
        let (handle, sent) = reminis();
        let mut wait = pin!(handle.wait_for_earlier_timer(Some(sent + Duration::from_millis(10))));
        assert!(!is_ready(wait.as_mut()));
        acknowledge(&handle, sent);
        assert!(is_ready(wait));
    }

    #[test]
    fn a_timer_set_before_the_wait_for_a_later_one_ends_it_at_once() {
        let (handle, sent) = reminis();
        acknowledge(&handle, sent);
        assert!(is_ready(pin!(handle.wait_for_earlier_timer(Some(sent + Duration::from_millis(10))))));
    }

    #[test]
    fn timers_within_the_timer_resolution_do_not_wake_the_service() {
        let (handle, sent) = reminis();
        acknowledge(&handle, sent);
        for round_trips in 2..5 {
            // The scheme sets its next timer, earlier than the service can call it.
            _ = handle.on_time(sent + Duration::from_micros(100) * round_trips);
            assert!(!is_ready(pin!(handle.wait_for_earlier_timer(None))));
        }
    }
}

//! A scheme as noq's congestion controller, and the handle by which the rest of the program reaches it.
//!
//! noq owns the controller and calls it with the connection locked; timers, feedback and advice come from elsewhere. Both
//! share one [`Sender`] behind a lock; what noq asks for several times per packet it reads without ([`Published`]).

use crate::packet_size::PacketSize;
use crate::published::Published;
use crate::qlog::{Log, SchemeLog};
use crate::sender::{Observed, Sender, Snapshot};
use cellcc_control::{Advice, Event, Feedback, Signal};
use cellcc_units::{Bytes, Span, Time};
use noq_proto::congestion::{Controller, ControllerMetrics};
use noq_proto::{PathId, RttEstimator};
use std::any::Any;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// What noq and the program share of a connection's congestion control.
struct Shared {
    scheme: String,
    /// [`Time::ZERO`] on noq's clock.
    epoch: Instant,
    initial_window: u64,
    sender: Mutex<Sender>,
    published: Published,
    /// Until when whoever calls [`SchemeHandle::on_time`] waits; zero where no earlier timer is to end that.
    waits_until: AtomicU64,
    sooner: Notify,
    log: Option<Mutex<SchemeLog>>,
}

impl Shared {
    fn time(&self, now: Instant) -> Time {
        Time::ZERO + span(now.saturating_duration_since(self.epoch))
    }

    fn lock(&self) -> MutexGuard<'_, Sender> {
        // A scheme that panicked has ended its connection's task; what is left is still there to look at.
        self.sender.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the limits known after something has happened. True where more may leave than before.
    fn publish(&self, sender: &Sender) -> bool {
        let wake = sender.next_timer().unwrap_or(Time::NEVER).as_nanos();
        if wake < self.waits_until.load(Ordering::Relaxed) || sender.signal().is_some() {
            self.sooner.notify_one();
        }
        self.published.set(&sender.noq_limits())
    }

    fn log(&self, now: Instant, sender: &Sender) {
        if let Some(log) = &self.log {
            log.lock().unwrap_or_else(PoisonError::into_inner).look(now, sender);
        }
    }

    fn with<T>(&self, act: impl FnOnce(&mut Sender) -> T) -> (T, bool) {
        let mut sender = self.lock();
        let result = act(&mut sender);
        let opened = self.publish(&sender);
        (result, opened)
    }
}

fn span(duration: Duration) -> Span {
    Span::from_nanos(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
}

/// A scheme as noq's congestion controller. Clones are the same flow: noq clones to look at it, and where the peer's
/// address changes but not its path (RFC 9000, section 9.4).
#[derive(Clone)]
pub(crate) struct SchemeController {
    shared: Arc<Shared>,
    /// The packets of an acknowledgement that noq is reporting: their numbers, and when they left. One lock for all.
    acknowledged: Vec<(u64, Instant)>,
}

/// What a controller begins with.
pub(crate) struct Beginning {
    pub(crate) scheme: String,
    pub(crate) epoch: Instant,
    pub(crate) initial_window: Bytes,
    pub(crate) sender: Sender,
    /// Where to write what the scheme does.
    pub(crate) log: Option<Log>,
}

impl SchemeController {
    pub(crate) fn new(beginning: Beginning) -> Self {
        let Beginning { scheme, epoch, initial_window, sender, log } = beginning;
        let published = Published::default();
        published.set(&sender.noq_limits());
        let log = log.map(|log| Mutex::new(SchemeLog::new(log, &scheme)));
        let shared = Shared {
            scheme,
            epoch,
            initial_window: initial_window.get(),
            sender: Mutex::new(sender),
            published,
            waits_until: AtomicU64::new(0),
            sooner: Notify::new(),
            log,
        };
        Self { shared: Arc::new(shared), acknowledged: Vec::new() }
    }
}

impl Controller for SchemeController {
    fn on_packet_sent(&mut self, now: Instant, bytes: u16, number: u64) {
        let time = self.shared.time(now);
        self.shared.with(|sender| {
            sender.on_sent(time, Bytes::new(bytes.into()), number);
            self.shared.log(now, sender);
        });
    }

    fn on_cwnd_limited(&mut self) {
        self.shared.lock().on_window_limited();
    }

    fn on_ack(&mut self, _: Instant, sent: Instant, _: u64, number: u64, _: bool, _: &RttEstimator) {
        self.acknowledged.push((number, sent));
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, _: Option<u64>) {
        let time = self.shared.time(now);
        let acknowledged = self.acknowledged.drain(..);
        self.shared.with(|sender| {
            for (number, sent) in acknowledged {
                sender.on_packet_acknowledged(self.shared.time(sent), number);
            }
            sender.on_acknowledged(time, Bytes::new(in_flight), app_limited);
            self.shared.log(now, sender);
        });
    }

    fn on_packet_lost(&mut self, payload: u16, number: u64, _: Instant) {
        self.shared.lock().on_packet_lost(Bytes::new(payload.into()), number);
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent_congestion: bool,
        is_ecn: bool,
        _lost_bytes: u64,
        _largest_lost: u64,
    ) {
        let (now, sent_at) = (self.shared.time(now), self.shared.time(sent));
        self.shared.with(|sender| {
            if is_ecn {
                sender.on_congestion_mark(now, sent_at);
            } else {
                sender.settle_losses(now, is_persistent_congestion);
            }
        });
    }

    fn on_spurious_congestion_event(&mut self) {
        // noq gives no time with it; the scheme restores what it saved, whenever that is.
        self.shared.with(|sender| sender.on_event(sender.last_heard(), Event::SpuriousLoss));
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.shared.with(|sender| {
            let size = PacketSize { payload: Bytes::new(new_mtu.into()), ..sender.size() };
            sender.set_size(size);
        });
    }

    fn window(&self) -> u64 {
        self.shared.published.gate()
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = self.shared.published.window();
        metrics.pacing_rate = Some(self.shared.published.pacing_rate());
        metrics.send_quantum = self.shared.published.send_quantum();
        metrics
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        self.shared.initial_window
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

impl fmt::Debug for SchemeController {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("SchemeController").field(&self.shared.scheme).finish()
    }
}

/// The way to a connection's congestion control from outside of noq. Clones are the same flow.
///
/// Calls that may let more leave say so: whoever calls them has noq look again (`Connection::set_send_window` does,
/// whatever the value).
#[derive(Clone)]
pub struct SchemeHandle(Arc<Shared>);

impl SchemeHandle {
    /// The congestion control of a connection's first path; `None` where that is not one of ours.
    pub fn of(connection: &noq::Connection) -> Option<Self> {
        connection.congestion_state(PathId::ZERO).and_then(Self::from_state)
    }

    /// The same for a connection without sockets.
    pub fn of_proto(connection: &noq_proto::Connection) -> Option<Self> {
        connection.congestion_state(PathId::ZERO).and_then(|state| Self::from_state(state.clone_box()))
    }

    fn from_state(state: Box<dyn Controller>) -> Option<Self> {
        state.into_any().downcast::<SchemeController>().ok().map(|controller| Self(controller.shared))
    }

    /// True where both lead to the same flow. A connection that moves to another path begins a new one.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The scheme's canonical text.
    pub fn scheme(&self) -> &str {
        &self.0.scheme
    }

    /// A moment of noq's clock on the flow's.
    pub fn time(&self, now: Instant) -> Time {
        self.0.time(now)
    }

    /// When [`on_time`](Self::on_time) has something to do; changes with everything that happens.
    pub fn next_time(&self) -> Option<Instant> {
        let next = self.0.lock().next_timer().filter(|&next| next < Time::NEVER)?;
        Some(self.0.epoch + Duration::from_nanos(next.as_nanos()))
    }

    /// Calls the scheme's timer where it is due. True where more may leave than before.
    pub fn on_time(&self, now: Instant) -> bool {
        let now = self.time(now);
        self.0.with(|sender| sender.on_time(now)).1
    }

    /// The receiver's half has sent something. True where more may leave than before.
    pub fn on_feedback(&self, now: Instant, feedback: &Feedback) -> bool {
        let now = self.time(now);
        self.0.with(|sender| sender.on_feedback(now, feedback)).1
    }

    /// The network has said something about the bottleneck. True where more may leave than before.
    pub fn on_advice(&self, now: Instant, advice: &Advice) -> bool {
        let now = self.time(now);
        self.0.with(|sender| sender.on_advice(now, advice)).1
    }

    /// The peer runs the scheme's half for receivers: from now on signals to it are messages that must be sent.
    pub fn on_half_found(&self) {
        self.0.with(Sender::on_half_found);
    }

    /// What the receiver's half is to be told now. To be followed by [`on_signal_queued`](Self::on_signal_queued).
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
        let until = until.map_or(Time::ZERO, |until| self.time(until));
        let _waiting = self.wait_until(until);
        if self.0.lock().next_timer().is_none_or(|next| next >= until) {
            self.0.sooner.notified().await;
        }
    }

    /// Has a timer before `until` end the wait, for as long as the result lives: one that is set while nobody waits, as by
    /// the scheme's answer to the last, is found before the next wait.
    fn wait_until(&self, until: Time) -> impl Drop + '_ {
        struct Waiting<'a>(&'a AtomicU64);
        impl Drop for Waiting<'_> {
            fn drop(&mut self) {
                self.0.store(Time::ZERO.as_nanos(), Ordering::Relaxed);
            }
        }
        self.0.waits_until.store(until.as_nanos(), Ordering::Relaxed);
        Waiting(&self.0.waits_until)
    }
}

impl fmt::Debug for SchemeHandle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("SchemeHandle").field(&self.0.scheme).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::SchemeHandle;
    use crate::Congestion;
    use cellcc_units::{Bytes, Span};
    use noq_proto::congestion::Controller;
    use std::pin::{Pin, pin};
    use std::task::{Context, Waker};
    use std::time::{Duration, Instant};

    /// A New Reno in noq's hands with a packet in flight, and when that left.
    fn newreno() -> (Box<dyn Controller>, Instant) {
        let now = Instant::now();
        let mut controller = Congestion::named("newreno").unwrap().factory().build(now, 1200);
        controller.on_packet_sent(now, 1200, 0);
        (controller, now)
    }

    #[test]
    fn a_mark_halves_the_window_as_a_loss_does() {
        let (mut controller, sent) = newreno();
        let before = controller.metrics().congestion_window;
        controller.on_congestion_event(sent + Duration::from_millis(20), sent, false, true, 0, 0);
        assert_eq!(controller.metrics().congestion_window, before / 2);
    }

    #[test]
    fn a_larger_packet_is_a_larger_smallest_window() {
        let (mut controller, sent) = newreno();
        controller.on_mtu_update(1452);
        let later = sent + Duration::from_millis(20);
        controller.on_packet_lost(1200, 0, later);
        controller.on_congestion_event(later, sent, true, false, 1200, 0);
        assert_eq!(controller.metrics().congestion_window, 2 * 1452);
    }

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

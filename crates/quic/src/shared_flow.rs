//! The state of a flow that noq's congestion controller and the rest of the program share.
//!
//! noq owns the controller and calls it with the connection locked; timers, feedback and advice come from other tasks. Both
//! share one [`Sender`] behind a lock. noq reads the limits several times per packet, without the lock ([`AtomicLimits`]).

use crate::atomic_limits::AtomicLimits;
use crate::clock::Clock;
use crate::qlog::{Log, SchemeLog};
use crate::sender::Sender;
use cellcc_units::{Bytes, Time};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio::sync::Notify;

/// Settings of a new flow.
pub(crate) struct FlowSettings {
    pub(crate) scheme: String,
    /// [`Time::ZERO`] on noq's clock.
    pub(crate) epoch: Instant,
    pub(crate) initial_window: Bytes,
    pub(crate) sender: Sender,
    /// Log of the scheme's events.
    pub(crate) log: Option<Log>,
}

/// A connection's congestion control.
pub(crate) struct SharedFlow {
    scheme: String,
    clock: Clock,
    initial_window: Bytes,
    sender: Mutex<Sender>,
    limits: AtomicLimits,
    /// The time at which the task of the scheme's timers wakes, in nanoseconds of the flow's clock. Zero: an earlier
    /// timer does not wake it.
    wakes_at: AtomicU64,
    earlier_timer: Notify,
    log: Option<Mutex<SchemeLog>>,
}

impl SharedFlow {
    pub(crate) fn new(settings: FlowSettings) -> Self {
        let FlowSettings { scheme, epoch, initial_window, sender, log } = settings;
        let limits = AtomicLimits::default();
        limits.set(&sender.noq_limits());
        let log = log.map(|log| Mutex::new(SchemeLog::new(log, &scheme)));
        Self {
            scheme,
            clock: Clock::new(epoch),
            initial_window,
            sender: Mutex::new(sender),
            limits,
            wakes_at: AtomicU64::new(0),
            earlier_timer: Notify::new(),
            log,
        }
    }

    /// The scheme's canonical text.
    pub(crate) fn scheme(&self) -> &str {
        &self.scheme
    }

    pub(crate) fn initial_window(&self) -> Bytes {
        self.initial_window
    }

    /// The limits, without a lock.
    pub(crate) fn limits(&self) -> &AtomicLimits {
        &self.limits
    }

    /// A time of noq's clock on the flow's clock.
    pub(crate) fn time(&self, now: Instant) -> Time {
        self.clock.time(now)
    }

    /// A time of the flow's clock on noq's clock.
    pub(crate) fn instant(&self, time: Time) -> Instant {
        self.clock.instant(time)
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Sender> {
        // A scheme that panicked ended its connection's task; its state can still be read.
        self.sender.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Applies an event. Also returns true if more may leave than before.
    pub(crate) fn with<T>(&self, act: impl FnOnce(&mut Sender) -> T) -> (T, bool) {
        let mut sender = self.lock();
        let result = act(&mut sender);
        let opened = self.publish(&sender);
        (result, opened)
    }

    /// Stores the new limits. True if more may leave than before.
    fn publish(&self, sender: &Sender) -> bool {
        let wake = sender.next_timer().unwrap_or(Time::NEVER).as_nanos();
        if wake < self.wakes_at.load(Ordering::Relaxed) || sender.signal().is_some() {
            self.earlier_timer.notify_one();
        }
        self.limits.set(&sender.noq_limits())
    }

    /// Logs the scheme's events, if there is a log.
    #[inline]
    pub(crate) fn log(&self, now: Instant, sender: &Sender) {
        if let Some(log) = &self.log {
            log.lock().unwrap_or_else(PoisonError::into_inner).record(now, sender);
        }
    }

    /// Waits until the scheme has a signal to send, or a timer before `until`.
    #[cfg(feature = "sockets")]
    pub(crate) async fn wait_for_earlier_timer(&self, until: Time) {
        let _waiting = self.wait_until(until);
        if self.lock().next_timer().is_none_or(|next| next >= until) {
            self.earlier_timer.notified().await;
        }
    }

    /// Lets a timer before `until` end the wait, while the result lives. A timer that is set between two waits is found at the
    /// beginning of the next.
    #[cfg(feature = "sockets")]
    fn wait_until(&self, until: Time) -> impl Drop + '_ {
        struct Waiting<'a>(&'a AtomicU64);
        impl Drop for Waiting<'_> {
            fn drop(&mut self) {
                self.0.store(Time::ZERO.as_nanos(), Ordering::Relaxed);
            }
        }
        self.wakes_at.store(until.as_nanos(), Ordering::Relaxed);
        Waiting(&self.wakes_at)
    }
}

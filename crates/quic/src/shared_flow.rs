//! What noq's congestion controller and the rest of the program share of a flow.
//!
//! noq owns the controller and calls it with the connection locked; timers, feedback and advice come from elsewhere. Both
//! share one [`Sender`] behind a lock; what noq asks for several times per packet it reads without ([`Published`]).

use crate::clock::Clock;
use crate::published::Published;
use crate::qlog::{Log, SchemeLog};
use crate::sender::Sender;
use cellcc_units::{Bytes, Time};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio::sync::Notify;

/// What a flow begins with.
pub(crate) struct Beginning {
    pub(crate) scheme: String,
    /// [`Time::ZERO`] on noq's clock.
    pub(crate) epoch: Instant,
    pub(crate) initial_window: Bytes,
    pub(crate) sender: Sender,
    /// Where to write what the scheme does.
    pub(crate) log: Option<Log>,
}

/// A connection's congestion control.
pub(crate) struct SharedFlow {
    scheme: String,
    clock: Clock,
    initial_window: Bytes,
    sender: Mutex<Sender>,
    published: Published,
    /// Until when whoever calls the scheme's timers waits; zero where no earlier timer is to end that.
    waits_until: AtomicU64,
    sooner: Notify,
    log: Option<Mutex<SchemeLog>>,
}

impl SharedFlow {
    pub(crate) fn new(beginning: Beginning) -> Self {
        let Beginning { scheme, epoch, initial_window, sender, log } = beginning;
        let published = Published::default();
        published.set(&sender.noq_limits());
        let log = log.map(|log| Mutex::new(SchemeLog::new(log, &scheme)));
        Self {
            scheme,
            clock: Clock::new(epoch),
            initial_window,
            sender: Mutex::new(sender),
            published,
            waits_until: AtomicU64::new(0),
            sooner: Notify::new(),
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
    pub(crate) fn published(&self) -> &Published {
        &self.published
    }

    /// A moment of noq's clock on the flow's.
    pub(crate) fn time(&self, now: Instant) -> Time {
        self.clock.time(now)
    }

    /// A moment of the flow's clock on noq's.
    pub(crate) fn instant(&self, time: Time) -> Instant {
        self.clock.instant(time)
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Sender> {
        // A scheme that panicked has ended its connection's task; what is left is still there to look at.
        self.sender.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something happens to the flow. Also says whether more may leave than before.
    pub(crate) fn with<T>(&self, act: impl FnOnce(&mut Sender) -> T) -> (T, bool) {
        let mut sender = self.lock();
        let result = act(&mut sender);
        let opened = self.publish(&sender);
        (result, opened)
    }

    /// Makes the limits known after something has happened. True where more may leave than before.
    fn publish(&self, sender: &Sender) -> bool {
        let wake = sender.next_timer().unwrap_or(Time::NEVER).as_nanos();
        if wake < self.waits_until.load(Ordering::Relaxed) || sender.signal().is_some() {
            self.sooner.notify_one();
        }
        self.published.set(&sender.noq_limits())
    }

    /// Writes down what the scheme does, where somebody wants that.
    #[inline]
    pub(crate) fn log(&self, now: Instant, sender: &Sender) {
        if let Some(log) = &self.log {
            log.lock().unwrap_or_else(PoisonError::into_inner).look(now, sender);
        }
    }

    /// Waits until the scheme has a signal to send or a timer before `until`.
    pub(crate) async fn sooner_than(&self, until: Time) {
        let _waiting = self.wait_until(until);
        if self.lock().next_timer().is_none_or(|next| next >= until) {
            self.sooner.notified().await;
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
        self.waits_until.store(until.as_nanos(), Ordering::Relaxed);
        Waiting(&self.waits_until)
    }
}

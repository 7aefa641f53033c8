//! What a service reports, on its way into the kernel's map.

use crate::exit::tell;
use cellcc_assist::{Advice, Arrivals, Record};
use cellcc_netassist::ClientEvent;
use cellcc_units::{Span, Time};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Gives the kernel what is new.
pub(super) struct KernelFeed<A> {
    advise: A,
    arrivals: BTreeMap<IpAddr, Arrivals>,
    epoch: Instant,
    /// Whether a failure has been told.
    told: bool,
}

impl<A: Fn(IpAddr, &Advice) -> Result<(), String> + Send + 'static> KernelFeed<A> {
    /// `advise` writes into the map what was just heard of a user; its error says why the kernel does not take it.
    pub(super) fn new(advise: A) -> Self {
        Self { advise, arrivals: BTreeMap::new(), epoch: Instant::now(), told: false }
    }

    /// Takes what a client hears.
    pub(super) fn listener(self) -> impl Fn(ClientEvent<'_>) + Send + Sync + 'static {
        let feed = Mutex::new(self);
        move |event| match event {
            ClientEvent::Record { user, record, arrived_at } => {
                feed.lock().unwrap_or_else(PoisonError::into_inner).take(user, record, arrived_at);
            }
            ClientEvent::Granted(user) => tell(&format!("the kernel hears about {user}")),
            ClientEvent::Connected => tell("connected"),
            ClientEvent::Lost(reason) => tell(&format!("NetAssist: {reason}; trying again")),
            // Most peers of a machine are no users of the service.
            ClientEvent::Denied { .. } | ClientEvent::Unusable => {}
        }
    }

    fn take(&mut self, user: IpAddr, record: &Record, arrived_at: Instant) {
        let since = arrived_at.saturating_duration_since(self.epoch);
        let now = Time::ZERO + Span::from_nanos(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX));
        // What is late or replayed is not passed on; the kernel's programs stop following by themselves.
        let Ok(advice) = self.arrivals.entry(user).or_default().accept(now, record) else { return };
        if let Err(error) = (self.advise)(user, &advice)
            && !self.told
        {
            self.told = true;
            tell(&format!("the kernel does not take advice: {error}"));
        }
    }
}

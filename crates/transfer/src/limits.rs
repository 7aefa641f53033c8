//! Limits for each peer (connections and open files at once, bytes and time within an hour) and for all peers together
//! (connections).
//!
//! A peer is an IPv4 address, or the first 64 bits of an IPv6 address.

use crate::TransferError;
use cellcc_units::{Bytes, Span};
use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A peer's bytes and time are counted for this long from its first transfer; then they restart at zero.
const WINDOW: Duration = Duration::from_secs(3600);

/// Interval of charging bytes and time to a transfer. A limit is exceeded by at most the link's delivery in it.
pub(crate) const CHARGE_INTERVAL: Duration = Duration::from_millis(20);

/// Limits for each peer, and for all together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Data connections at once, for each peer.
    pub connections: u32,
    /// Data connections at once, all peers together.
    pub total_connections: u32,
    /// Open files at once, for each peer.
    pub files: u32,
    /// UDP payload within an hour, both directions; none: no limit.
    pub bytes: Option<Bytes>,
    /// Time of transfers within an hour; none: no limit.
    pub time: Option<Span>,
}

/// Files: ten connections of HTTP with all requests that they may have (100); 100 MB for clients that do not read.
impl Default for Limits {
    fn default() -> Self {
        Self { connections: 256, total_connections: 1000, files: 1000, bytes: None, time: None }
    }
}

/// The usage of all peers.
#[derive(Debug)]
pub(crate) struct Ledger {
    limits: Limits,
    peers: Mutex<HashMap<IpAddr, Account>>,
}

#[derive(Debug)]
struct Account {
    opened_at: Instant,
    connections: u32,
    files: Arc<Semaphore>,
    bytes: u64,
    time: Duration,
}

/// The connections of one transfer, counted until this is dropped.
#[derive(Debug)]
pub(crate) struct Lease {
    ledger: Arc<Ledger>,
    peer: IpAddr,
    connections: u32,
    files: Arc<Semaphore>,
}

impl Ledger {
    pub(crate) fn new(limits: Limits) -> Arc<Self> {
        Arc::new(Self { limits, peers: Mutex::default() })
    }

    /// Leases `connections` to a peer, for a transfer of this size and duration, if known.
    pub(crate) fn lease(
        self: &Arc<Self>,
        now: Instant,
        address: IpAddr,
        connections: u32,
        (bytes, time): (Option<Bytes>, Option<Span>),
    ) -> Result<Lease, TransferError> {
        let peer = peer(address);
        let mut peers = self.peers.lock().unwrap_or_else(PoisonError::into_inner);
        peers.retain(|_, account| account.connections > 0 || now < account.opened_at + WINDOW);
        let in_use: u32 = peers.values().map(|account| account.connections).sum();
        let account = peers.entry(peer).or_insert_with(|| Account {
            opened_at: now,
            connections: 0,
            files: Arc::new(Semaphore::new(self.limits.files as usize)),
            bytes: 0,
            time: Duration::ZERO,
        });
        account.reset_if_expired(now);
        if account.connections + connections > self.limits.connections {
            return Err(TransferError::Limit(format!(
                "{} data connections at once are the limit for an address, and {} are in use; ask for fewer, or try again later",
                self.limits.connections, account.connections
            )));
        }
        if in_use + connections > self.limits.total_connections {
            return Err(TransferError::Limit(format!(
                "{} data connections at once are the server's limit for all its clients, and {in_use} are in use; ask for fewer, or try again later",
                self.limits.total_connections
            )));
        }
        account.check(now, &self.limits, bytes.map_or(0, Bytes::get), time.map_or(0, Span::as_nanos))?;
        account.connections += connections;
        let files = Arc::clone(&account.files);
        Ok(Lease { ledger: Arc::clone(self), peer, connections, files })
    }
}

impl Lease {
    /// A place for one open file of the peer, given back when it is dropped.
    pub(crate) fn file(&self) -> Result<OwnedSemaphorePermit, TransferError> {
        Arc::clone(&self.files).try_acquire_owned().map_err(|_| {
            TransferError::Limit(format!(
                "{} open files at once are the limit for an address; try again in a few seconds",
                self.ledger.limits.files
            ))
        })
    }

    /// Counts the transfer's usage since the last call.
    pub(crate) fn charge(&self, now: Instant, bytes: u64, time: Duration) -> Result<(), TransferError> {
        let mut peers = self.ledger.peers.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(account) = peers.get_mut(&self.peer) else { return Ok(()) };
        account.reset_if_expired(now);
        account.bytes += bytes;
        account.time += time;
        account.check(now, &self.ledger.limits, 0, 0)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let mut peers = self.ledger.peers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(account) = peers.get_mut(&self.peer) {
            account.connections = account.connections.saturating_sub(self.connections);
        }
    }
}

impl Account {
    fn reset_if_expired(&mut self, now: Instant) {
        if now >= self.opened_at + WINDOW {
            (self.opened_at, self.bytes, self.time) = (now, 0, Duration::ZERO);
        }
    }

    /// Checks that this much more is within the limits.
    fn check(
        &self,
        now: Instant,
        limits: &Limits,
        more_bytes: u64,
        more_nanos: u64,
    ) -> Result<(), TransferError> {
        let minutes = (self.opened_at + WINDOW).saturating_duration_since(now).as_secs().div_ceil(60);
        let beyond = |what: String| {
            Err(TransferError::Limit(format!(
                "{what} within an hour are the limit for an address; ask for less, or try again in {minutes} min"
            )))
        };
        if let Some(limit) = limits.bytes
            && self.bytes.saturating_add(more_bytes) > limit.get()
        {
            return beyond(format!("{limit} of data"));
        }
        if let Some(limit) = limits.time
            && self.time + Duration::from_nanos(more_nanos) > Duration::from_nanos(limit.as_nanos())
        {
            return beyond(format!("{limit} of transfers"));
        }
        Ok(())
    }
}

fn peer(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            const HOST_BITS: u128 = (1 << 64) - 1;
            Ipv6Addr::from_bits(address.to_bits() & !HOST_BITS).into()
        }
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANY: (Option<Bytes>, Option<Span>) = (None, None);

    fn ledger() -> Arc<Ledger> {
        Ledger::new(Limits {
            connections: 2,
            total_connections: 3,
            files: 2,
            bytes: Some(Bytes::new(1_000_000)),
            time: Some(Span::from_secs(60)),
        })
    }

    #[test]
    fn connections_are_given_back_with_their_transfer() {
        let (ledger, now) = (ledger(), Instant::now());
        let address: IpAddr = "192.0.2.1".parse().unwrap();
        let lease = ledger.lease(now, address, 2, ANY).unwrap();
        let error = ledger.lease(now, address, 1, ANY).unwrap_err();
        assert!(error.to_string().contains("2 are in use"), "{error}");
        assert!(ledger.lease(now, "192.0.2.2".parse().unwrap(), 1, ANY).is_ok());
        drop(lease);
        assert!(ledger.lease(now, address, 2, ANY).is_ok());
    }

    /// One address could have 25,600 files open.
    #[test]
    fn open_files_of_all_connections_of_an_address_have_a_limit() {
        let (ledger, now) = (ledger(), Instant::now());
        let lease = |address: &str| ledger.lease(now, address.parse().unwrap(), 1, ANY).unwrap();
        let [first, second] = ["192.0.2.1"; 2].map(lease);
        let places = [first.file().unwrap(), second.file().unwrap()];
        let error = second.file().unwrap_err();
        assert!(error.is_busy() && error.to_string().contains("2 open files"), "{error}");
        assert!(lease("192.0.2.2").file().is_ok());
        drop(places);
        assert!(first.file().is_ok());
    }

    #[test]
    fn connections_of_all_peers_together_have_a_limit_too() {
        let (ledger, now) = (ledger(), Instant::now());
        let lease =
            |address: &str, connections| ledger.lease(now, address.parse().unwrap(), connections, ANY);
        let first = lease("192.0.2.1", 2).unwrap();
        let error = lease("192.0.2.2", 2).unwrap_err();
        assert!(matches!(error, TransferError::Limit(_)), "{error:?}");
        assert!(error.to_string().contains("for all its clients, and 2 are in use"), "{error}");
        let _second = lease("192.0.2.2", 1).unwrap();
        assert!(lease("192.0.2.3", 1).is_err());
        drop(first);
        assert!(lease("192.0.2.3", 2).is_ok());
    }

    #[test]
    fn what_cannot_fit_is_refused_before_it_begins() {
        let (ledger, now) = (ledger(), Instant::now());
        let address: IpAddr = "192.0.2.1".parse().unwrap();
        assert!(ledger.lease(now, address, 1, (Some(Bytes::new(2_000_000)), None)).is_err());
        assert!(ledger.lease(now, address, 1, (None, Some(Span::from_secs(61)))).is_err());
    }

    #[test]
    fn an_hour_later_bytes_begin_anew() {
        let (ledger, now) = (ledger(), Instant::now());
        let address: IpAddr = "192.0.2.1".parse().unwrap();
        let lease = ledger.lease(now, address, 1, ANY).unwrap();
        assert!(lease.charge(now, 2_000_000, Duration::ZERO).is_err());
        drop(lease);
        assert!(ledger.lease(now + WINDOW / 2, address, 1, ANY).is_err());
        assert!(ledger.lease(now + WINDOW, address, 1, ANY).is_ok());
    }

    #[test]
    fn addresses_of_one_ipv6_network_are_one_peer() {
        let (ledger, now) = (ledger(), Instant::now());
        let _lease = ledger.lease(now, "2001:db8::1".parse().unwrap(), 2, ANY).unwrap();
        assert!(ledger.lease(now, "2001:db8::2".parse().unwrap(), 1, ANY).is_err());
        assert!(ledger.lease(now, "2001:db8:0:1::2".parse().unwrap(), 1, ANY).is_ok());
    }
}

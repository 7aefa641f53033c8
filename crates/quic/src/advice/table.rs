//! The peers about which reports are wanted, and their newest reports.

use super::{AdviceSource, NextAdvice};
use crate::clock::span;
use cellcc_assist::{AdviceRecord, Arrivals, Refusal};
use cellcc_control::Advice;
use cellcc_units::Time;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Shortest interval between two reports to a scheme: LTE's transmission time interval.
const MIN_REPORT_INTERVAL: Duration = Duration::from_millis(1);

/// The peers about which reports are wanted. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct PeerTable(Arc<Mutex<BTreeMap<[u8; 16], Peer>>>);

#[derive(Debug)]
struct Peer {
    arrivals: Arrivals,
    reports: watch::Sender<Option<(Instant, Advice)>>,
}

/// Reason why a record is not passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotPassedOn {
    /// No request names this user.
    UnknownUser,
    /// The record is not new, or no longer useful.
    Refused(Refusal),
}

impl PeerTable {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<[u8; 16], Peer>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reports about the bottleneck towards this peer. Several connections to one peer may each have a source.
    pub fn for_peer(&self, peer: IpAddr) -> PeerAdvice {
        let mut peers = self.lock();
        peers.retain(|_, peer| !peer.reports.is_closed());
        let new = || Peer { arrivals: Arrivals::default(), reports: watch::Sender::new(None) };
        let reports = peers.entry(octets(peer)).or_insert_with(new).reports.subscribe();
        PeerAdvice { reports, not_before: None }
    }

    /// Passes on a record whose user is a peer's address. `now`: when it arrived, on the caller's clock.
    ///
    /// # Errors No request names it.
    pub fn accept(&self, now: Time, arrived_at: Instant, record: &AdviceRecord) -> Result<(), NotPassedOn> {
        let mut peers = self.lock();
        let peer = peers.get_mut(&record.user).ok_or(NotPassedOn::UnknownUser)?;
        let advice = peer.arrivals.accept(now, record).map_err(NotPassedOn::Refused)?;
        peer.reports.send_replace(Some((arrived_at, advice)));
        Ok(())
    }

    /// Ends all sources.
    pub fn close(&self) {
        self.lock().clear();
    }
}

/// The user of a record that is about a peer: its IPv6 address, or its IPv4 address mapped into one.
pub fn octets(peer: IpAddr) -> [u8; 16] {
    match peer {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    }
}

/// Reports about one peer.
#[derive(Debug)]
pub struct PeerAdvice {
    reports: watch::Receiver<Option<(Instant, Advice)>>,
    not_before: Option<Instant>,
}

impl AdviceSource for PeerAdvice {
    fn next(&mut self) -> NextAdvice<'_> {
        Box::pin(async move {
            if let Some(not_before) = self.not_before {
                tokio::time::sleep_until(not_before.into()).await;
            }
            loop {
                self.reports.changed().await.ok()?;
                let newest = *self.reports.borrow_and_update();
                if let Some((arrived_at, advice)) = newest {
                    let now = Instant::now();
                    self.not_before = Some(now + MIN_REPORT_INTERVAL);
                    let waited = span(now.saturating_duration_since(arrived_at));
                    return Some(advice.with_age(advice.age + waited));
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_without_a_source_are_forgotten() {
        let table = PeerTable::default();
        drop(table.for_peer(IpAddr::from([192, 0, 2, 1])));
        let _kept = table.for_peer(IpAddr::from([192, 0, 2, 2]));
        assert_eq!(table.lock().len(), 1);
    }
}

//! A UDP socket that receives the records of a network-assistance service: see `cellcc_assist::Record`.
//!
//! - A datagram holds 1 to 18 records, about any users: at most 1152 bytes, which fit every path.
//! - The user is the peer's address (an IPv4 one mapped into IPv6). Records about other users are dropped.
//! - Records are not authenticated: the socket accepts loopback addresses only.
//! - Records that are dropped are counted.

use super::records::{Refusal, UserRecords};
use super::{AdviceSource, NextAdvice};
use crate::clock::span;
use cellcc_assist::Record;
use cellcc_control::Advice;
use cellcc_units::Time;
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use thiserror::Error;
use tokio::net::UdpSocket;
use tokio::sync::watch;
use tokio::task::AbortHandle;

const RECORDS_PER_DATAGRAM: usize = 18;
/// A thousand users with a datagram each every 50 ms. More are left unread.
const DATAGRAMS_PER_SECOND: u64 = 20_000;
/// Shortest interval between two reports to a scheme: LTE's transmission time interval.
const MIN_REPORT_INTERVAL: Duration = Duration::from_millis(1);
/// Wait after an error of the socket, such as lack of memory.
const RETRY_DELAY: Duration = Duration::from_millis(10);

/// Why the socket could not be opened.
#[derive(Debug, Error)]
pub enum BindError {
    /// Records are not authenticated.
    #[error(
        "advice is taken from this machine only, and {0} is not one of its loopback addresses: use `127.0.0.1:{port}`, \
         and run the service's client here",
        port = .0.port()
    )]
    NotLocal(SocketAddr),
    /// The system refuses.
    #[error("cannot take advice at {address}: {cause}")]
    Io {
        /// Where.
        address: SocketAddr,
        /// What the system says.
        cause: io::Error,
    },
}

/// Counts of what has arrived so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DatagramCounts {
    /// Records that were passed on.
    pub accepted: u64,
    /// Records, or whole datagrams, that cannot be decoded.
    pub malformed: u64,
    /// Records that are no newer than the last one.
    pub replayed: u64,
    /// Records that arrived after they expired.
    pub stale: u64,
    /// Records about users that are no peer here.
    pub unknown_user: u64,
    /// Datagrams above the bound of 20 000 a second, left unread.
    pub over_rate: u64,
}

/// The socket. Its sources end when the last clone is dropped.
#[derive(Debug, Clone)]
pub struct AdviceSocket(Arc<Reader>);

#[derive(Debug)]
struct Reader {
    address: SocketAddr,
    table: Arc<Mutex<Table>>,
    task: AbortHandle,
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.task.abort();
        lock(&self.table).users.clear();
    }
}

impl AdviceSocket {
    /// Receives records at this loopback address.
    ///
    /// # Errors
    /// The address is no loopback address, or the system refuses it.
    pub async fn bind(address: SocketAddr) -> Result<Self, BindError> {
        if !address.ip().to_canonical().is_loopback() {
            return Err(BindError::NotLocal(address));
        }
        let failed = |cause| BindError::Io { address, cause };
        let socket = UdpSocket::bind(address).await.map_err(failed)?;
        let address = socket.local_addr().map_err(failed)?;
        let table = Arc::new(Mutex::new(Table::default()));
        let task = tokio::spawn(read(socket, Arc::clone(&table))).abort_handle();
        Ok(Self(Arc::new(Reader { address, table, task })))
    }

    /// The address that receives records.
    pub fn address(&self) -> SocketAddr {
        self.0.address
    }

    /// Reports about the bottleneck towards this peer. Several connections to one peer may each have a source.
    pub fn for_peer(&self, peer: IpAddr) -> SocketAdvice {
        SocketAdvice { reports: lock(&self.0.table).subscribe(user(peer)), not_before: None }
    }

    /// Counts of what has arrived so far.
    pub fn counts(&self) -> DatagramCounts {
        lock(&self.0.table).counts
    }
}

/// Reports about one peer.
#[derive(Debug)]
pub struct SocketAdvice {
    reports: watch::Receiver<Option<(Instant, Advice)>>,
    not_before: Option<Instant>,
}

impl AdviceSource for SocketAdvice {
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
                    return Some(Advice { age: advice.age + waited, ..advice });
                }
            }
        })
    }
}

fn user(peer: IpAddr) -> [u8; 16] {
    match peer {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    }
}

fn lock(table: &Mutex<Table>) -> MutexGuard<'_, Table> {
    table.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The users with a source.
#[derive(Debug, Default)]
struct Table {
    users: BTreeMap<[u8; 16], User>,
    counts: DatagramCounts,
}

#[derive(Debug)]
struct User {
    records: UserRecords,
    reports: watch::Sender<Option<(Instant, Advice)>>,
}

impl Table {
    fn subscribe(&mut self, user: [u8; 16]) -> watch::Receiver<Option<(Instant, Advice)>> {
        self.users.retain(|_, user| !user.reports.is_closed());
        let new = || User { records: UserRecords::default(), reports: watch::Sender::new(None) };
        self.users.entry(user).or_insert_with(new).reports.subscribe()
    }

    fn on_datagram(&mut self, epoch: Instant, arrived_at: Instant, datagram: &[u8]) {
        let records = datagram.chunks_exact(Record::SIZE);
        let count = records.len();
        if !records.remainder().is_empty() || count == 0 || count > RECORDS_PER_DATAGRAM {
            self.counts.malformed += 1;
            return;
        }
        let now = Time::ZERO + span(arrived_at.saturating_duration_since(epoch));
        for bytes in records {
            let Ok(record) = Record::decode(bytes) else {
                self.counts.malformed += 1;
                continue;
            };
            let Some(user) = self.users.get_mut(&record.user) else {
                self.counts.unknown_user += 1;
                continue;
            };
            match user.records.accept(now, &record) {
                Ok(advice) => {
                    self.counts.accepted += 1;
                    user.reports.send_replace(Some((arrived_at, advice)));
                }
                Err(Refusal::Replayed) => self.counts.replayed += 1,
                Err(Refusal::Stale) => self.counts.stale += 1,
            }
        }
    }
}

async fn read(socket: UdpSocket, table: Arc<Mutex<Table>>) {
    let epoch = Instant::now();
    let (mut second, mut read_this_second) = (0, 0);
    // One byte more than is allowed, to detect longer datagrams.
    let mut buffer = [0; RECORDS_PER_DATAGRAM * Record::SIZE + 1];
    loop {
        let Ok(length) = socket.recv(&mut buffer).await else {
            tokio::time::sleep(RETRY_DELAY).await;
            continue;
        };
        let now = Instant::now();
        let present = now.saturating_duration_since(epoch).as_secs();
        if present != second {
            (second, read_this_second) = (present, 0);
        }
        read_this_second += 1;
        let mut table = lock(&table);
        if read_this_second > DATAGRAMS_PER_SECOND {
            table.counts.over_rate += 1;
        } else {
            table.on_datagram(epoch, now, &buffer[..length]);
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use cellcc_assist::AdviceClass;
    use cellcc_units::{Bytes, Rate, Span};
    use proptest::prelude::*;
    use std::net::{Ipv4Addr, Ipv6Addr};

    const PEER: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));

    /// A record about `PEER`; it is valid for 150 ms.
    pub(in crate::advice) fn record(sequence: u32, until_millis: u64) -> Record {
        Record {
            class: AdviceClass::Backlogged,
            handover: false,
            stale: false,
            first: false,
            period: Span::from_millis(50),
            sequence,
            measured_until: Time::ZERO + Span::from_millis(until_millis),
            user: user(PEER),
            downlink: Rate::from_mbit_per_sec(12.0),
            uplink: Rate::from_mbit_per_sec(3.0),
            min_rtt_network: Span::from_millis(10),
            min_rtt_downlink: Span::from_millis(1),
            min_rtt_uplink: Span::from_micros(250),
            backlog: Bytes::new(4500),
            valid_for: Span::from_millis(150),
            flows: 2,
            cell_epoch: 3,
        }
    }

    async fn bound() -> (AdviceSocket, UdpSocket) {
        let socket = AdviceSocket::bind((Ipv4Addr::LOCALHOST, 0).into()).await.unwrap();
        let service = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        service.connect(socket.address()).await.unwrap();
        (socket, service)
    }

    async fn next(source: &mut SocketAdvice) -> Option<Advice> {
        tokio::time::timeout(Duration::from_secs(10), source.next()).await.expect("nothing came")
    }

    #[tokio::test]
    async fn a_record_becomes_advice_for_its_peer() {
        let (socket, service) = bound().await;
        let mut source = socket.for_peer(PEER);
        service.send(&record(1, 50).encode()).await.unwrap();
        let advice = next(&mut source).await.unwrap();
        assert_eq!(advice.bandwidth, Rate::from_mbit_per_sec(12.0));
        assert_eq!(advice.min_rtt.total(), Span::from_micros(11_250));
        assert_eq!((advice.flows, advice.backlog), (2, Bytes::new(4500)));
        drop(socket);
        assert_eq!(next(&mut source).await, None, "the socket is closed");
    }

    #[tokio::test]
    async fn other_records_are_counted_and_ignored() {
        let (socket, service) = bound().await;
        let mut source = socket.for_peer(PEER);
        let other = Record { user: user(Ipv6Addr::LOCALHOST.into()), ..record(1, 50) };
        let batch =
            [record(1, 50).encode(), other.encode(), [0xff; Record::SIZE], record(1, 50).encode()].concat();
        for datagram in [&b"garbage"[..], &[], &[0; 19 * Record::SIZE], &batch, &record(2, 100).encode()] {
            service.send(datagram).await.unwrap();
        }
        while socket.counts().accepted < 2 {
            next(&mut source).await;
        }
        let expected = DatagramCounts {
            accepted: 2,
            malformed: 4,
            replayed: 1,
            unknown_user: 1,
            stale: 0,
            over_rate: 0,
        };
        assert_eq!(socket.counts(), expected);
    }

    #[tokio::test]
    async fn a_cancelled_wait_loses_no_report() {
        let (socket, service) = bound().await;
        let mut source = socket.for_peer(PEER);
        assert!(tokio::time::timeout(Duration::from_millis(5), source.next()).await.is_err());
        service.send(&record(1, 50).encode()).await.unwrap();
        assert!(next(&mut source).await.is_some());
    }

    #[tokio::test]
    async fn an_address_that_is_not_loopback_is_refused() {
        let error = AdviceSocket::bind((Ipv4Addr::UNSPECIFIED, 4321).into()).await.unwrap_err();
        assert!(error.to_string().contains("use `127.0.0.1:4321`"), "{error}");
    }

    #[test]
    fn users_without_a_source_are_forgotten() {
        let mut table = Table::default();
        drop(table.subscribe([1; 16]));
        let _kept = table.subscribe([2; 16]);
        assert_eq!(table.users.len(), 1);
    }

    proptest! {
        #[test]
        fn no_datagram_makes_the_reader_panic(datagram in prop::collection::vec(any::<u8>(), 0..1200)) {
            let mut table = Table::default();
            let now = Instant::now();
            table.on_datagram(now, now, &datagram);
            prop_assert_eq!(table.counts.accepted, 0);
        }
    }
}

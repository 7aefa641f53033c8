//! A UDP socket that receives the records of a network-assistance service: see `cellcc_assist::AdviceRecord`.
//!
//! - A datagram holds 1 to 18 records, about any users: at most 1152 bytes, which fit every path.
//! - The user is the peer's address (an IPv4 one mapped into IPv6). Records about other users are dropped.
//! - Records are not authenticated: the socket accepts loopback addresses only.
//! - Records that are dropped are counted.

use super::{AdviceService, AdviceSource, NotPassedOn, PeerAdvice, PeerTable};
use crate::clock::Clock;
use cellcc_assist::{AdviceRecord, Refusal};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use thiserror::Error;
use tokio::net::UdpSocket;
use tokio::task::AbortHandle;

const RECORDS_PER_DATAGRAM: usize = 18;
/// A thousand users with a datagram each every 50 ms. More are left unread.
const DATAGRAMS_PER_SECOND: u64 = 20_000;
/// Wait after an error of the socket, such as lack of memory.
const RETRY_DELAY: Duration = Duration::from_millis(10);

/// Reason why the socket could not be opened.
#[derive(Debug, Error)]
#[non_exhaustive]
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
        /// The address that cannot be bound.
        address: SocketAddr,
        /// The system's error.
        cause: io::Error,
    },
}

/// Counts of arrivals so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
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
    peers: PeerTable,
    counts: Arc<Mutex<DatagramCounts>>,
    task: AbortHandle,
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.task.abort();
        self.peers.close();
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
        let (peers, counts) = (PeerTable::default(), Arc::default());
        let task = tokio::spawn(read(socket, peers.clone(), Arc::clone(&counts))).abort_handle();
        Ok(Self(Arc::new(Reader { address, peers, counts, task })))
    }

    /// The address that receives records.
    pub fn address(&self) -> SocketAddr {
        self.0.address
    }

    /// Counts of arrivals so far.
    pub fn counts(&self) -> DatagramCounts {
        *lock(&self.0.counts)
    }
}

impl AdviceService for AdviceSocket {
    fn for_peer(&self, peer: IpAddr) -> Box<dyn AdviceSource> {
        Box::new(self.peer(peer))
    }
}

impl AdviceSocket {
    fn peer(&self, peer: IpAddr) -> PeerAdvice {
        self.0.peers.for_peer(peer)
    }
}

fn lock(counts: &Mutex<DatagramCounts>) -> MutexGuard<'_, DatagramCounts> {
    counts.lock().unwrap_or_else(PoisonError::into_inner)
}

impl DatagramCounts {
    fn on_datagram(&mut self, peers: &PeerTable, clock: Clock, arrived_at: Instant, datagram: &[u8]) {
        let records = datagram.chunks_exact(AdviceRecord::SIZE);
        let count = records.len();
        if !records.remainder().is_empty() || count == 0 || count > RECORDS_PER_DATAGRAM {
            self.malformed += 1;
            return;
        }
        for bytes in records {
            let Some(record) = AdviceRecord::decode(bytes) else {
                self.malformed += 1;
                continue;
            };
            match peers.accept(clock.time(arrived_at), arrived_at, &record) {
                Ok(()) => self.accepted += 1,
                Err(NotPassedOn::UnknownUser) => self.unknown_user += 1,
                Err(NotPassedOn::Refused(Refusal::Replayed)) => self.replayed += 1,
                Err(NotPassedOn::Refused(Refusal::Stale)) => self.stale += 1,
            }
        }
    }
}

async fn read(socket: UdpSocket, peers: PeerTable, counts: Arc<Mutex<DatagramCounts>>) {
    let epoch = Instant::now();
    let clock = Clock::new(epoch);
    let (mut second, mut read_this_second) = (0, 0);
    // One byte more than is allowed, to detect longer datagrams.
    let mut buffer = [0; RECORDS_PER_DATAGRAM * AdviceRecord::SIZE + 1];
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
        let mut counts = lock(&counts);
        if read_this_second > DATAGRAMS_PER_SECOND {
            counts.over_rate += 1;
        } else {
            counts.on_datagram(&peers, clock, now, &buffer[..length]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advice::octets as user;
    use cellcc_control::Advice;
    use cellcc_units::{Bytes, Rate, Span, Time};
    use proptest::prelude::*;
    use std::net::{Ipv4Addr, Ipv6Addr};

    const PEER: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));

    /// A record about `PEER`, which is valid for longer than a slow machine takes for anything here.
    fn record(sequence: u32, until_millis: u64) -> AdviceRecord {
        AdviceRecord {
            sequence,
            measured_until: Time::ZERO + Span::from_millis(until_millis),
            valid_for: Span::from_secs(60),
            user: user(PEER),
            ..AdviceRecord::EXAMPLE
        }
    }

    async fn bound() -> (AdviceSocket, UdpSocket) {
        let socket = AdviceSocket::bind((Ipv4Addr::LOCALHOST, 0).into()).await.unwrap();
        let service = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        service.connect(socket.address()).await.unwrap();
        (socket, service)
    }

    async fn next(source: &mut PeerAdvice) -> Option<Advice> {
        tokio::time::timeout(Duration::from_secs(10), source.next()).await.expect("nothing came")
    }

    #[tokio::test]
    async fn a_record_becomes_advice_for_its_peer() {
        let (socket, service) = bound().await;
        let mut source = socket.peer(PEER);
        service.send(&record(1, 50).encode()).await.unwrap();
        let advice = next(&mut source).await.unwrap();
        assert_eq!(advice.bandwidth, Rate::from_mbit_per_sec(12.0));
        assert_eq!(advice.min_rtt.expect("known").total(), Span::from_micros(11_250));
        assert_eq!((advice.flows, advice.backlog), (2, Bytes::new(4500)));
        drop(socket);
        assert_eq!(next(&mut source).await, None, "the socket is closed");
    }

    #[tokio::test]
    async fn other_records_are_counted_and_ignored() {
        let (socket, service) = bound().await;
        let mut source = socket.peer(PEER);
        let other = AdviceRecord { user: user(Ipv6Addr::LOCALHOST.into()), ..record(1, 50) };
        let batch =
            [record(1, 50).encode(), other.encode(), [0xff; AdviceRecord::SIZE], record(1, 50).encode()]
                .concat();
        for datagram in
            [&b"garbage"[..], &[], &[0; 19 * AdviceRecord::SIZE], &batch, &record(2, 100).encode()]
        {
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
        let mut source = socket.peer(PEER);
        assert!(tokio::time::timeout(Duration::from_millis(5), source.next()).await.is_err());
        service.send(&record(1, 50).encode()).await.unwrap();
        assert!(next(&mut source).await.is_some());
    }

    #[tokio::test]
    async fn an_address_that_is_not_loopback_is_refused() {
        let error = AdviceSocket::bind((Ipv4Addr::UNSPECIFIED, 4321).into()).await.unwrap_err();
        assert!(error.to_string().contains("use `127.0.0.1:4321`"), "{error}");
    }

    proptest! {
        #[test]
        fn no_datagram_makes_the_reader_panic(datagram in prop::collection::vec(any::<u8>(), 0..1200)) {
            let mut counts = DatagramCounts::default();
            let now = Instant::now();
            counts.on_datagram(&PeerTable::default(), Clock::new(now), now, &datagram);
            prop_assert_eq!(counts.accepted, 0);
        }
    }
}

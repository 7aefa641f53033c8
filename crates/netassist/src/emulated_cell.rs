//! A cell in real time on loopback, without any right: users' QUIC goes through it, and it tells what it has counted as a base
//! station does, in JSON over a WebSocket.
//!
//! ```text
//! client --> entry of its user --(uplink: delay)--> server, which sees the user's address
//!        <-- entry of its user <--(the cell: queue, slots, delay)--
//! ```

use crate::base_station::{BaseStation, REPORT_PERIOD};
use cellcc_experiment::Distribution;
use cellcc_link::{Cell, LinkConfig, Packet, Poll, Scheduler};
use cellcc_quic::Clock;
use cellcc_units::{Bytes, Span, Time};
use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use tokio::net::UdpSocket;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{sleep, sleep_until};

/// IPv4's header and UDP's.
const HEADER_BYTES: u64 = 28;
/// The largest datagram.
const MAX_DATAGRAM: usize = 65_535;
/// Clients of a user, each of which takes a socket; datagrams of further ones are dropped. A transfer is one.
const MAX_CLIENTS: usize = 64;

/// A user of the cell.
#[derive(Debug, Clone)]
pub struct CellUser {
    /// The address that servers see: one of 127.0.0.0/8.
    pub address: Ipv4Addr,
    /// The downlink: the user's channel alone, its queue, and the delay.
    pub downlink: LinkConfig,
    /// The delay of the uplink.
    pub uplink_delay: Span,
}

/// An emulated cell; dropping it ends it.
#[derive(Debug)]
pub struct EmulatedCell {
    entries: Vec<SocketAddr>,
    gnb: SocketAddr,
    server: Arc<OnceLock<SocketAddr>>,
    queueing: Arc<Mutex<Vec<Distribution>>>,
    _tasks: JoinSet<()>,
}

impl EmulatedCell {
    /// Starts a cell, its users in turn. Needs a tokio runtime.
    ///
    /// # Errors
    /// The system gives no sockets at these addresses.
    pub async fn start(users: Vec<CellUser>) -> io::Result<Self> {
        let clock = Clock::new(Instant::now());
        let server = Arc::new(OnceLock::new());
        let queueing = Arc::new(Mutex::new(vec![Distribution::default(); users.len()]));
        let (downlink, arriving) = mpsc::unbounded_channel();
        let base_station = BaseStation::start(users.len()).await?;
        let gnb = base_station.address();
        let mut tasks = JoinSet::new();
        let mut entries = Vec::new();
        for (index, user) in users.iter().enumerate() {
            let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await?;
            entries.push(socket.local_addr()?);
            // That the user's address can be had is found out now.
            UdpSocket::bind((user.address, 0)).await?;
            let entry = Entry {
                index,
                address: user.address.into(),
                socket: Arc::new(socket),
                server: Arc::clone(&server),
                delay: Duration::from_nanos(user.uplink_delay.as_nanos()),
                downlink: downlink.clone(),
            };
            tasks.spawn(entry.run());
        }
        let links = users.into_iter().map(|user| user.downlink).collect();
        let cell = Cell::new(links, Scheduler::RoundRobin, 0);
        let station = Station { cell, clock, users: entries.len(), base_station };
        tasks.spawn(station.run(arriving, Arc::clone(&queueing)));
        Ok(Self { entries, gnb, server, queueing, _tasks: tasks })
    }

    /// Where the users' packets go. Once; before, they are dropped.
    pub fn lead_to(&self, server: SocketAddr) {
        // A second server would split a user's flows: the first stays.
        let _ = self.server.set(server);
    }

    /// Where the clients of a user find the server.
    ///
    /// # Panics
    /// Where there is no such user.
    pub fn entry(&self, user: usize) -> SocketAddr {
        self.entries[user]
    }

    /// The base station's WebSocket.
    pub fn gnb(&self) -> SocketAddr {
        self.gnb
    }

    /// How long the packets of each user have waited in the cell.
    pub fn queueing(&self) -> Vec<Distribution> {
        self.queueing.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// A packet on its way to a client.
#[derive(Debug)]
struct Datagram {
    bytes: Vec<u8>,
    client: SocketAddr,
    entry: Arc<UdpSocket>,
}

impl Packet for Datagram {
    fn size(&self) -> Bytes {
        Bytes::new(self.bytes.len() as u64 + HEADER_BYTES)
    }
}

/// Where a user's clients send to.
struct Entry {
    index: usize,
    address: IpAddr,
    socket: Arc<UdpSocket>,
    server: Arc<OnceLock<SocketAddr>>,
    delay: Duration,
    downlink: mpsc::UnboundedSender<(usize, Datagram)>,
}

impl Entry {
    /// Each client has a socket of its own towards the server, so that the server sees a port for each.
    async fn run(self) {
        let mut sockets: HashMap<SocketAddr, Arc<UdpSocket>> = HashMap::new();
        let mut readers = JoinSet::new();
        let (delayed, mut leaving) = mpsc::unbounded_channel::<(Instant, Arc<UdpSocket>, Vec<u8>)>();
        readers.spawn(async move {
            while let Some((due, socket, bytes)) = leaving.recv().await {
                sleep_until(due.into()).await;
                // A packet that the system does not take is lost, as packets are.
                let _ = socket.send(&bytes).await;
            }
        });
        let mut buffer = vec![0; MAX_DATAGRAM];
        loop {
            let Ok((length, client)) = self.socket.recv_from(&mut buffer).await else { continue };
            let Some(server) = self.server.get() else { continue };
            let socket = match sockets.get(&client) {
                Some(socket) => Arc::clone(socket),
                None if sockets.len() == MAX_CLIENTS => continue,
                None => {
                    let Ok(socket) = self.towards(*server).await else { continue };
                    let (entry, downlink, index) =
                        (Arc::clone(&self.socket), self.downlink.clone(), self.index);
                    readers.spawn(read_downlink(Arc::clone(&socket), entry, client, index, downlink));
                    sockets.insert(client, Arc::clone(&socket));
                    socket
                }
            };
            let _ = delayed.send((Instant::now() + self.delay, socket, buffer[..length].to_vec()));
        }
    }

    /// A socket that the server sees as the user's.
    async fn towards(&self, server: SocketAddr) -> io::Result<Arc<UdpSocket>> {
        let socket = UdpSocket::bind((self.address, 0)).await?;
        socket.connect(server).await?;
        Ok(Arc::new(socket))
    }
}

async fn read_downlink(
    socket: Arc<UdpSocket>,
    entry: Arc<UdpSocket>,
    client: SocketAddr,
    user: usize,
    downlink: mpsc::UnboundedSender<(usize, Datagram)>,
) {
    let mut buffer = vec![0; MAX_DATAGRAM];
    loop {
        match socket.recv(&mut buffer).await {
            Ok(length) => {
                let datagram =
                    Datagram { bytes: buffer[..length].to_vec(), client, entry: Arc::clone(&entry) };
                if downlink.send((user, datagram)).is_err() {
                    return;
                }
            }
            // The server may be gone for a moment: an ICMP message of before.
            Err(_) => sleep(Duration::from_millis(1)).await,
        }
    }
}

/// The base station.
struct Station {
    cell: Cell<Datagram>,
    clock: Clock,
    users: usize,
    base_station: BaseStation,
}

impl Station {
    async fn run(
        mut self,
        mut arriving: mpsc::UnboundedReceiver<(usize, Datagram)>,
        queueing: Arc<Mutex<Vec<Distribution>>>,
    ) {
        let mut reports = tokio::time::interval(Duration::from_nanos(REPORT_PERIOD.as_nanos()));
        loop {
            let wake = self.cell.next_wake();
            // Nothing to wait for: the next report comes sooner.
            let at = if wake == Time::NEVER { self.clock.now() + Span::from_secs(1) } else { wake };
            tokio::select! {
                arrived = arriving.recv() => match arrived {
                    Some((user, datagram)) => {
                        // Packets dropped by the queue are lost.
                        let _ = self.cell.enqueue(self.clock.now(), user, datagram);
                    }
                    None => return,
                },
                () = self.clock.sleep_until(at) => {}
                _ = reports.tick() => {
                    let now = self.clock.now();
                    let counters = (0..self.users).map(|user| self.cell.counters(now, user)).collect();
                    self.base_station.report(now, counters);
                }
            }
            self.deliver(&queueing).await;
        }
    }

    async fn deliver(&mut self, queueing: &Mutex<Vec<Distribution>>) {
        loop {
            match self.cell.poll(self.clock.now()) {
                Poll::Ready((user, delivery)) => {
                    let waited = delivery.departed_at.since(delivery.queued_at);
                    queueing.lock().unwrap_or_else(PoisonError::into_inner)[user].add(waited);
                    let Datagram { bytes, client, entry } = delivery.packet;
                    let _ = entry.send_to(&bytes, client).await;
                }
                Poll::Dropped(_) => {}
                Poll::Wake(_) | Poll::Idle => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use tokio::time::timeout;

    /// Any program of the machine can send to a user's address.
    #[tokio::test]
    async fn who_sends_from_many_ports_does_not_take_a_socket_for_each() {
        let downlink = LinkConfig::transparent();
        let user = CellUser { address: Ipv4Addr::LOCALHOST, downlink, uplink_delay: Span::ZERO };
        let cell = EmulatedCell::start(vec![user]).await.unwrap();
        let server = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        cell.lead_to(server.local_addr().unwrap());
        let mut clients = Vec::new();
        for _ in 0..2 * MAX_CLIENTS {
            let client = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
            client.send_to(b"x", cell.entry(0)).await.unwrap();
            clients.push(client);
        }
        let mut seen = HashSet::new();
        while let Ok(Ok((_, from))) = timeout(Duration::from_secs(1), server.recv_from(&mut [0])).await {
            seen.insert(from);
        }
        assert_eq!(seen.len(), MAX_CLIENTS);
    }
}

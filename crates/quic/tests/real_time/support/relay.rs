//! A bottleneck in user space: a relay between client and server that limits and delays the server's packets. As
//! punctual as tokio's timers (1 ms): enough to tell a queue from none.

use cellcc_units::{Bytes, Rate};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::net::UdpSocket;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// IP and UDP headers, which the link carries too.
const HEADERS: u64 = 28;
const LARGEST_DATAGRAM: usize = 65_535;

/// The path from the server to the client; the reverse path is free.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bottleneck {
    /// The rate of whole packets.
    pub(crate) rate: Rate,
    /// The RTT without a queue.
    pub(crate) rtt: Duration,
    /// The queue's limit.
    pub(crate) queue: Bytes,
}

/// Starts a relay to `server`, and gives its address. It ends with the runtime.
pub(crate) async fn start(server: SocketAddr, bottleneck: Bottleneck) -> SocketAddr {
    let anywhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let front = Arc::new(UdpSocket::bind(anywhere).await.unwrap());
    let back = Arc::new(UdpSocket::bind(anywhere).await.unwrap());
    let client = Arc::new(OnceLock::new());
    let address = front.local_addr().unwrap();
    tokio::spawn({
        let (front, back, client) = (Arc::clone(&front), Arc::clone(&back), Arc::clone(&client));
        async move {
            let mut buffer = vec![0; LARGEST_DATAGRAM];
            while let Ok((length, from)) = front.recv_from(&mut buffer).await {
                let _ = client.set(from);
                let _ = back.send_to(&buffer[..length], server).await;
            }
        }
    });
    let (sender, mut departures) = mpsc::unbounded_channel::<(Instant, Vec<u8>)>();
    tokio::spawn(async move {
        while let Some((at, datagram)) = departures.recv().await {
            tokio::time::sleep_until(at).await;
            if let Some(client) = client.get() {
                let _ = front.send_to(&datagram, client).await;
            }
        }
    });
    tokio::spawn(async move {
        let mut buffer = vec![0; LARGEST_DATAGRAM];
        let mut free_at = Instant::now();
        while let Ok((length, _)) = back.recv_from(&mut buffer).await {
            let now = Instant::now();
            let time_for = |bytes| Duration::from_nanos(bottleneck.rate.time_for(bytes).as_nanos());
            free_at = free_at.max(now);
            if free_at - now > time_for(bottleneck.queue) {
                continue;
            }
            free_at += time_for(Bytes::new(length as u64 + HEADERS));
            let _ = sender.send((free_at + bottleneck.rtt, buffer[..length].to_vec()));
        }
    });
    address
}

//! A relay between client and server that treats packets as networks do: loses some, goes dark, and takes another address
//! towards the server, as a NAT whose entry has expired.

use rand_pcg::Pcg64;
use rand_pcg::rand_core::{Rng, SeedableRng};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use tokio::net::UdpSocket;

const LARGEST_DATAGRAM: usize = 65_535;
const PER_CENT: u32 = 100;

/// A relay that is under way. It ends with the runtime.
pub(crate) struct Faults {
    shared: Arc<Shared>,
}

struct Shared {
    front: UdpSocket,
    server: SocketAddr,
    client: OnceLock<SocketAddr>,
    back: Mutex<Arc<UdpSocket>>,
    loss_per_cent: AtomicU32,
    is_dark: AtomicBool,
    random: Mutex<Pcg64>,
}

impl Faults {
    /// A relay to `server` that does nothing yet, and its address.
    pub(crate) async fn start(server: SocketAddr) -> (Self, SocketAddr) {
        let front = socket().await;
        let address = front.local_addr().unwrap();
        let back = Arc::new(socket().await);
        let shared = Arc::new(Shared {
            front,
            server,
            client: OnceLock::new(),
            back: Mutex::new(Arc::clone(&back)),
            loss_per_cent: AtomicU32::new(0),
            is_dark: AtomicBool::new(false),
            random: Mutex::new(Pcg64::seed_from_u64(1)),
        });
        tokio::spawn(Arc::clone(&shared).to_server());
        tokio::spawn(Arc::clone(&shared).to_client(back));
        (Self { shared }, address)
    }

    /// Loses this share of the packets, in either direction.
    pub(crate) fn lose(&self, per_cent: u32) {
        self.shared.loss_per_cent.store(per_cent, Ordering::Relaxed);
    }

    /// Loses everything, or nothing of it any more.
    pub(crate) fn go_dark(&self, is_dark: bool) {
        self.shared.is_dark.store(is_dark, Ordering::Relaxed);
    }

    /// Has another port towards the server from now on. Packets that still come to the old one are lost.
    pub(crate) async fn rebind(&self) {
        let back = Arc::new(socket().await);
        *self.shared.back.lock().unwrap() = Arc::clone(&back);
        tokio::spawn(Arc::clone(&self.shared).to_client(back));
    }
}

impl Shared {
    async fn to_server(self: Arc<Self>) {
        let mut buffer = vec![0; LARGEST_DATAGRAM];
        while let Ok((length, from)) = self.front.recv_from(&mut buffer).await {
            let _ = self.client.set(from);
            if !self.loses() {
                let back = Arc::clone(&self.back.lock().unwrap());
                let _ = back.send_to(&buffer[..length], self.server).await;
            }
        }
    }

    async fn to_client(self: Arc<Self>, back: Arc<UdpSocket>) {
        let mut buffer = vec![0; LARGEST_DATAGRAM];
        while let Ok((length, _)) = back.recv_from(&mut buffer).await {
            let is_old = !Arc::ptr_eq(&back, &self.back.lock().unwrap());
            let client = self.client.get().filter(|_| !is_old && !self.loses());
            if let Some(client) = client {
                let _ = self.front.send_to(&buffer[..length], client).await;
            }
        }
    }

    fn loses(&self) -> bool {
        let drawn = self.random.lock().unwrap().next_u32() % PER_CENT;
        self.is_dark.load(Ordering::Relaxed) || drawn < self.loss_per_cent.load(Ordering::Relaxed)
    }
}

async fn socket() -> UdpSocket {
    UdpSocket::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await.unwrap()
}

//! NetAssist's side: sends echoes to one base station's host, and knows the shortest round trip.

use super::{ECHO_BYTES, Echoes, Nonce, marked_socket};
use crate::clock::ServiceClock;
use cellcc_netassist_client::certificates::provider;
use cellcc_units::Span;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::net::UdpSocket;
use tokio::time::{MissedTickBehavior, interval};

/// The counts of a prober.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ProbeCounts {
    /// Echoes that left.
    pub sent: u64,
    /// Answers to them.
    pub answered: u64,
    /// Echoes without an answer for two seconds.
    pub lost: u64,
    /// Datagrams that were no answer to an echo on its way.
    pub forged: u64,
}

/// Echoes to one host. Clones are handles of the same one.
#[derive(Debug, Clone)]
pub struct Prober {
    socket: Arc<UdpSocket>,
    echoes: Arc<Mutex<Echoes>>,
    interval: Duration,
    clock: ServiceClock,
}

impl Prober {
    /// A prober of the host at this address, with one echo each `interval`.
    ///
    /// # Errors
    /// The system gives no socket, or has no route.
    pub async fn open(host: SocketAddr, every: Span, clock: ServiceClock) -> io::Result<Self> {
        let any = match host {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        let socket = marked_socket(any).await?;
        // Datagrams of others do not arrive then.
        socket.connect(host).await?;
        let interval = Duration::from_nanos(every.as_nanos().max(1));
        Ok(Self { socket: Arc::new(socket), echoes: Arc::default(), interval, clock })
    }

    /// The shortest round trip of the last ten seconds; `None` where there was none.
    pub fn minimum(&self) -> Option<Span> {
        self.echoes().minimum(self.clock.now())
    }

    /// The counts so far.
    pub fn counts(&self) -> ProbeCounts {
        let echoes = self.echoes();
        let Echoes { sent, answered, lost, forged, .. } = *echoes;
        ProbeCounts { sent, answered, lost, forged }
    }

    /// Sends and receives until it is dropped.
    pub async fn run(self) {
        let mut ticks = interval(self.interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // One byte more shows what is too long.
        let mut buffer = [0; ECHO_BYTES + 1];
        loop {
            tokio::select! {
                received = self.socket.recv(&mut buffer) => {
                    // An error means that there is no receiver: the echo is lost.
                    if let Ok(length) = received {
                        self.echoes().receive(self.clock.now(), &buffer[..length]);
                    }
                }
                _ = ticks.tick() => self.send().await,
            }
        }
    }

    async fn send(&self) {
        let mut nonce: Nonce = [0; 16];
        if provider().secure_random.fill(&mut nonce).is_err() {
            return;
        }
        let now = self.clock.now();
        let bytes = {
            let mut echoes = self.echoes();
            echoes.forget(now);
            echoes.send(now, nonce)
        };
        // A packet that the system does not send is lost.
        let _ = self.socket.send(&bytes).await;
    }

    fn echoes(&self) -> MutexGuard<'_, Echoes> {
        self.echoes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

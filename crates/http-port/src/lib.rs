//! Internal, exact version: any release may change this crate (docs/architecture.md, "Promised crates").
//!
//! A TCP port for HTTP, plain or under TLS: how many connections it takes, how many of one host, and how long a peer may take to
//! say what it wants. The service of network assistance and `cellcc view` answer on it.

#![allow(clippy::disallowed_methods, reason = "a port has sockets and clocks")]

mod problem_log;

pub use problem_log::ProblemLog;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

/// Share of one host in all connections: a quarter, so that no host takes all places.
const SHARE_OF_ONE_HOST: usize = 4;
/// A handshake, and the headers of a request, take no longer than this. Ours: a hundred round trips of a slow path.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// A peer that acknowledges nothing for so long is gone.
#[cfg(target_os = "linux")]
const USER_TIMEOUT: Duration = Duration::from_secs(15);
/// Wait where the system gives no socket.
const ACCEPT_RETRY: Duration = Duration::from_millis(100);

/// The limits of a port.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Connections at once; further ones wait until one of these has ended.
    pub connections: usize,
    /// How long a TLS handshake may take, and the headers of each request.
    pub patience: Duration,
}

impl Bounds {
    /// This many connections, and ten seconds.
    pub const fn of(connections: usize) -> Self {
        Self { connections, patience: HANDSHAKE_TIMEOUT }
    }
}

/// A port that listens.
#[derive(Debug)]
pub struct Port {
    listener: TcpListener,
    bounds: Bounds,
}

impl Port {
    /// Listens at this address.
    ///
    /// # Errors
    /// The system's: the port is taken, or is not for this user.
    pub async fn bind(address: SocketAddr, bounds: Bounds) -> io::Result<Self> {
        Ok(Self { listener: TcpListener::bind(address).await?, bounds })
    }

    /// Where it listens.
    pub fn address(&self) -> Option<SocketAddr> {
        self.listener.local_addr().ok()
    }

    /// Has `answer` deal with each connection, until this is dropped. A new connection of a host at its limit is closed.
    /// `log` is called, now and then, when the system gives no socket for a connection; it waits then.
    pub async fn serve<F: Future<Output = ()> + Send + 'static>(
        self,
        log: impl Fn(&str),
        answer: impl Fn(TcpStream, IpAddr) -> F,
    ) {
        let places = Arc::new(Semaphore::new(self.bounds.connections));
        let mut of_hosts: HashMap<IpAddr, Arc<Semaphore>> = HashMap::new();
        let mut connections = JoinSet::new();
        let mut problems = ProblemLog::default();
        loop {
            while connections.try_join_next().is_some() {}
            // The semaphore is never closed.
            let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
            let (socket, address) = match self.listener.accept().await {
                Ok(accepted) => accepted,
                Err(error) => {
                    let problem = format!(
                        "connections wait: {error}; where the limit of open files is reached, raise `ulimit -Hn`"
                    );
                    problems.line(Instant::now(), &problem).iter().for_each(|line| log(line));
                    tokio::time::sleep(ACCEPT_RETRY).await;
                    continue;
                }
            };
            let address = address.ip().to_canonical();
            // A place holds its semaphore.
            of_hosts.retain(|_, places| Arc::strong_count(places) > 1);
            let of_one = (self.bounds.connections / SHARE_OF_ONE_HOST).max(1);
            let of_host = of_hosts.entry(host(address)).or_insert_with(|| Arc::new(Semaphore::new(of_one)));
            let Ok(place_of_host) = Arc::clone(of_host).try_acquire_owned() else { continue };
            // Without these options it takes longer to see that a peer is gone, and an event waits for an acknowledgement.
            #[cfg(target_os = "linux")]
            let _ = socket2::SockRef::from(&socket).set_tcp_user_timeout(Some(USER_TIMEOUT));
            let _ = socket.set_nodelay(true);
            let answered = answer(socket, address);
            connections.spawn(async move {
                answered.await;
                drop((place, place_of_host));
            });
        }
    }
}

/// The part of an address that identifies a host: in IPv6 usually the first 64 bits.
fn host(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into(),
    }
}

/// Answers requests until the connection ends.
pub async fn answer(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    router: Router,
    patience: Duration,
) {
    // How a connection ends does not matter here.
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(patience)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router))
        .await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::routing::get;
    use futures_util::stream::FuturesUnordered;
    use futures_util::{FutureExt, StreamExt};
    use std::net::Ipv4Addr;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpSocket;
    use tokio::time::timeout;

    /// Ends a hang: longer than anything here takes on a slow machine.
    const ENOUGH: Duration = Duration::from_secs(60);
    const HALF: &[u8] = b"GET / HTTP/1.1\r\nX: ";

    /// A port with these bounds that answers "here".
    async fn start(bounds: Bounds) -> SocketAddr {
        let port = Port::bind((Ipv4Addr::UNSPECIFIED, 0).into(), bounds).await.unwrap();
        let address = port.address().unwrap();
        let router = Router::new().route("/", get(|| async { "here" }));
        tokio::spawn(port.serve(|_| {}, move |socket, _| answer(socket, router.clone(), bounds.patience)));
        (Ipv4Addr::LOCALHOST, address.port()).into()
    }

    /// A connection from one of loopback's addresses on which this has been said.
    async fn said(from: u8, to: SocketAddr, text: &[u8]) -> TcpStream {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind((Ipv4Addr::new(127, 0, 0, from), 0).into()).unwrap();
        let mut stream = socket.connect(to).await.unwrap();
        // Closed already, where there is no place.
        let _ = stream.write_all(text).await;
        stream
    }

    async fn is_answered(from: u8, to: SocketAddr) -> bool {
        let mut stream = said(from, to, b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n").await;
        let mut answer = String::new();
        let read = timeout(ENOUGH, stream.read_to_string(&mut answer)).await.expect("it answers or closes");
        read.is_ok() && answer.ends_with("here")
    }

    /// 3,000 of 3,000 half requests used to be held for as long as their sender liked, by the port without TLS.
    #[tokio::test]
    async fn one_host_takes_a_quarter_of_the_places_and_others_are_answered_at_once() {
        // Longer than the test: who is answered has not waited for half requests to end.
        let to = start(Bounds { patience: 2 * ENOUGH, ..Bounds::of(16) }).await;
        let mut half = Vec::new();
        for _ in 0..100 {
            half.push(said(1, to, HALF).await);
        }
        assert!(is_answered(2, to).await);
        assert!(!is_answered(1, to).await, "it has its places");
        let mut open: FuturesUnordered<_> = half.iter_mut().map(|stream| stream.read_u8()).collect();
        for _ in 0..96 {
            timeout(ENOUGH, open.next()).await.expect("closed, since it has no place");
        }
        assert!(open.next().now_or_never().is_none(), "the others hold a place");
    }

    #[tokio::test]
    async fn a_request_that_is_never_finished_loses_its_place() {
        let to = start(Bounds { connections: 4, patience: Duration::from_secs(2) }).await;
        let mut half = said(1, to, HALF).await;
        assert!(!is_answered(1, to).await, "the only place of this host is taken");
        let end = timeout(ENOUGH, async { while half.read_u8().await.is_ok() {} }).await;
        assert!(end.is_ok(), "closed once its time is over");
        assert!(is_answered(1, to).await);
    }

    #[test]
    fn a_host_is_an_address_and_in_ipv6_what_it_may_choose_from() {
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        assert_eq!(host(ip("192.0.2.1")), ip("192.0.2.1"));
        assert_eq!(host(ip("2001:db8::1")), host(ip("2001:db8::2")));
        assert_ne!(host(ip("2001:db8:0:1::1")), host(ip("2001:db8:0:2::1")));
    }
}

//! An endpoint that takes its packets in on a thread of its own.
//!
//! noq has one task read an endpoint's socket, for 50 µs at a time; then all other tasks of the runtime have their turns,
//! in each of which a connection sends up to 20 packets. Where two hundred connections shared two processors with others,
//! half of all acknowledgements found the socket's buffer full, the rest came up to 1.6 s late, and connections timed out
//! (docs/fidelity/quic.md). The kernel gives a thread its turn within milliseconds if it uses little.

use noq::{AsyncTimer, AsyncUdpSocket, Endpoint, EndpointConfig, Runtime, ServerConfig, TokioRuntime};
use std::fmt;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

/// What waits in the kernel until the thread has its turn. Linux doubles it, and counts about 768 bytes for an
/// acknowledgement and 2304 for a full packet: 10,000 of those or 3600 of these, 40 ms of 1 Gbit/s. Its usual 208 KiB hold
/// 277 or 92.
const BUFFER: usize = 4 << 20;

type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Opens a socket: with a `server` to listen, without to connect.
///
/// The thread ends with the endpoint, or with the tokio runtime that this is called in.
///
/// # Errors
/// An address that is taken, or not this machine's; no thread.
pub fn endpoint(address: SocketAddr, server: Option<ServerConfig>) -> io::Result<Endpoint> {
    endpoint_on(UdpSocket::bind(address)?, server)
}

/// The same on a socket that is open already.
///
/// # Errors
/// A socket that cannot be used; no thread.
pub fn endpoint_on(socket: UdpSocket, server: Option<ServerConfig>) -> io::Result<Endpoint> {
    enlarge(&socket);
    Endpoint::new(EndpointConfig::default(), server, socket, Arc::new(OwnThread::start()?))
}

/// As far as the system allows: on Linux `net.core.rmem_max`, or beyond for who administers the network.
fn enlarge(socket: &UdpSocket) {
    #[cfg(target_os = "linux")]
    if rustix::net::sockopt::set_socket_recv_buffer_size_force(socket, BUFFER).is_ok() {
        return;
    }
    if let Err(error) = socket2::SockRef::from(socket).set_recv_buffer_size(BUFFER) {
        tracing::debug!("the socket's receive buffer stays as it is: {error}");
    }
}

/// noq's runtime. The first task that noq starts is the endpoint's: the thread runs it. Those of connections run where they
/// would otherwise.
struct OwnThread {
    reactor: Handle,
    task: Mutex<Option<oneshot::Sender<Task>>>,
}

impl OwnThread {
    fn start() -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_io().build()?;
        let reactor = runtime.handle().clone();
        let (task, given) = oneshot::channel::<Task>();
        let (ends, over) = oneshot::channel::<()>();
        let (done, is_done) = oneshot::channel::<()>();
        // Dropped with the caller's runtime, where that ends first: then nobody would end the endpoint.
        tokio::spawn(async move {
            let _ = is_done.await;
            drop(ends);
        });
        std::thread::Builder::new().name("quic-receive".into()).spawn(move || {
            runtime.block_on(async {
                let Ok(task) = given.await else { return };
                tokio::select! {
                    () = task => {}
                    _ = over => {}
                }
            });
            drop(done);
        })?;
        Ok(Self { reactor, task: Mutex::new(Some(task)) })
    }
}

impl Runtime for OwnThread {
    fn new_timer(&self, at: Instant) -> Pin<Box<dyn AsyncTimer>> {
        TokioRuntime.new_timer(at)
    }

    fn spawn(&self, task: Task) {
        match self.task.lock().unwrap_or_else(PoisonError::into_inner).take() {
            // Where the thread has ended, so has the runtime that the endpoint was made in.
            Some(thread) => drop(thread.send(task)),
            None => TokioRuntime.spawn(task),
        }
    }

    fn wrap_udp_socket(&self, socket: UdpSocket) -> io::Result<Box<dyn AsyncUdpSocket>> {
        // Who reads the socket is to be who waits for it.
        let _entered = self.reactor.enter();
        socket.set_nonblocking(true)?;
        TokioRuntime.wrap_udp_socket(socket)
    }
}

impl fmt::Debug for OwnThread {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("OwnThread").finish_non_exhaustive()
    }
}

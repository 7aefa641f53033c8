//! An endpoint that receives on a thread of its own.
//!
//! In noq one task reads an endpoint's socket, for 50 µs at a time; then all other tasks of the runtime run, and each
//! connection sends up to 20 packets. With two hundred connections on two busy processors, half of all acknowledgements
//! found the socket's buffer full, the rest came up to 1.6 s late, and connections timed out (docs/fidelity/quic.md). The
//! kernel schedules a thread of its own within milliseconds, because it uses little processor time.

use noq::{AsyncTimer, AsyncUdpSocket, Endpoint, EndpointConfig, Runtime, ServerConfig, TokioRuntime};
use std::fmt;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

/// Receive buffer of the socket, in bytes. Linux doubles it, and counts about 768 bytes for an acknowledgement and 2304 for
/// a full packet. So it holds 10,000 acknowledgements or 3600 full packets (40 ms of 1 Gbit/s); Linux's default of 208 KiB
/// holds 277 or 92.
const RECEIVE_BUFFER: usize = 4 << 20;

type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Opens a socket; with `server` the endpoint also listens.
///
/// The thread ends with the endpoint, or with the tokio runtime that this is called in.
///
/// # Errors
/// The address is in use or belongs to another machine, or the system cannot start a thread.
pub fn endpoint(address: SocketAddr, server: Option<ServerConfig>) -> io::Result<Endpoint> {
    endpoint_on(UdpSocket::bind(address)?, server)
}

/// Makes the endpoint on an open socket.
///
/// # Errors
/// The socket cannot be used, or the system cannot start a thread.
pub fn endpoint_on(socket: UdpSocket, server: Option<ServerConfig>) -> io::Result<Endpoint> {
    enlarge_receive_buffer(&socket);
    Endpoint::new(EndpointConfig::default(), server, socket, Arc::new(DedicatedReceiveRuntime::start()?))
}

/// Linux limits the buffer to `net.core.rmem_max`, unless the process may administer the network.
fn enlarge_receive_buffer(socket: &UdpSocket) {
    #[cfg(target_os = "linux")]
    if rustix::net::sockopt::set_socket_recv_buffer_size_force(socket, RECEIVE_BUFFER).is_ok() {
        return;
    }
    if let Err(error) = socket2::SockRef::from(socket).set_recv_buffer_size(RECEIVE_BUFFER) {
        tracing::debug!("the socket's receive buffer stays as it is: {error}");
    }
}

/// A runtime for noq with a dedicated receive thread. noq's first task reads the endpoint's socket and runs on that thread;
/// all other tasks run in the caller's tokio runtime.
struct DedicatedReceiveRuntime {
    reactor: Handle,
    task: Mutex<Option<oneshot::Sender<Task>>>,
}

impl DedicatedReceiveRuntime {
    fn start() -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_io().build()?;
        let reactor = runtime.handle().clone();
        let (task, given) = oneshot::channel::<Task>();
        let (ends, over) = oneshot::channel::<()>();
        let (done, is_done) = oneshot::channel::<()>();
        // The caller's runtime drops this task, and with it `ends`, if it shuts down before the endpoint.
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

impl Runtime for DedicatedReceiveRuntime {
    fn new_timer(&self, at: Instant) -> Pin<Box<dyn AsyncTimer>> {
        TokioRuntime.new_timer(at)
    }

    fn spawn(&self, task: Task) {
        match self.task.lock().unwrap_or_else(PoisonError::into_inner).take() {
            // Sending fails only after the caller's runtime has shut down.
            Some(thread) => drop(thread.send(task)),
            None => TokioRuntime.spawn(task),
        }
    }

    fn wrap_udp_socket(&self, socket: UdpSocket) -> io::Result<Box<dyn AsyncUdpSocket>> {
        // Register the socket with the reactor of the thread that reads it.
        let _entered = self.reactor.enter();
        socket.set_nonblocking(true)?;
        TokioRuntime.wrap_udp_socket(socket)
    }
}

impl fmt::Debug for DedicatedReceiveRuntime {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("DedicatedReceiveRuntime").finish_non_exhaustive()
    }
}

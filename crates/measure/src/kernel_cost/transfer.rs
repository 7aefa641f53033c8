//! One transfer, and its cost.

use super::processor;
use super::spaces::{self, RECEIVER};
use rustix::net::{RecvFlags, recv};
use rustix::time::{ClockId, clock_gettime};
use socket2::{Domain, Socket, Type};
use std::fmt;
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A sender's load.
#[derive(Debug, Clone, Copy)]
pub(super) enum Load {
    /// Data at this rate in Mbit/s, a piece each millisecond.
    Rate(u64),
    /// As much as there is room for.
    Unlimited,
}

/// The result of a transfer, after its beginning.
#[derive(Debug, Clone, Copy)]
pub(super) struct Transfer {
    bytes: u64,
    busy: Duration,
    elapsed: Duration,
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rate(mbit_per_s) => f.pad(&format!("{mbit_per_s} Mbit/s")),
            Self::Unlimited => f.pad("unlimited"),
        }
    }
}

impl Transfer {
    /// The data sent from the first byte on, at a constant rate.
    pub(super) fn gigabytes_with_beginning(&self) -> f64 {
        let whole = (self.elapsed + BEGINNING).as_secs_f64();
        self.bytes as f64 / 1e9 * whole / self.elapsed.as_secs_f64()
    }

    pub(super) fn cpu_s_per_gigabyte(&self) -> f64 {
        self.busy.as_secs_f64() / (self.bytes as f64 / 1e9)
    }

    pub(super) fn gbit_per_s(&self) -> f64 {
        self.bytes as f64 * 8.0 / 1e9 / self.elapsed.as_secs_f64()
    }
}

/// Slow start and the first page faults are over after this.
const BEGINNING: Duration = Duration::from_millis(300);
const PIECES_EVERY: Duration = Duration::from_millis(1);
/// Reports of the network come as often as its paper has them.
const ADVISED_EVERY: Duration = Duration::from_millis(50);
const PORT: u16 = 20_000;

/// The clock of advice.
pub(super) fn monotonic_us() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000 + now.tv_nsec as u64 / 1000
}

/// Sends with the kernel's scheme of this name, paced by TCP at no more than `most` bytes per second where that is given, and
/// calls `advise` again and again.
pub(super) fn run(
    scheme: &str,
    most: Option<u64>,
    load: Load,
    length: Duration,
    advise: impl Fn() + Sync,
) -> Transfer {
    let (is_over, received) = (AtomicBool::new(false), AtomicU64::new(0));
    let listener = std::thread::scope(|scope| {
        let listen = || {
            spaces::enter_receiver();
            let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
            socket.set_reuse_address(true).expect("reused");
            socket.bind(&SocketAddr::new(RECEIVER, PORT).into()).expect("bound");
            socket.listen(1).expect("listening");
            socket
        };
        scope.spawn(listen).join().expect("a listener")
    });
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (stream, _) = listener.accept().expect("a connection");
            let mut buffer = vec![0; 1 << 18];
            // TRUNC: TCP throws the data away instead of copying it.
            while let Ok((_, count)) = recv(&stream, &mut buffer[..], RecvFlags::TRUNC) {
                if count == 0 {
                    break;
                }
                received.fetch_add(count as u64, Ordering::Relaxed);
            }
        });
        scope.spawn(|| {
            spaces::enter_sender();
            advise();
            let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
            socket.set_tcp_congestion(scheme.as_bytes()).expect("a scheme");
            if let Some(most) = most {
                pace(&socket, most);
            }
            socket.connect(&SocketAddr::new(RECEIVER, PORT).into()).expect("connected");
            send(&socket, load, &is_over);
        });
        let measured = measure(length, &received, &advise);
        is_over.store(true, Ordering::Relaxed);
        measured
    })
}

/// Lets TCP pace a socket at no more than so many bytes per second, by its own timers where there is no queueing discipline `fq`.
#[allow(unsafe_code, reason = "no crate knows SO_MAX_PACING_RATE")]
fn pace(socket: &Socket, rate: u64) {
    let (value, length) = ((&raw const rate).cast(), size_of_val(&rate) as libc::socklen_t);
    // SAFETY: the socket is open, and the value is read during the call only.
    let failed = unsafe {
        libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, value, length)
    };
    assert_eq!(failed, 0, "{}", std::io::Error::last_os_error());
}

fn send(socket: &Socket, load: Load, is_over: &AtomicBool) {
    let piece = match load {
        Load::Rate(mbit_per_s) => (mbit_per_s * 125) as usize,
        Load::Unlimited => 1 << 18,
    };
    let buffer = vec![7; piece];
    let mut due = Instant::now();
    while !is_over.load(Ordering::Relaxed) {
        if let Load::Rate(_) = load {
            sleep(due.saturating_duration_since(Instant::now()));
            due += PIECES_EVERY;
        }
        let mut rest = &buffer[..];
        while !rest.is_empty() {
            rest = &rest[socket.send(rest).expect("sent")..];
        }
    }
}

fn measure(length: Duration, received: &AtomicU64, advise: impl Fn() + Sync) -> Transfer {
    let pass = |length: Duration| {
        let end = Instant::now() + length;
        while Instant::now() < end {
            advise();
            sleep(ADVISED_EVERY.min(end.saturating_duration_since(Instant::now())));
        }
    };
    pass(BEGINNING);
    let (began, busy, bytes) = (Instant::now(), processor::time(), received.load(Ordering::Relaxed));
    pass(length);
    let elapsed = began.elapsed();
    let busy = processor::time() - busy;
    let bytes = received.load(Ordering::Relaxed) - bytes;
    Transfer { bytes, busy, elapsed }
}

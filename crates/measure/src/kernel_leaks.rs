//! `cellcc-measure kernel-leaks`: schemes that come and go under traffic, and short connections, leave nothing in the kernel.
//! As root, with nothing else running.

#![allow(clippy::disallowed_methods, clippy::print_stdout, reason = "a program that measures in real time")]

use crate::{Arguments, Outcome};
use cellcc_kernel::{Machine, Pins, Scheme, Settings};
use libbpf_rs::query::{LinkInfoIter, MapInfoIter, ProgInfoIter};
use socket2::{Domain, SockAddr, Socket, Type};
use std::fmt;
use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

const LOADS: usize = 200;
const CONNECTIONS: usize = 100_000;
/// A quarter as much is done before anything is counted, so that the kernel's caches have filled.
const BEFOREHAND: usize = 4;
/// The kernel frees sockets, programs and their memory some grace periods later.
const FREE_TIMEOUT: Duration = Duration::from_secs(20);
/// Other programs let the kernel's memory rise and fall by 1.2 MB in a run. The smallest leak that could be is 64 bytes for each
/// connection, or a page for each of a load's five programs and more: 6.4 or 4 MB.
const MOST_GROWTH_KB: i64 = 3000;

pub(crate) fn run(arguments: Arguments) -> Outcome<ExitCode> {
    let machine = Machine::current();
    if let Some(refusal) = Scheme::ALL.into_iter().find_map(|scheme| machine.permits(scheme).err()) {
        println!("{refusal}");
        return Ok(ExitCode::FAILURE);
    }
    let pins = Pins::new(arguments.first().copied().unwrap_or(cellcc_kernel::DEFAULT_FOLDER));
    let is_free = [
        leaves_nothing("loads", LOADS, |times| come_and_go(&pins, &machine, times)),
        leaves_nothing("connections", CONNECTIONS, |times| connect_shortly(&pins, &machine, times)),
    ];
    Ok(if is_free == [true; 2] { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Does `work` so many times, and says what the kernel held before and afterwards.
fn leaves_nothing(name: &str, times: usize, work: impl Fn(usize) -> u64) -> bool {
    work(times / BEFOREHAND);
    let (before, began) = (settled(None), Instant::now());
    let connections = work(times);
    let seconds = began.elapsed().as_secs();
    let after = settled(Some(before));
    println!("{times} {name} in {seconds} s, and {connections} connections besides");
    println!("  before: {before}\n  after:  {after}");
    let is_free = !after.exceeds(&before);
    println!("  {}", if is_free { "nothing stays" } else { "something stays" });
    is_free
}

/// The kernel's holdings.
#[derive(Debug, Clone, Copy)]
struct Holdings {
    programs: usize,
    maps: usize,
    links: usize,
    tcp_sockets: u64,
    /// Memory that cannot be taken back: slabs, memory of each CPU, and memory of programs.
    memory_kb: i64,
}

impl Holdings {
    fn now() -> Self {
        let field = |text: &str, name: &str| -> i64 {
            let rest = text.split(name).nth(1).unwrap_or_default();
            rest.split_whitespace().next().and_then(|number| number.parse().ok()).unwrap_or(0)
        };
        let memory = fs::read_to_string("/proc/meminfo").expect("/proc/meminfo");
        let sockets = fs::read_to_string("/proc/net/sockstat").expect("/proc/net/sockstat");
        let tcp = sockets.lines().find(|line| line.starts_with("TCP:")).expect("a line of TCP");
        Self {
            programs: ProgInfoIter::default().count(),
            maps: MapInfoIter::default().count(),
            links: LinkInfoIter::default().count(),
            tcp_sockets: field(tcp, "alloc").unsigned_abs(),
            memory_kb: ["SUnreclaim:", "Percpu:", "VmallocUsed:"]
                .map(|name| field(&memory, name))
                .iter()
                .sum(),
        }
    }

    /// True if new holdings stay. Sockets of others may have gone.
    fn exceeds(&self, before: &Self) -> bool {
        self.programs > before.programs
            || self.maps > before.maps
            || self.links > before.links
            || self.tcp_sockets > before.tcp_sockets
            || self.memory_kb - before.memory_kb > MOST_GROWTH_KB
    }
}

impl fmt::Display for Holdings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { programs, maps, links, tcp_sockets, memory_kb } = self;
        write!(
            f,
            "{programs} programs, {maps} maps, {links} links, {tcp_sockets} TCP sockets, {memory_kb} kB"
        )
    }
}

/// The holdings once the kernel has let go of freed memory: as little as there was, or after some time.
fn settled(before: Option<Holdings>) -> Holdings {
    let began = Instant::now();
    loop {
        sleep(Duration::from_millis(500));
        let now = Holdings::now();
        if before.is_some_and(|before| !now.exceeds(&before)) || began.elapsed() > FREE_TIMEOUT {
            return now;
        }
    }
}

/// Loads and unloads each scheme in turn while connections use them.
fn come_and_go(pins: &Pins, machine: &Machine, times: usize) -> u64 {
    under_traffic(|| {
        for round in 0..times {
            let scheme = Scheme::ALL[round % Scheme::ALL.len()];
            pins.load(scheme, &Settings::default_of(scheme), machine).expect("loaded");
            sleep(Duration::from_millis(20));
            pins.unload(scheme).expect("unloaded");
        }
    })
}

/// Opens and closes connections of all schemes while others are busy.
fn connect_shortly(pins: &Pins, machine: &Machine, times: usize) -> u64 {
    Scheme::ALL.into_iter().for_each(|scheme| {
        pins.load(scheme, &Settings::default_of(scheme), machine).expect("loaded");
    });
    let connections = under_traffic(|| {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let to = listener.local_addr().expect("an address").into();
        for number in 0..times {
            let scheme = Scheme::ALL[number % Scheme::ALL.len()];
            let mut own = connect(scheme, &to).expect("connected");
            let (mut peer, _) = listener.accept().expect("accepted");
            own.write_all(&[7; 3000]).expect("sent");
            peer.read_exact(&mut [0; 3000]).expect("received");
            end(&own).expect("set");
        }
    });
    Scheme::ALL.into_iter().for_each(|scheme| drop(pins.unload(scheme).expect("unloaded")));
    connections
}

fn connect(scheme: Scheme, to: &SockAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.set_tcp_congestion(scheme.name().as_bytes())?;
    socket.connect(to)?;
    Ok(socket)
}

/// Tells the traffic to end, also where the work fails.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Does `work` while two threads send with whatever scheme is there; gives how many of their connections came about.
fn under_traffic(work: impl FnOnce()) -> u64 {
    let (is_over, count) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
                let address = listener.local_addr().expect("an address");
                while !is_over.load(Ordering::Relaxed) {
                    for scheme in Scheme::ALL {
                        match send(&listener, address, scheme) {
                            Ok(()) => count.fetch_add(1, Ordering::Relaxed),
                            // It is not there just now.
                            Err(error) if error.kind() == ErrorKind::NotFound => 0,
                            Err(error) => panic!("a connection failed: {error}"),
                        };
                    }
                }
            });
        }
        let _over = Over(&is_over);
        work();
    });
    count.into_inner()
}

fn send(listener: &TcpListener, address: SocketAddr, scheme: Scheme) -> io::Result<()> {
    const BYTES: usize = 300_000;
    let mut own = connect(scheme, &address.into())?;
    let (mut peer, _) = listener.accept()?;
    std::thread::scope(|scope| {
        let received = scope.spawn(move || peer.read_exact(&mut vec![0; BYTES]));
        own.write_all(&[7; BYTES])?;
        received.join().expect("a receiver")
    })?;
    end(&own)
}

/// Lets a connection end without TIME_WAIT, in which thousands would stay for a minute.
fn end(own: &Socket) -> io::Result<()> {
    own.set_linger(Some(Duration::ZERO))
}

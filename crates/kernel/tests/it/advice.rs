//! Schemes with network assistance do what the advice says, and go on alone without.

use crate::kernel::{Kernel, connect};
use cellcc_kernel::steps::assisted::AdviceValue;
use cellcc_kernel::{Scheme, Settings, Socket, Sockets};
use rustix::time::{ClockId, clock_gettime};
use std::io::Write;
use std::net::{Ipv4Addr, TcpListener};
use std::time::Duration;

/// Bytes per second; loopback carries a hundred times as much.
const BANDWIDTH: u64 = 20_000_000;
/// Advice of 50 ms periods is followed for six of them.
const UNTIL_STALE: Duration = Duration::from_millis(400);

fn now_us() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000 + now.tv_nsec as u64 / 1000
}

/// The socket after it has sent some bytes with fresh advice, and again when that is stale.
fn with_and_without_advice(kernel: &Kernel, scheme: Scheme) -> [Socket; 2] {
    let sockets = Sockets::open().expect("a list");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let mut own = connect(scheme.name(), listener.local_addr().expect("an address")).expect("connected");
    let (mut peer, _) = listener.accept().expect("accepted");
    let reader = std::thread::spawn(move || std::io::copy(&mut peer, &mut std::io::sink()));
    let mut send = || {
        own.write_all(&vec![7; 2_000_000]).expect("sent");
        let listed = sockets.list().expect("listed");
        listed.into_iter().find(|socket| socket.scheme == scheme).expect("the socket")
    };
    let measured_at_us = now_us();
    let advice = AdviceValue {
        bandwidth: BANDWIDTH,
        measured_at_us,
        min_rtt_us: 10_000,
        period_us: 50_000,
        flows: 1,
        reserved: 0,
    };
    kernel.pins.advise(Ipv4Addr::LOCALHOST.into(), &advice).expect("advised");
    let with = send();
    std::thread::sleep(UNTIL_STALE);
    let without = send();
    drop(own);
    reader.join().expect("a reader").expect("read");
    [with, without]
}

fn rate(socket: &Socket) -> u64 {
    socket.pacing_rate.expect("a rate").as_bytes_per_sec()
}

#[test]
fn natcp_has_the_window_and_the_rate_of_the_advice() {
    let Some(kernel) = Kernel::take() else { return };
    let scheme = Scheme::Natcp;
    kernel.pins.load(scheme, &Settings::default_of(scheme), &kernel.machine).expect("loaded");
    let [with, without] = with_and_without_advice(&kernel, scheme);
    // The headers' part of the bandwidth is less than that of 52 bytes in Ethernet's 1500.
    assert!((BANDWIDTH * 1448 / 1500..BANDWIDTH).contains(&rate(&with)), "{with:?}");
    // Two BDPs are 400 kB, in packets of loopback's 65483 bytes or of less.
    assert!((6..=290).contains(&with.cwnd), "{with:?}");
    assert!(rate(&without) > BANDWIDTH, "{without:?}");
}

#[test]
fn the_kernels_cubic_and_bbr_stay_below_the_advice_and_rise_without() {
    let Some(kernel) = Kernel::take() else { return };
    for scheme in [Scheme::Nacubic, Scheme::Nabbr] {
        kernel.pins.load(scheme, &Settings::default_of(scheme), &kernel.machine).expect("loaded");
        let [with, without] = with_and_without_advice(&kernel, scheme);
        assert!(rate(&with) <= BANDWIDTH, "{with:?}");
        assert!(rate(&without) > BANDWIDTH, "{without:?}");
    }
}

//! Schemes with network assistance follow the advice, and go on alone without.

use crate::kernel::{Kernel, connect, ours};
use cellcc_fixed::{BytesPerSecond, Instant, Micros};
use cellcc_kernel::AdviceValue;
use cellcc_kernel::{Scheme, Settings, Socket, Sockets};
use rustix::time::{ClockId, clock_gettime};
use socket2::SockRef;
use std::io::Write;
use std::net::{Ipv4Addr, TcpListener};
use std::time::Duration;

/// Bytes per second; loopback carries a hundred times as much.
const BANDWIDTH: u64 = 20_000_000;
/// Advice is followed for six periods: these outlast any transfer here.
const PERIOD: Micros = Micros(10_000_000);
const SHORT_PERIOD: Micros = Micros(50_000);
/// Six short ones, and somewhat more.
const UNTIL_STALE: Duration = Duration::from_millis(400);

fn now_us() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000 + now.tv_nsec as u64 / 1000
}

/// Advice of this moment.
pub(crate) fn advice() -> AdviceValue {
    AdviceValue {
        bandwidth: BytesPerSecond(BANDWIDTH),
        measured_at: Instant(now_us()),
        min_rtt: Micros(10_000),
        period: PERIOD,
        flows: 1,
        reserved: 0,
    }
}

/// Runs `work` with a connection over loopback: its argument sends some bytes, and gives the socket as it is then.
pub(crate) fn send_to_reader<T>(scheme: Scheme, work: impl FnOnce(&mut dyn FnMut() -> Socket) -> T) -> T {
    let sockets = Sockets::open().expect("a list");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    // Packets as on a real path, and all of one size.
    SockRef::from(&listener).set_tcp_mss(1460).expect("a size");
    let address = listener.local_addr().expect("an address");
    let mut own = connect(scheme.name(), address).expect("connected");
    let (mut peer, _) = listener.accept().expect("accepted");
    let reader = std::thread::spawn(move || std::io::copy(&mut peer, &mut std::io::sink()));
    let result = work(&mut || {
        own.write_all(&vec![7; 2_000_000]).expect("sent");
        let listed = sockets.list().expect("listed");
        listed
            .into_iter()
            .find(|socket| {
                socket.scheme == scheme && socket.name.to_string().ends_with(&format!("to {address}"))
            })
            .expect("the socket")
    });
    drop(own);
    reader.join().expect("a reader").expect("read");
    result
}

/// The socket after it has sent some bytes with fresh advice, and again when that is stale.
fn with_and_without_advice(kernel: &Kernel, scheme: Scheme) -> [Socket; 2] {
    let advise =
        |advice: &AdviceValue| kernel.pins.advise(Ipv4Addr::LOCALHOST.into(), advice).expect("advised");
    send_to_reader(scheme, |send| {
        advise(&advice());
        let with = send();
        // Where a slow machine sends its first packet too late for advice of a short period, the socket goes on with the older one.
        let mut without = with;
        for _ in 0..20 {
            advise(&AdviceValue { period: SHORT_PERIOD, ..advice() });
            send();
            std::thread::sleep(UNTIL_STALE);
            without = send();
            if rate(&without) > BANDWIDTH {
                break;
            }
        }
        [with, without]
    })
}

fn rate(socket: &Socket) -> u64 {
    socket.pacing_rate.expect("a rate").as_bytes_per_sec()
}

#[test]
fn natcp_has_the_window_and_the_rate_of_the_advice() {
    let Some(kernel) = Kernel::take() else { return };
    let scheme = ours("cellcc_natcp");
    kernel.pins.load(scheme, &Settings::default_of(scheme), &kernel.machine).expect("loaded");
    let [with, without] = with_and_without_advice(&kernel, scheme);
    // The headers' part of the bandwidth is less than that of 52 bytes in Ethernet's 1500.
    assert!((BANDWIDTH * 1448 / 1500..BANDWIDTH).contains(&rate(&with)), "{with:?}");
    // Two BDPs are 400 kB, in packets of 1500 bytes.
    assert_eq!(with.cwnd, 266, "{with:?}");
    assert!(rate(&without) > BANDWIDTH, "{without:?}");
}

#[test]
fn the_kernels_cubic_and_bbr_stay_below_the_advice_and_rise_without() {
    let Some(kernel) = Kernel::take() else { return };
    for scheme in [ours("cellcc_nacubic"), ours("cellcc_nabbr")] {
        kernel.pins.load(scheme, &Settings::default_of(scheme), &kernel.machine).expect("loaded");
        let [with, without] = with_and_without_advice(&kernel, scheme);
        assert!(rate(&with) <= BANDWIDTH, "{with:?}");
        assert!(rate(&without) > BANDWIDTH, "{without:?}");
    }
}

//! Memory that peers make this process keep. The peak of a process is that of all that it ever did, so each of these tests runs
//! itself once more, in a process of its own.

use crate::nats_impostor::flooded;
use crate::sources::SETTINGS;
use crate::support::HANG_TIMEOUT;
use cellcc_netassist::ServiceClock;
use cellcc_netassist::source::gnb::{GnbReader, parse};
use cellcc_netassist::source::{Messages, Plausible, Source, SourceEvent, WebSocketInput};
use cellcc_test_support::memory_kib;
use std::net::Ipv4Addr;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio::time::sleep;
use tokio_tungstenite::accept_async;

/// Set in the process that is measured.
const MEASURED: &str = "CELLCC_MEASURED_TEST";
const PEAK: &str = "peak in MB: ";

/// By how much the peak of a process grows while it does this; `None` in that process itself.
fn peak_mb(test: &str, work: impl FnOnce()) -> Option<u64> {
    if std::env::var_os(MEASURED).is_some() {
        let before = own_peak_mb();
        work();
        #[allow(clippy::print_stdout, reason = "it is read by the test that started this process")]
        {
            println!("{PEAK}{}", own_peak_mb() - before);
        }
        return None;
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("memory::{test}"), "--nocapture"])
        .env(MEASURED, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let peak = said.split_once(PEAK).and_then(|(_, after)| after.lines().next()?.parse().ok());
    Some(peak.unwrap_or_else(|| panic!("{said} {}", String::from_utf8_lossy(&output.stderr))))
}

fn own_peak_mb() -> u64 {
    memory_kib("self", "VmHWM").unwrap() / 1024
}

/// As a tree of values it took 216 MB.
#[test]
fn a_message_of_small_objects_takes_a_few_times_its_length() {
    let peak = peak_mb("a_message_of_small_objects_takes_a_few_times_its_length", || {
        let objects = vec![r#"{"":0}"#; (4 << 20) / 7].join(",");
        let message = format!(r#"{{"timestamp":1,"ue_list":[{objects}]}}"#);
        parse(message.as_bytes()).unwrap();
    });
    assert!(peak.is_none_or(|peak| peak < 32), "{peak:?} MB for 4 MB");
}

/// Answers waited without a bound: as many bytes as were taken, 703 MB after four seconds.
#[test]
fn a_base_station_that_pings_and_does_not_read_makes_nothing_wait() {
    let peak = peak_mb("a_base_station_that_pings_and_does_not_read_makes_nothing_wait", || {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(pinged());
    });
    assert!(peak.is_none_or(|peak| peak < 32), "{peak:?} MB");
}

/// 16 MB may wait; `async-nats` keeps everything (docs/decisions/0016).
#[test]
fn a_broker_that_floods_takes_a_bounded_part_of_a_clients_memory_and_of_a_services() {
    let peak =
        peak_mb("a_broker_that_floods_takes_a_bounded_part_of_a_clients_memory_and_of_a_services", || {
            tokio::runtime::Runtime::new().unwrap().block_on(flooded());
        });
    assert!(peak.is_none_or(|peak| peak < 32), "{peak:?} MB");
}

/// A base station sends pings as fast as they are taken: until it is given up four times, or many have been taken.
async fn pinged() {
    const MANY_BYTES: u64 = 256 << 20;
    let taken = Arc::new(AtomicU64::new(0));
    let so_far = Arc::clone(&taken);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let input = WebSocketInput::new(listener.local_addr().unwrap(), ServiceClock::start()).unwrap();
    tokio::spawn(async move {
        // A frame of a server has no mask: ping, 125 bytes.
        let pings = [&b"\x89\x7d"[..], &[b'x'; 125]].concat().repeat(200);
        loop {
            let mut socket = accept_async(listener.accept().await.unwrap().0).await.unwrap().into_inner();
            while socket.write_all(&pings).await.is_ok() {
                so_far.fetch_add(pings.len() as u64, Ordering::Relaxed);
            }
        }
    });
    let mut source = Messages::new(input, GnbReader::new(SETTINGS), Plausible::default());
    let given_up = async {
        for _ in 0..4 {
            let event = source.next().await;
            assert!(matches!(event, Some(SourceEvent::Problem(_))), "{event:?}");
        }
    };
    let much_is_taken = async {
        while taken.load(Ordering::Relaxed) < MANY_BYTES {
            sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::select! {
        () = given_up => {}
        () = much_is_taken => {}
        () = sleep(HANG_TIMEOUT) => panic!("neither; {taken:?} bytes are taken"),
    }
}

//! This host's own counters as a source of network assistance, with real TCP over an emulated link. Needs root; elsewhere the
//! tests say so and pass.

use crate::can_emulate;
use crate::cell::Cell;
use crate::common::{AssistService, cellcc, interruptible, signal};
use cellcc_assist::{BaseRtt, Estimate, Estimator, Evidence, PassiveCounters, PassiveReader};
use cellcc_control::AdviceClass;
use cellcc_kernel::{HostCounters, Machine};
use cellcc_netassist::SourceName;
use cellcc_netassist::source::UserCounters;
use cellcc_test_support::{alone, needs_punctuality, skip};
use cellcc_units::{Rate, Span, Time};
use libbpf_rs::query::ProgInfoIter;
use rustix::net::sockopt::set_socket_send_buffer_size;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

const LINK_MBIT: f64 = 20.0;
const PERIOD: Duration = Duration::from_millis(50);
/// TCP with time stamps has 1448 of Ethernet's 1500 bytes.
const PAYLOAD_SHARE: f64 = 1448.0 / 1500.0;

/// True if this machine and this user can count.
fn can_count() -> bool {
    Machine::current().permits_host_counters().map_err(skip).is_ok() && can_emulate()
}

/// The reports on the user, one period after the other.
struct Heard {
    counters: HostCounters,
    reader: PassiveReader,
    estimator: Estimator,
    began: Instant,
}

impl Heard {
    fn start(cell: &Cell) -> Self {
        let users = [vec![cell.user(0)]];
        let open = || HostCounters::open(&cell.interface, &users, &Machine::current()).unwrap();
        Self {
            counters: cell.outside().run(open).unwrap(),
            reader: PassiveReader::default(),
            estimator: Estimator::new(),
            began: Instant::now(),
        }
    }

    fn look(&self, cell: &Cell) -> PassiveCounters {
        cell.outside().run(|| self.counters.read(0).unwrap()).unwrap()
    }

    /// The estimates of so many periods.
    fn periods(&mut self, cell: &Cell, count: usize) -> Vec<Estimate> {
        let estimates = (0..count).filter_map(|_| {
            std::thread::sleep(PERIOD);
            let now = Time::ZERO + Span::from_nanos(self.began.elapsed().as_nanos() as u64);
            let period = self.reader.read(now, &self.look(cell))?;
            Some(self.estimator.estimate(&period.downlink))
        });
        estimates.collect()
    }
}

/// A period begins and ends with an acknowledgement, which a busy machine sees late: by a tenth of the period at most.
fn is_near(bandwidth: Rate, mbit: f64) -> bool {
    (bandwidth.as_mbit_per_sec() / mbit - 1.0).abs() < 0.1
}

/// Bytes late in a period are missing in the next: the mean is exact.
fn mean_mbit(estimates: &[Estimate]) -> f64 {
    estimates.iter().map(|one| one.bandwidth.as_mbit_per_sec()).sum::<f64>() / estimates.len() as f64
}

fn share(estimates: &[Estimate], is_so: impl Fn(&Estimate) -> bool) -> f64 {
    estimates.iter().filter(|estimate| is_so(estimate)).count() as f64 / estimates.len() as f64
}

/// In a period. All that the connection takes, or a tenth of the link.
const ALL: u64 = 0;
const TENTH: u64 = 12_500;
const END: u64 = u64::MAX;

/// Writes the demanded bytes, until the end.
fn write(server: &mut TcpStream, demand: &AtomicU64) {
    loop {
        match demand.load(Ordering::Relaxed) {
            END => return,
            ALL => server.write_all(&[7; 16_384]).unwrap(),
            bytes => {
                server.write_all(&vec![7; bytes as usize]).unwrap();
                std::thread::sleep(PERIOD);
            }
        }
    }
}

/// The counts while a tenth of the link was demanded.
fn is_as_asked_for(before: &PassiveCounters, after: &PassiveCounters) {
    let between = after.acknowledged_at.since(before.acknowledged_at);
    let achieved = Rate::from_transfer(after.delivered - before.delivered, between).as_mbit_per_sec();
    // Each write comes a little more than a period after the one before.
    let asked = TENTH as f64 * 8.0 / 1e6 / PERIOD.as_secs_f64() / PAYLOAD_SHARE;
    assert!((0.94..1.02).contains(&(achieved / asked)), "{achieved} of {asked} Mbit/s");
    // The link's two delays, and a packet's or two packets' transmission.
    let rtt = after.rtt.unwrap();
    assert!((20.0..23.0).contains(&rtt.min.as_millis_f64()), "{rtt:?}");
}

/// The programs of ours on interfaces.
fn programs() -> usize {
    let names = ProgInfoIter::default().map(|program| program.name.to_string_lossy().into_owned());
    names.filter(|name| name.starts_with("towards_users") || name.starts_with("from_users")).count()
}

const CONFIG: &str = r#"
listen = "127.0.0.1:0"
credentials = "keys/service-edge"
audit_log = "audit.jsonl"
live_flows = "none"

[[user]]
name = "alice"
addresses = ["10.45.0.2"]

[[source]]
kind = "host-counters"
interface = "INTERFACE"
"#;

/// The configuration for an interface, in a folder with certificates.
fn configured(folder: &Path, interface: &str) -> String {
    cellcc(folder).args(["assist", "certificates", "keys"]).assert().success();
    let config = CONFIG.replace("INTERFACE", interface);
    fs::write(folder.join("netassist.toml"), &config).unwrap();
    config
}

#[test]
fn nothing_stays_of_a_daemon_that_has_ended_or_was_killed() {
    let _alone = alone();
    if !can_count() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let config = configured(folder.path(), "lo");
    for signal in ["INT", "TERM", "KILL"] {
        let before = programs();
        let mut daemon = AssistService::start(folder.path(), &config);
        daemon.says("listening on ");
        assert_eq!(programs(), before + 2);
        daemon.signal(signal);
        daemon.process.wait().unwrap();
        let began = Instant::now();
        while programs() != before {
            assert!(began.elapsed().as_secs() < 20, "programs stay after {signal}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

#[test]
fn what_cannot_be_counted_is_refused_with_what_to_do() {
    let _alone = alone();
    if !can_count() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    configured(folder.path(), "wwan7");
    let output = cellcc(folder.path()).args(["assist", "serve", "netassist.toml"]).output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains("host-counters wwan7: there is no interface `wwan7`"), "{message}");

    configured_for_anybody(folder.path());
    let mut command = Command::new("setpriv");
    command.args([
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        "--inh-caps=-all",
        "--bounding-set=-all",
    ]);
    command.arg(assert_cmd::cargo::cargo_bin!("cellcc")).args(["assist", "serve", "netassist.toml"]);
    let output = command.current_dir(folder.path()).output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains("needs CAP_BPF") && message.contains("as root"), "{message}");
}

#[test]
fn counts_are_printed_as_lines_until_the_command_is_interrupted() {
    let _alone = alone();
    if !can_count() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let cell = Cell::start(1, LINK_MBIT);
    let config = CONFIG.replace("10.45.0.2", &cell.user(0).to_string());
    fs::write(folder.path().join("netassist.toml"), config).unwrap();
    let before = programs();
    let mut count = interruptible(folder.path());
    count.args(["assist", "count", &cell.interface, "netassist.toml"]).stdout(Stdio::piped());
    cell.outside().command(&mut count);
    let mut count = count.spawn().unwrap();
    let lines = BufReader::new(count.stdout.take().unwrap()).lines();
    let mut counters = lines.map(|line| UserCounters::parse(&line.unwrap(), None).expect("a line"));
    let mut server = cell.connect(0, "cubic");
    let demand = AtomicU64::new(TENTH);
    std::thread::scope(|scope| {
        scope.spawn(|| write(&mut server, &demand));
        let served = counters.find(|counters| !counters.served.is_zero()).expect("it counts");
        assert_eq!(served.user, SourceName::Name("alice".into()));
        assert!(matches!(served.base_rtt, BaseRtt::ToUser(rtt) if rtt >= Span::from_millis(20)), "{served}");
        assert!(matches!(served.busy, Some((_, Evidence::RoundTrips))), "{served}");
        demand.store(END, Ordering::Relaxed);
    });
    signal(&count, "INT");
    assert!(count.wait().unwrap().success());
    assert_eq!(programs(), before, "none of its programs stays");
}

fn configured_for_anybody(folder: &Path) {
    fs::write(folder.join("netassist.toml"), CONFIG.replace("INTERFACE", "lo")).unwrap();
    Command::new("chmod").args(["-R", "a+rwX"]).arg(folder).status().unwrap();
}

mod punctual {
    use super::*;

    #[test]
    fn a_flow_that_fills_the_link_tells_its_rate_and_one_that_does_not_lowers_nothing() {
        needs_punctuality(|| {
            if !can_count() {
                return;
            }
            let cell = Cell::start(1, LINK_MBIT);
            let mut reported = Heard::start(&cell);
            let mut server = cell.connect(0, "cubic");
            let socket = server.try_clone().unwrap();
            let demand = AtomicU64::new(ALL);
            std::thread::scope(|scope| {
                let writing = scope.spawn(|| write(&mut server, &demand));
                reported.periods(&cell, 20);
                let with_losses = reported.periods(&cell, 30);
                // The link and its queue hold 350 kB: now there always is a queue, and never a loss.
                set_socket_send_buffer_size(&socket, 100_000).unwrap();
                reported.periods(&cell, 20);
                let filled = reported.periods(&cell, 30);
                // Once the queue and the socket's buffer are empty.
                demand.store(TENTH, Ordering::Relaxed);
                reported.periods(&cell, 40);
                let before = reported.look(&cell);
                let limited = reported.periods(&cell, 40);
                let after = reported.look(&cell);
                demand.store(END, Ordering::Relaxed);
                writing.join().unwrap();

                let of_link = |estimate: &Estimate| is_near(estimate.bandwidth, LINK_MBIT);
                // In a loss recovery round trips are not measured: the last report is kept.
                assert!(with_losses.iter().all(of_link), "{with_losses:#?}");
                assert!(filled.iter().all(of_link), "{filled:#?}");
                for filled in [&with_losses, &filled] {
                    assert!((mean_mbit(filled) / LINK_MBIT - 1.0).abs() < 0.02, "{filled:#?}");
                }
                assert!(share(&filled, |one| one.class == AdviceClass::Backlogged) > 0.9, "{filled:#?}");
                assert!(limited.iter().all(of_link), "{limited:#?}");
                assert!(limited.iter().all(|one| one.class != AdviceClass::Backlogged), "{limited:#?}");
                is_as_asked_for(&before, &after);
            });
        });
    }
}

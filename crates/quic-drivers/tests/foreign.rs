//! Controllers of noq's interface as schemes of a Scenario.

#![allow(
    clippy::disallowed_methods,
    reason = "noq reads times of the standard library, which only `now` creates"
)]

mod alone;

use alone::Alone;
use cellcc_experiment::{Driver, Plan, PlanFile, Randomness, Record, Resolved};
use cellcc_quic_drivers::VirtualDriver;
use cellcc_sim::SimDriver;
use cellcc_units::{Rate, Span};
use noq_proto::congestion::{Controller, ControllerFactory, ControllerMetrics, CubicConfig};
use noq_proto::{Connection, PathId, RttEstimator};
use std::any::Any;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Bytes and microseconds are the same number at this rate.
const RATE: Rate = Rate::from_bytes_per_sec(1_000_000);
const RTT: Span = Span::from_millis(40);
/// A full packet on the link, and noq's count of it.
const PACKET: u64 = 1500;
const PAYLOAD: u64 = 1472;
/// Less than a bandwidth-delay product of 26 packets, so that there are losses.
const QUEUE: usize = 20;
const DURATION: Span = Span::from_secs(10);

fn plan(schemes: &[&str], driver: &dyn Driver) -> Result<Plan, String> {
    let mut file = PlanFile {
        schemes: schemes.iter().map(|text| text.to_string()).collect(),
        traces: vec!["rate=8Mbit/s".into()],
        duration: DURATION,
        ..PlanFile::default()
    };
    file.path.rtt = RTT;
    file.path.queue = format!("{QUEUE}pkt").parse().expect("a queue");
    Plan::new(&file, driver, "test").map_err(|error| error.to_string())
}

fn run(scheme: &str, driver: &VirtualDriver) -> Record {
    let plan = plan(&[scheme], driver).expect("the test's plan is sound");
    driver.run(first(&plan)).expect("the run succeeds")
}

/// The Scenario of the first run with flows.
fn first(plan: &Plan) -> &Resolved {
    let run = plan.runs.iter().find(|run| !run.scenario.flows.is_empty());
    &run.expect("a run").scenario
}

fn driver() -> VirtualDriver {
    VirtualDriver::new(cellcc_schemes::registry())
}

/// As much as a Scenario's application is ahead: sixteen full packets beyond the window.
fn ahead(connection: &Connection) -> u64 {
    let window = connection.congestion_state(PathId::ZERO).map_or(0, |controller| controller.window());
    window * PACKET / PAYLOAD + 16 * PACKET
}

/// The calls of noq in order, with their arguments and the time since the first.
type Calls = Arc<Mutex<Vec<String>>>;

/// Logs noq's calls, and passes them on.
struct SpyFactory {
    inner: Arc<dyn ControllerFactory + Send + Sync>,
    calls: Calls,
}

#[derive(Debug)]
struct Spy {
    inner: Box<dyn Controller>,
    calls: Calls,
    began: Instant,
}

impl SpyFactory {
    /// A spy on noq's CUBIC, and its log.
    fn on_cubic() -> (Arc<Self>, Calls) {
        let calls = Calls::default();
        (Arc::new(Self { inner: Arc::new(CubicConfig::default()), calls: Arc::clone(&calls) }), calls)
    }
}

impl ControllerFactory for SpyFactory {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        let inner = Arc::clone(&self.inner).build(now, current_mtu);
        Box::new(Spy { inner, calls: Arc::clone(&self.calls), began: now })
    }
}

impl Spy {
    fn note(&self, call: String) {
        self.calls.lock().unwrap().push(call);
    }

    fn since(&self, time: Instant) -> Duration {
        time - self.began
    }
}

impl Controller for Spy {
    fn on_sent(&mut self, now: Instant, bytes: u64, largest: u64) {
        self.note(format!("{:?} on_sent {bytes} {largest}", self.since(now)));
        self.inner.on_sent(now, bytes, largest);
    }

    fn on_packet_sent(&mut self, now: Instant, bytes: u16, pn: u64) {
        self.note(format!("{:?} on_packet_sent {bytes} {pn}", self.since(now)));
        self.inner.on_packet_sent(now, bytes, pn);
    }

    fn on_cwnd_limited(&mut self) {
        self.inner.on_cwnd_limited();
    }

    fn on_ack(
        &mut self,
        now: Instant,
        sent: Instant,
        bytes: u64,
        pn: u64,
        limited: bool,
        rtt: &RttEstimator,
    ) {
        let (at, sent_at) = (self.since(now), self.since(sent));
        self.note(format!("{at:?} on_ack {sent_at:?} {bytes} {pn} {limited} {rtt:?}"));
        self.inner.on_ack(now, sent, bytes, pn, limited, rtt);
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, limited: bool, largest: Option<u64>) {
        self.note(format!("{:?} on_end_acks {in_flight} {limited} {largest:?}", self.since(now)));
        self.inner.on_end_acks(now, in_flight, limited, largest);
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        persistent: bool,
        ecn: bool,
        lost: u64,
        largest: u64,
    ) {
        let (at, sent_at) = (self.since(now), self.since(sent));
        self.note(format!("{at:?} on_congestion_event {sent_at:?} {persistent} {ecn} {lost} {largest}"));
        self.inner.on_congestion_event(now, sent, persistent, ecn, lost, largest);
    }

    fn on_packet_lost(&mut self, lost_bytes: u16, pn: u64, now: Instant) {
        self.note(format!("{:?} on_packet_lost {lost_bytes} {pn}", self.since(now)));
        self.inner.on_packet_lost(lost_bytes, pn, now);
    }

    fn on_spurious_congestion_event(&mut self) {
        self.note("on_spurious_congestion_event".into());
        self.inner.on_spurious_congestion_event();
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.note(format!("on_mtu_update {new_mtu}"));
        self.inner.on_mtu_update(new_mtu);
    }

    fn on_ack_frequency_update(&mut self, threshold: u64, delay: Duration) {
        self.note(format!("on_ack_frequency_update {threshold} {delay:?}"));
        self.inner.on_ack_frequency_update(threshold, delay);
    }

    fn window(&self) -> u64 {
        self.inner.window()
    }

    fn metrics(&self) -> ControllerMetrics {
        self.inner.metrics()
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Self { inner: self.inner.clone_box(), calls: Arc::clone(&self.calls), began: self.began })
    }

    fn initial_window(&self) -> u64 {
        self.inner.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

#[test]
fn noqs_cubic_sends_in_a_scenario_what_it_sends_in_noq_alone_packet_for_packet() {
    let (spied, in_scenario) = SpyFactory::on_cubic();
    let driver = driver().with_controller("spied", spied);
    let plan = plan(&["spied"], &driver).expect("the test's plan is sound");
    let scenario = first(&plan);
    let record = driver.run(scenario).expect("the run succeeds");

    let (spied, by_itself) = SpyFactory::on_cubic();
    let alone = Alone {
        rate: RATE,
        rtt: RTT,
        queue: QUEUE,
        send_window: ahead,
        seed: scenario.seed_of(Randomness::Flow(0)),
        congestion: spied,
    };
    let sent = alone::run(alone, Duration::from_nanos(DURATION.as_nanos())).expect("noq runs");
    let (in_scenario, by_itself) = (in_scenario.lock().unwrap(), by_itself.lock().unwrap());
    let calls = |name: &str| by_itself.iter().filter(|call| call.contains(name)).count();
    assert!(sent.packets > 6_000 && calls("on_congestion_event") > 3, "{sent:?}");
    for (index, (one, other)) in in_scenario.iter().zip(by_itself.iter()).enumerate() {
        assert_eq!(one, other, "call {index}");
    }
    assert_eq!(in_scenario.len(), by_itself.len());
    let lost = record.series.column("flow0.lost_pkt").and_then(|lost| lost.last().copied());
    assert_eq!(lost, Some(calls("on_packet_lost") as f32), "the series counts what the controller hears");
}

#[test]
fn the_three_of_noq_run_by_name_and_fill_the_link() {
    for name in ["noq:newreno", "noq:cubic", "noq:bbr3"] {
        let record = run(name, &driver());
        let (total, scheme) = (&record.total, &record.scenario.flows[0].scheme);
        assert_eq!(scheme, name);
        assert!(total.utilisation > 0.75, "{name}: {}", total.utilisation);
        assert!(total.rtt_mean_ms.is_some_and(|rtt| rtt > 40.0) && total.lost_packets > 0, "{name}");
        assert!(total.retransmitted_packets >= total.lost_packets, "{name}");
        let window = record.series.column("flow0.window_packets").expect("a column");
        assert!(window.iter().any(|&packets| packets > 20.0), "{name}: {window:?}");
    }
}

#[test]
fn what_noq_says_of_a_controller_is_in_the_series() {
    let record = run("noq:bbr3", &driver());
    let last = |name| *record.series.column(name).expect(name).last().expect("bins");
    let (bandwidth, pacing) = (last("flow0.bandwidth_estimate_mbit_s"), last("flow0.pacing_rate_mbit_s"));
    assert!((6.0..8.5).contains(&bandwidth) && (4.0..11.0).contains(&pacing), "{bandwidth}, {pacing}");
    assert!(record.notes.iter().any(|note| note.contains("cannot seed")), "{:?}", record.notes);
}

#[test]
fn the_same_scenario_with_noqs_cubic_gives_the_same_record_to_the_byte() {
    let text = || {
        let record = run("noq:cubic:rate(2Mbit/s)+2*noq:newreno@1s", &driver());
        serde_json::to_string(&record).unwrap() + &format!("{:?}", record.series)
    };
    assert_eq!(text(), text());
}

#[test]
fn a_name_that_noq_has_not_is_refused_with_those_it_has() {
    let error = plan(&["noq:bbr4"], &driver()).expect_err("no such controller");
    assert!(error.contains("noq:bbr4") && error.contains("noq:newreno"), "{error}");
}

#[test]
fn a_controller_of_noq_is_refused_where_there_is_no_noq_and_within_a_scheme() {
    let sim = SimDriver::new(cellcc_schemes::registry());
    let error = plan(&["noq:cubic"], &sim).expect_err("the simulator has no noq");
    assert!(error.contains("`noq:cubic`") && error.contains("--driver quic-virtual"), "{error}");
    let error = plan(&["nacap(base=noq:cubic)"], &driver()).expect_err("a scheme within a scheme");
    assert!(error.contains("needs its own transport"), "{error}");
}

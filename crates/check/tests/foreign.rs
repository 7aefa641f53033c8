//! Users' controllers in the suite: sound ones and some with a fault.

use cellcc_check::{Factory, Report, Ruling, Suite, link};
use noq_proto::RttEstimator;
use noq_proto::congestion::{Controller, ControllerFactory, ControllerMetrics, CubicConfig};
use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

/// What is wrong with a controller that is noq's CUBIC otherwise.
#[derive(Debug, Clone, Copy)]
enum Fault {
    DeafToLoss,
    Window(u64),
    PanicsAtLoss,
}

impl ControllerFactory for Fault {
    fn build(self: Arc<Self>, now: Instant, mtu: u16) -> Box<dyn Controller> {
        Box::new(Faulty { fault: *self, cubic: Arc::new(CubicConfig::default()).build(now, mtu) })
    }
}

#[derive(Debug)]
struct Faulty {
    fault: Fault,
    cubic: Box<dyn Controller>,
}

impl Controller for Faulty {
    fn on_ack(
        &mut self,
        now: Instant,
        sent: Instant,
        bytes: u64,
        pn: u64,
        limited: bool,
        rtt: &RttEstimator,
    ) {
        self.cubic.on_ack(now, sent, bytes, pn, limited, rtt);
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
        match self.fault {
            Fault::DeafToLoss => {}
            Fault::PanicsAtLoss => panic!("a planted fault"),
            Fault::Window(_) => self.cubic.on_congestion_event(now, sent, persistent, ecn, lost, largest),
        }
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.cubic.on_mtu_update(new_mtu);
    }

    fn window(&self) -> u64 {
        match self.fault {
            Fault::Window(window) => window,
            _ => self.cubic.window(),
        }
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = self.window();
        metrics
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Self { fault: self.fault, cubic: self.cubic.clone_box() })
    }

    fn initial_window(&self) -> u64 {
        self.cubic.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

fn cubic() -> Factory {
    Arc::new(CubicConfig::default())
}

/// The cases with this verdict on an assertion.
fn cases(report: &Report, wanted: Ruling) -> Vec<&str> {
    let mut cases: Vec<&str> = report.findings().iter().map(|finding| finding.case.as_str()).collect();
    cases.dedup();
    cases.retain(|case| report.ruling(case) == Some(wanted));
    cases
}

/// The text on one case, and its verdict.
fn judged(case: &str, factory: Factory) -> (String, Option<Ruling>) {
    let report = Suite::quick().only(case).run("mine", factory);
    (report.to_string(), report.ruling(case))
}

#[test]
fn noqs_cubic_passes_what_a_network_can_see_but_for_what_it_was_not_made_for() {
    let report = Suite::network()
        // It fills any queue.
        .without("bbr/1")
        .without("bbr/14")
        .without("rfc9743/bufferbloat")
        // It finds a faster link by its cube, and a late flow its share.
        .without("bbr/15")
        .without("rfc9743/share-late")
        .run("noq's CUBIC", cubic());
    assert!(report.passed(), "{report}");
    // It has no pacing rate, and QUIC no TCP receivers.
    let skipped = ["bbr/2", "bbr/12", "bbr/13", "bbr/19", "rfc9743/receivers"];
    assert_eq!(cases(&report, Ruling::Skip), skipped, "{report}");
    assert!(cases(&report, Ruling::Pass).len() > 30, "{report}");
}

#[test]
fn noqs_cubic_fills_a_link_of_ones_own() {
    let measured = link("10Mbit/s").rtt("100ms").queue("2bdp").bulk().run(cubic(), "20s").expect("it runs");
    assert!(measured.utilisation("5s..") > 0.9, "{}", measured.utilisation("5s.."));
    assert!(measured.utilisation("..1s") < measured.utilisation("5s..10s"), "slow start");
    let delay_ms = measured.queueing_delay_p95_ms();
    assert!((100.0..200.0).contains(&delay_ms), "{delay_ms} ms of a queue of 200 ms");
    assert!(measured.loss_ratio() > 0.0);
}

#[test]
fn a_controller_that_is_deaf_to_loss_is_caught_by_its_losses() {
    let (text, ruling) = judged("rfc9743/share-2", Arc::new(Fault::DeafToLoss));
    assert!(ruling == Some(Ruling::Error) && text.contains("packets were lost"), "{text}");
}

#[test]
fn a_window_of_a_gigabyte_is_caught_by_its_losses_before_it_takes_long() {
    let (text, ruling) = judged("rfc9743/share-2", Arc::new(Fault::Window(1_000_000_000)));
    assert!(ruling == Some(Ruling::Error) && text.contains("packets were lost"), "{text}");
}

#[test]
fn a_controller_that_never_sends_anything_has_stalled() {
    let (text, ruling) = judged("rfc9743/drop-tail", Arc::new(Fault::Window(1)));
    assert!(ruling == Some(Ruling::Error) && text.contains("it stalled"), "{text}");
}

#[test]
fn a_panic_is_the_error_of_its_case_and_the_others_go_on() {
    let report = Suite::network().only("bbr/?").run("mine", Arc::new(Fault::PanicsAtLoss));
    assert_eq!(report.ruling("bbr/1"), Some(Ruling::Error));
    assert_eq!(report.ruling("bbr/7"), Some(Ruling::Pass), "a path without a loss");
    assert!(!report.passed());
    let text = report.to_string();
    assert!(text.contains("ERROR bbr/1: it panicked: a planted fault"), "{text}");
    assert!(text.contains("Suite::network().only(\"bbr/1\")"), "{text}");
}

#[test]
fn what_is_written_wrong_is_named() {
    let report = Suite::network().only("bbr/71").run("mine", cubic());
    assert!(!report.passed() && report.to_string().contains("bbr/71: there is no such case"), "{report}");
    for (link, wrong) in [(link("10Mbit/s").rtt("100"), "100"), (link("fast"), "fast")] {
        let error = link.run(cubic(), "1s").expect_err("it says nothing");
        assert!(error.contains(wrong), "{error}");
    }
}

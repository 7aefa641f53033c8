//! What users write: their controllers in the suite, sound ones and such with a fault.

use cellcc_check::{Factory, Outcome, Suite, link};
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

/// How the one case ended.
fn outcome(case: &str, factory: Factory) -> Outcome {
    let report = Suite::network().only(case).run("mine", factory);
    assert_eq!(report.verdicts().len(), 1);
    report.outcome(case).expect("the case was run").clone()
}

#[test]
fn noqs_cubic_passes_what_a_network_can_see() {
    // It is no BBR, and finds a link that has become ten times as fast by its cube.
    let report = Suite::network().without("bbr/15").run("noq's CUBIC", cubic());
    assert!(report.passed(), "{report}");
    assert_eq!(report.verdicts().len(), 13);
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
    let outcome = outcome("rfc9743/high-loss", Arc::new(Fault::DeafToLoss));
    assert!(matches!(&outcome, Outcome::Fail(why) if why.contains("packets were lost")), "{outcome:?}");
}

#[test]
fn a_window_of_a_gigabyte_is_caught_by_its_losses_before_it_takes_long() {
    let outcome = outcome("rfc9743/own-kind", Arc::new(Fault::Window(1_000_000_000)));
    assert!(matches!(&outcome, Outcome::Fail(why) if why.contains("packets were lost")), "{outcome:?}");
}

#[test]
fn a_controller_that_never_sends_anything_is_caught_by_an_unused_link() {
    let outcome = outcome("rfc9743/outage", Arc::new(Fault::Window(1)));
    assert!(matches!(&outcome, Outcome::Fail(why) if why.contains("utilisation 0")), "{outcome:?}");
}

#[test]
fn a_panic_is_the_error_of_its_case_and_the_others_go_on() {
    let report = Suite::network().run("mine", Arc::new(Fault::PanicsAtLoss));
    let panicked = report.outcome("bbr/10").expect("the case was run");
    assert_eq!(*panicked, Outcome::Error("it panicked: a planted fault".into()));
    assert_eq!(report.outcome("bbr/14"), Some(&Outcome::Pass), "a path without a loss");
    assert!(!report.passed());
    let text = report.to_string();
    assert!(text.contains("ERROR bbr/10: it panicked: a planted fault"), "{text}");
    assert!(text.contains("Suite::network().only(\"bbr/10\")"), "{text}");
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

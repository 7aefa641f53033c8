//! Fixtures for the tests of both drivers: one flow in a run of ten seconds.

use cellcc_experiment::{Endpoint, FlowSetup, NetAssist, Offset, Path, Scenario};
use cellcc_units::{Span, Time};

pub(crate) fn at(millis: u64) -> Time {
    Time::ZERO + Span::from_millis(millis)
}

/// A flow of the whole run.
pub(crate) fn flow(source: &str) -> FlowSetup {
    FlowSetup {
        scheme: "cubic".into(),
        start: Time::ZERO,
        stop: None,
        source: source.parse().unwrap(),
        user: 0,
        extra_rtt: Span::ZERO,
        initial_window: None,
    }
}

/// A run with this flow alone.
pub(crate) fn scenario(driver: &str, flow: &FlowSetup) -> Scenario {
    Scenario {
        scheme: flow.scheme.clone(),
        variation: String::new(),
        driver: driver.into(),
        trace: String::new(),
        trace_sha256: String::new(),
        seed: 1,
        offset: Offset::Fixed,
        trace_offset: Span::ZERO,
        duration: Span::from_secs(10),
        warm_up: Span::ZERO,
        path: Path::default().into(),
        endpoint: Endpoint::default().into(),
        netassist: NetAssist::default().into(),
        cell: None,
        flows: vec![flow.clone()],
    }
}

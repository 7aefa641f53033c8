//! The real stack in virtual time as a [`Driver`].

use super::crypto::{Credentials, Protection};
use super::endpoint::{Ends, full_payload};
use super::engine::Engine;
use super::flow::Flow;
use crate::advice::{Reporter, TraceAdvice};
use crate::clock::Clock;
use crate::congestion::Congestion;
use crate::sender::Observed;
use cellcc_control::{Registry, Scheme};
use cellcc_experiment::{
    Driver, MeasuredFlow, Offered, PathLinks, Randomness, Record, ResolveError, RunError, Scenario,
};
use cellcc_link::{Capacities, Shelf};
use cellcc_units::Time;
use std::time::Instant;

/// Runs Scenarios in virtual time with noq at both ends.
///
/// A flow's connection is opened when the flow starts: data follow one round-trip time later, as with TCP. What
/// `Endpoint` says of headers makes the size of a full packet; what of that are headers is QUIC's affair.
pub struct VirtualDriver {
    registry: Registry,
    links: Shelf,
    protection: Protection,
    clock: Clock,
}

impl VirtualDriver {
    /// Its name in Scenarios and Records.
    pub const NAME: &'static str = "quic-virtual";

    /// A driver that knows the schemes of `registry`.
    pub fn new(registry: Registry) -> Self {
        // noq's times are the standard library's, and there is no other way to begin: only differences count.
        let clock = Clock::new(Instant::now());
        Self { registry, links: Shelf::default(), protection: Protection::default(), clock }
    }

    /// The same with packets protected like this.
    pub fn with_protection(self, protection: Protection) -> Self {
        Self { protection, ..self }
    }

    fn schemes(&self, scenario: &Scenario) -> Result<Vec<Scheme>, ResolveError> {
        let schemes = scenario.flows.iter().map(|flow| self.registry.parse(&flow.scheme));
        schemes.collect::<Result<_, _>>().map_err(|error| ResolveError(error.to_string()))
    }
}

impl Driver for VirtualDriver {
    fn resolve(&self, scenario: &mut Scenario) -> Result<(), ResolveError> {
        let schemes = self.schemes(scenario)?;
        for (flow, scheme) in scenario.flows.iter_mut().zip(&schemes) {
            flow.scheme = scheme.text().into();
        }
        full_payload(&scenario.endpoint)?;
        scenario.resolve_path(&self.links)?;
        reports(scenario, &schemes, &scenario.capacities(&self.links)?).map(drop)
    }

    fn run(&self, scenario: &Scenario) -> Result<Record, RunError> {
        let failed = |error: ResolveError| RunError(error.to_string());
        let capacities = scenario.capacities(&self.links).map_err(failed)?;
        let schemes = self.schemes(scenario).map_err(failed)?;
        let links = PathLinks::new(scenario, &capacities).map_err(failed)?;
        let reports = reports(scenario, &schemes, &capacities).map_err(failed)?;
        let flows = self.flows(scenario, &schemes, reports)?;
        let (end, bin) = (Time::ZERO + scenario.duration, scenario.endpoint.series_bin);
        let mut engine = Engine::new(&links, flows, end, bin);
        engine.run(|bin, flow| record_bin(scenario, bin, flow))?;
        let mut record = record(scenario, &schemes, &engine.flows, &capacities);
        record.note_repetition(capacities.forward[0].period());
        Ok(record)
    }
}

/// The event loop sees into every queue.
const REPORTER: Reporter = Reporter { driver: VirtualDriver::NAME, sees_queues: true };

/// What the network tells each flow.
fn reports(
    scenario: &Scenario,
    schemes: &[Scheme],
    capacities: &Capacities,
) -> Result<Vec<Option<TraceAdvice>>, ResolveError> {
    let schemes = schemes.iter().enumerate();
    schemes.map(|(index, scheme)| REPORTER.reports(scenario, index, scheme, capacities)).collect()
}

impl VirtualDriver {
    fn flows(
        &self,
        scenario: &Scenario,
        schemes: &[Scheme],
        reports: Vec<Option<TraceAdvice>>,
    ) -> Result<Vec<Flow>, RunError> {
        let credentials = Credentials::new(self.protection)
            .map_err(|error| RunError(format!("no certificate for the run: {error}")))?;
        let payload = full_payload(&scenario.endpoint).map_err(|error| RunError(error.to_string()))?;
        let flows = scenario.flows.iter().zip(schemes).zip(reports).enumerate();
        let flows = flows.map(|(index, ((setup, scheme), reports))| {
            let seed = scenario.seed_of(Randomness::Flow(index));
            let congestion = Congestion::new(scheme.clone())
                .map_err(|error| RunError(error.to_string()))?
                .with_seed(seed)
                .with_epoch(self.clock.epoch())
                .with_rtt_samples();
            let ends = Ends {
                credentials: &credentials,
                policy: &scenario.endpoint,
                payload,
                seed,
                registry: &self.registry,
                clock: self.clock,
            };
            Flow::new(scenario, index, setup, &congestion, reports, &ends)
        });
        flows.collect()
    }
}

/// What a flow shows at the end of a bin.
fn record_bin(scenario: &Scenario, bin: usize, flow: &mut Flow) {
    let limits = flow.handle.snapshot().limits;
    flow.meter.sample_limits(bin, limits.window, scenario.endpoint.packet(), limits.pacing_rate);
    let mut observed =
        if flow.meter.takes_curves(bin) { Observed::with_curves() } else { Observed::default() };
    flow.observe(&mut observed);
    for (name, axes, points) in observed.curves.iter().flatten() {
        flow.meter.sample_curve(bin, name, *axes, points);
    }
    observed.values.iter().for_each(|(name, value)| flow.meter.sample(bin, name, *value));
}

fn record(scenario: &Scenario, schemes: &[Scheme], flows: &[Flow], capacities: &Capacities) -> Record {
    let mut notes: Vec<String> = Vec::new();
    let mut measured = Vec::new();
    for (flow, scheme) in flows.iter().zip(schemes) {
        let mut observed = Observed::default();
        flow.observe(&mut observed);
        for note in &observed.notes {
            if !notes.contains(note) {
                notes.push(note.clone());
            }
        }
        if flow.lacks_component() {
            notes.push(format!("`{}` ran without its receiver-side component", scheme.text()));
        }
        let (_, stop) = flow.active();
        measured.push(MeasuredFlow {
            scheme: scheme.text(),
            user: flow.user,
            active: flow.active(),
            meter: &flow.meter,
            completed_at: flow.streams().completed_at(),
            frames: flow.streams().frames(stop),
            delay_target_ms: observed.values.iter().find(|(name, _)| name == "dtt_ms").map(|(_, ms)| *ms),
        });
    }
    let offered = Offered {
        users: capacities.forward.len(),
        bytes: &|user, from, to| capacities.forward[user].bytes_between(from, to),
        rate: &|from, to| capacities.forward[0].rate_in(from, to),
    };
    let record = Record::of_flows(scenario, VirtualDriver::NAME, &measured, offered);
    Record { notes, ..record }
}

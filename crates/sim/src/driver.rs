//! The simulator as a [`Driver`].

use crate::engine::{Engine, Flow};
use crate::limit;
use cellcc_control::{Observed, Registry, Scheme};
use cellcc_experiment::{
    Driver, LIMIT, MeasuredFlow, Offered, Record, ResolveError, RunError, Scenario, USUAL_DRIVER,
};
use cellcc_link::{Capacities, TraceCache};
use cellcc_units::Time;

/// Runs Scenarios in virtual time.
pub struct SimDriver {
    registry: Registry,
    links: TraceCache,
}

impl SimDriver {
    /// A simulator that knows the schemes of `registry`.
    pub fn new(registry: Registry) -> Self {
        Self { registry, links: TraceCache::default() }
    }

    fn schemes(&self, scenario: &Scenario) -> Result<Vec<Scheme>, ResolveError> {
        let schemes = scenario.flows.iter().map(|flow| self.registry.parse(&flow.scheme));
        schemes.collect::<Result<_, _>>().map_err(|error| ResolveError(error.to_string()))
    }
}

impl Driver for SimDriver {
    fn resolve(&self, scenario: &mut Scenario) -> Result<(), ResolveError> {
        let schemes = self.schemes(scenario)?;
        for (flow, scheme) in scenario.flows.iter_mut().zip(&schemes) {
            flow.scheme = scheme.text().into();
        }
        scenario.resolve_path(&self.links)
    }

    fn run(&self, scenario: &Scenario) -> Result<Record, RunError> {
        let failed = |error: ResolveError| RunError(error.to_string());
        let capacities = scenario.capacities(&self.links).map_err(failed)?;
        let mut record = if scenario.scheme == LIMIT && scenario.flows.is_empty() {
            run_limit(scenario, &capacities).map_err(failed)?
        } else {
            let schemes = self.schemes(scenario).map_err(failed)?;
            run_flows(scenario, &capacities, &schemes).map_err(failed)?
        };
        record.note_repetition(capacities.forward[0].period());
        Ok(record)
    }
}

fn run_limit(scenario: &Scenario, capacities: &Capacities) -> Result<Record, ResolveError> {
    let capacity = &capacities.forward[0];
    let meter = limit::measure(scenario, capacity)?;
    let whole_run = (Time::ZERO, Time::ZERO + scenario.duration);
    let metrics = meter.metrics(capacity.bytes_between(whole_run.0, whole_run.1), scenario.duration);
    let mut record = with_offered(capacities, |offered| Record::empty(scenario, USUAL_DRIVER, offered));
    meter.append_series("flow0.", scenario.series_bins(), &mut record.series);
    Ok(Record { flows: vec![meter.record(LIMIT, metrics.clone())], total: metrics, ..record })
}

fn run_flows(
    scenario: &Scenario,
    capacities: &Capacities,
    schemes: &[Scheme],
) -> Result<Record, ResolveError> {
    let mut engine = Engine::new(scenario, capacities, schemes)?;
    engine.run(|bin, flow| {
        let mut observed =
            if flow.meter.takes_curves(bin) { Observed::with_curves() } else { Observed::default() };
        flow.observe(&mut observed);
        for (name, axes, points) in observed.curves.iter().flatten() {
            flow.meter.sample_curve(bin, name, *axes, points);
        }
        observed.values.iter().for_each(|(name, value)| flow.meter.sample(bin, name, *value));
    });
    let mut notes = Vec::new();
    let mut flows = Vec::new();
    for (flow, scheme) in engine.flows.iter().zip(schemes) {
        let mut observed = Observed::default();
        flow.observe(&mut observed);
        notes
            .extend(observed.notes.iter().filter(|note| !notes.contains(*note)).cloned().collect::<Vec<_>>());
        flows.push(measured(flow, scheme, &observed));
    }
    let record =
        with_offered(capacities, |offered| Record::of_flows(scenario, USUAL_DRIVER, &flows, offered));
    Ok(Record { notes, ..record })
}

fn measured<'a>(flow: &'a Flow, scheme: &'a Scheme, observed: &Observed) -> MeasuredFlow<'a> {
    let (_, stop) = flow.active();
    let target = observed.values.iter().find(|(name, _)| name == "dtt_ms").map(|(_, ms)| *ms);
    MeasuredFlow {
        scheme: scheme.text(),
        user: flow.user,
        active: flow.active(),
        meter: &flow.meter,
        completed_at: flow.sender.completed_at(),
        frames: flow.frames.as_ref().and_then(|frames| frames.outcome(flow.sender.application(), stop)),
        delay_target_ms: target,
    }
}

/// Calls `with` what the links offer.
fn with_offered<T>(capacities: &Capacities, with: impl FnOnce(Offered) -> T) -> T {
    with(Offered {
        users: capacities.forward.len(),
        bytes: &|user, from, to| capacities.forward[user].bytes_between(from, to),
        rate: &|from, to| capacities.forward[0].rate_in(from, to),
    })
}

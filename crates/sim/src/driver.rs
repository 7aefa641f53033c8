//! The simulator as a [`Driver`].

use crate::engine::{Engine, Flow};
use crate::limit;
use crate::paths::{self, Capacities, forward_delay, forward_loss};
use cellcc_control::{Observer, Registry, Scheme};
use cellcc_experiment::{
    Column, Driver, FlowMeter, FlowRecord, LIMIT, Metrics, Record, ResolveError, RunError, SCHEMA_VERSION,
    Scenario, Series, jain_index,
};
use cellcc_link::{Capacity, CapacitySpec, Scheduler, Source, SpecError, synthetic};
use cellcc_units::{Bytes, Rate, Span, Time};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Something faster than any link: the way back where no rate is given.
const UNLIMITED: Rate = Capacity::MAX_RATE;

/// Runs Scenarios in virtual time.
pub struct SimDriver {
    registry: Registry,
    /// Traces that were read, by their text: a plan names the same ones again and again.
    opened: Mutex<BTreeMap<String, Source>>,
}

impl SimDriver {
    /// A simulator that knows the schemes of `registry`.
    pub fn new(registry: Registry) -> Self {
        Self { registry, opened: Mutex::default() }
    }

    fn open(&self, text: &str) -> Result<Source, ResolveError> {
        if let Some(source) = self.opened.lock().unwrap_or_else(PoisonError::into_inner).get(text) {
            return Ok(source.clone());
        }
        let source = text.parse::<CapacitySpec>().and_then(|spec| spec.open(synthetic_link));
        let source = source.map_err(|error| ResolveError(unopened(&error)))?;
        self.opened.lock().unwrap_or_else(PoisonError::into_inner).insert(text.into(), source.clone());
        Ok(source)
    }

    fn capacities(&self, scenario: &Scenario) -> Result<Capacities, ResolveError> {
        let users = scenario.cell.iter().flat_map(|cell| &cell.users);
        let forward = std::iter::once(&scenario.trace).chain(users).map(|text| Ok(self.open(text)?.capacity));
        let forward = forward.collect::<Result<_, ResolveError>>()?;
        let reverse = match scenario.path.reverse.trace.as_str() {
            "" => Capacity::constant(UNLIMITED)
                .map(Arc::new)
                .map_err(|error| ResolveError(error.to_string()))?,
            text => self.open(text)?.capacity,
        };
        Ok(Capacities { forward, reverse })
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
        let users = 1 + scenario.cell.as_ref().map_or(0, |cell| cell.users.len());
        if let Some(flow) = scenario.flows.iter().find(|flow| flow.user >= users) {
            return Err(ResolveError(format!(
                "flow `{}` belongs to user {}, but there are only users 0 to {}; add users to the cell",
                flow.scheme,
                flow.user,
                users - 1
            )));
        }
        if let Some(cell) = &scenario.cell {
            cell.scheduler.parse::<Scheduler>().map_err(|error| ResolveError(error.to_string()))?;
        }
        paths::read_steps(&mut scenario.path)?;
        forward_delay(scenario)?;
        forward_loss(scenario)?;
        self.capacities(scenario)?;
        scenario.trace_sha256 = self.open(&scenario.trace)?.hash;
        Ok(())
    }

    fn run(&self, scenario: &Scenario) -> Result<Record, RunError> {
        let failed = |error: ResolveError| RunError(error.to_string());
        let capacities = self.capacities(scenario).map_err(failed)?;
        let mut record = if scenario.scheme == LIMIT && scenario.flows.is_empty() {
            run_limit(scenario, &capacities).map_err(failed)?
        } else {
            let schemes = self.schemes(scenario).map_err(failed)?;
            run_flows(scenario, &capacities, &schemes).map_err(failed)?
        };
        if let Some(period) = capacities.forward[0].period().filter(|period| *period < scenario.duration) {
            record.notes.push(format!(
                "the trace lasts {period} and repeats within the {} of the run",
                scenario.duration
            ));
        }
        Ok(record)
    }
}

/// Why a link cannot be opened; a name that is unknown is answered with those that are known.
fn unopened(error: &SpecError) -> String {
    match error {
        SpecError::UnknownName(name) => {
            let known: Vec<_> = synthetic::names().iter().map(|link| link.name).collect();
            format!(
                "there is no link named `{name}`; there are {}, and a trace file is written with its path, such as `./{name}`",
                known.join(", ")
            )
        }
        other => other.to_string(),
    }
}

/// The synthetic link of this name; `None` where there is none. It is one link: every run sees the same, whatever the
/// run's own seed.
pub fn synthetic_link(name: &str) -> Option<Arc<Capacity>> {
    let link = synthetic::names().iter().find(|link| link.name == name)?;
    let steps = synthetic::generate(name, link.typical_seed, synthetic::DEFAULT_LENGTH)?;
    Capacity::from_steps(steps).ok().map(Arc::new)
}

fn run_limit(scenario: &Scenario, capacities: &Capacities) -> Result<Record, ResolveError> {
    let capacity = &capacities.forward[0];
    let meter = limit::measure(scenario, capacity)?;
    let whole_run = (Time::ZERO, Time::ZERO + scenario.duration);
    let metrics = meter.metrics(capacity.bytes_between(whole_run.0, whole_run.1), scenario.duration);
    let mut series = capacity_series(scenario, capacities);
    let bins = bins(scenario);
    meter.append_series("flow0.", bins, &mut series);
    Ok(Record {
        flows: vec![meter.record(LIMIT, metrics.clone())],
        total: metrics,
        ..empty_record(scenario, series)
    })
}

fn run_flows(
    scenario: &Scenario,
    capacities: &Capacities,
    schemes: &[Scheme],
) -> Result<Record, ResolveError> {
    let mut engine = Engine::new(scenario, capacities, schemes)?;
    engine.run(|bin, flow| {
        let mut observed =
            Observed { curves: flow.meter.takes_curves(bin).then(Vec::new), ..Observed::default() };
        flow.observe(&mut observed);
        for (name, axes, points) in observed.curves.iter().flatten() {
            flow.meter.sample_curve(bin, name, *axes, points);
        }
        observed.values.iter().for_each(|(name, value)| flow.meter.sample(bin, name, *value));
    });
    let mut series = capacity_series(scenario, capacities);
    let mut notes = Vec::new();
    let (mut flows, mut curves) = (Vec::new(), Vec::new());
    for (index, (flow, scheme)) in engine.flows.iter().zip(schemes).enumerate() {
        flow.meter.append_series(&format!("flow{index}."), bins(scenario), &mut series);
        flow.meter.append_curves(index, &mut curves);
        let mut observed = Observed::default();
        flow.observe(&mut observed);
        notes
            .extend(observed.notes.iter().filter(|note| !notes.contains(*note)).cloned().collect::<Vec<_>>());
        flows.push(flow_record(flow, scheme, &observed, capacities));
    }
    let total = total(scenario, &engine.flows, &flows, capacities);
    let active: Vec<_> = engine.flows.iter().map(Flow::active).collect();
    let by_second: Vec<_> = engine.flows.iter().map(|flow| flow.meter.bytes_by_second()).collect();
    Ok(Record {
        total,
        jain_index: jain_index(&by_second, &active),
        flows,
        notes,
        curves,
        ..empty_record(scenario, series)
    })
}

fn flow_record(flow: &Flow, scheme: &Scheme, observed: &Observed, capacities: &Capacities) -> FlowRecord {
    let (start, stop) = flow.active();
    let offered = capacities.forward[flow.user].bytes_between(start, stop);
    let mut metrics = flow.meter.metrics(offered, stop.since(start));
    metrics.completion_time_s = flow.sender.completed_at().map(|at| at.since(start).as_secs_f64());
    if let Some((frames, missed)) =
        flow.frames.as_ref().and_then(|f| f.outcome(flow.sender.application(), stop))
    {
        metrics.frames = Some(frames);
        metrics.deadline_miss_ratio = Some(missed);
    }
    let target = observed.values.iter().find(|(name, _)| name == "dtt_ms").map(|(_, ms)| *ms);
    metrics.d3 = target.zip(metrics.rtt_mean_ms).map(|(target, rtt)| rtt / target);
    flow.meter.record(scheme.text(), metrics)
}

/// All flows together: over the time in which at least one was active, and over what the link offered then. In a cell
/// each user's bytes count as a share of what that user's channel alone would have carried.
fn total(scenario: &Scenario, flows: &[Flow], records: &[FlowRecord], capacities: &Capacities) -> Metrics {
    if let [only] = records {
        return only.metrics.clone();
    }
    let mut meter = FlowMeter::new(scenario.endpoint.series_bin);
    flows.iter().for_each(|flow| meter.merge(&flow.meter));
    let active = union(flows.iter().map(Flow::active).collect());
    let length = active.iter().fold(Span::ZERO, |sum, (start, stop)| sum + stop.since(*start));
    let offered = |user: usize| -> Bytes {
        active.iter().map(|(a, b)| capacities.forward[user].bytes_between(*a, *b)).sum()
    };
    let mut metrics = meter.metrics(offered(0), length);
    metrics.utilisation = (0..capacities.forward.len())
        .map(|user| {
            let mine = flows.iter().filter(|flow| flow.user == user);
            let delivered: Bytes = mine.map(|flow| flow.meter.delivered()).sum();
            delivered.as_f64() / offered(user).as_f64().max(1.0)
        })
        .sum();
    metrics
}

/// Intervals, overlapping ones joined.
fn union(mut intervals: Vec<(Time, Time)>) -> Vec<(Time, Time)> {
    intervals.sort();
    let mut joined: Vec<(Time, Time)> = Vec::new();
    for (start, stop) in intervals {
        match joined.last_mut() {
            Some((_, end)) if start <= *end => *end = stop.max(*end),
            _ => joined.push((start, stop)),
        }
    }
    joined
}

fn bins(scenario: &Scenario) -> usize {
    (scenario.duration.as_nanos() / scenario.endpoint.series_bin.as_nanos().max(1)) as usize
}

fn capacity_series(scenario: &Scenario, capacities: &Capacities) -> Series {
    let bin = scenario.endpoint.series_bin;
    let values = (0..bins(scenario) as u64).map(|index| {
        let (from, to) = (Time::ZERO + bin * index, Time::ZERO + bin * (index + 1));
        capacities.forward[0].rate_in(from, to).as_mbit_per_sec() as f32
    });
    Series { bin, columns: vec![Column { name: "capacity_mbit_s".into(), values: values.collect() }] }
}

fn empty_record(scenario: &Scenario, series: Series) -> Record {
    Record {
        schema: SCHEMA_VERSION,
        id: String::new(),
        version: env!("CARGO_PKG_VERSION").into(),
        driver: "sim".into(),
        scenario: scenario.clone(),
        total: Metrics::default(),
        jain_index: None,
        flows: Vec::new(),
        notes: Vec::new(),
        series,
        curves: Vec::new(),
    }
}

/// A curve's name, its axes and its points.
type ShownCurve = (&'static str, (&'static str, &'static str), Vec<(f64, f64)>);

/// What a scheme showed of its inside.
#[derive(Default)]
struct Observed {
    values: Vec<(String, f64)>,
    notes: Vec<String>,
    /// None: not wanted now.
    curves: Option<Vec<ShownCurve>>,
}

impl Observer for Observed {
    fn value(&mut self, name: &'static str, unit: &'static str, value: f64) {
        let name = if unit.is_empty() { name.into() } else { format!("{name}_{unit}") };
        self.values.push((name, value));
    }

    fn wants_curves(&self) -> bool {
        self.curves.is_some()
    }

    fn curve(&mut self, name: &'static str, x: &'static str, y: &'static str, points: &[(f64, f64)]) {
        if let Some(curves) = &mut self.curves {
            curves.push((name, (x, y), points.to_vec()));
        }
    }

    fn note(&mut self, text: &str) {
        self.notes.push(text.into());
    }
}

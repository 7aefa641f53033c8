//! Conversion of a driver's measurements of the flows to the Record, with the same arithmetic for every driver.

use crate::{Column, Fairness, FlowMeter, MediaOutcome, Metrics, Record, SCHEMA_VERSION, Scenario, Series};
use cellcc_link::{Capacities, OwnCounters};
use cellcc_units::{Bytes, Span, Time};
use std::collections::BTreeSet;

/// A flow as its driver measured it.
#[derive(Debug, Clone)]
pub struct MeasuredFlow<'a> {
    /// The scheme, in its canonical form.
    pub scheme: &'a str,
    /// The flow's user of the cell.
    pub user: usize,
    /// The start and end of its activity; the end is its stop, or the completion of a sized source.
    pub active: (Time, Time),
    /// The measurements.
    pub meter: FlowMeter,
    /// Time at which the last byte of a sized source was acknowledged.
    pub completed_at: Option<Time>,
    /// Number of frames, and the share of them that missed their deadline.
    pub frames: Option<(u64, f64)>,
    /// Quality of an adaptive stream for its viewer.
    pub media: Option<MediaOutcome>,
    /// The scheme's delay target in milliseconds, for schemes that have one.
    pub delay_target_ms: Option<f64>,
    /// The own counters of its user's queue, after the warm-up.
    pub queue: OwnCounters,
    /// See [`FlowRecord`](crate::FlowRecord::ecn_validation).
    pub ecn_validation: Option<&'static str>,
}

impl<'a> MeasuredFlow<'a> {
    /// A flow with only these measurements.
    pub fn new(scheme: &'a str, user: usize, active: (Time, Time), meter: FlowMeter) -> Self {
        Self {
            scheme,
            user,
            active,
            meter,
            completed_at: None,
            frames: None,
            media: None,
            delay_target_ms: None,
            queue: OwnCounters::default(),
            ecn_validation: None,
        }
    }
}

impl Scenario {
    /// Number of whole bins in a time series of the run.
    pub fn series_bins(&self) -> usize {
        (self.duration.as_nanos() / self.endpoint.series_bin.as_nanos().max(1)) as usize
    }
}

impl Record {
    /// A Record of `driver` in which nothing was measured yet but the capacity of the link.
    pub fn empty(scenario: &Scenario, driver: &str, capacities: &Capacities) -> Self {
        let bin = scenario.endpoint.series_bin;
        let values = (0..scenario.series_bins() as u64).map(|index| {
            let (from, to) = (Time::ZERO + bin * index, Time::ZERO + bin * (index + 1));
            capacities.forward[0].rate_in(from, to).as_mbit_per_sec() as f32
        });
        let capacity = Column { name: "capacity_mbit_s".into(), values: values.collect() };
        Self {
            schema: SCHEMA_VERSION,
            id: String::new(),
            version: env!("CARGO_PKG_VERSION").into(),
            driver: driver.into(),
            scenario: scenario.clone(),
            total: Metrics::default(),
            jain_index: None,
            flows: Vec::new(),
            notes: Vec::new(),
            real_time: None,
            series: Series { bin, columns: vec![capacity] },
            curves: Vec::new(),
        }
    }

    /// The Record of flows that were measured. After `notes` come those on the traces.
    pub fn of_flows(
        scenario: &Scenario,
        driver: &str,
        mut flows: Vec<MeasuredFlow>,
        capacities: &Capacities,
        notes: Vec<String>,
    ) -> Self {
        flows.iter_mut().for_each(|flow| flow.meter.count_since_warm_up(&capacities.forward[flow.user]));
        let mut record = Self::empty(scenario, driver, capacities);
        record.notes = notes;
        record.notes.extend_from_slice(&capacities.notes);
        record.note_default_presets();
        record.note_short_flows(&flows);
        record.note_repetition(capacities.forward[0].period());
        let metrics: Vec<_> = flows.iter().map(|flow| flow.metrics(scenario, capacities)).collect();
        record.total = total(scenario, &flows, &metrics, capacities);
        let active: Vec<_> = flows.iter().map(|flow| flow.measured(scenario)).collect();
        let by_second: Vec<_> = flows.iter().map(|flow| flow.meter.bytes_by_second()).collect();
        for (flow, metrics) in flows.into_iter().zip(metrics) {
            flow.meter.append_to(&mut record, flow.scheme, metrics);
            let last = record.flows.last_mut().expect("just appended");
            last.ecn_validation = flow.ecn_validation.map(String::from);
        }
        record.share(&Fairness::new(&by_second, &active), &active);
        record
    }

    /// Notes schemes whose bare name is not their paper's text: a later version may choose another default.
    fn note_default_presets(&mut self) {
        let schemes: BTreeSet<&str> = self.scenario.flows.iter().map(|flow| &*flow.scheme).collect();
        let registry = cellcc_schemes::registry();
        let note = |text| {
            let scheme = registry.parse(text).ok()?;
            let (ran, papers) = (scheme.default_preset()?, scheme.info().papers_preset()?);
            let (key, name) = (&ran.parameter, &scheme.info().name);
            (ran.name != papers.name).then(|| {
                format!(
                    "`{name}` stands for {key}={}; the text of its paper is {key}={}",
                    ran.name, papers.name
                )
            })
        };
        let notes: BTreeSet<String> = schemes.into_iter().filter_map(note).collect();
        self.notes.extend(notes);
    }

    /// Notes flows that were too short for a packet to come back.
    fn note_short_flows(&mut self, flows: &[MeasuredFlow]) {
        for (flow, setup) in flows.iter().zip(&self.scenario.flows) {
            let active = flow.active.1.since(flow.active.0);
            let rtt = self.scenario.path.rtt + setup.extra_rtt;
            if active <= rtt && flow.meter.rtt().count() == 0 {
                self.notes.push(format!(
                    "`{}` was active for {active}, too short for one round trip of {rtt}: nothing came back to it, and it has no \
                     RTT",
                    flow.scheme
                ));
            }
        }
    }

    /// Takes down how the flows shared the link, where several did.
    fn share(&mut self, fairness: &Fairness, active: &[(Time, Time)]) {
        self.jain_index = fairness.jain_index();
        if self.jain_index.is_none() {
            return;
        }
        for (index, (flow, (start, _))) in self.flows.iter_mut().zip(active).enumerate() {
            flow.convergence_time_s = fairness.convergence_time_s(index, *start);
        }
        let by_second: Vec<Option<f64>> = fairness.jain_by_second().collect();
        let of_bin = |bin: usize| {
            let second = (self.series.bin * bin as u64).as_secs_f64() as usize;
            by_second.get(second).copied().flatten().map_or(f32::NAN, |jain| jain as f32)
        };
        let values = (0..self.scenario.series_bins()).map(of_bin).collect();
        self.series.columns.push(Column { name: "jain_index".into(), values });
    }
}

impl MeasuredFlow<'_> {
    /// Times between which it was active and measured: after the warm-up.
    fn measured(&self, scenario: &Scenario) -> (Time, Time) {
        let (start, stop) = self.active;
        (start.max(scenario.measured_from()).min(stop), stop)
    }

    fn metrics(&self, scenario: &Scenario, capacities: &Capacities) -> Metrics {
        let (from, to) = self.measured(scenario);
        let offered = capacities.forward[self.user].bytes_between(from, to);
        let mut metrics = self.meter.metrics(offered, to.since(from));
        metrics.completion_time_s = self.completed_at.map(|at| at.since(self.active.0).as_secs_f64());
        if let Some((frames, missed)) = self.frames {
            metrics.frames = Some(frames);
            metrics.deadline_miss_ratio = Some(missed);
        }
        if let Some(media) = self.media {
            media.fill(&mut metrics);
        }
        self.queue.metrics().for_each(|(key, value)| metrics.set(key, value));
        metrics.d3 = self.delay_target_ms.zip(metrics.rtt_mean_ms).map(|(target, rtt)| rtt / target);
        metrics
    }
}

/// All flows together: over the time in which at least one was active, and over the link's capacity in that time. In a
/// cell each user's bytes count as a share of the capacity of that user's channel alone.
fn total(
    scenario: &Scenario,
    flows: &[MeasuredFlow],
    metrics: &[Metrics],
    capacities: &Capacities,
) -> Metrics {
    if let [only] = metrics {
        return only.clone();
    }
    let mut meter = FlowMeter::new(scenario.endpoint.series_bin);
    flows.iter().for_each(|flow| meter.merge(&flow.meter));
    let active = union(flows.iter().map(|flow| flow.measured(scenario)).collect());
    let length = active.iter().fold(Span::ZERO, |sum, (start, stop)| sum + stop.since(*start));
    let offered_to = |user: usize| -> Bytes {
        active.iter().map(|(a, b)| capacities.forward[user].bytes_between(*a, *b)).sum()
    };
    let mut metrics = meter.metrics(offered_to(0), length);
    metrics.utilisation = (0..capacities.forward.len())
        .map(|user| {
            let mine = flows.iter().filter(|flow| flow.user == user);
            let delivered: Bytes = mine.map(|flow| flow.meter.delivered()).sum();
            delivered.as_f64() / offered_to(user).as_f64().max(1.0)
        })
        .sum();
    let queue = flows.first().map(|flow| flow.queue).unwrap_or_default();
    queue.metrics().for_each(|(key, value)| metrics.set(key, value));
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

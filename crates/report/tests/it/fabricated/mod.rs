//! Records of runs that never were: a fluid queue on a link whose capacity wanders. Enough like the real ones to look
//! at, made without a simulator.

use cellcc_control::Limits;
use cellcc_experiment::{
    Column, Curve, Delivery, Endpoint, FlowMeter, FlowSetup, NetAssist, Offset, Path, Record, SCHEMA_VERSION,
    Scenario, Series, Source,
};
use cellcc_units::{Bytes, Span, Time};

const BIN: Span = Span::from_millis(100);
const PACKET: Bytes = Bytes::new(1500);

/// A scheme that sends for a queue of `target_ms`, reacts to the capacity `lag_bins` late, and uses no more than `share`.
struct Behaviour {
    target_ms: f64,
    lag_bins: usize,
    share: f64,
    internals: bool,
}

fn behaviour(scheme: &str) -> Behaviour {
    let of = |target_ms, lag_bins, share| Behaviour { target_ms, lag_bins, share, internals: false };
    match scheme {
        "limit" => of(0.0, 0, 1.0),
        "vegas" => of(4.0, 4, 0.62),
        "bbr" => of(28.0, 5, 0.95),
        "newreno" => of(190.0, 9, 1.0),
        name if name.starts_with("reminis") => Behaviour { internals: true, ..of(11.0, 2, 0.84) },
        _ => of(260.0, 7, 1.0),
    }
}

/// One run a scheme (the limit with the first seed only), trace and seed.
pub(crate) fn records(schemes: &[&str], traces: &[&str], seeds: &[u64], duration: Span) -> Vec<Record> {
    let mut records = Vec::new();
    for (index, trace) in traces.iter().enumerate() {
        let capacity = capacity(index as u64 + 1, bins(duration));
        for scheme in schemes {
            let seeds = if *scheme == "limit" { &seeds[..1] } else { seeds };
            records.extend(seeds.iter().map(|&seed| run(scheme, trace, seed, duration, &capacity)));
        }
    }
    records
}

/// The records under each value of `path.queue`; the delays grow with it. The limit is the same under all.
#[allow(dead_code, reason = "not every test that shares this file varies a condition")]
pub(crate) fn varied(schemes: &[&str], traces: &[&str], queues: &[&str]) -> Vec<Record> {
    let one = |(index, queue): (usize, &&str)| {
        let mut records = records(schemes, traces, &[1], Span::from_secs(5));
        for record in &mut records {
            record.scenario.variation = format!("path.queue={queue}");
            if record.scenario.scheme != "limit" {
                record.total.rtt_mean_ms = record.total.rtt_mean_ms.map(|ms| ms * (1 + index) as f64);
            }
        }
        records
    };
    queues.iter().enumerate().flat_map(one).collect()
}

/// Varies also `path.rtt` over these values.
#[allow(dead_code, reason = "not every test that shares this file varies two conditions")]
pub(crate) fn varied_twice(schemes: &[&str], traces: &[&str], queues: &[&str], rtts: &[&str]) -> Vec<Record> {
    let with = |rtt: &&str| {
        let mut records = varied(schemes, traces, queues);
        records.iter_mut().for_each(|record| record.scenario.variation += &format!(", path.rtt={rtt}"));
        records
    };
    rtts.iter().flat_map(with).collect()
}

/// Two schemes and the limit over eight queues and seven round-trip times.
#[allow(dead_code, reason = "not every test that shares this file shows heat maps")]
pub(crate) fn heat() -> Vec<Record> {
    let queues = ["1pkt", "2pkt", "3pkt", "4pkt", "5pkt", "6pkt", "7pkt", "8pkt"];
    let rtts = ["1ms", "2ms", "3ms", "4ms", "5ms", "6ms", "7ms"];
    varied_twice(&["limit", "cubic", "bbr"], &["walk"], &queues, &rtts)
}

/// Adds to every run of `scheme` a curve that rises in the course of time, once a second.
#[allow(dead_code, reason = "not every test that shares this file shows curves")]
pub(crate) fn add_curves(records: &mut [Record], scheme: &str, seconds: u32) {
    for record in records.iter_mut().filter(|record| record.scenario.scheme == scheme) {
        let curve = |second: u32| Curve {
            time_s: f64::from(second),
            flow: 0,
            name: "profile".into(),
            x: "window_packets".into(),
            y: "delay_ms".into(),
            points: (1..=200_u16)
                .map(|window| (f32::from(window), 20.0 + f32::from(window * window) * second as f32 / 5e3))
                .collect(),
        };
        record.curves = (1..=seconds).map(curve).collect();
    }
}

/// Names of `count` traces.
#[allow(dead_code, reason = "not every test that shares this file has many traces")]
pub(crate) fn trace_names(count: usize) -> Vec<String> {
    (1..=count).map(|index| format!("5g-mmwave/{index:03}-driving.mbps")).collect()
}

fn bins(duration: Span) -> usize {
    (duration.as_nanos() / BIN.as_nanos()) as usize
}

/// Mbit/s per bin: a first-order autoregression with outages.
fn capacity(seed: u64, bins: usize) -> Vec<f64> {
    let mut noise = Noise(seed * 7919);
    let (mut level, mut outage) = (0.0, 0);
    (0..bins)
        .map(|_| {
            level = 0.97 * level + 0.24 * noise.next();
            if outage == 0 && noise.next() > 2.6 {
                outage = 12;
            }
            outage = usize::saturating_sub(outage, 1);
            let share = if outage > 0 { 0.2 } else { 1.0 };
            f64::max(400.0 + 320.0 * level, 20.0) * share
        })
        .collect()
}

fn run(scheme: &str, trace: &str, seed: u64, duration: Span, capacity: &[f64]) -> Record {
    let behaviour = behaviour(scheme);
    let mut noise = Noise(seed * 104_729 + scheme.len() as u64);
    let mut meter = FlowMeter::new(BIN);
    let (mut queue_mbit, mut offered) = (0.0_f64, 0.0);
    for (bin, &rate) in capacity.iter().enumerate() {
        let seen = capacity[bin.saturating_sub(behaviour.lag_bins)];
        let aim_mbit = behaviour.target_ms * seen / 1e3 * (1.0 + 0.2 * noise.next());
        let sent = f64::max(seen * 0.1 * behaviour.share + (aim_mbit - queue_mbit) * 0.5, 0.0);
        let before = queue_mbit + sent;
        let served = f64::min(before, rate * 0.1 * behaviour.share.max(0.9));
        queue_mbit = f64::min(before - served, 3200.0 * 0.012);
        offered += rate * 0.1;
        let delay_ms =
            if scheme == "limit" { 0.0 } else { f64::min(queue_mbit / rate.max(1.0) * 1e3, 3000.0) };
        deliver(&mut meter, bin, served, delay_ms);
        meter.on_sent(false);
        if before - served > queue_mbit {
            meter.on_lost();
        }
        let window = Bytes::new(((20.0 + delay_ms) * rate * 125.0) as u64);
        meter.sample_scheme(bin, PACKET, &Limits::window_only(window), |_| ());
        if behaviour.internals {
            meter.sample(bin, "mu", 0.5 + 0.4 * noise.next().clamp(-1.0, 1.0));
            meter.sample(bin, "zone", 1.0 + f64::from(delay_ms > 10.0));
        }
    }
    record(scheme, trace, seed, duration, meter, capacity, offered)
}

/// Four packets stand for all that left in a bin.
fn deliver(meter: &mut FlowMeter, bin: usize, served_mbit: f64, delay_ms: f64) {
    for part in 0..4_u64 {
        let departed_at = Time::ZERO + BIN * bin as u64 + Span::from_millis(part * 25);
        let delay = Span::from_secs_f64(delay_ms * (0.9 + 0.05 * part as f64) / 1e3);
        let queued_at = Time::ZERO + departed_at.since(Time::ZERO).saturating_sub(delay);
        meter.on_delivery(&Delivery {
            bytes: Bytes::new((served_mbit * 125_000.0 / 4.0) as u64),
            sent_at: queued_at,
            queued_at,
            departed_at,
            arrived_at: departed_at + Span::from_millis(10),
        });
        meter.on_rtt(departed_at, delay + Span::from_millis(20));
    }
}

fn record(
    scheme: &str,
    trace: &str,
    seed: u64,
    duration: Span,
    meter: FlowMeter,
    capacity: &[f64],
    offered_mbit: f64,
) -> Record {
    let metrics = meter.metrics(Bytes::new((offered_mbit * 125_000.0) as u64), duration);
    let mut series = Series { bin: BIN, columns: Vec::new() };
    let values = capacity.iter().map(|&rate| rate as f32).collect();
    series.columns.push(Column { name: "capacity_mbit_s".into(), values });
    let flow = FlowSetup {
        scheme: scheme.into(),
        start: Time::ZERO,
        stop: None,
        source: Source::Bulk,
        user: 0,
        extra_rtt: Span::ZERO,
        initial_window: None,
    };
    let mut record = Record {
        schema: SCHEMA_VERSION,
        id: format!("{scheme}-{trace}-{seed}"),
        version: "0.1.0".into(),
        driver: "sim".into(),
        scenario: Scenario {
            driver: "sim".into(),
            scheme: scheme.into(),
            variation: String::new(),
            trace: trace.into(),
            trace_sha256: String::new(),
            seed,
            offset: Offset::Fixed,
            trace_offset: Span::ZERO,
            duration,
            warm_up: Span::ZERO,
            path: Path::default().into(),
            endpoint: Endpoint::default().into(),
            cell: None,
            netassist: NetAssist::default().into(),
            flows: if scheme == "limit" { Vec::new() } else { vec![flow] },
        },
        total: metrics.clone(),
        jain_index: None,
        flows: Vec::new(),
        notes: if scheme.contains("dtt") { vec!["DTT was raised to 21 ms".into()] } else { Vec::new() },
        real_time: None,
        series,
        curves: Vec::new(),
    };
    meter.append_to(&mut record, scheme, metrics);
    record
}

/// Roughly normal numbers from a linear congruential generator (Knuth's MMIX): good enough for pictures.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        (0..6).map(|_| self.uniform()).sum::<f64>() * 2.0_f64.sqrt()
    }

    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
    }
}

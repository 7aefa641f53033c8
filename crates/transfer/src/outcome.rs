//! The result of a transfer, and its Record.

use crate::progress::{Interval, SenderSample, Started};
use crate::protocol::Report;
use crate::{Direction, Payload, Request};
use cellcc_experiment::{
    Column, Distribution, Endpoint, FlowRecord, FlowSetup, Metrics, NetAssist, Offset, Path, Record,
    SCHEMA_VERSION, Scenario, Series, Source, TRANSFER,
};
use cellcc_units::{Bytes, Rate, Span, Time};

/// The result of a transfer.
#[derive(Debug, Clone)]
pub struct Outcome {
    pub(crate) request: Request,
    pub(crate) started: Started,
    pub(crate) intervals: Vec<Interval>,
    pub(crate) sent: Report,
    pub(crate) received: Report,
    pub(crate) is_interrupted: bool,
}

impl Outcome {
    /// The sides' agreement.
    pub fn started(&self) -> &Started {
        &self.started
    }

    /// True if the user ended it early.
    pub fn is_interrupted(&self) -> bool {
        self.is_interrupted
    }

    /// Data that applications received.
    pub fn received(&self) -> Bytes {
        self.received.flows.iter().map(|flow| flow.sample.received).sum()
    }

    /// The time from the start until everything was received.
    pub fn active(&self) -> Span {
        self.received.active
    }

    /// The bytes received by applications, per time.
    pub fn goodput(&self) -> Rate {
        Rate::from_transfer(self.received(), self.active())
    }

    /// Packets sent and lost, all connections together.
    pub fn packets(&self) -> (u64, u64) {
        let senders = || self.sent.flows.iter().filter_map(|flow| flow.sample.sender.as_ref());
        (senders().map(|sender| sender.sent_packets).sum(), senders().map(|sender| sender.lost_packets).sum())
    }

    /// The senders' RTT samples, all connections together.
    pub fn rtt(&self) -> Distribution {
        let mut all = Distribution::default();
        self.sent.flows.iter().for_each(|flow| all.merge(&flow.rtt));
        all
    }

    /// Frames, and the share that missed its deadline.
    pub fn frames(&self) -> Option<(u64, f64)> {
        self.request.payload.deadline()?;
        frames(
            self.sent.flows.iter().map(|flow| flow.frames).sum(),
            self.received.flows.iter().map(|flow| flow.frames).sum(),
        )
    }

    /// The Record. It leaves out quantities of the link that the ends of a connection cannot know, and says so in a note.
    pub fn record(&self) -> Record {
        let flows: Vec<FlowRecord> = (0..self.sent.flows.len()).map(|flow| self.flow_record(flow)).collect();
        let total = match flows.as_slice() {
            [only] => only.metrics.clone(),
            _ => self.total(),
        };
        Record {
            schema: SCHEMA_VERSION,
            id: String::new(),
            version: env!("CARGO_PKG_VERSION").into(),
            driver: TRANSFER.into(),
            scenario: self.scenario(),
            total,
            jain_index: None,
            flows,
            notes: self.notes(),
            real_time: None,
            series: self.series(),
            curves: Vec::new(),
        }
    }

    fn flow_record(&self, flow: usize) -> FlowRecord {
        let (sent, received) = (&self.sent.flows[flow], self.received.flows.get(flow));
        let frames = self
            .request
            .payload
            .deadline()
            .and_then(|_| frames(sent.frames, received.map_or(0, |received| received.frames)));
        let senders = sent.sample.sender.as_slice();
        FlowRecord {
            scheme: self.started.scheme.clone(),
            metrics: self.metrics(senders, &sent.rtt, frames),
            rtt: sent.rtt.clone(),
            ..FlowRecord::default()
        }
    }

    fn total(&self) -> Metrics {
        let senders: Vec<_> = self.sent.flows.iter().filter_map(|flow| flow.sample.sender.clone()).collect();
        self.metrics(&senders, &self.rtt(), self.frames())
    }

    fn metrics(&self, senders: &[SenderSample], rtt: &Distribution, frames: Option<(u64, f64)>) -> Metrics {
        let delivered: Bytes = senders.iter().map(|sender| sender.delivered).sum();
        let sent_packets = senders.iter().map(|sender| sender.sent_packets).sum();
        let lost_packets = senders.iter().map(|sender| sender.lost_packets).sum();
        let is_sized = self.request.payload.time().is_none() && !self.is_interrupted;
        let mut metrics = Metrics {
            throughput_mbit_s: Rate::from_transfer(delivered, self.sent.active).as_mbit_per_sec(),
            utilisation: f64::NAN,
            sent_packets,
            lost_packets,
            loss_ratio: lost_packets as f64 / sent_packets.max(1) as f64,
            completion_time_s: is_sized.then(|| self.sent.active.as_secs_f64()),
            frames: frames.map(|(frames, _)| frames),
            deadline_miss_ratio: frames.map(|(_, missed)| missed),
            ..Metrics::default()
        };
        metrics.set_rtt(rtt);
        metrics
    }

    fn scenario(&self) -> Scenario {
        let source = match &self.request.payload {
            Payload::Made { source, .. } => source.clone(),
            Payload::File { .. } => Source::Sized(self.received()),
        };
        let flow = FlowSetup {
            scheme: self.started.scheme.clone(),
            start: Time::ZERO,
            stop: None,
            source,
            user: 0,
            extra_rtt: Span::ZERO,
            initial_window: None,
        };
        let count = usize::from(self.request.connections);
        Scenario {
            scheme: self.started.scheme.clone(),
            variation: String::new(),
            driver: TRANSFER.into(),
            trace: format!("quic://{}", self.started.server),
            trace_sha256: String::new(),
            seed: 0,
            offset: Offset::Fixed,
            trace_offset: Span::ZERO,
            duration: self.sent.active,
            warm_up: Span::ZERO,
            path: Path { rtt: Span::ZERO, ..Path::default() }.into(),
            endpoint: Endpoint { series_bin: self.request.interval, ..Endpoint::default() }.into(),
            netassist: NetAssist::default().into(),
            cell: None,
            flows: vec![flow; count],
        }
    }

    fn notes(&self) -> Vec<String> {
        let way = match self.request.direction {
            Direction::Get => "from the server to the client",
            Direction::Put => "from the client to the server",
        };
        let mut notes = vec![format!(
            "a transfer over a real path, {way}: the path in the Scenario, the link's capacity and its queue are unknown; throughput counts acknowledged packets"
        )];
        if self.is_interrupted {
            notes.push("the user ended the transfer early".into());
        }
        for note in self.sent.flows.iter().flat_map(|flow| &flow.notes) {
            if !notes.contains(note) {
                notes.push(note.clone());
            }
        }
        notes
    }

    /// One value for each interval. The last interval, and those in outages, may have another length.
    fn series(&self) -> Series {
        let mut columns = Vec::new();
        for flow in 0..self.sent.flows.len() {
            let mut add = |name: &str, values: Vec<f32>| {
                columns.push(Column { name: format!("flow{flow}.{name}"), values });
            };
            add("throughput_mbit_s", self.throughput(flow));
            add("rtt_ms", self.values(flow, &|now| now.rtt_ms));
            let packet = Endpoint::default().packet();
            add("window_packets", self.values(flow, &|now| Some(now.window.in_packets(packet))));
            let pacing_rate = |now: &SenderSample| Some(now.pacing_rate?.as_mbit_per_sec());
            add("pacing_rate_mbit_s", self.values(flow, &pacing_rate));
            for name in self.internals(flow) {
                add(&name, self.values(flow, &|now| now.internals.get(&name).copied()));
            }
        }
        Series { bin: self.request.interval, columns }
    }

    fn internals(&self, flow: usize) -> Vec<String> {
        let senders = self.intervals.iter().filter_map(|interval| interval.flows.get(flow)?.sender.as_ref());
        let mut names: Vec<String> = senders.flat_map(|sender| sender.internals.keys().cloned()).collect();
        names.sort();
        names.dedup();
        names
    }

    fn values(&self, flow: usize, value: &dyn Fn(&SenderSample) -> Option<f64>) -> Vec<f32> {
        let senders = self.intervals.iter().map(|interval| interval.flows.get(flow)?.sender.as_ref());
        senders.map(|sender| sender.and_then(value).map_or(f32::NAN, |value| value as f32)).collect()
    }

    fn throughput(&self, flow: usize) -> Vec<f32> {
        let mut before = Bytes::ZERO;
        let of_interval = |interval: &Interval| {
            let delivered = interval.flows.get(flow)?.sender.as_ref()?.delivered;
            let more = delivered.saturating_sub(std::mem::replace(&mut before, delivered));
            Some(more.as_f64() * 8.0 / (interval.to.as_secs_f64() - interval.from.as_secs_f64()) / 1e6)
        };
        let values = self.intervals.iter().map(of_interval);
        values.map(|value| value.map_or(f32::NAN, |value| value as f32)).collect()
    }
}

fn frames(made: u64, in_time: u64) -> Option<(u64, f64)> {
    (made > 0).then(|| (made, made.saturating_sub(in_time) as f64 / made as f64))
}

//! The measurement of a flow, the same for every driver: exact sums, histograms, and bins of time, in memory that does
//! not grow with the number of packets.

use super::bins::{Bin, Bins};
use crate::{Column, Curve, Distribution, FlowRecord, Metrics, Record};
use cellcc_control::{Limits, Observed};
use cellcc_link::Capacity;
use cellcc_units::{Bytes, Span, Time};

/// A packet on its way through the link to the receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivery {
    /// The packet's size on the link.
    pub bytes: Bytes,
    /// Time at which it was sent.
    pub sent_at: Time,
    /// Time at which it came to the link's queue.
    pub queued_at: Time,
    /// Time at which its last bit left the link.
    pub departed_at: Time,
    /// Time at which it arrived at the receiver.
    pub arrived_at: Time,
}

/// Measures one flow. The fields are ordered: those that a departure and an arrival touch, those that an acknowledgement touches,
/// and the rest; each distribution, and each series' last bin, fill a line of a processor's cache.
#[derive(Debug, Clone)]
#[repr(C)]
pub struct FlowMeter {
    sent_packets: u64,
    sent_acks: u64,
    /// Packets that left the link before this are examined: after a warm-up all, until the first that counts.
    examined_before: Time,
    delivered: Bytes,
    queueing: Distribution,
    one_way: Distribution,
    /// Bytes, and nanoseconds of queueing delay, by the time of departure.
    departures: Bins<2>,
    rtt: Distribution,
    /// Nanoseconds of round-trip time.
    rtt_bins: Bins<1>,
    retransmitted_packets: u64,
    marked_packets: u64,
    lost_packets: u64,
    /// Packets that left the link before this are in the series only.
    from: Time,
    /// The first packet that counts after a warm-up, and when it left the link.
    first: (Bytes, Time),
    bin: Span,
    /// Number of values for which each series allocates room at once.
    room: usize,
    /// Values recorded at the ends of bins, in the order of first appearance.
    sampled: Vec<Column>,
    curves: Vec<Curve>,
}

impl FlowMeter {
    /// The columns that any flow can have, whatever its scheme shows of itself.
    pub const COLUMNS: [&str; 5] =
        ["throughput_mbit_s", "rtt_ms", "queueing_delay_ms", "window_packets", "pacing_rate_mbit_s"];

    /// A meter with series in bins of `bin`.
    pub fn new(bin: Span) -> Self {
        Self {
            bin,
            room: 0,
            from: Time::ZERO,
            examined_before: Time::ZERO,
            delivered: Bytes::ZERO,
            first: (Bytes::ZERO, Time::ZERO),
            queueing: Distribution::default(),
            one_way: Distribution::default(),
            rtt: Distribution::default(),
            sent_packets: 0,
            lost_packets: 0,
            marked_packets: 0,
            retransmitted_packets: 0,
            sent_acks: 0,
            departures: Bins::new(bin),
            rtt_bins: Bins::new(bin),
            sampled: Vec::new(),
            curves: Vec::new(),
        }
    }

    /// Reserves room for series of this length: a series that grows takes up to twice the memory.
    #[must_use]
    pub fn with_room_for(mut self, bins: usize) -> Self {
        self.room = bins;
        self.departures.reserve(bins);
        self.rtt_bins.reserve(bins);
        self
    }

    /// The warm-up ends: whatever was measured so far stays in the series only.
    pub fn end_warm_up(&mut self, now: Time) {
        let Self { bin, room, departures, rtt_bins, sampled, curves, .. } =
            std::mem::replace(self, Self::new(self.bin));
        *self = Self {
            room,
            from: now,
            examined_before: Time::NEVER,
            departures,
            rtt_bins,
            sampled,
            curves,
            ..Self::new(bin)
        };
    }

    /// A packet was sent, for the first time or again.
    pub fn on_sent(&mut self, retransmission: bool) {
        self.sent_packets += 1;
        self.retransmitted_packets += u64::from(retransmission);
    }

    /// Counts packets whose data were sent again, where only the sender knows of it.
    pub fn on_retransmitted(&mut self, packets: u64) {
        self.retransmitted_packets += packets;
    }

    /// The receiver sent an acknowledgement.
    #[inline]
    pub fn on_ack_sent(&mut self) {
        self.sent_acks += 1;
    }

    /// A packet was dropped or lost on its way to the receiver.
    pub fn on_lost(&mut self) {
        self.lost_packets += 1;
    }

    /// A packet arrived that has left the link at `departed_at`, marked.
    #[inline]
    pub fn on_marked(&mut self, departed_at: Time) {
        self.marked_packets += u64::from(departed_at >= self.from);
    }

    /// A packet arrived at the receiver.
    #[inline(always)]
    pub fn on_delivery(&mut self, delivery: &Delivery) {
        let queueing = delivery.departed_at.since(delivery.queued_at);
        self.departures.add(delivery.departed_at, [delivery.bytes.get(), queueing.as_nanos()]);
        if delivery.departed_at < self.examined_before && !self.counts(delivery) {
            return;
        }
        self.delivered += delivery.bytes;
        self.queueing.add(queueing);
        self.one_way.add(delivery.arrived_at.since(delivery.sent_at));
    }

    /// True for a packet that left after the warm-up. Keeps the first one.
    #[cold]
    fn counts(&mut self, delivery: &Delivery) -> bool {
        let counts = delivery.departed_at >= self.from;
        if counts {
            self.first = (delivery.bytes, delivery.departed_at);
            self.examined_before = self.from;
        }
        counts
    }

    /// The sender measured a round-trip time.
    #[inline]
    pub fn on_rtt(&mut self, now: Time, rtt: Span) {
        self.rtt.add(rtt);
        self.rtt_bins.add(now, [rtt.as_nanos()]);
    }

    /// Takes a value down for the bin that ends now, the `bin`-th from zero: the window, the pacing rate, mu.
    pub fn sample(&mut self, bin: usize, name: &str, value: f64) {
        let known = self.sampled.iter().position(|column| column.name == name);
        let index = known.unwrap_or_else(|| {
            self.sampled.push(Column { name: name.into(), values: Vec::with_capacity(self.room) });
            self.sampled.len() - 1
        });
        let values = &mut self.sampled[index].values;
        values.resize(bin, f32::NAN);
        values.push(value as f32);
    }

    /// True where curves are recorded at the end of the `bin`-th bin: once in every second that ends within it.
    fn takes_curves(&self, bin: usize) -> bool {
        let second = |bins: u64| (self.bin * bins).as_nanos() / 1_000_000_000;
        second(bin as u64 + 1) > second(bin as u64)
    }

    /// Records a curve at the end of the `bin`-th bin; `x` and `y` name its quantities, units included.
    fn sample_curve(&mut self, bin: usize, name: &str, (x, y): (&str, &str), points: &[(f64, f64)]) {
        self.curves.push(Curve {
            time_s: (self.bin * (bin as u64 + 1)).as_secs_f64(),
            flow: 0,
            name: name.into(),
            x: x.into(),
            y: y.into(),
            points: points.iter().map(|(x, y)| (*x as f32, *y as f32)).collect(),
        });
    }

    /// Records a scheme's limits and reported values at the end of the `bin`-th bin; `packet`: the size of a full one.
    pub fn sample_scheme(
        &mut self,
        bin: usize,
        packet: Bytes,
        limits: &Limits,
        observe: impl FnOnce(&mut Observed),
    ) {
        self.sample(bin, "window_packets", limits.window.in_packets(packet));
        if let Some(rate) = limits.pacing_rate {
            self.sample(bin, "pacing_rate_mbit_s", rate.as_mbit_per_sec());
        }
        let mut observed = if self.takes_curves(bin) { Observed::with_curves() } else { Observed::default() };
        observe(&mut observed);
        for (name, axes, points) in observed.curves.iter().flatten() {
            self.sample_curve(bin, name, *axes, points);
        }
        observed.values.iter().for_each(|(name, value)| self.sample(bin, name, *value));
    }

    /// Bytes delivered in each whole second of the run.
    pub fn bytes_by_second(&self) -> Vec<u64> {
        let per_second = (1_000_000_000 / self.bin.as_nanos().max(1)).max(1) as usize;
        self.departures
            .all()
            .chunks(per_second)
            .map(|bins| bins.iter().map(|bin| bin.sums[0]).sum())
            .collect()
    }

    /// Counts the packet in service at the end of the warm-up only in part, as far as it was carried since: no more than the link
    /// offered, which can carry this.
    pub(crate) fn count_since_warm_up(&mut self, capacity: &Capacity) {
        let (bytes, departed_at) = self.first;
        if self.from > Time::ZERO {
            self.delivered -= bytes.saturating_sub(capacity.bytes_between(self.from, departed_at));
        }
    }

    /// Bytes delivered so far.
    pub fn delivered(&self) -> Bytes {
        self.delivered
    }

    /// The round-trip times so far.
    pub fn rtt(&self) -> &Distribution {
        &self.rtt
    }

    /// The scalars, for a flow that was active for `active` while the link offered `offered`.
    pub fn metrics(&self, offered: Bytes, active: Span) -> Metrics {
        let mut metrics = Metrics {
            sent_packets: self.sent_packets,
            lost_packets: self.lost_packets,
            retransmitted_packets: self.retransmitted_packets,
            sent_acks: (self.sent_acks > 0).then_some(self.sent_acks),
            loss_ratio: self.lost_packets as f64 / self.sent_packets.max(1) as f64,
            marking_ratio: (self.marked_packets > 0)
                .then(|| self.marked_packets as f64 / self.queueing.count() as f64),
            ..Metrics::default()
        };
        metrics.set_throughput(self.delivered, offered, active);
        metrics.set_queueing(&self.queueing);
        metrics.set_one_way(&self.one_way);
        metrics.set_rtt(&self.rtt);
        metrics
    }

    /// Adds the sums and distributions of another flow; series are not added up.
    pub fn merge(&mut self, other: &Self) {
        self.delivered += other.delivered;
        self.queueing.merge(&other.queueing);
        self.one_way.merge(&other.one_way);
        self.rtt.merge(&other.rtt);
        self.sent_packets += other.sent_packets;
        self.lost_packets += other.lost_packets;
        self.marked_packets += other.marked_packets;
        self.retransmitted_packets += other.retransmitted_packets;
        self.sent_acks += other.sent_acks;
    }

    /// One flow, measured at two places: `self` at the link, `ends` at its ends.
    #[must_use]
    pub fn with_ends(self, ends: Self) -> Self {
        Self {
            rtt: ends.rtt,
            rtt_bins: ends.rtt_bins,
            retransmitted_packets: self.retransmitted_packets + ends.retransmitted_packets,
            sampled: ends.sampled,
            curves: ends.curves,
            ..self
        }
    }

    /// Becomes the next flow of `record`, of this scheme and with these metrics.
    pub fn append_to(mut self, record: &mut Record, scheme: &str, metrics: Metrics) {
        let flow = record.flows.len();
        let named = |column: Column| Column { name: format!("flow{flow}.{}", column.name), ..column };
        record.series.columns.extend(self.take_series(record.scenario.series_bins()).map(named));
        record.curves.extend(self.take_curves(flow));
        record.flows.push(FlowRecord {
            scheme: scheme.into(),
            metrics,
            queueing_delay: self.queueing,
            rtt: self.rtt,
            ..FlowRecord::default()
        });
    }

    /// The series, `bins` values long.
    fn take_series(&mut self, bins: usize) -> impl Iterator<Item = Column> + use<> {
        let of_length = move |name: &str, mut values: Vec<f32>, missing: f32| {
            values.resize(bins, missing);
            Column { name: name.into(), values }
        };
        let seconds = self.bin.as_secs_f64();
        let rate = |bin: &Bin<2>| (bin.sums[0] as f64 * 8.0 / seconds / 1e6) as f32;
        let measured = [
            of_length("throughput_mbit_s", self.departures.all().iter().map(rate).collect(), 0.0),
            of_length("rtt_ms", self.rtt_bins.mean_millis(0), f32::NAN),
            of_length("queueing_delay_ms", self.departures.mean_millis(1), f32::NAN),
        ];
        let sampled = std::mem::take(&mut self.sampled).into_iter();
        measured
            .into_iter()
            .chain(sampled.map(move |Column { name, values }| of_length(&name, values, f32::NAN)))
    }

    /// The curves, as those of the `flow`-th flow.
    fn take_curves(&mut self, flow: usize) -> impl Iterator<Item = Curve> + use<> {
        // A curve without points has no row in a file, and would not come back from there.
        let shown = std::mem::take(&mut self.curves).into_iter().filter(|curve| !curve.points.is_empty());
        shown.map(move |curve| Curve { flow, ..curve })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delivery(at_ms: u64, queued_ms: u64) -> Delivery {
        let at = |ms| Time::ZERO + Span::from_millis(ms);
        Delivery {
            bytes: Bytes::new(1250),
            sent_at: at(at_ms - queued_ms),
            queued_at: at(at_ms - queued_ms),
            departed_at: at(at_ms),
            arrived_at: at(at_ms + 10),
        }
    }

    #[test]
    fn queueing_delay_is_counted_at_the_link_and_one_way_delay_at_the_receiver() {
        let mut meter = FlowMeter::new(Span::from_millis(100));
        meter.on_sent(false);
        meter.on_delivery(&delivery(1050, 20));
        let metrics = meter.metrics(Bytes::new(12_500), Span::from_secs(1));
        assert_eq!((metrics.throughput_mbit_s, metrics.utilisation), (0.01, 0.1));
        assert_eq!((metrics.queueing_delay_mean_ms, metrics.one_way_delay_mean_ms), (Some(20.0), Some(30.0)));
    }

    #[test]
    fn a_value_first_seen_late_leaves_its_early_bins_empty() {
        let mut meter = FlowMeter::new(Span::from_millis(100));
        meter.sample(2, "mu", 0.5);
        let mu = meter.take_series(3).find(|column| column.name == "mu").unwrap().values;
        assert!(mu[0].is_nan() && mu[1].is_nan() && mu[2] == 0.5);
    }

    #[test]
    fn curves_are_taken_down_once_a_second_whatever_the_bins() {
        let taken = |bin_ms: u64, bins: usize| {
            let meter = FlowMeter::new(Span::from_millis(bin_ms));
            (0..bins).filter(|bin| meter.takes_curves(*bin)).collect::<Vec<_>>()
        };
        assert_eq!(taken(100, 25), [9, 19]);
        assert_eq!(taken(300, 8), [3, 6]);
        assert_eq!(taken(2_000, 3), [0, 1, 2]);
        let mut meter = FlowMeter::new(Span::from_millis(100));
        meter.sample_curve(9, "profile", ("window_packets", "delay_ms"), &[(1.0, 20.0)]);
        meter.sample_curve(19, "profile", ("window_packets", "delay_ms"), &[]);
        let curves: Vec<_> = meter.take_curves(3).collect();
        assert_eq!((curves.len(), curves[0].time_s, curves[0].flow), (1, 1.0, 3));
    }
}

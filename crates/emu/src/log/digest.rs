//! The figures of a log: those of `mm-throughput-graph`, and drops.

use super::delays::{Counts, DelaySeries, SignalDelay};
use super::read::Entry;
use serde::Serialize;
use std::num::NonZeroU64;

/// The figures of a log. Averages are over the time from its first line to its last, as Mahimahi has them.
#[derive(Debug, Clone)]
pub struct Digest {
    /// Width of the bins in milliseconds.
    pub bin_ms: NonZeroU64,
    /// The bins from the first with a line to the last.
    pub bins: Vec<Bin>,
    /// The bins before `bins`: the first one begins at `first_bin * bin_ms`.
    pub first_bin: u64,
    /// The sum of all bins.
    pub total: Bin,
    /// Time of the first line and of the last one, in milliseconds.
    pub span_ms: Option<(u64, u64)>,
    /// Delays over time.
    pub delays: Option<DelaySeries>,
    queueing_delays: Counts,
    signal_delay: SignalDelay,
}

/// Amounts within a bin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bin {
    /// Bytes that the link could carry.
    pub offered_bytes: u64,
    /// Bytes that came to the queue.
    pub arrived_bytes: u64,
    /// Packets that came to the queue.
    pub arrived_packets: u64,
    /// Bytes that left the link.
    pub departed_bytes: u64,
    /// Packets that left the link.
    pub departed_packets: u64,
    /// Bytes dropped.
    pub dropped_bytes: u64,
    /// Packets dropped.
    pub dropped_packets: u64,
    /// The sum of the delays of departed packets, in milliseconds.
    pub delay_sum_ms: u64,
    /// The longest of them.
    pub delay_max_ms: u64,
}

/// The figures of a log in all.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary<'a> {
    /// The name of the log.
    pub log: &'a str,
    /// Seconds from the first line to the last.
    pub duration_s: f64,
    /// The capacity of the link.
    pub capacity_mbit_s: Option<f64>,
    /// Arrivals at the queue.
    pub arrived_mbit_s: Option<f64>,
    /// Departures from the link.
    pub throughput_mbit_s: Option<f64>,
    /// The share of the capacity that was used.
    pub utilisation: Option<f64>,
    /// The 95th percentile of the packets' queueing delays.
    pub queueing_delay_p95_ms: Option<u64>,
    /// The 95th percentile of the signal delay.
    pub signal_delay_p95_ms: Option<u64>,
    /// Packets that came to the queue.
    pub arrived_packets: u64,
    /// Packets that left the link.
    pub departed_packets: u64,
    /// Packets dropped.
    pub dropped_packets: u64,
    /// Bytes dropped.
    pub dropped_bytes: u64,
}

/// Bins of a log: a million are 72 MB.
const MOST_BINS: u64 = 1_000_000;

impl Digest {
    /// The digest of an empty log.
    pub fn new(bin_ms: NonZeroU64) -> Self {
        Self {
            bin_ms,
            bins: Vec::new(),
            first_bin: 0,
            total: Bin::default(),
            span_ms: None,
            delays: None,
            queueing_delays: Counts::default(),
            signal_delay: SignalDelay::default(),
        }
    }

    /// Takes the next entry.
    ///
    /// # Errors
    /// The entry is so far from the others that there would be too many bins.
    pub fn add(&mut self, entry: Entry) -> Result<(), String> {
        let at_ms = entry.at_ms();
        self.bin(at_ms)?.add(entry);
        self.total.add(entry);
        let (first, last) = self.span_ms.get_or_insert((at_ms, at_ms));
        *last = at_ms.max(*last);
        if let Entry::Departure { delay_ms, .. } = entry {
            self.queueing_delays.add(delay_ms);
            self.signal_delay.add(at_ms - delay_ms, delay_ms);
            self.delays.get_or_insert_with(|| DelaySeries::new(*first)).add(at_ms, delay_ms);
        }
        Ok(())
    }

    fn bin(&mut self, at_ms: u64) -> Result<&mut Bin, String> {
        let bin = at_ms / self.bin_ms;
        if self.bins.is_empty() {
            self.first_bin = bin;
        }
        // A line that is a few milliseconds late may lie before the first.
        let missing = self.first_bin.saturating_sub(bin);
        let needed = (bin.saturating_sub(self.first_bin) + 1).max(self.bins.len() as u64 + missing);
        if needed > MOST_BINS {
            return Err(format!(
                "{at_ms} ms makes more than {MOST_BINS} bins of {} ms: ask for wider bins, or look whether the time is \
                 right",
                self.bin_ms
            ));
        }
        self.first_bin -= missing;
        self.bins.splice(0..0, std::iter::repeat_n(Bin::default(), missing as usize));
        self.bins.resize(needed as usize, Bin::default());
        Ok(&mut self.bins[(bin - self.first_bin) as usize])
    }

    /// Seconds from the first line to the last.
    pub fn duration_s(&self) -> f64 {
        self.span_ms.map_or(0.0, |(first, last)| (last - first) as f64 / 1e3)
    }

    /// The mean rate of an amount of [`Digest::total`], in Mbit/s; `None` of a log that covers no time.
    pub fn mean_mbit_s(&self, bytes: u64) -> Option<f64> {
        let duration_s = self.duration_s();
        (duration_s > 0.0).then(|| bytes as f64 * 8.0 / 1e6 / duration_s)
    }

    /// The rate of an amount of one of [`Digest::bins`], in Mbit/s.
    pub fn bin_mbit_s(&self, bytes: u64) -> f64 {
        bytes as f64 * 8.0 / 1e3 / self.bin_ms.get() as f64
    }

    /// Width of the bins in seconds.
    pub fn bin_s(&self) -> f64 {
        self.bin_ms.get() as f64 / 1e3
    }

    /// The bins of [`Digest::bins`], each with its start in seconds.
    pub fn timed_bins(&self) -> impl Iterator<Item = (f64, &Bin)> {
        let starts = (self.first_bin..).map(|index| index as f64 * self.bin_ms.get() as f64 / 1e3);
        starts.zip(&self.bins)
    }

    /// All figures together, of the log of this name.
    pub fn summary<'a>(&self, log: &'a str) -> Summary<'a> {
        let total = &self.total;
        Summary {
            log,
            duration_s: self.duration_s(),
            capacity_mbit_s: self.mean_mbit_s(total.offered_bytes),
            arrived_mbit_s: self.mean_mbit_s(total.arrived_bytes),
            throughput_mbit_s: self.mean_mbit_s(total.departed_bytes),
            utilisation: self.utilisation(),
            queueing_delay_p95_ms: self.queueing_delay_p95_ms(),
            signal_delay_p95_ms: self.signal_delay_p95_ms(),
            arrived_packets: total.arrived_packets,
            departed_packets: total.departed_packets,
            dropped_packets: total.dropped_packets,
            dropped_bytes: total.dropped_bytes,
        }
    }

    /// The share of the capacity that was used; `None` of a log without capacity.
    pub fn utilisation(&self) -> Option<f64> {
        let offered = self.total.offered_bytes;
        (offered > 0).then(|| self.total.departed_bytes as f64 / offered as f64)
    }

    /// The 95th percentile of the packets' queueing delays, in milliseconds; `None` where none left.
    pub fn queueing_delay_p95_ms(&self) -> Option<u64> {
        self.queueing_delays.p95()
    }

    /// The 95th percentile of the signal delay: for each millisecond of the run, the shortest time in which something
    /// sent then was at the other end, whether something was sent or not.
    pub fn signal_delay_p95_ms(&self) -> Option<u64> {
        self.signal_delay.clone().p95()
    }
}

impl Bin {
    /// The share of the packets that came which were dropped.
    pub fn dropped_share(&self) -> f64 {
        self.dropped_packets as f64 / self.arrived_packets.max(1) as f64
    }

    /// The mean and the longest delay of departed packets, in milliseconds; `None` where nothing did.
    pub fn delays_ms(&self) -> Option<[f64; 2]> {
        let count = self.departed_packets;
        (count > 0).then(|| [self.delay_sum_ms as f64 / count as f64, self.delay_max_ms as f64])
    }

    fn add(&mut self, entry: Entry) {
        match entry {
            Entry::Opportunity { bytes, .. } => self.offered_bytes += bytes,
            Entry::Arrival { bytes, .. } => {
                self.arrived_bytes = self.arrived_bytes.saturating_add(bytes);
                self.arrived_packets += 1;
            }
            Entry::Departure { bytes, delay_ms, .. } => {
                self.departed_bytes = self.departed_bytes.saturating_add(bytes);
                self.departed_packets += 1;
                self.delay_sum_ms = self.delay_sum_ms.saturating_add(delay_ms);
                self.delay_max_ms = delay_ms.max(self.delay_max_ms);
            }
            Entry::Drop { packets, bytes, .. } => {
                self.dropped_bytes = self.dropped_bytes.saturating_add(bytes);
                self.dropped_packets = self.dropped_packets.saturating_add(packets);
            }
        }
    }
}

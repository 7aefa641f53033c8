//! The packets of the link to the browser, from the emulator's log.

use crate::exit::Exit;
use cellcc_emu::log::{self, Bin, Digest};
use cellcc_experiment::{Column, Metrics};
use cellcc_units::Span;
use serde::{Deserialize, Serialize};
use std::num::NonZeroU64;
use std::path::Path;

/// Seconds count from the page's begin, to this.
const BIN_MS: NonZeroU64 = NonZeroU64::new(100).expect("above zero");
const BINS_PER_SECOND: usize = 10;
/// A log counts the header of a TUN device with each packet, and as much with each opportunity of 1500 bytes.
const TUN_HEADER: u64 = 4;
const OPPORTUNITY: u64 = 1500;

/// The packets of the link during the page's life.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Link {
    /// From the link's begin, which is that of its trace, to the page's.
    pub(super) before_s: f64,
    /// From there to the last packet, in tenths.
    time_s: f64,
    queueing_p95_ms: Option<u64>,
    /// The last one may be a part of a second.
    seconds: Vec<Second>,
}

/// Amounts in a second.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
struct Second {
    offered_mbit: f64,
    carried_mbit: f64,
    arrived_packets: u64,
    dropped_packets: u64,
    departed_packets: u64,
    delay_sum_ms: u64,
    delay_max_ms: u64,
}

impl Second {
    fn with(self, bin: &Bin) -> Self {
        let mbit = |bytes: u64| bytes as f64 * 8.0 / 1e6;
        let offered = bin.offered_bytes * OPPORTUNITY / (OPPORTUNITY + TUN_HEADER);
        let carried = bin.departed_bytes.saturating_sub(TUN_HEADER * bin.departed_packets);
        Self {
            offered_mbit: self.offered_mbit + mbit(offered),
            carried_mbit: self.carried_mbit + mbit(carried),
            arrived_packets: self.arrived_packets + bin.arrived_packets,
            dropped_packets: self.dropped_packets + bin.dropped_packets,
            departed_packets: self.departed_packets + bin.departed_packets,
            delay_sum_ms: self.delay_sum_ms + bin.delay_sum_ms,
            delay_max_ms: self.delay_max_ms.max(bin.delay_max_ms),
        }
    }
}

impl Link {
    /// Reads the log of the time from the page's begin to its end.
    pub(crate) fn read(path: &Path, before_s: f64, duration: Span) -> Result<Self, Exit> {
        let first_bin = (before_s * 1000.0) as u64 / BIN_MS;
        let begins_at_ms = first_bin * BIN_MS.get();
        let while_it_is_there = begins_at_ms..begins_at_ms + duration.as_nanos() / 1_000_000;
        let mut digest = Digest::new(BIN_MS);
        log::read(
            path,
            |entry| {
                if while_it_is_there.contains(&entry.at_ms()) { digest.add(entry) } else { Ok(()) }
            },
        )?;
        // An outage may have no line at all.
        let missing = digest.first_bin.saturating_sub(first_bin) as usize;
        let bins: Vec<Bin> =
            std::iter::repeat_n(Bin::default(), missing).chain(digest.bins.iter().copied()).collect();
        let seconds =
            bins.chunks(BINS_PER_SECOND).map(|bins| bins.iter().fold(Second::default(), Second::with));
        let time_s = bins.len() as f64 / BINS_PER_SECOND as f64;
        Ok(Self {
            before_s,
            time_s,
            queueing_p95_ms: digest.queueing_delay_p95_ms(),
            seconds: seconds.collect(),
        })
    }

    /// The metrics of all packets. Delays are in whole milliseconds, as in the log.
    pub(super) fn metrics(&self) -> Metrics {
        let sum = |of: fn(&Second) -> f64| self.seconds.iter().map(of).sum::<f64>();
        let (carried, sent, lost) = (
            sum(|second| second.carried_mbit),
            sum(|second| second.arrived_packets as f64),
            sum(|second| second.dropped_packets as f64),
        );
        let departed = sum(|second| second.departed_packets as f64);
        let throughput_mbit_s = if self.time_s > 0.0 { carried / self.time_s } else { 0.0 };
        let mean = (departed > 0.0).then(|| sum(|second| second.delay_sum_ms as f64) / departed);
        let mut metrics = Metrics {
            throughput_mbit_s,
            utilisation: carried / sum(|second| second.offered_mbit),
            queueing_delay_mean_ms: mean,
            queueing_delay_p95_ms: self.queueing_p95_ms.map(|delay| delay as f64),
            queueing_delay_max_ms: self
                .seconds
                .iter()
                .map(|second| second.delay_max_ms as f64)
                .reduce(f64::max),
            sent_packets: sent as u64,
            lost_packets: lost as u64,
            loss_ratio: lost / sent.max(1.0),
            ..Metrics::default()
        };
        metrics.set_power();
        metrics
    }

    /// A value a second.
    pub(super) fn columns(&self) -> [Column; 3] {
        let column = |name: &str, of: fn(&Second) -> f64| Column {
            name: name.into(),
            values: self.seconds.iter().map(|second| of(second) as f32).collect(),
        };
        [
            column("capacity_mbit_s", |second| second.offered_mbit),
            column("flow0.throughput_mbit_s", |second| second.carried_mbit),
            // 0 / 0 is no value.
            column("flow0.queueing_delay_ms", |second| {
                second.delay_sum_ms as f64 / second.departed_packets as f64
            }),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The page is there from 1.2 s to 3.2 s: two packets, one of them waits 100 ms, and one that is dropped.
    #[test]
    fn what_passed_before_the_page_and_after_it_does_not_count() {
        let text = "# base timestamp: 0\n1199 # 6016\n1199 + 1504\n1199 - 1504 0\n1300 # 6016\n1300 + 1504\n1300 + 1504\n\
                    1300 + 1504\n1300 d 1 1504\n1300 - 1504 0\n1400 - 1504 100\n3100 # 3008\n3200 # 6016\n";
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let link = Link::read(file.path(), 1.21, Span::from_secs(2));
        let Ok(link) = link else { panic!("it is a log") };
        let metrics = link.metrics();
        assert_eq!((metrics.throughput_mbit_s, metrics.utilisation), (0.012, 1.0 / 3.0));
        assert_eq!(
            (metrics.queueing_delay_mean_ms, metrics.queueing_delay_max_ms),
            (Some(50.0), Some(100.0))
        );
        assert_eq!((metrics.sent_packets, metrics.lost_packets), (3, 1));
        assert_eq!(link.columns()[0].values, [0.048, 0.024]);
    }
}

//! The emulator's punctuality, which a run must check before its results count.

use cellcc_units::Span;
use hdrhistogram::Histogram;
use serde::Serialize;
use std::time::Duration;

/// The emulator's measurements of itself.
#[derive(Debug, Clone, Serialize)]
pub struct SelfReport {
    /// The direction from the programs to the outside.
    pub up: DirectionReport,
    /// The direction towards the programs.
    pub down: DirectionReport,
    /// Logs that are incomplete, and why.
    pub log_failures: Vec<String>,
    /// Other notes about logs.
    pub log_notes: Vec<String>,
}

/// The measurements of one direction's thread.
#[derive(Debug, Clone, Serialize)]
pub struct DirectionReport {
    /// Packets released, each of at most the MTU.
    pub packets: u64,
    /// Their bytes, IP headers included.
    pub bytes: u64,
    /// Packets that the path's queues and losses dropped.
    pub dropped: u64,
    /// Packets that the kernel dropped in front of the emulator: they never reached the path.
    pub device_drops: u64,
    /// Packets that the kernel refused to take back.
    pub refused: u64,
    /// The median delay of a packet's release against the schedule.
    pub late_p50_us: f64,
    /// The 99th percentile.
    pub late_p99_us: f64,
    /// The maximum.
    pub late_max_us: f64,
    /// Packets released more than a millisecond late.
    pub late_packets: u64,
    /// Share of its time in which the thread had a processor.
    pub cpu_share: f64,
}

/// A release later than this changes a congestion control's input: one slot of LTE (3GPP TS 36.211, section 4.1), and the tick
/// of the emulator behind most published results.
const LATE: Span = Span::from_millis(1);

impl SelfReport {
    /// Reasons why the results show the emulator rather than the path; empty if it kept up.
    pub fn warnings(&self) -> Vec<String> {
        [("uplink", &self.up), ("downlink", &self.down)]
            .into_iter()
            .flat_map(|(name, direction)| direction.warnings(name))
            .collect()
    }
}

impl DirectionReport {
    fn warnings(&self, name: &str) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.device_drops > 0 {
            warnings.push(format!(
                "the emulator could not keep up: {} packets of the {name} were lost in the device's queue before they \
                 reached the link ({}); use a lower rate, or more processors",
                self.device_drops,
                self.limited_by()
            ));
        }
        // A single late packet of a short run is chance: any thread is late by a millisecond now and then.
        if self.late_packets > (self.packets / 100).max(1) {
            warnings.push(format!(
                "the emulator could not keep up: {} of {} packets of the {name} were released more than {} ms late ({}); \
                 use a lower rate, or leave it more of the processors",
                self.late_packets,
                self.packets,
                LATE.as_nanos() / 1_000_000,
                self.limited_by()
            ));
        }
        warnings
    }

    fn limited_by(&self) -> String {
        let percent = self.cpu_share * 100.0;
        if self.cpu_share > 0.85 {
            format!("its thread was busy {percent:.0} % of the time")
        } else {
            format!("its thread was busy only {percent:.0} % of the time: other programs kept it waiting")
        }
    }
}

/// Measures one direction.
#[derive(Debug)]
pub(crate) struct Measure {
    late: Histogram<u64>,
    late_packets: u64,
    pub(crate) bytes: u64,
    pub(crate) dropped: u64,
    pub(crate) refused: u64,
}

impl Measure {
    pub(crate) fn new() -> Self {
        // Two digits give 1 %; more than a minute of lateness needs no distinction.
        let late =
            Histogram::new_with_bounds(1, 60_000_000_000, 2).unwrap_or_else(|_| unreachable!("valid bounds"));
        Self { late, late_packets: 0, bytes: 0, dropped: 0, refused: 0 }
    }

    pub(crate) fn released(&mut self, packets: u64, bytes: u64, late: Span) {
        self.bytes += bytes;
        self.late.saturating_record_n(late.as_nanos(), packets);
        if late > LATE {
            self.late_packets += packets;
        }
    }

    pub(crate) fn report(&self, device_drops: u64, cpu: Duration, wall: Duration) -> DirectionReport {
        let late_us = |quantile| self.late.value_at_quantile(quantile) as f64 / 1e3;
        DirectionReport {
            packets: self.late.len(),
            bytes: self.bytes,
            dropped: self.dropped,
            device_drops,
            refused: self.refused,
            late_p50_us: late_us(0.5),
            late_p99_us: late_us(0.99),
            late_max_us: self.late.max() as f64 / 1e3,
            late_packets: self.late_packets,
            cpu_share: cpu.as_secs_f64() / wall.as_secs_f64().max(1e-9),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warnings(packets: u64, late: u64) -> Vec<String> {
        let mut measure = Measure::new();
        measure.released(packets - late, 0, Span::from_micros(10));
        measure.released(late, 0, Span::from_millis(2));
        measure.report(0, Duration::ZERO, Duration::from_secs(1)).warnings("uplink")
    }

    #[test]
    fn more_than_one_late_packet_in_a_hundred_is_too_many_but_a_single_one_never_is() {
        assert!(warnings(1000, 10).is_empty());
        assert!(
            warnings(1000, 11)[0]
                .contains("11 of 1000 packets of the uplink were released more than 1 ms late")
        );
        assert!(warnings(5, 1).is_empty());
        assert!(!warnings(5, 2).is_empty());
    }
}

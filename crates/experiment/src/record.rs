//! The results of a run.

use crate::{Curve, Distribution, Metrics, Scenario, Series};
use cellcc_units::Span;
use serde::{Deserialize, Serialize};

/// Changes when a Record's fields change their meaning; records of another version are refused.
pub const SCHEMA_VERSION: u32 = 1;

/// The results of a run. Nothing in them depends on the machine or on the wall clock, unless the driver runs in real
/// time: Records of the same Scenario by the same version of the code are identical byte for byte.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// [`SCHEMA_VERSION`].
    pub schema: u32,
    /// The [`RunId`](crate::RunId) in its Plan, which names its series file; empty until a runner keeps the Record.
    pub id: String,
    /// Version of the code: the one that the Plan's ids were made with.
    pub version: String,
    /// The driver that ran it: `sim`; `kernel`, in real time.
    pub driver: String,
    /// The Scenario that was run.
    pub scenario: Scenario,
    /// All flows together.
    pub total: Metrics,
    /// Jain's fairness index over the flows' throughputs: mean over 1-s windows with two active flows or more.
    pub jain_index: Option<f64>,
    /// Each flow.
    pub flows: Vec<FlowRecord>,
    /// Notes for the reader: a raised target, a trace shorter than the run.
    pub notes: Vec<String>,
    /// The kernel and the emulator's punctuality in real time; none in virtual time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub real_time: Option<RealTime>,
    /// The time series; stored in a file of their own.
    #[serde(skip)]
    pub series: Series,
    /// Curves that schemes showed, in the order of flows, then of time; stored in a file of their own.
    #[serde(skip)]
    pub curves: Vec<Curve>,
}

/// The results of one flow. The row `limit` also has one flow.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowRecord {
    /// The scheme, in its canonical form.
    pub scheme: String,
    /// The scalars of the flow.
    pub metrics: Metrics,
    /// Queueing delays of its packets.
    pub queueing_delay: Distribution,
    /// Round-trip times measured by its sender.
    pub rtt: Distribution,
    /// The time from the flow's start until it keeps to its fair share among other flows, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub convergence_time_s: Option<f64>,
    /// Fate of ECT(1) on the path by the receiver's counts, for an L4S scheme over QUIC: `ok`, `bleached`, `re-marked`, `dropped` or
    /// `unknown`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ecn_validation: Option<String>,
}

/// The kernel that a Record in real time ran on, and the emulator's punctuality in each direction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RealTime {
    /// The version of the kernel.
    pub kernel: String,
    /// The way of the acknowledgements.
    pub uplink: KeptUp,
    /// The way of the data.
    pub downlink: KeptUp,
}

/// Punctuality of the emulator in one direction.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeptUp {
    /// Delay of packets behind their schedule: the median.
    pub late_p50_us: f64,
    /// The 99th percentile.
    pub late_p99_us: f64,
    /// The latest.
    pub late_max_us: f64,
    /// Packets that were lost before they reached the link.
    pub device_drops: u64,
    /// Share of its time in which the direction's thread had a processor.
    pub cpu_share: f64,
}

impl Record {
    /// Notes that a trace of this period is shorter than the run; one without a period never repeats.
    pub fn note_repetition(&mut self, period: Option<Span>) {
        let duration = self.scenario.duration;
        if let Some(period) = period.filter(|period| *period < duration) {
            self.notes.push(format!("the trace lasts {period} and repeats within the {duration} of the run"));
        }
    }

    /// The name of the trace for tables: a file's name without folder and extension, or the text as it is.
    pub fn trace_name(&self) -> &str {
        trace_name(&self.scenario.trace)
    }
}

fn trace_name(trace: &str) -> &str {
    if ["rate=", "step=", "join("].iter().any(|form| trace.starts_with(form)) {
        return trace;
    }
    // The meaning of bare numbers has a slash of its own: `flat.txt,as=kbit/s@100ms`.
    let end = trace.find(",as=").unwrap_or(trace.len());
    let begin = trace[..end].rfind(['/', '\\']).map_or(0, |at| at + 1);
    let file = &trace[begin..];
    let file = file.strip_suffix(".gz").or_else(|| file.strip_suffix(".xz")).unwrap_or(file);
    // ".up" and ".down" are kept: they tell two directions of one recording apart.
    file.strip_suffix(".mbps")
        .or_else(|| file.strip_suffix(".mahi"))
        .or_else(|| file.strip_suffix(".csv"))
        .unwrap_or(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_is_called_by_its_file_without_folder_and_kind() {
        assert_eq!(trace_name("traces/5g/001-driving.mbps"), "001-driving");
        assert_eq!(trace_name("a/Verizon.down.gz"), "Verizon.down");
        assert_eq!(trace_name("a/flat.txt,as=kbit/s@100ms"), "flat.txt,as=kbit/s@100ms");
        assert_eq!(trace_name("rate=100Mbit/s"), "rate=100Mbit/s");
        assert_eq!(trace_name("join(a/b.mbps;gap=1s;c)"), "join(a/b.mbps;gap=1s;c)");
        assert_eq!(trace_name("5g-mmwave-walk"), "5g-mmwave-walk");
    }
}

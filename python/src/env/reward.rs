//! What an agent is rewarded for in an interval.

use cellcc_schemes::learned::{Agent, AgentKind, Interval};

/// As the published environments reward it; ours, and Indigo, which learns from an oracle, for use less delay less loss.
/// `capacity_bytes`: what the link could carry.
pub(crate) fn reward(kind: AgentKind, agent: &Agent, interval: &Interval, capacity_bytes: f64) -> f64 {
    let per_second = |bytes: u64| bytes as f64 / interval.length_s;
    match kind {
        AgentKind::Plain | AgentKind::Bounded | AgentKind::Indigo => plain(interval, capacity_bytes),
        AgentKind::Orca => {
            let throughput = interval.rate_mean_bytes_per_s.unwrap_or(0.0);
            let good = throughput - 5.0 * per_second(interval.lost_bytes);
            ratio(good, agent.peak_bytes_per_s()) * interval.orca_delay()
        }
        AgentKind::Aurora => {
            let latency_s = interval.rtt_mean_s.unwrap_or(interval.smoothed_rtt_s);
            let packets_per_s = interval.delivered_packets as f64 / interval.length_s;
            0.001 * (10.0 * packets_per_s - 1e3 * latency_s - 2e3 * interval.loss_ratio())
        }
    }
}

/// Use of the link, less the queueing delay in round-trip times (one at most), less the share of losses (our choice).
fn plain(interval: &Interval, capacity_bytes: f64) -> f64 {
    let utilisation = ratio(interval.delivered_bytes as f64, capacity_bytes).min(1.0);
    utilisation - interval.queueing_rtts().min(1.0) - interval.loss_ratio()
}

/// Zero where there is nothing to divide by.
fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

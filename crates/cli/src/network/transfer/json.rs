//! A transfer as JSON lines.

use cellcc_transfer::{Interval, Outcome, Started};
use serde_json::json;

pub(super) fn start_json(started: &Started) -> serde_json::Value {
    let mut value = json!(started);
    value["event"] = "start".into();
    value
}

pub(super) fn interval_json(interval: &Interval) -> serde_json::Value {
    let flows = interval.flows.iter().map(|flow| {
        let sender = flow.sender.as_ref();
        json!({
            "received_bytes": flow.received.get(),
            "rtt_ms": sender.and_then(|it| it.rtt_ms),
            "min_rtt_ms": sender.and_then(|it| it.min_rtt_ms),
            "cwnd_bytes": sender.map(|it| it.window.get()),
            "inflight_bytes": sender.map(|it| it.inflight.get()),
            "pacing_rate_mbit_s": sender.and_then(|it| Some(it.pacing_rate?.as_mbit_per_sec())),
            "sent_packets": sender.map(|it| it.sent_packets),
            "lost_packets": sender.map(|it| it.lost_packets),
            "internals": sender.map(|it| &it.internals),
        })
    });
    let flows: Vec<_> = flows.collect();
    json!({
        "event": "interval",
        "from_s": interval.from.as_secs_f64(),
        "to_s": interval.to.as_secs_f64(),
        "received_bytes": interval.received.get(),
        "goodput_mbit_s": interval.goodput().as_mbit_per_sec(),
        "rtt_ms": interval.rtt_ms(),
        "cwnd_bytes": interval.window().get(),
        "inflight_bytes": interval.inflight().get(),
        "pacing_rate_mbit_s": interval.pacing_rate_mbit_s(),
        "lost_packets": interval.lost_packets,
        "connections": flows,
    })
}

pub(super) fn end_json(outcome: &Outcome) -> serde_json::Value {
    let rtt = outcome.rtt().summary();
    let (sent, lost) = outcome.packets();
    let frames = outcome.frames();
    json!({
        "event": "end",
        "interrupted": outcome.is_interrupted(),
        "seconds": outcome.active().as_secs_f64(),
        "received_bytes": outcome.received().get(),
        "goodput_mbit_s": outcome.goodput().as_mbit_per_sec(),
        "rtt_mean_ms": rtt.map(|rtt| rtt.mean_ms),
        "rtt_p50_ms": rtt.map(|rtt| rtt.p50_ms),
        "rtt_p95_ms": rtt.map(|rtt| rtt.p95_ms),
        "rtt_p99_ms": rtt.map(|rtt| rtt.p99_ms),
        "rtt_max_ms": rtt.map(|rtt| rtt.max_ms),
        "sent_packets": sent,
        "lost_packets": lost,
        "frames": frames.map(|(frames, _)| frames),
        "deadline_miss_ratio": frames.map(|(_, missed)| missed),
    })
}

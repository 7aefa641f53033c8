//! What noq's records lack against the drafts, mended where that is simple: docs/how-to/qlog.md lists the rest.

use crate::published::UNPACED_WINDOW;
use serde_json::{Map, Value, json};
use std::time::SystemTime;

const SERIALIZATION: &str = "application/qlog+json-seq";
/// The drafts' events, and ours: an event schema is named by any absolute URI.
const EVENT_SCHEMAS: [&str; 2] = ["urn:ietf:params:qlog:events:quic-12", "urn:cellcc:qlog:events:1"];
const TIME: &[u8] = b"{\"time\":";
const NAME: &[u8] = b",\"name\":\"";

/// The first record. noq names the serialization otherwise, and neither clock nor event schemas (sections 3.2 and 5).
pub(super) fn header(record: &[u8]) -> Vec<u8> {
    let Ok(mut header) = serde_json::from_slice::<Value>(record) else { return record.to_vec() };
    header["serialization_format"] = SERIALIZATION.into();
    let trace = &mut header["trace"];
    trace["event_schemas"] = json!(EVENT_SCHEMAS);
    let began = humantime::format_rfc3339_micros(SystemTime::now()).to_string();
    let fields = &mut trace["common_fields"];
    fields["time_format"] = "relative_to_epoch".into();
    fields["reference_time"] =
        json!({ "clock_type": "monotonic", "epoch": "unknown", "wall_clock_time": began });
    serde_json::to_vec(&header).unwrap_or_else(|_| record.to_vec())
}

/// When an event happened, in ms.
pub(super) fn time(record: &[u8]) -> f64 {
    text_after(TIME, record, b',').and_then(|text| text.parse().ok()).unwrap_or(0.0)
}

/// What stands between `before`, with which `record` begins, and `end`.
fn text_after<'a>(before: &[u8], record: &'a [u8], end: u8) -> Option<&'a str> {
    let rest = record.strip_prefix(before)?;
    str::from_utf8(rest.split(|&byte| byte == end).next()?).ok()
}

/// The name of an event; noq writes it second.
fn name(record: &[u8]) -> &str {
    let after_time =
        record.iter().position(|&byte| byte == b',').map_or(&record[..0], |comma| &record[comma..]);
    text_after(NAME, after_time, b'"').unwrap_or("")
}

/// An event that is written at `millis`. noq reports events with the time at which it was told of their causes, which
/// may be before what is written already. Most are right as they are, and not read: there are many.
pub(super) fn event(record: &[u8], millis: f64) -> Vec<u8> {
    let mend: fn(&mut Map<String, Value>) = match name(record) {
        "quic:recovery_metrics_updated" => mend_metrics,
        "quic:packet_sent" | "quic:packet_received" => mend_packet,
        _ if time(record) >= millis => return record.to_vec(),
        _ => |_| (),
    };
    let Ok(mut event) = serde_json::from_slice::<Value>(record) else { return record.to_vec() };
    event["time"] = millis.into();
    if let Some(data) = event["data"].as_object_mut() {
        mend(data);
    }
    serde_json::to_vec(&event).unwrap_or_else(|_| record.to_vec())
}

/// Pacing rates are in bytes per second, where the draft wants bits; and the window is what keeps noq's pacer out of the way.
fn mend_metrics(data: &mut Map<String, Value>) {
    if let Some(bytes) = data.get("pacing_rate").and_then(Value::as_u64) {
        data["pacing_rate"] = bytes.saturating_mul(8).into();
    }
    if data.get("congestion_window") == Some(&UNPACED_WINDOW.into()) {
        data.remove("congestion_window");
    }
}

/// A packet's size is where the draft has the length field of a long header; and a range ends one after the last packet.
fn mend_packet(data: &mut Map<String, Value>) {
    let size =
        data.get_mut("header").and_then(Value::as_object_mut).and_then(|header| header.remove("length"));
    if let Some(size) = size {
        data.insert("raw".into(), json!({ "length": size }));
    }
    let frames = data.get_mut("frames").and_then(Value::as_array_mut);
    let ranges =
        frames.into_iter().flatten().filter_map(|frame| frame.get_mut("acked_ranges")?.as_array_mut());
    for end in ranges.flatten().filter_map(|range| range.get_mut(1)) {
        *end = end.as_u64().map_or(Value::Null, |after| after.saturating_sub(1).into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pacing_rate_is_in_bits_per_second() {
        let record = br#"{"time":3.5,"name":"quic:recovery_metrics_updated","data":{"pacing_rate":1000}}"#;
        let event: Value = serde_json::from_slice(&event(record, 3.5)).unwrap();
        let expected = json!({
            "time": 3.5, "name": "quic:recovery_metrics_updated", "data": { "pacing_rate": 8000 }
        });
        assert_eq!(event, expected);
    }

    #[test]
    fn a_window_that_is_none_is_left_out() {
        let data = format!(r#"{{"bytes_in_flight":1200,"congestion_window":{UNPACED_WINDOW}}}"#);
        let record = format!(r#"{{"time":3.5,"name":"quic:recovery_metrics_updated","data":{data}}}"#);
        let event: Value = serde_json::from_slice(&event(record.as_bytes(), 3.5)).unwrap();
        assert_eq!(event["data"], json!({ "bytes_in_flight": 1200 }));
    }

    #[test]
    fn a_packet_has_its_size_and_whole_ranges() {
        let frames = r#"[{"frame_type":"ack","acked_ranges":[[0,1],[3,7]]},{"frame_type":"ping"}]"#;
        let header = r#"{"packet_type":"1RTT","packet_number":4,"length":1452}"#;
        let data = format!(r#"{{"header":{header},"frames":{frames}}}"#);
        let record = format!(r#"{{"time":3.5,"name":"quic:packet_sent","data":{data}}}"#);
        let event: Value = serde_json::from_slice(&event(record.as_bytes(), 3.5)).unwrap();
        let expected = json!({
            "header": { "packet_type": "1RTT", "packet_number": 4 },
            "raw": { "length": 1452 },
            "frames": [{ "frame_type": "ack", "acked_ranges": [[0, 0], [3, 6]] }, { "frame_type": "ping" }],
        });
        assert_eq!(event["data"], expected);
    }

    #[test]
    fn what_is_right_is_left_alone() {
        let record = br#"{"time":3.5,"name":"quic:timer_updated","data":{"event_type":"set"}}"#;
        assert_eq!(event(record, 3.5), record);
        assert_eq!((time(record), name(record)), (3.5, "quic:timer_updated"));
        assert_eq!(event(b"nonsense", 0.0), b"nonsense");
        assert_eq!((time(b"nonsense"), name(b"nonsense")), (0.0, ""));
    }

    #[test]
    fn what_is_late_has_the_time_of_what_is_before_it() {
        let record = br#"{"time":3.5,"name":"quic:timer_updated","data":{"event_type":"set"}}"#;
        assert_eq!(serde_json::from_slice::<Value>(&event(record, 4.0)).unwrap()["time"], 4.0);
    }
}

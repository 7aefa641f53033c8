//! Corrects the fields that noq 1.4 writes wrongly, and removes secret and useless ones. None of this is an option
//! of its `QlogConfig`.

use crate::atomic_limits::UNPACED_WINDOW;
use serde_json::{Map, Value, json};

/// Each change of a timer of noq's, two thirds of all its events, which say nothing of the path.
const TIMERS: &str = "quic:timer_updated";
/// One of noq's events as it is written; None: it is left out.
pub(super) fn normalized(mut event: Map<String, Value>) -> Option<Map<String, Value>> {
    let name = event.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    if name == TIMERS {
        return None;
    }
    event.values_mut().for_each(remove_secrets);
    let Some(data) = event.get_mut("data").and_then(Value::as_object_mut) else { return Some(event) };
    match name.as_str() {
        "quic:recovery_metrics_updated" => normalize_metrics(data),
        "quic:packet_sent" | "quic:packet_received" => normalize_packet(data),
        _ => {}
    }
    Some(event)
}

/// An attacker with a token for resets can end the connection, and with one of NEW_TOKEN begin another as this client. They are
/// in frames and in parameters.
fn remove_secrets(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.remove("stateless_reset_token");
            if let Some(Value::Object(raw)) = members.get_mut("token").and_then(|token| token.get_mut("raw"))
            {
                raw.remove("data");
            }
            members.values_mut().for_each(remove_secrets);
        }
        Value::Array(values) => values.iter_mut().for_each(remove_secrets),
        _ => {}
    }
}

fn normalize_metrics(data: &mut Map<String, Value>) {
    // noq writes bytes per second; the draft has bits per second.
    if let Some(bytes) = data.get("pacing_rate").and_then(Value::as_u64) {
        data["pacing_rate"] = bytes.saturating_mul(8).into();
    }
    // This value switches noq's pacer off. The scheme's window is in a record of our own.
    if data.get("congestion_window") == Some(&UNPACED_WINDOW.into()) {
        data.remove("congestion_window");
    }
}

fn normalize_packet(data: &mut Map<String, Value>) {
    // noq writes the packet's size into the header's length field, which covers less and which 1-RTT headers lack.
    let header = data.get_mut("header").and_then(Value::as_object_mut);
    if let Some(size) = header.and_then(|header| header.remove("length")) {
        data.insert("raw".into(), json!({ "length": size }));
    }
    // noq's ranges end one after the last packet; the draft's end with it.
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

    /// The data of an event of this name and these data as they are written; null where it is left out.
    fn shown(name: &str, data: &Value) -> Value {
        let event = json!({ "time": 3.5, "name": name, "data": data });
        let event = normalized(event.as_object().unwrap().clone());
        event.map_or(Value::Null, |mut event| event["data"].take())
    }

    #[test]
    fn a_pacing_rate_is_in_bits_per_second() {
        let data = shown("quic:recovery_metrics_updated", &json!({ "pacing_rate": 1000 }));
        assert_eq!(data, json!({ "pacing_rate": 8000 }));
    }

    #[test]
    fn a_window_that_only_switches_the_pacer_off_is_left_out() {
        let data = json!({ "bytes_in_flight": 1200, "congestion_window": UNPACED_WINDOW });
        let data = shown("quic:recovery_metrics_updated", &data);
        assert_eq!(data, json!({ "bytes_in_flight": 1200 }));
    }

    #[test]
    fn a_packet_has_its_size_and_inclusive_ranges() {
        let frames =
            json!([{ "frame_type": "ack", "acked_ranges": [[0, 1], [3, 7]] }, { "frame_type": "ping" }]);
        let header = json!({ "packet_type": "1RTT", "packet_number": 4, "length": 1452 });
        let data = shown("quic:packet_sent", &json!({ "header": header, "frames": frames }));
        let expected = json!({
            "header": { "packet_type": "1RTT", "packet_number": 4 },
            "raw": { "length": 1452 },
            "frames": [{ "frame_type": "ack", "acked_ranges": [[0, 0], [3, 6]] }, { "frame_type": "ping" }],
        });
        assert_eq!(data, expected);
    }

    #[test]
    fn other_events_are_left_alone() {
        let data = json!({ "event_type": "set", "length": 7 });
        assert_eq!(shown("quic:packet_lost", &data), data);
    }

    /// 177,518 of 273,000 events of a transfer of four seconds.
    #[test]
    fn changes_of_timers_are_left_out() {
        assert_eq!(shown("quic:timer_updated", &json!({ "event_type": "set" })), Value::Null);
    }

    /// A reader of the folder could end the connections of its server.
    #[test]
    fn tokens_with_which_others_could_act_as_an_end_of_the_connection_are_left_out() {
        let data = json!({
            "stateless_reset_token": "aa",
            "preferred_address": { "connection_id": "01", "stateless_reset_token": "bb" },
            "frames": [
                { "frame_type": "new_connection_id", "sequence_number": 1, "stateless_reset_token": "cc" },
                { "frame_type": "new_token", "token": { "type": "retry", "raw": { "length": 1, "data": "dd" } } },
            ],
        });
        let expected = json!({
            "preferred_address": { "connection_id": "01" },
            "frames": [
                { "frame_type": "new_connection_id", "sequence_number": 1 },
                { "frame_type": "new_token", "token": { "type": "retry", "raw": { "length": 1 } } },
            ],
        });
        assert_eq!(shown("quic:packet_received", &data), expected);
        assert_eq!(shown("quic:parameters_set", &data), expected);
    }
}

//! The log of a connection conforms to the drafts of qlog.

use crate::support;
use cellcc_quic::Congestion;
use cellcc_quic::qlog::Directory;
use noq::TransportConfig;
use serde_json::Value;
use std::fs;
use std::path::Path;

const TRANSFER_BYTES: usize = 300_000;

/// draft-ietf-quic-qlog-quic-events-12: names of events, each with the members that it must have.
const QUIC_EVENTS: [(&str, &[&str]); 14] = [
    ("quic:connection_started", &["local", "remote"]),
    ("quic:connection_closed", &[]),
    ("quic:parameters_set", &[]),
    ("quic:parameters_restored", &[]),
    ("quic:tuple_assigned", &["tuple_id"]),
    ("quic:mtu_updated", &["new"]),
    ("quic:packet_sent", &["header"]),
    ("quic:packet_received", &["header"]),
    ("quic:packet_dropped", &[]),
    ("quic:packet_buffered", &[]),
    ("quic:recovery_metrics_updated", &[]),
    ("quic:packet_lost", &[]),
    ("cellcc:state", &["scheme", "window_bytes", "inflight_bytes", "values"]),
    ("cellcc:signal", &["estimation", "epoch"]),
];

/// The events of a file, after it has been checked against the drafts.
fn checked(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.starts_with('\u{1e}') && text.ends_with('\n'), "RFC 7464");
    let mut records = text[1..].split('\u{1e}').map(|record| {
        let json = record.strip_suffix('\n').expect("a newline ends a record");
        serde_json::from_str::<Value>(json).unwrap_or_else(|error| panic!("{error}: {json}"))
    });
    check_header(&records.next().expect("a header"));
    let events: Vec<Value> = records.collect();
    let mut before = 0.0;
    for event in &events {
        let time = event["time"].as_f64().unwrap_or_else(|| panic!("no time: {event}"));
        assert!(time >= before, "time goes back to {time} from {before}: {event}");
        before = time;
        let name = event["name"].as_str().unwrap_or_else(|| panic!("no name: {event}"));
        let known = QUIC_EVENTS.iter().find(|(known, _)| *known == name);
        let (_, members) = known.unwrap_or_else(|| panic!("no event of the draft, nor ours: {event}"));
        assert!(event["data"].is_object(), "no data: {event}");
        for member in *members {
            assert!(!event["data"][member].is_null(), "no {member}: {event}");
        }
        if name == "quic:packet_sent" || name == "quic:packet_received" {
            assert!(event["data"]["header"]["packet_type"].is_string(), "{event}");
            assert!(event["data"]["raw"]["length"].as_u64() > Some(0), "{event}");
        }
    }
    events
}

/// draft-ietf-quic-qlog-main-schema-13, sections 3 and 5.
fn check_header(header: &Value) {
    assert_eq!(header["file_schema"], "urn:ietf:params:qlog:file:sequential");
    assert_eq!(header["serialization_format"], "application/qlog+json-seq");
    let trace = &header["trace"];
    assert!(matches!(trace["vantage_point"]["type"].as_str(), Some("client" | "server")), "{header}");
    let schemas = trace["event_schemas"].as_array().expect("event schemas");
    assert!(schemas.iter().any(|schema| schema == "urn:ietf:params:qlog:events:quic-12"), "{header}");
    let fields = &trace["common_fields"];
    assert!(fields["group_id"].is_string(), "{header}");
    assert_eq!(fields["time_format"], "relative_to_epoch");
    assert_eq!(fields["reference_time"]["clock_type"], "monotonic");
    assert_eq!(fields["reference_time"]["epoch"], "unknown");
    assert!(fields["reference_time"]["wall_clock_time"].is_string(), "{header}");
}

#[test]
fn a_transfer_is_logged_on_both_sides_with_what_the_scheme_does() {
    let folder = tempfile::tempdir().unwrap();
    let directory = Directory::new(folder.path().join("logs")).unwrap();
    // Files are complete when the connections are gone, which is so at the latest with the runtime.
    tokio::runtime::Runtime::new().unwrap().block_on(transfer(&directory));

    let mut paths: Vec<_> =
        fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let [client, server] = &paths[..] else { panic!("{paths:?}") };
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    assert!(name(client).starts_with("cellcc-") && name(client).ends_with("-client.sqlog"), "{paths:?}");
    assert_eq!(name(server), name(client).replace("client", "server"));

    checked(client);
    let events = checked(server);
    let count = |name: &str| events.iter().filter(|event| event["name"] == name).count();
    assert!(count("quic:packet_sent") > TRANSFER_BYTES / 1500, "{}", count("quic:packet_sent"));
    let sent = count("quic:packet_sent") as u64;
    let of_data = |event: &&Value| event["data"]["header"]["packet_type"] == "1RTT";
    let acknowledged = events.iter().filter(|event| event["name"] == "quic:packet_received").filter(of_data);
    for ends in acknowledged.flat_map(ranges) {
        assert!(ends[0] <= ends[1] && ends[1] < sent, "{ends:?} of {sent}");
    }
    let windows: Vec<_> =
        events.iter().filter_map(|event| event["data"]["congestion_window"].as_u64()).collect();
    assert!(windows.len() > 1 && windows.iter().all(|bytes| (1200..1 << 30).contains(bytes)), "{windows:?}");
    let signal = events.iter().find(|event| event["name"] == "cellcc:signal").expect("Startup suspends");
    assert_eq!(signal["data"]["estimation"], "suspend");
    let state = events.iter().find(|event| event["name"] == "cellcc:state").expect("a state");
    assert_eq!(state["data"]["values"]["state"], 0.0, "Startup: {state}");
    assert_eq!(state["data"]["states"]["state"], "startup", "{state}");
    assert_eq!(state["data"]["scheme"], Congestion::named("rbbr").unwrap().scheme().text());
}

/// The first and the last packet of each acknowledged range.
fn ranges(event: &Value) -> Vec<[u64; 2]> {
    let frames = event["data"]["frames"].as_array().into_iter().flatten();
    let ranges = frames.flat_map(|frame| frame["acked_ranges"].as_array().into_iter().flatten());
    ranges.map(|range| [0, 1].map(|end| range[end].as_u64().expect("a number"))).collect()
}

async fn transfer(directory: &Directory) {
    let congestion = Congestion::named("rbbr").unwrap();
    let transport = || {
        let mut transport = TransportConfig::default();
        congestion.install(&mut transport);
        directory.install(&mut transport);
        transport
    };
    let pair = support::connect(transport(), transport()).await;
    let _attached = congestion.attach(&pair.server).expect("installed");
    let mut out = pair.server.open_uni().await.unwrap();
    let send = async {
        out.write_all(&vec![7; TRANSFER_BYTES]).await.unwrap();
        out.finish().unwrap();
    };
    let receive =
        async { pair.client.accept_uni().await.unwrap().read_to_end(TRANSFER_BYTES).await.unwrap() };
    assert_eq!(tokio::join!(send, receive).1.len(), TRANSFER_BYTES);
    pair.client.close(0u32.into(), b"");
    pair.server.closed().await;
}

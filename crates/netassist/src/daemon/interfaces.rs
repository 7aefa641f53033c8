//! The daemon's interfaces over HTTPS for programs with a certificate: MEC applications, and network elements that write SCONE
//! packets.

use super::https::Peer;
use super::mec::{L2Meas, Plmn};
use crate::service::Ceiling;
use crate::transport::Server;
use axum::extract::{RawQuery, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Router};
use cellcc_netassist_client::{PeerName, Role};
use serde::Serialize;
use std::net::IpAddr;

/// The paths.
pub(super) fn router(server: Server, plmn: Plmn) -> Router {
    Router::new()
        .route("/rni/v2/queries/layer2_meas", get(layer2))
        .route("/scone", get(ceilings))
        .with_state((server, plmn))
}

type Shared = (Server, Plmn);

async fn layer2(
    State((server, plmn)): State<Shared>,
    Extension(peer): Extension<Peer>,
    RawQuery(query): RawQuery,
) -> Response {
    let Some(asker) = with_role(peer, &[Role::Server, Role::Operator]) else {
        return refusal("a server's or an operator's");
    };
    let Ok(wanted) = addresses(query.as_deref().unwrap_or_default()) else {
        let message = "ue_ipv4_address and ue_ipv6_address take addresses, with commas between them\n";
        return (StatusCode::BAD_REQUEST, message).into_response();
    };
    let (now, measurements) = server.measurements(&asker, &wanted);
    json(&L2Meas::new(now, &measurements, &plmn))
}

async fn ceilings(State((server, _)): State<Shared>, Extension(peer): Extension<Peer>) -> Response {
    match with_role(peer, &[Role::Operator]) {
        Some(_) => json(&server.ceilings().into_iter().map(UserCeiling::from).collect::<Vec<_>>()),
        None => refusal("an operator's"),
    }
}

fn with_role(peer: Peer, roles: &[Role]) -> Option<PeerName> {
    peer.name.filter(|name| roles.contains(&name.role()))
}

fn refusal(whose: &str) -> Response {
    (StatusCode::FORBIDDEN, format!("this needs {whose} certificate\n")).into_response()
}

fn json(value: &impl Serialize) -> Response {
    match serde_json::to_string(value) {
        Ok(text) => ([(header::CONTENT_TYPE, "application/json")], text).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// The users that a query asks for. Other filters would make the answer smaller, and are left out.
fn addresses(query: &str) -> Result<Vec<IpAddr>, std::net::AddrParseError> {
    let pairs = form_urlencoded::parse(query.as_bytes());
    let asked = pairs.filter(|(key, _)| key == "ue_ipv4_address" || key == "ue_ipv6_address");
    let mut addresses = Vec::new();
    for (_, values) in asked {
        for value in values.split(',') {
            addresses.push(value.trim().parse::<IpAddr>()?.to_canonical());
        }
    }
    Ok(addresses)
}

// Slow ceilings for network elements that write SCONE packets.

/// The slow ceiling of a user's flows, as it is written.
#[derive(Debug, Serialize)]
pub(super) struct UserCeiling {
    /// Where the user's packets go.
    addresses: Vec<IpAddr>,
    /// The signal of draft-ietf-scone-protocol, 0 to 127; 127: unknown.
    signal: u8,
    /// Its rate; `None`: unknown.
    kbit_per_s: Option<u64>,
}

impl From<Ceiling> for UserCeiling {
    fn from(Ceiling { addresses, signal }: Ceiling) -> Self {
        let kbit_per_s = signal.rate().map(|rate| rate.as_bytes_per_sec() / 125);
        Self { addresses, signal: signal.number(), kbit_per_s }
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_edge::Edge;
    use super::*;
    use crate::identity::SourceName;
    use crate::sample::Sample;
    use crate::source::MessageReader;
    use crate::source::mec::MecReader;
    use cellcc_assist::{BaseRtt, Counted, Evidence, Knowledge, Observation};
    use cellcc_netassist_client::{Client, ClientSettings, Credentials, ServiceAddress};
    use cellcc_units::{Bytes, Rate, Span};
    use std::time::Duration;

    const LAYER2: &str = "/rni/v2/queries/layer2_meas";

    #[test]
    fn users_are_asked_for_by_address() {
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        assert_eq!(addresses("app_ins_id=1"), Ok(vec![]));
        let both = "ue_ipv4_address=10.45.0.2,10.45.0.3&ue_ipv6_address=2001%3Adb8%3A%3A1";
        assert_eq!(addresses(both), Ok(vec![ip("10.45.0.2"), ip("10.45.0.3"), ip("2001:db8::1")]));
        assert!(addresses("ue_ipv4_address=alice").is_err());
    }

    /// 12 Mbit/s to each user, with a queue.
    fn measure(edge: &Edge) {
        // A rate expires after three periods without a sample: so long that no machine is slower.
        let period = Span::from_secs(20);
        let downlink = Observation {
            period,
            served: Rate::from_mbit_per_sec(12.0).bytes_in(period),
            busy: period,
            backlog: Bytes::new(30_000),
            channel: None,
            packet: Bytes::new(1500),
            evidence: Evidence::Queue,
        };
        let counted = Counted {
            downlink,
            uplink: Rate::from_mbit_per_sec(1.0),
            uplink_delay: None,
            base_rtt: BaseRtt::ToBaseStation(None),
        };
        let sample = |name: &str| Sample {
            user: SourceName::Name(name.into()),
            cell: 1,
            until: edge.clock.now(),
            measured: Knowledge::Counted(counted),
        };
        edge.server.samples(&[sample("alice"), sample("bob")]);
    }

    async fn body(edge: &Edge, path: &str, client: &Credentials) -> String {
        let answer = edge.get(path, client, "edge", "").await;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200"), "{answer}");
        body.to_owned()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn an_application_hears_of_the_users_that_it_is_informed_about_and_nobody_else() {
        let edge = Edge::start("edge").await;
        measure(&edge);
        let server = edge.credentials(Role::Server, "video-1");
        assert!(!body(&edge, LAYER2, &server).await.contains("10.45.0"), "it has asked for nobody");
        let service = ServiceAddress::Quic(edge.server.address().unwrap());
        let client = Client::start(ClientSettings { service, credentials: server.clone() }, |_| {}).unwrap();
        client.want([10, 45, 0, 2].into(), 1, None);
        while edge.server.sizes().1 == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let reported = body(&edge, LAYER2, &server).await;
        assert!(reported.contains("10.45.0.2") && !reported.contains("10.45.0.3"), "{reported}");
        let desk = edge.credentials(Role::Operator, "desk");
        let all = body(&edge, LAYER2, &desk).await;
        assert!(all.contains("10.45.0.2") && all.contains("10.45.0.3"), "{all}");
        let bob = body(&edge, &format!("{LAYER2}?ue_ipv4_address=10.45.0.3"), &desk).await;
        assert!(!bob.contains("10.45.0.2") && bob.contains("10.45.0.3"), "{bob}");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn what_is_served_to_applications_is_what_the_source_of_a_platform_reads() {
        let edge = Edge::start("edge").await;
        let desk = edge.credentials(Role::Operator, "desk");
        let mut reader = MecReader::new(None);
        measure(&edge);
        let first = reader.read(edge.clock.now(), body(&edge, LAYER2, &desk).await.as_bytes()).unwrap();
        assert_eq!(first.samples, []);
        tokio::time::sleep(Duration::from_millis(2)).await;
        let reading = reader.read(edge.clock.now(), body(&edge, LAYER2, &desk).await.as_bytes()).unwrap();
        let samples = reading.samples;
        assert_eq!((samples.len(), &samples[0].user), (2, &SourceName::Address([10, 45, 0, 2].into())));
        let Knowledge::Counted(counted) = samples[0].measured else { panic!("no oracle") };
        let rate = Rate::from_transfer(counted.downlink.served, counted.downlink.period);
        assert!((rate.as_mbit_per_sec() - 12.0).abs() < 0.1, "{rate}");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn ceilings_are_an_operators_and_say_what_a_scone_packet_can() {
        let edge = Edge::start("edge").await;
        measure(&edge);
        let reported = body(&edge, "/scone", &edge.credentials(Role::Operator, "desk")).await;
        assert!(
            reported.contains(r#"{"addresses":["10.45.0.2"],"signal":41,"kbit_per_s":11220}"#),
            "{reported}"
        );
        for (role, path) in [(Role::Server, "/scone"), (Role::User, "/scone"), (Role::User, LAYER2)] {
            let answer = edge.get(path, &edge.credentials(role, "alice"), "edge", "").await;
            assert!(answer.starts_with("HTTP/1.1 403"), "{role:?} {path}: {answer}");
        }
    }
}

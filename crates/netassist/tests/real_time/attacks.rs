//! The service's refusals for clients without rights.

use crate::support::{ALICE, BOB, Edge, HANG_TIMEOUT, ListenerEvent, Listening, name};
use cellcc_netassist::Authority;
use cellcc_netassist_client::protocol::{ALPN, MAX_MESSAGE_BYTES, Request, framed};
use cellcc_netassist_client::statement::CONSENT;
use cellcc_netassist_client::{Role, SERVICE_DNS_NAME};
use noq::crypto::rustls::QuicClientConfig;
use noq::{ClientConfig, Connection, Endpoint};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring::default_provider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, SignatureScheme};
use std::net::{Ipv4Addr, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::time::timeout;

/// Makes a refused client report it.
async fn is_lost(client: &mut Listening) -> String {
    client
        .hears_that(|heard| match heard {
            ListenerEvent::Lost(reason) => Some(reason),
            ListenerEvent::Granted(_) | ListenerEvent::Record(..) => panic!("{heard:?}"),
            _ => None,
        })
        .await
}

async fn is_denied(client: &mut Listening) -> String {
    client
        .hears_that(|heard| match heard {
            ListenerEvent::Denied(_, reason) => Some(reason),
            ListenerEvent::Granted(_) | ListenerEvent::Record(..) => panic!("{heard:?}"),
            _ => None,
        })
        .await
}

/// Trusts every certificate, as an attacker does.
#[derive(Debug)]
struct Anyone;

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        default_provider().signature_verification_algorithms.supported_schemes()
    }
}

/// A connection of our own making, with the certificate in this folder or none.
async fn raw(edge: &Edge, identity: Option<&std::path::Path>) -> Result<Connection, noq::ConnectionError> {
    use rustls::pki_types::PrivateKeyDer;
    use rustls::pki_types::pem::PemObject;
    let builder = rustls::ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Anyone));
    let mut tls = match identity {
        Some(folder) => {
            let chain = vec![CertificateDer::from_pem_file(folder.join("certificate.pem")).unwrap()];
            let key = PrivateKeyDer::from_pem_file(folder.join("key.pem")).unwrap();
            builder.with_client_auth_cert(chain, key).unwrap()
        }
        None => builder.with_no_client_auth(),
    };
    tls.alpn_protocols = vec![ALPN.into()];
    let config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls).unwrap()));
    let endpoint = Endpoint::client((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let connection = endpoint.connect_with(config, edge.address, SERVICE_DNS_NAME).unwrap().await?;
    connection.handshake_confirmed().await?;
    Ok(connection)
}

/// A connection as a server that may connect.
async fn raw_server(edge: &Edge) -> Connection {
    raw_server_of_name(edge, "video-1").await.expect("it may connect")
}

async fn raw_server_of_name(edge: &Edge, server: &str) -> Result<Connection, noq::ConnectionError> {
    let folder = tempfile::tempdir().unwrap();
    let holder = edge.authority.issue(&name(Role::Server, server), folder.path()).unwrap();
    raw(edge, Some(&holder)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_certificate_there_is_no_connection() {
    let edge = Edge::start();
    assert!(raw(&edge, None).await.is_err());
    edge.until("counted", |server| server.counts().1.handshakes_failed == 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_certificate_is_refused() {
    let edge = Edge::start();
    let expired = SystemTime::now() - Duration::from_secs(60);
    let credentials = edge.authority.sign(&name(Role::Server, "video-1"), expired).unwrap();
    let mut client = edge.client(credentials);
    client.client.want(ALICE, 1, None);
    let reason = is_lost(&mut client).await;
    assert!(reason.to_lowercase().contains("expired"), "{reason}");
    edge.until("counted", |server| server.counts().1.handshakes_failed >= 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_authoritys_certificate_is_refused() {
    let edge = Edge::start();
    let folder = tempfile::tempdir().unwrap();
    let stranger = Authority::new().unwrap();
    let holder = stranger.issue(&name(Role::Server, "video-1"), folder.path()).unwrap();
    assert!(raw(&edge, Some(&holder)).await.is_err());
    edge.until("counted", |server| server.counts().1.handshakes_failed == 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_under_another_name_is_not_believed() {
    let mut edge = Edge::start();
    // A server's certificate in the place of the service's: it lacks the service's name, and may not be a TLS server.
    let impostor = edge.credentials(Role::Server, "video-1");
    let clock = edge.clock;
    let users = cellcc_netassist::Identities::new(Vec::new(), &[0; 32]).unwrap();
    let core = cellcc_netassist::Service::new(clock.now(), users, cellcc_netassist::LiveFlows::assumed());
    let (audit, _kept) = tokio::sync::mpsc::unbounded_channel();
    let listen = (Ipv4Addr::LOCALHOST, 0).into();
    let server = cellcc_netassist::Server::bind(listen, &impostor, core, clock, None, audit).unwrap();
    edge.address = server.address().unwrap();
    tokio::spawn(async move { server.run().await });
    let mut client = edge.client(edge.credentials(Role::Server, "video-2"));
    let reason = is_lost(&mut client).await;
    assert!(reason.contains("certificate"), "{reason}");
}

#[tokio::test(flavor = "multi_thread")]
async fn somebody_elses_user_is_refused_and_nothing_about_it_is_reported() {
    let edge = Edge::start();
    let mut server = edge.client(edge.credentials(Role::Server, "video-1"));
    server.client.want(BOB, 1, None);
    let reason = is_denied(&mut server).await;
    assert!(reason.contains("no live flow"), "{reason}");
    for _ in 0..20 {
        edge.measure("bob", 9.0);
        edge.measure("alice", 12.0);
    }
    let mut next = edge.client(edge.credentials(Role::Server, "video-2"));
    next.is_connected().await;
    let reported = server.so_far();
    assert!(
        !reported.iter().any(|heard| matches!(heard, ListenerEvent::Record(..) | ListenerEvent::Granted(_))),
        "{reported:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn consent_for_one_server_is_of_no_use_to_another() {
    let edge = Edge::start();
    let until = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() + 3600;
    let consent =
        CONSENT.sign(&edge.credentials(Role::User, "bob"), &name(Role::Server, "video-1"), until).unwrap();
    let mut thief = edge.client(edge.credentials(Role::Server, "video-2"));
    thief.client.want(BOB, 1, Some(consent));
    assert!(is_denied(&mut thief).await.contains("consent"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_cannot_subscribe() {
    let edge = Edge::start();
    let mut device = edge.client(edge.credentials(Role::User, "bob"));
    device.client.want(ALICE, 1, None);
    assert!(is_denied(&mut device).await.contains("role"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_of_a_gigabyte_ends_the_connection_before_it_is_read() {
    let edge = Edge::start();
    let connection = raw_server(&edge).await;
    let (mut send, _receive) = connection.open_bi().await.unwrap();
    send.write_all(&1_000_000_000_u32.to_be_bytes()).await.unwrap();
    // No more than the window of the stream ever leaves.
    let chunk = vec![0; 1 << 20];
    let mut written = 0_u64;
    while written < 1_000_000_000 && send.write_all(&chunk).await.is_ok() {
        written += 1 << 20;
    }
    assert!(written < 1_000_000, "{written} bytes were taken");
    assert!(connection.closed().await.to_string().contains("1000000000 bytes"));
    edge.until("counted", |server| server.counts().1.malformed == 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_message_ends_the_connection() {
    let edge = Edge::start();
    for text in [&b"{}"[..], b"\xff\xff", &[b' '; MAX_MESSAGE_BYTES]] {
        let connection = raw_server(&edge).await;
        let (mut send, _receive) = connection.open_bi().await.unwrap();
        send.write_all(&[&(text.len() as u32).to_be_bytes()[..], text].concat()).await.unwrap();
        connection.closed().await;
    }
    edge.until("counted", |server| server.counts().1.malformed == 3).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_thousand_registrations_are_cut_off() {
    let edge = Edge::start();
    let connection = raw_server(&edge).await;
    let (mut send, mut receive) = connection.open_bi().await.unwrap();
    let reading = tokio::spawn(async move {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(Some(_)) = receive.read(&mut buffer).await {}
    });
    // Many in a write: one by one, a slow machine would send no more than is allowed.
    let messages = framed(&Request::Subscribe { user: ALICE, flows: 1, consent: None }).repeat(1000);
    let began = Instant::now();
    for _ in 0..100 {
        if send.write_all(&messages).await.is_err() {
            break;
        }
    }
    let end = timeout(HANG_TIMEOUT, connection.closed()).await.expect("it is cut off");
    assert!(end.to_string().contains("too many requests"), "{end}");
    reading.await.unwrap();
    let (core, _) = edge.server.counts();
    assert_eq!(core.refused, 1000);
    // 5,000 at once, and two thousand for each second that it took.
    let at_most = 5000 + 2 * began.elapsed().as_millis() as u64 + 2;
    assert!((5000..=at_most).contains(&core.granted), "{core:?} of {at_most}");
    edge.until("forgotten", |server| server.sizes().1 == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn records_from_elsewhere_reach_no_client() {
    let edge = Edge::start();
    let mut server = edge.client(edge.credentials(Role::Server, "video-1"));
    server.client.want(ALICE, 1, None);
    server.is_granted(ALICE).await;
    edge.measure("alice", 12.0);
    let ListenerEvent::Record(_, record) = server.hears().await else { panic!("no record") };
    // A forger who knows even the key can send to the service's port and to ours; neither takes it.
    let forged = cellcc_assist::AdviceRecord { sequence: record.sequence + 1, ..record };
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    for _ in 0..100 {
        socket.send_to(&forged.encode(), edge.address).unwrap();
    }
    // Nor does a client with a certificate reach another one through the service.
    let other = raw_server(&edge).await;
    let refused = other.send_datagram(forged.encode().to_vec().into());
    assert!(refused.is_err(), "the service takes no datagrams");
    edge.measure("alice", 24.0);
    let next = server.hears().await;
    assert!(
        matches!(next, ListenerEvent::Record(_, record) if record.downlink.as_mbit_per_sec() == 24.0),
        "{next:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replayed_record_is_not_followed() {
    let edge = Edge::start();
    let mut server = edge.client(edge.credentials(Role::Server, "video-1"));
    server.client.want(ALICE, 1, None);
    server.is_granted(ALICE).await;
    edge.measure("alice", 12.0);
    let ListenerEvent::Record(_, record) = server.hears().await else { panic!("no record") };
    let mut arrivals = cellcc_assist::Arrivals::default();
    assert!(arrivals.accept(edge.clock.now(), &record).is_ok());
    assert_eq!(arrivals.accept(edge.clock.now(), &record), Err(cellcc_assist::Refusal::Replayed));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_reads_nothing_does_not_hold_up_another() {
    let edge = Edge::start();
    let slow = raw_server(&edge).await;
    let (mut send, _unread) = slow.open_bi().await.unwrap();
    send.write_all(&framed(&Request::Subscribe { user: ALICE, flows: 1, consent: None })).await.unwrap();
    let mut server = edge.client(edge.credentials(Role::Server, "video-2"));
    server.client.want(ALICE, 1, None);
    server.is_granted(ALICE).await;
    edge.until("both", |server| server.sizes().1 == 2).await;
    // A hundred times the slow client's buffers would be 100 x 256 kB; its memory is bounded by them.
    // The other's reader may be late: then newer records take the place of older ones, and it has fewer.
    let (mut made, mut heard) = (0, 0);
    while made < 2000 || heard < 1000 {
        (0..10).for_each(|_| edge.measure("alice", 12.0));
        made += 10;
        tokio::time::sleep(Duration::from_millis(1)).await;
        heard += server.so_far().iter().filter(|heard| matches!(heard, ListenerEvent::Record(..))).count();
        assert!(made < 1_000_000, "{heard} of {made} were heard");
    }
}

async fn is_one_too_many(edge: &Edge, server: &str) {
    let reason = match raw_server_of_name(edge, server).await {
        Ok(connection) => connection.closed().await.to_string(),
        Err(error) => error.to_string(),
    };
    assert!(reason.contains("too many clients"), "{reason}");
}

#[tokio::test(flavor = "multi_thread")]
async fn more_clients_than_there_is_room_for_are_refused() {
    let edge = Edge::start();
    let mut connections = Vec::new();
    for index in 0..256 {
        let name = format!("video-{}", index / 16);
        connections.push(raw_server_of_name(&edge, &name).await.expect("it may connect"));
        // Those of one name are as many as it may have; the last name has room.
        if index == 200 {
            is_one_too_many(&edge, "video-0").await;
        }
    }
    edge.until("all are there", |server| server.sizes().0 == 256).await;
    is_one_too_many(&edge, "video-99").await;
    connections.truncate(1);
    edge.until("they have left", |server| server.sizes().0 < 256).await;
    let again = raw_server(&edge).await;
    let (mut send, mut receive) = again.open_bi().await.unwrap();
    send.write_all(&framed(&Request::Subscribe { user: ALICE, flows: 1, consent: None })).await.unwrap();
    let mut length = [0; 4];
    receive.read_exact(&mut length).await.expect("it is answered");
}

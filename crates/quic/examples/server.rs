//! A complete noq server whose congestion control is a scheme of cellcc, and a client small enough to try it with.
//!
//! ```sh
//! cargo run --release -p cellcc-quic --example server -- serve 127.0.0.1:4433 rbbr
//! cargo run --release -p cellcc-quic --example server -- get 127.0.0.1:4433 100000000
//! ```
//! The server makes a certificate when it starts and leaves it in `example-server.der`, where the client looks for the
//! only one that it trusts. cellcc's parts are marked with (1) to (4); the rest is as in any noq server.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program that tells what it does")]

use anyhow::{Context, Result, bail};
use cellcc_quic::{Attached, Congestion, attach_receiver, receive_thread};
use noq::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use noq::{
    ClientConfig, Connection, Endpoint, Incoming, RecvStream, SendStream, ServerConfig, TransportConfig,
};
use rustls::RootCertStore;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;

const CERTIFICATE_FILE: &str = "example-server.der";
/// The name in the certificate, and the one that the client expects.
const NAME: &str = "localhost";
/// The protocol of both sides (RFC 7301).
const PROTOCOL: &[u8] = b"cellcc-example";

/// The longest request, in bytes: a count in decimal.
const MAX_REQUEST: usize = 20;
/// After ctrl-c, transfers have this long to end.
const GRACE: Duration = Duration::from_secs(10);

#[tokio::main]
async fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve", address] => serve(address.parse()?, "reminis").await,
        ["serve", address, scheme] => serve(address.parse()?, scheme).await,
        ["get", address, bytes] => get(address.parse()?, bytes).await,
        _ => bail!("usage: server serve ADDRESS:PORT [SCHEME] | server get ADDRESS:PORT BYTES"),
    }
}

async fn serve(address: SocketAddr, scheme: &str) -> Result<()> {
    // (1) The scheme by its name; one that does not exist, or an argument that it does not take, is an error here.
    let congestion = Congestion::named(scheme)?;

    // (2) Every connection with this configuration uses it.
    let mut transport = TransportConfig::default();
    congestion.install(&mut transport);

    let mut config = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(server_tls()?)?));
    config.transport_config(Arc::new(transport));
    // noq's own `Endpoint::server` also works; this one keeps up with hundreds of connections.
    let endpoint = receive_thread::endpoint(address, Some(config))
        .with_context(|| format!("cannot listen on {address}"))?;
    println!("{} on {}; ctrl-c ends it", congestion.scheme().text(), endpoint.local_addr()?);

    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            incoming = endpoint.accept() => match incoming {
                Some(incoming) => {
                    connections.spawn(answer(incoming, congestion.clone()));
                }
                None => return Ok(()),
            },
            // Those that have ended are forgotten here, so that they do not pile up.
            Some(_) = connections.join_next() => {}
            interrupted = tokio::signal::ctrl_c() => {
                interrupted?;
                break;
            }
        }
    }

    // New connections are refused; the present ones may finish.
    endpoint.set_server_config(None);
    println!("{} connections may finish, for {GRACE:?}", connections.len());
    let all_ended = async { while connections.join_next().await.is_some() {} };
    let in_time = tokio::time::timeout(GRACE, all_ended).await.is_ok();
    endpoint.close(0u8.into(), b"the server ends");
    // The last packets leave, or the peers' time-outs pass.
    endpoint.wait_idle().await;
    if in_time { Ok(()) } else { bail!("some transfers took longer than {GRACE:?}, and were ended") }
}

/// One client, from its handshake to its end.
async fn answer(incoming: Incoming, congestion: Congestion) {
    let remote = incoming.remote_address();
    if let Err(error) = answer_streams(incoming, &congestion).await {
        eprintln!("{remote}: {error:#}");
    }
}

async fn answer_streams(incoming: Incoming, congestion: &Congestion) -> Result<()> {
    let connection = incoming.await.context("the handshake failed")?;

    // (3) From here on the scheme is served: its timers, and for RBBR the messages between its two ends. It ends with the
    // connection, or when `attached` is dropped.
    let attached =
        congestion.attach(&connection).context("noq does not use the scheme: `install` is missing")?;

    let mut streams = JoinSet::new();
    let mut seconds = tokio::time::interval(Duration::from_secs(1));
    loop {
        tokio::select! {
            stream = connection.accept_bi() => match stream {
                Ok((send, receive)) => {
                    streams.spawn(answer_request(send, receive));
                }
                // However the client ends: there is nothing more to do for it.
                Err(_) => break,
            },
            // A request that made no sense is the client's affair.
            Some(_) = streams.join_next() => {}
            _ = seconds.tick() => print_snapshot(&connection, &attached),
        }
    }
    println!("{}: {}", connection.stable_id(), attached.peer_component());
    Ok(())
}

/// A request is a count; the answer is as many bytes.
async fn answer_request(mut send: SendStream, mut receive: RecvStream) -> Result<()> {
    let request = receive.read_to_end(MAX_REQUEST).await?;
    let mut left: u64 = std::str::from_utf8(&request)?.parse()?;
    let block = [7; 1 << 16];
    while left > 0 {
        let now = left.min(block.len() as u64);
        send.write_all(&block[..now as usize]).await?;
        left -= now;
    }
    send.finish()?;
    send.stopped().await?;
    Ok(())
}

/// (4) The scheme's state, at any time and from any task.
fn print_snapshot(connection: &Connection, attached: &Attached) {
    let snapshot = attached.scheme().snapshot();
    let rtt = snapshot.smoothed_rtt.map_or("none yet".into(), |rtt| format!("{:.1} ms", rtt.as_millis_f64()));
    let rate = snapshot
        .pacing_rate()
        .map_or("unpaced".into(), |rate| format!("{:.1} Mbit/s", rate.as_mbit_per_sec()));
    println!(
        "{}: cwnd {} kB, in flight {} kB, pacing {rate}, srtt {rtt}, delivered {} MB, lost {} of {} packets",
        connection.stable_id(),
        snapshot.limits.window.get() / 1000,
        snapshot.inflight.get() / 1000,
        snapshot.delivered.get() / 1_000_000,
        snapshot.packets.lost,
        snapshot.packets.sent,
    );
}

async fn get(address: SocketAddr, bytes: &str) -> Result<()> {
    let endpoint = Endpoint::client(SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)))?;
    let config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(client_tls()?)?));
    let connection = endpoint.connect_with(config, address, NAME)?.await.context("cannot connect")?;

    // A client that only receives keeps noq's own congestion control. This lets it run the component that the server's
    // scheme has for receivers; without it the server does without.
    let receiver = attach_receiver(&connection, cellcc_schemes::registry());

    let (mut send, mut receive) = connection.open_bi().await?;
    send.write_all(bytes.as_bytes()).await?;
    send.finish()?;
    let began = tokio::time::Instant::now();
    let mut received = 0u64;
    while let Some(chunk) = receive.read_chunk(1 << 20).await? {
        received += chunk.len() as u64;
    }
    let seconds = began.elapsed().as_secs_f64();
    println!("{received} bytes in {seconds:.2} s: {:.1} Mbit/s", received as f64 * 8e-6 / seconds);
    if let Some(scheme) = receiver.scheme_here() {
        println!("ran the receiver-side component of the server's {scheme}: {:?}", receiver.counters());
    }
    connection.close(0u8.into(), b"done");
    endpoint.wait_idle().await;
    Ok(())
}

/// A certificate for this run, left where the client finds it. A real server has one from an authority.
fn server_tls() -> Result<rustls::ServerConfig> {
    let made = rcgen::generate_simple_self_signed([NAME.to_owned()])?;
    let certificate = CertificateDer::from(made.cert);
    std::fs::write(CERTIFICATE_FILE, &certificate)
        .with_context(|| format!("cannot write {CERTIFICATE_FILE}"))?;
    let key = PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
    let mut tls =
        rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)?;
    tls.alpn_protocols = vec![PROTOCOL.to_vec()];
    Ok(tls)
}

fn client_tls() -> Result<rustls::ClientConfig> {
    let certificate = std::fs::read(CERTIFICATE_FILE)
        .with_context(|| format!("cannot read {CERTIFICATE_FILE}; start the server in this folder first"))?;
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(certificate))?;
    let mut tls =
        rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .with_root_certificates(roots)
            .with_no_client_auth();
    tls.alpn_protocols = vec![PROTOCOL.to_vec()];
    Ok(tls)
}

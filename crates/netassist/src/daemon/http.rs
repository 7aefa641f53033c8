//! `/health` and `/metrics`, for this machine or a network of operators: neither names a user.

use crate::transport::{Log, Server};
use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use cellcc_http_port::{Bounds, Port, answer};
use cellcc_units::Span;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use std::sync::Arc;

/// Connections at once: a few programs that ask now and then, each of a host of its own.
pub(super) const BOUNDS: Bounds = Bounds::of(64);
/// A source that sends nothing for this long is useless: longer than any useful period.
pub(super) const SILENCE: Span = Span::from_secs(10);
/// The content type of OpenMetrics 1.0.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

struct Shared {
    server: Server,
    registry: Registry,
    silence: Span,
}

/// Answers until it is dropped; `/health` is no more after `silence`.
pub(super) async fn serve(port: Port, server: Server, registry: Registry, silence: Span, log: Log) {
    let router = Router::new()
        .route("/health", get(health))
        .route("/metrics", get(metrics))
        .with_state(Arc::new(Shared { server, registry, silence }));
    port.serve(&*log, move |socket, _| answer(socket, router.clone(), BOUNDS.patience)).await;
}

async fn health(State(shared): State<Arc<Shared>>) -> impl IntoResponse {
    let Shared { server, silence, .. } = &*shared;
    let silent = server.silent_for();
    if silent < *silence {
        let users = if server.without_users_for() < *silence { "" } else { ": no users" };
        return (StatusCode::OK, format!("ok{users}\n"));
    }
    let seconds = silent.as_nanos() / 1_000_000_000;
    let why = match server.troubled_source(*silence) {
        Some(source) => format!("the source {source} has a problem: see the log"),
        None => "no source sent anything: are they running?".to_owned(),
    };
    (StatusCode::SERVICE_UNAVAILABLE, format!("nothing for {seconds} s; {why}\n"))
}

async fn metrics(State(shared): State<Arc<Shared>>) -> impl IntoResponse {
    let mut text = String::new();
    match encode(&mut text, &shared.registry) {
        Ok(()) => (StatusCode::OK, [(header::CONTENT_TYPE, OPEN_METRICS)], text),
        Err(_) => (StatusCode::INTERNAL_SERVER_ERROR, [(header::CONTENT_TYPE, "text/plain")], String::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_edge::Edge;
    use super::*;
    use std::net::{Ipv4Addr, SocketAddr};
    use std::time::Duration;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;

    /// Longer than an answer takes on a busy machine.
    const SILENCE: Duration = Duration::from_secs(2);

    /// The service's address, and its state.
    async fn served() -> (SocketAddr, Edge) {
        let edge = Edge::start("edge").await;
        let port = Port::bind((Ipv4Addr::LOCALHOST, 0).into(), BOUNDS).await.unwrap();
        let address = port.address().unwrap();
        let silence = Span::from_secs(SILENCE.as_secs());
        tokio::spawn(serve(port, edge.server.clone(), Registry::default(), silence, Arc::new(|_: &str| {})));
        (address, edge)
    }

    async fn ask(address: SocketAddr) -> String {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"GET /health HTTP/1.1\r\nConnection: close\r\n\r\n").await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    /// The time used to run from the last request: a rare one never reported silence.
    #[tokio::test]
    async fn the_first_question_after_a_silence_hears_of_it() {
        let (address, edge) = served().await;
        edge.measure();
        assert!(ask(address).await.starts_with("HTTP/1.1 200"));
        edge.measure();
        tokio::time::sleep(SILENCE).await;
        let answer = ask(address).await;
        assert!(answer.starts_with("HTTP/1.1 503") && answer.contains("; no source"), "{answer}");
        edge.measure();
        assert!(ask(address).await.starts_with("HTTP/1.1 200"), "and it is well again");
    }

    /// The answer was 503, and for a reason that lay far back.
    #[tokio::test]
    async fn a_source_that_speaks_of_nobody_is_alive_and_a_silent_one_is_not_said_to_be_wrong() {
        let (address, edge) = served().await;
        edge.measure();
        edge.server.source_problem("gnb");
        tokio::time::sleep(SILENCE).await;
        let silent = ask(address).await;
        assert!(silent.starts_with("HTTP/1.1 503") && silent.contains("no source sent anything"), "{silent}");
        edge.server.samples(&[]);
        let empty = ask(address).await;
        assert!(empty.starts_with("HTTP/1.1 200") && empty.ends_with("ok: no users\n"), "{empty}");
        tokio::time::sleep(SILENCE).await;
        edge.server.source_problem("gnb");
        let troubled = ask(address).await;
        assert!(troubled.starts_with("HTTP/1.1 503") && troubled.contains("the source gnb"), "{troubled}");
    }
}

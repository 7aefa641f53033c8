//! `/health` and `/metrics`, for this machine or a network of operators: neither names a user.

use super::port::{Bounds, Port, answer};
use crate::transport::{Log, Server};
use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use cellcc_units::Span;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use std::sync::Arc;

/// Connections at once: a few programs that ask now and then, each of a host of its own.
pub(super) const BOUNDS: Bounds = Bounds::of(64);
/// Without a measurement for this long the service is of no use: longer than any useful period of a source.
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
    let silent = shared.server.silent_for();
    if silent < shared.silence {
        (StatusCode::OK, "ok\n".to_owned())
    } else {
        let seconds = silent.as_nanos() / 1_000_000_000;
        let trouble = match shared.server.troubled_source() {
            Some(source) => format!("; the source {source} sent what could not be used"),
            None => String::new(),
        };
        (StatusCode::SERVICE_UNAVAILABLE, format!("no measurement for {seconds} s{trouble}: see the log\n"))
    }
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

    async fn ask(address: SocketAddr) -> String {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"GET /health HTTP/1.1\r\nConnection: close\r\n\r\n").await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    /// The time used to run from the last question: who asked rarely never heard that there was nothing.
    #[tokio::test]
    async fn the_first_question_after_a_silence_hears_of_it() {
        let edge = Edge::start("edge").await;
        let port = Port::bind((Ipv4Addr::LOCALHOST, 0).into(), BOUNDS).await.unwrap();
        let address = port.address().unwrap();
        let silence = Span::from_millis(400);
        tokio::spawn(serve(port, edge.server.clone(), Registry::default(), silence, Arc::new(|_: &str| {})));
        edge.measure();
        assert!(ask(address).await.starts_with("HTTP/1.1 200"));
        edge.measure();
        tokio::time::sleep(Duration::from_millis(500)).await;
        let answer = ask(address).await;
        assert!(answer.starts_with("HTTP/1.1 503") && answer.contains("no measurement for 0 s"), "{answer}");
        edge.measure();
        assert!(ask(address).await.starts_with("HTTP/1.1 200"), "and it is well again");
    }
}

//! `/health` and `/metrics`, for this machine or a network of operators: neither names a user.

use crate::transport::Server;
use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::net::TcpListener;

/// Without a sample for this long the service is of no use: longer than any useful period of a source.
const SILENCE: Duration = Duration::from_secs(10);
/// The content type of OpenMetrics 1.0.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

struct Shared {
    server: Server,
    registry: Registry,
    /// The number of samples when it last grew, and when that was.
    grew: Mutex<(u64, Instant)>,
}

/// Answers until it is dropped.
pub(super) async fn serve(listener: TcpListener, server: Server, registry: Registry) -> std::io::Result<()> {
    let shared = Shared { server, registry, grew: Mutex::new((0, Instant::now())) };
    let router = Router::new()
        .route("/health", get(health))
        .route("/metrics", get(metrics))
        .with_state(Arc::new(shared));
    axum::serve(listener, router).await
}

async fn health(State(shared): State<Arc<Shared>>) -> impl IntoResponse {
    let samples = shared.server.counts().0.samples;
    let mut grew = shared.grew.lock().unwrap_or_else(PoisonError::into_inner);
    if samples > grew.0 {
        *grew = (samples, Instant::now());
    }
    if grew.1.elapsed() < SILENCE {
        (StatusCode::OK, "ok\n")
    } else {
        (
            StatusCode::SERVICE_UNAVAILABLE,
            "no measurements since the last question, nor for ten seconds: see the log\n",
        )
    }
}

async fn metrics(State(shared): State<Arc<Shared>>) -> impl IntoResponse {
    let mut text = String::new();
    match encode(&mut text, &shared.registry) {
        Ok(()) => (StatusCode::OK, [(header::CONTENT_TYPE, OPEN_METRICS)], text),
        Err(_) => (StatusCode::INTERNAL_SERVER_ERROR, [(header::CONTENT_TYPE, "text/plain")], String::new()),
    }
}

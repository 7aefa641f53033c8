//! The page of the live cell, for a browser: all users, who is informed about them, and how they fare.
//!
//! The page itself is public and contains no data. Its data come as events, for which a request needs an operator's certificate
//! or an operator's [pass](cellcc_netassist_client::statement::PASS).

use super::https::Peer;
use crate::audit::Event as AuditEvent;
use crate::service::Overview;
use crate::transport::Server;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::map_response;
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Router};
use cellcc_netassist_client::{PeerName, Role};
use cellcc_units::Time;
use futures_util::{Stream, stream};
use serde::Serialize;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{MissedTickBehavior, interval};

/// How often the page is updated. Ours: numbers that change more often cannot be read.
const INTERVAL: Duration = Duration::from_millis(500);
/// Users by name on a page.
const MOST_USERS: usize = 200;
/// Pages that are open at once.
const MAX_PAGES: usize = 32;

const HTML: &str = include_str!("../../assets/page.html");
const CSS: &str = include_str!("../../assets/page.css");
const SCRIPT: &str = include_str!("../../assets/page.js");

/// Nothing from elsewhere, and in no frame.
const HEADERS: [(header::HeaderName, &str); 4] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; \
         form-action 'none'; frame-ancestors 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
];

#[derive(Debug)]
struct Page {
    server: Server,
    places: Arc<Semaphore>,
}

/// The content of an event.
#[derive(Serialize)]
struct PageState<'a> {
    service: &'a str,
    #[serde(flatten)]
    overview: Overview,
}

/// The page's paths.
pub(super) fn router(server: Server) -> Router {
    let page = Page { server, places: Arc::new(Semaphore::new(MAX_PAGES)) };
    Router::new()
        .route("/", get(([(header::CONTENT_TYPE, "text/html; charset=utf-8")], HTML)))
        .route("/page.css", get(([(header::CONTENT_TYPE, "text/css; charset=utf-8")], CSS)))
        .route("/page.js", get(([(header::CONTENT_TYPE, "text/javascript; charset=utf-8")], SCRIPT)))
        .route("/events", get(events))
        .with_state(Arc::new(page))
        .layer(map_response(with_headers))
}

async fn with_headers(mut response: Response) -> Response {
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

async fn events(
    State(page): State<Arc<Page>>,
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
) -> Response {
    let Some((operator, until)) = page.operator(&peer, &headers) else {
        let message = "this link does not hold, or not any more: `cellcc assist page` makes a new one\n";
        return (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, "Bearer")], message).into_response();
    };
    let Ok(place) = Arc::clone(&page.places).try_acquire_owned() else {
        return (StatusCode::SERVICE_UNAVAILABLE, "as many pages are open as may be: close one\n")
            .into_response();
    };
    if page.server.note(operator, peer.address, AuditEvent::Page).is_err() {
        let message = "the page was opened more often than is written down: 100 times a second\n";
        return (StatusCode::TOO_MANY_REQUESTS, message).into_response();
    }
    Sse::new(overviews(page.server.clone(), place, until)).into_response()
}

/// One at once, and then again and again, until this time since 1970.
fn overviews(
    server: Server,
    place: OwnedSemaphorePermit,
    until: Option<Time>,
) -> impl Stream<Item = Result<Event, Infallible>> + Send {
    let mut ticks = interval(INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    stream::unfold((server, place, ticks), move |(server, place, mut ticks)| async move {
        ticks.tick().await;
        if until.is_some_and(|until| until <= server.unix()) {
            return None;
        }
        let reported = PageState { service: server.name().name(), overview: server.overview(MOST_USERS) };
        let text = serde_json::to_string(&reported).ok()?;
        Some((Ok(Event::default().data(text)), (server, place, ticks)))
    })
}

impl Page {
    /// The operator of a request, and the end of the right since 1970; `None`: an operator with a certificate.
    fn operator(&self, peer: &Peer, headers: &HeaderMap) -> Option<(PeerName, Option<Time>)> {
        if let Some(name) = peer.name.as_ref().filter(|name| name.role() == Role::Operator) {
            return Some((name.clone(), None));
        }
        let text = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
        let (operator, until) = self.server.pass(text.strip_prefix("Bearer ")?)?;
        Some((operator, Some(until)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_edge::{Edge, credentials};
    use super::*;
    use crate::authority::Authority;
    use crate::clock::ServiceClock;
    use cellcc_netassist_client::statement::PASS;
    use cellcc_netassist_client::{Credentials, SERVICE_DNS_NAME};
    use std::sync::atomic::{AtomicI64, Ordering};
    use std::time::{SystemTime, UNIX_EPOCH};

    /// A pass for this service, as a header.
    fn bearer(operator: &Credentials, service: &str) -> String {
        let until = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() + 60;
        let service = PeerName::new(Role::Service, service).unwrap();
        format!("Authorization: Bearer {}\r\n", PASS.sign(operator, &service, until).unwrap())
    }

    #[tokio::test]
    async fn operators_see_all_by_their_certificate_or_a_pass_that_they_have_signed() {
        let mut edge = Edge::start("edge.example").await;
        let (desk, server) = (edge.credentials(Role::Operator, "desk"), edge.credentials(Role::Server, "a"));
        let answer = edge.get("/events", &desk, "edge.example", "").await;
        assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("text/event-stream"), "{answer}");
        // Any certificate will do for TLS: the pass counts.
        let passed = edge.get("/events", &server, SERVICE_DNS_NAME, &bearer(&desk, "edge.example")).await;
        assert!(passed.starts_with("HTTP/1.1 200"), "{passed}");
        for _ in 0..2 {
            let entry = edge.audit.recv().await.unwrap();
            assert_eq!((entry.client.to_string(), entry.event), ("operator/desk".into(), AuditEvent::Page));
        }
    }

    const DAY: i64 = 86_400;

    /// A machine's clock that was set by so many seconds.
    fn set_by(seconds: &AtomicI64) -> SystemTime {
        let by = seconds.load(Ordering::Relaxed);
        let by_length = Duration::from_secs(by.unsigned_abs());
        if by < 0 { SystemTime::now() - by_length } else { SystemTime::now() + by_length }
    }

    /// A pass of a minute used to open the page two hours later, where the machine had slept or its clock was set.
    #[tokio::test]
    async fn a_pass_is_over_when_the_machines_clock_says_so() {
        static SET_BY: AtomicI64 = AtomicI64::new(0);
        let edge = Edge::with("edge", ServiceClock::of(|| set_by(&SET_BY))).await;
        let (desk, server) = (edge.credentials(Role::Operator, "desk"), edge.credentials(Role::Server, "a"));
        let pass = bearer(&desk, "edge");
        assert!(edge.get("/events", &server, "edge", &pass).await.starts_with("HTTP/1.1 200"));
        SET_BY.store(7200, Ordering::Relaxed);
        assert!(edge.get("/events", &server, "edge", &pass).await.starts_with("HTTP/1.1 401"));
    }

    /// A machine without a battery for its clock starts in the past, until the network tells it the time: each pass was refused,
    /// and the audit log a hundred days off, until the service was started again.
    #[tokio::test]
    async fn a_service_that_was_started_in_the_past_knows_the_time_once_the_machine_does() {
        static SET_BY: AtomicI64 = AtomicI64::new(-100 * DAY);
        let mut edge = Edge::with("edge", ServiceClock::of(|| set_by(&SET_BY))).await;
        let (desk, server) = (edge.credentials(Role::Operator, "desk"), edge.credentials(Role::Server, "a"));
        SET_BY.store(0, Ordering::Relaxed);
        let answer = edge.get("/events", &server, "edge", &bearer(&desk, "edge")).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64;
        let written = edge.audit.recv().await.unwrap().unix_ms;
        assert!(now.abs_diff(written) < 60_000, "{written} and not {now}");
    }

    #[tokio::test]
    async fn nobody_else_does() {
        let edge = Edge::start("edge").await;
        let server = edge.credentials(Role::Server, "a");
        let elsewhere = Authority::new().unwrap();
        for more in [
            String::new(),
            "Authorization: Bearer x\r\n".into(),
            // A role without the right, for another service, of another authority.
            bearer(&server, "edge"),
            bearer(&edge.credentials(Role::Operator, "desk"), "edge-2"),
            bearer(&credentials(&elsewhere, Role::Operator, "desk"), "edge"),
        ] {
            let answer = edge.get("/events", &server, "edge", &more).await;
            assert!(answer.starts_with("HTTP/1.1 401"), "{more}: {answer}");
        }
    }

    #[tokio::test]
    async fn the_page_itself_tells_nothing_and_takes_nothing_from_elsewhere() {
        let edge = Edge::start("edge").await;
        let anybody = edge.credentials(Role::User, "alice");
        let answer = edge.get("/", &anybody, "edge", "").await.to_lowercase();
        assert!(answer.starts_with("http/1.1 200"), "{answer}");
        assert!(
            answer.contains("content-security-policy: default-src 'none'; script-src 'self';"),
            "{answer}"
        );
        for text in [HTML, CSS, SCRIPT] {
            assert!(
                !text.contains("//cdn") && !text.replace("http://www.w3.org/2000/svg", "").contains("http")
            );
        }
    }
}

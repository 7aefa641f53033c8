//! The answer to a GET over HTTP/1.1 without TLS: how a core and a MEC platform are asked. Neither authenticates its clients,
//! so both are reached on this machine or through a tunnel.

use bytes::Bytes;
use cellcc_units::Span;
use http_body_util::{BodyExt, Empty, Limited};
use hyper::client::conn::http1::handshake;
use hyper::{Request, StatusCode, Uri, header};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// The longest answer: ten thousand users of 400 bytes.
const MAX_BYTES: usize = 4 << 20;
/// For the whole of it.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// An address of plain HTTP, such as `http://127.0.0.4:9090/pdu-info`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct HttpUrl(Uri);

impl FromStr for HttpUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let uri: Option<Uri> = text.parse().ok();
        let is_http = |uri: &Uri| uri.scheme_str() == Some("http") && uri.host().is_some();
        uri.filter(is_http).map(Self).ok_or_else(|| {
            format!("`{text}` is no address of plain HTTP, such as http://127.0.0.4:9090/pdu-info")
        })
    }
}

impl TryFrom<String> for HttpUrl {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl fmt::Display for HttpUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// How often an address is asked where nothing else is said. Ours: a user who comes is known within a second, and a core answers in
/// some milliseconds.
pub(crate) fn default_interval() -> Span {
    Span::from_secs(1)
}

/// The body of the answer, or the fault.
pub(crate) async fn get(url: &HttpUrl) -> Result<Bytes, String> {
    get_within(ANSWER_TIMEOUT, url).await
}

async fn get_within(patience: Duration, url: &HttpUrl) -> Result<Bytes, String> {
    match timeout(patience, answer(&url.0)).await {
        Ok(answer) => answer.map_err(|problem| format!("{url}: {problem}")),
        Err(_) => Err(format!("{url}: no answer within {} s", patience.as_secs_f64())),
    }
}

async fn answer(uri: &Uri) -> Result<Bytes, String> {
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
    let socket = TcpStream::connect((host, uri.port_u16().unwrap_or(80))).await;
    let socket = socket.map_err(|error| error.to_string())?;
    let (mut sender, connection) =
        handshake(TokioIo::new(socket)).await.map_err(|error| error.to_string())?;
    // It ends with this function.
    let mut running = JoinSet::new();
    running.spawn(connection);
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let authority = uri.authority().map_or(host, |authority| authority.as_str());
    let asked = Request::get(path)
        .header(header::HOST, authority)
        .header(header::ACCEPT, "application/json")
        .body(Empty::<Bytes>::new())
        .map_err(|error| error.to_string())?;
    let response = sender.send_request(asked).await.map_err(|error| error.to_string())?;
    if response.status() != StatusCode::OK {
        return Err(format!("it answers {}", response.status()));
    }
    let body = Limited::new(response.into_body(), MAX_BYTES).collect().await;
    body.map(|body| body.to_bytes()).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    /// A platform that answers every request with this head, and then with `x` for as long as the client reads.
    async fn platform(head: &'static str) -> HttpUrl {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
        tokio::spawn(async move {
            let (mut socket, _) = listener.accept().await.unwrap();
            socket.read_buf(&mut Vec::new()).await.unwrap();
            socket.write_all(head.as_bytes()).await.unwrap();
            if !head.is_empty() {
                while socket.write_all(&[b'x'; 65_536]).await.is_ok() {}
            }
            std::future::pending::<()>().await;
        });
        url
    }

    #[tokio::test]
    async fn an_answer_without_an_end_is_read_to_its_bound() {
        let problem = get(&platform("HTTP/1.1 200 OK\r\n\r\n").await).await.unwrap_err();
        assert!(problem.contains("length limit exceeded"), "{problem}");
        let problem = get(&platform("HTTP/1.1 200 OK\r\nX: ").await).await.unwrap_err();
        assert!(!problem.contains("no answer within"), "a header has a bound as well: {problem}");
    }

    #[tokio::test]
    async fn a_platform_that_does_not_answer_is_given_up() {
        let patience = Duration::from_millis(100);
        let problem = get_within(patience, &platform("").await).await.unwrap_err();
        assert!(problem.ends_with("no answer within 0.1 s"), "{problem}");
    }
}

//! Messages of a base station's WebSocket: subscribes, and begins again where the connection ends.
//!
//! The base station's socket has neither encryption nor authentication, and takes commands that stop the base station. So it
//! is reached over loopback: run NetAssist on its host, or at the end of a tunnel.

use super::{NextMessage, RawInput, RawMessage};
use crate::clock::ServiceClock;
use futures_util::{SinkExt, StreamExt};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

/// What a base station answers with a message for each layer and period.
const SUBSCRIBE: &str = r#"{"cmd":"metrics_subscribe"}"#;
/// The longest message: a thousand users take 0.9 MB.
const MAX_MESSAGE_BYTES: usize = 4 << 20;
/// Longest wait for the connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// A base station without a message for this long has gone: its longest useful period is some seconds, and it pings.
const SILENCE: Duration = Duration::from_secs(30);
/// Waits between two attempts: they double from the first to the last.
const RETRY_DELAYS: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(10));

/// A base station's WebSocket.
#[derive(Debug)]
pub struct WebSocketInput {
    address: SocketAddr,
    clock: ServiceClock,
    stream: Option<WebSocketStream<TcpStream>>,
    retry_delay: Duration,
    not_before: Instant,
}

impl WebSocketInput {
    /// The base station at this loopback address.
    ///
    /// # Errors
    /// It is no loopback address.
    pub fn new(address: SocketAddr, clock: ServiceClock) -> Result<Self, String> {
        if !address.ip().is_loopback() {
            return Err(format!(
                "{address} is not on this machine's loopback: the base station's socket is open to everybody who reaches it, \
                 so run NetAssist on its host, or use a tunnel (ssh -L)"
            ));
        }
        Ok(Self { address, clock, stream: None, retry_delay: RETRY_DELAYS.0, not_before: Instant::now() })
    }

    async fn connect(&mut self) -> Result<(), String> {
        let url = format!("ws://{}/", self.address);
        let mut config = WebSocketConfig::default();
        config.max_message_size = Some(MAX_MESSAGE_BYTES);
        config.max_frame_size = Some(MAX_MESSAGE_BYTES);
        let connecting = async {
            let socket = TcpStream::connect(self.address).await.map_err(|error| error.to_string())?;
            socket.set_nodelay(true).map_err(|error| error.to_string())?;
            let (mut stream, _) = client_async_with_config(url, socket, Some(config))
                .await
                .map_err(|error| error.to_string())?;
            stream.send(Message::text(SUBSCRIBE)).await.map_err(|error| error.to_string())?;
            Ok(stream)
        };
        let connected = timeout(CONNECT_TIMEOUT, connecting).await.map_err(|_| "no answer".to_owned());
        self.stream = Some(connected.and_then(|result| result)?);
        self.retry_delay = RETRY_DELAYS.0;
        Ok(())
    }

    fn failed(&mut self, problem: &str) -> String {
        self.stream = None;
        self.not_before = Instant::now() + self.retry_delay;
        self.retry_delay = (self.retry_delay * 2).min(RETRY_DELAYS.1);
        format!("base station at {}: {problem}; trying again", self.address)
    }
}

impl RawInput for WebSocketInput {
    fn next(&mut self) -> NextMessage<'_> {
        Box::pin(async move {
            loop {
                let Some(stream) = &mut self.stream else {
                    sleep_until(self.not_before).await;
                    if let Err(problem) = self.connect().await {
                        return Some(Err(self.failed(&problem)));
                    }
                    continue;
                };
                let bytes = match timeout(SILENCE, stream.next()).await {
                    Ok(Some(Ok(Message::Text(text)))) => text.as_bytes().to_vec(),
                    Ok(Some(Ok(Message::Binary(bytes)))) => bytes.to_vec(),
                    Ok(Some(Ok(Message::Close(_))) | None) => {
                        return Some(Err(self.failed("it has closed the connection")));
                    }
                    Ok(Some(Ok(_))) => continue,
                    Ok(Some(Err(error))) => return Some(Err(self.failed(&error.to_string()))),
                    Err(_) => return Some(Err(self.failed("30 s without a message"))),
                };
                return Some(Ok(RawMessage { at: self.clock.now(), bytes }));
            }
        })
    }
}

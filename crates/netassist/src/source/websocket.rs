//! Messages of a base station's WebSocket: subscribes, and begins again where the connection ends.
//!
//! The base station's socket has neither encryption nor authentication, and takes commands that stop the base station. So it
//! is reached over loopback: run NetAssist on its host, or at the end of a tunnel.

use super::{InputProblem, NextMessage, RawInput, RawMessage};
use crate::clock::ServiceClock;
use crate::limits::source_messages;
use cellcc_netassist_client::Allowance;
use futures_util::{SinkExt, StreamExt};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep_until, timeout, timeout_at};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

/// The subscription, which a base station answers with a message for each layer and period.
const SUBSCRIBE: &str = r#"{"cmd":"metrics_subscribe"}"#;
/// The longest message: a thousand users take 0.9 MB.
const MAX_MESSAGE_BYTES: usize = 4 << 20;
/// The write buffer's threshold and bound: we write a subscription and answers to pings, of 131 bytes at most each.
const WRITE_BUFFER_BYTES: (usize, usize) = (4 << 10, 16 << 10);
/// Longest wait for the connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// A base station without a message for this long has gone, whether it pings or not: its longest useful period is some seconds.
const SILENCE: Duration = Duration::from_secs(30);
/// The wait between two attempts: on loopback they are cheap, and show a restarted base station at once.
const RETRY_DELAY: Duration = Duration::from_millis(500);

/// A base station's WebSocket.
#[derive(Debug)]
pub struct WebSocketInput {
    address: SocketAddr,
    clock: ServiceClock,
    connection: Option<Connection>,
    not_before: Instant,
    silence: Duration,
}

#[derive(Debug)]
struct Connection {
    stream: WebSocketStream<TcpStream>,
    /// The allowance for messages of any kind.
    allowance: Allowance,
    /// Until when a message has to come.
    patience: Instant,
}

impl WebSocketInput {
    /// The base station at this loopback address.
    ///
    /// # Errors
    /// It is no loopback address.
    pub fn new(address: SocketAddr, clock: ServiceClock) -> Result<Self, String> {
        if !address.ip().is_loopback() {
            return Err(format!(
                "{address} is not on this machine's loopback: every program that reaches the base station's socket can use it, \
                 so run NetAssist on its host, or use a tunnel (ssh -L)"
            ));
        }
        Ok(Self { address, clock, connection: None, not_before: Instant::now(), silence: SILENCE })
    }

    async fn connect(&mut self) -> Result<(), String> {
        let url = format!("ws://{}/", self.address);
        let mut config = WebSocketConfig::default();
        config.max_message_size = Some(MAX_MESSAGE_BYTES);
        config.max_frame_size = Some(MAX_MESSAGE_BYTES);
        (config.write_buffer_size, config.max_write_buffer_size) = WRITE_BUFFER_BYTES;
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
        self.connection = Some(Connection {
            stream: connected.and_then(|result| result)?,
            allowance: source_messages(self.clock.now()),
            patience: Instant::now() + self.silence,
        });
        Ok(())
    }

    fn failed(&mut self, problem: &str) -> InputProblem {
        self.connection = None;
        self.not_before = Instant::now() + RETRY_DELAY;
        InputProblem::Missing(format!("base station at {}: {problem}; trying again", self.address))
    }
}

impl RawInput for WebSocketInput {
    fn next(&mut self) -> NextMessage<'_> {
        Box::pin(async move {
            loop {
                let Some(Connection { stream, allowance, patience }) = &mut self.connection else {
                    sleep_until(self.not_before).await;
                    if let Err(problem) = self.connect().await {
                        return Some(Err(self.failed(&problem)));
                    }
                    continue;
                };
                let message = timeout_at(*patience, stream.next()).await;
                if !allowance.allows(self.clock.now()) {
                    return Some(Err(self.failed("more messages than a base station sends")));
                }
                let bytes = match message {
                    Ok(Some(Ok(Message::Text(text)))) => text.as_bytes().to_vec(),
                    Ok(Some(Ok(Message::Binary(bytes)))) => bytes.to_vec(),
                    Ok(Some(Ok(Message::Close(_))) | None) => {
                        return Some(Err(self.failed("it has closed the connection")));
                    }
                    Ok(Some(Ok(_))) => continue,
                    Ok(Some(Err(error))) => return Some(Err(self.failed(&error.to_string()))),
                    Err(_) => {
                        let secs = self.silence.as_secs_f64();
                        return Some(Err(self.failed(&format!("{secs} s without a message"))));
                    }
                };
                *patience = Instant::now() + self.silence;
                return Some(Ok(RawMessage { at: self.clock.now(), bytes }));
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;
    use tokio::net::TcpListener;
    use tokio_tungstenite::accept_async;

    /// A base station that only pings, once in this time; its bytes are not read.
    async fn pinging(every: Option<Duration>) -> SocketAddr {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            let mut stream = accept_async(listener.accept().await.unwrap().0).await.unwrap();
            while stream.send(Message::Ping(vec![b'x'; 125].into())).await.is_ok() {
                if let Some(every) = every {
                    tokio::time::sleep(every).await;
                }
            }
        });
        address
    }

    async fn problem(input: &mut WebSocketInput) -> String {
        match timeout(Duration::from_secs(20), input.next()).await.expect("it is given up") {
            Some(Err(InputProblem::Missing(problem))) => problem,
            other => panic!("{other:?}"),
        }
    }

    /// It was never given up.
    #[tokio::test(flavor = "multi_thread")]
    async fn a_base_station_that_only_pings_is_given_up() {
        let address = pinging(Some(Duration::from_millis(20))).await;
        let mut input = WebSocketInput::new(address, ServiceClock::start()).unwrap();
        input.silence = Duration::from_millis(500);
        let problem = problem(&mut input).await;
        assert!(problem.contains("0.5 s without a message"), "{problem}");
    }

    /// The wait doubled to 10 s, and the service found a restarted gNB after two seconds.
    #[tokio::test(flavor = "multi_thread")]
    async fn a_base_station_that_is_away_is_tried_as_often_after_a_while_as_at_first() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let mut input = WebSocketInput::new(listener.local_addr().unwrap(), ServiceClock::start()).unwrap();
        drop(listener);
        let six_attempts = async {
            for _ in 0..6 {
                problem(&mut input).await;
            }
        };
        timeout(Duration::from_secs(10), six_attempts).await.expect("doubled waits take 15 s");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_base_station_that_sends_pings_as_fast_as_it_can_is_given_up() {
        let address = pinging(None).await;
        let mut input = WebSocketInput::new(address, ServiceClock::start()).unwrap();
        let problem = problem(&mut input).await;
        assert!(problem.contains("more messages than a base station sends"), "{problem}");
    }
}

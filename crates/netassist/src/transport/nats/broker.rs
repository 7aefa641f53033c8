//! A connection with a broker.

use crate::name::PeerName;
use crate::protocol::PING_INTERVAL;
use crate::transport::client::CONNECT_TIMEOUT;
use async_nats::{Client, ConnectError, ConnectErrorKind, ConnectOptions, Event, ServerAddr, ServerError};
use serde::Deserialize;
use std::error::Error as _;
use std::fmt;
use std::io;
use std::str::FromStr;
use thiserror::Error;
use tokio::sync::mpsc;
use tokio::time::timeout;

/// Where a broker is: `tls://HOST:PORT` or `nats://HOST:PORT`, which mean the same here, because nothing goes without TLS. The
/// host must stand in the broker's certificate.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct BrokerUrl(ServerAddr);

/// Why a text is no address of a broker.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BrokerUrlError {
    /// It has another form.
    #[error("`{0}` is no address of a NATS broker; write tls://HOST:PORT")]
    Form(String),
    /// It names somebody.
    #[error("`{0}`: the certificate says who we are; leave out what stands before `@`")]
    User(String),
}

impl FromStr for BrokerUrl {
    type Err = BrokerUrlError;

    fn from_str(text: &str) -> Result<Self, BrokerUrlError> {
        let wrong = || BrokerUrlError::Form(text.into());
        let address: ServerAddr = text.parse().map_err(|_| wrong())?;
        if !Self::is_one(text) || address.host().is_empty() || address.port() == 0 {
            return Err(wrong());
        }
        if address.username().is_some() {
            return Err(BrokerUrlError::User(text.into()));
        }
        Ok(Self(address))
    }
}

impl BrokerUrl {
    /// Whether a URL is a broker's, going by its beginning.
    pub fn is_one(text: &str) -> bool {
        text.starts_with("tls://") || text.starts_with("nats://")
    }
}

impl TryFrom<String> for BrokerUrl {
    type Error = BrokerUrlError;

    fn try_from(text: String) -> Result<Self, BrokerUrlError> {
        text.parse()
    }
}

impl fmt::Display for BrokerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tls://{}:{}", self.0.host(), self.0.port())
    }
}

/// A connection with a broker. Dropping it ends it.
pub(super) struct Connection {
    pub(super) client: Client,
    events: mpsc::UnboundedReceiver<Event>,
    /// What the broker has said last.
    said: Option<String>,
}

/// What a broker says besides messages.
pub(super) enum Trouble {
    /// Its permissions do not allow something.
    Refused(String),
    /// We have not read what it sent in time, and it was dropped: requests and answers are repeated, and so are records, by the
    /// next ones.
    Late,
    /// The connection is lost.
    Lost(String),
}

impl Connection {
    /// Connects once. `unread`: messages that may wait for us, of each subscription.
    pub(super) async fn open(
        url: &BrokerUrl,
        tls: &rustls::ClientConfig,
        name: &PeerName,
        unread: usize,
    ) -> Result<Self, String> {
        let (tell, events) = mpsc::unbounded_channel();
        let options = ConnectOptions::new()
            .name(name)
            .require_tls(true)
            .tls_client_config(tls.clone())
            .connection_timeout(CONNECT_TIMEOUT)
            .ping_interval(PING_INTERVAL)
            .subscription_capacity(unread)
            // Other brokers of a cluster are told of by address, which stands in no certificate.
            .ignore_discovered_servers()
            // Lost connections are ours to see, to count and to open again.
            .max_reconnects(1)
            .event_callback(move |event| {
                let _ = tell.send(event);
                std::future::ready(())
            });
        let opening = timeout(CONNECT_TIMEOUT, options.connect(url.0.clone())).await;
        let client = opening
            .map_err(|_| format!("{url} does not answer"))?
            .map_err(|error| format!("{url}: {error}{}", what_to_do(&error)))?;
        Ok(Self { client, events, said: None })
    }

    /// What the broker says next besides messages. Cancel-safe.
    pub(super) async fn trouble(&mut self) -> Trouble {
        loop {
            match self.events.recv().await {
                Some(Event::ServerError(ServerError::Other(text))) if is_refusal(&text) => {
                    return Trouble::Refused(text);
                }
                Some(Event::ServerError(error)) => self.said = Some(error.to_string()),
                Some(Event::Disconnected | Event::Closed) | None => {
                    let reason = self.said.take().unwrap_or_else(|| "the broker is gone".into());
                    return Trouble::Lost(reason);
                }
                Some(Event::SlowConsumer(_)) => return Trouble::Late,
                Some(Event::Connected | Event::LameDuckMode | Event::Draining | Event::ClientError(_)) => {}
            }
        }
    }
}

fn what_to_do(error: &ConnectError) -> &'static str {
    let cause = error.source().and_then(|cause| cause.downcast_ref::<io::Error>()).map(io::Error::kind);
    match (error.kind(), cause) {
        (ConnectErrorKind::AuthorizationViolation, _) => {
            "; its configuration must know us: `cellcc assist permissions`"
        }
        // TLS's alert, or, where it was lost on the way, a connection that ends with the handshake.
        (
            _,
            Some(io::ErrorKind::InvalidData | io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe),
        ) => "; has a certificate expired, or is it of another authority than that of its peer?",
        _ => "",
    }
}

/// The form of nats-server's `pubPermissionViolation` and `subPermissionViolation`.
fn is_refusal(text: &str) -> bool {
    text.starts_with("Permissions Violation")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broker_has_a_host_and_a_port_and_no_user() {
        let url: BrokerUrl = "nats://broker.example".parse().unwrap();
        assert_eq!(url.to_string(), "tls://broker.example:4222");
        for wrong in ["", "broker:4222", "http://broker", "tls://", "tls://broker:x", "quic://broker:4443"] {
            let error = wrong.parse::<BrokerUrl>().unwrap_err().to_string();
            assert!(error.contains("tls://HOST:PORT"), "{wrong}: {error}");
        }
        assert!(
            "tls://me:secret@broker".parse::<BrokerUrl>().unwrap_err().to_string().contains("certificate")
        );
    }
}

//! Where a broker is, and how a connection with it begins.

use super::connection::Connection;
use super::wire::{Operation, greeting, operation};
use crate::name::PeerName;
use crate::protocol::CONNECT_TIMEOUT;
use http::Uri;
use rustls::pki_types::ServerName;
use serde::Deserialize;
use std::fmt;
use std::io;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;
use tokio::io::{AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// The port of NATS.
const DEFAULT_PORT: u16 = 4222;
/// A broker that has not greeted in this time waits for TLS (`handshake_first` of nats-server 2.10). Ours: a few round trips.
const GREETING_WAIT: Duration = Duration::from_secs(1);

/// Where a broker is: `tls://HOST:PORT` or `nats://HOST:PORT`, which mean the same here, because nothing goes without TLS. The
/// host must stand in the broker's certificate.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct BrokerUrl {
    host: String,
    port: u16,
}

/// Why a text is no address of a broker.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BrokerUrlError {
    /// It has another form.
    #[error("`{0}` is no address of a NATS broker; write tls://HOST:PORT")]
    Form(String),
    /// It contains a user.
    #[error("`{0}`: the certificate identifies the client; leave out the part before `@`")]
    User(String),
}

impl FromStr for BrokerUrl {
    type Err = BrokerUrlError;

    fn from_str(text: &str) -> Result<Self, BrokerUrlError> {
        let wrong = || BrokerUrlError::Form(text.into());
        let uri: Uri = text.parse().map_err(|_| wrong())?;
        let authority = uri.authority().filter(|_| Self::is_one(text)).ok_or_else(wrong)?;
        if authority.as_str().contains('@') {
            return Err(BrokerUrlError::User(text.into()));
        }
        let host = authority.host();
        let after = authority.as_str().strip_prefix(host).ok_or_else(wrong)?;
        let port = match after.strip_prefix(':') {
            Some(port) => port.parse().ok().filter(|port| *port > 0).ok_or_else(wrong)?,
            None => DEFAULT_PORT,
        };
        match host.trim_matches(['[', ']']) {
            "" => Err(wrong()),
            host => Ok(Self { host: host.into(), port }),
        }
    }
}

impl BrokerUrl {
    /// True if a URL is a broker's, by its prefix.
    pub fn is_one(text: &str) -> bool {
        text.starts_with("tls://") || text.starts_with("nats://")
    }

    /// Connects once.
    ///
    /// # Errors For an operator: the place of the failure, and the remedy.
    pub async fn connect(&self, tls: &rustls::ClientConfig, name: &PeerName) -> Result<Connection, String> {
        let opening = timeout(CONNECT_TIMEOUT, self.open(tls, name)).await;
        let stream = opening
            .map_err(|_| format!("{self} does not answer"))?
            .map_err(|error| format!("{self}: {error}{}", what_to_do(&error)))?;
        Ok(Connection::over(stream))
    }

    async fn open(
        &self,
        tls: &rustls::ClientConfig,
        name: &PeerName,
    ) -> io::Result<BufReader<TlsStream<TcpStream>>> {
        let server = ServerName::try_from(self.host.clone()).map_err(io::Error::other)?;
        let socket = TcpStream::connect((self.host.as_str(), self.port)).await?;
        socket.set_nodelay(true)?;
        let greets_first = timeout(GREETING_WAIT, socket.readable()).await.is_ok();
        let mut plain = BufReader::new(socket);
        if greets_first {
            // Before TLS, no end of a connection is about a certificate.
            greeting(&mut plain).await.map_err(|error| io::Error::other(error.to_string()))?;
        }
        let connector = TlsConnector::from(Arc::new(tls.clone()));
        let mut stream = BufReader::new(connector.connect(server, plain.into_inner()).await?);
        if !greets_first {
            greeting(&mut stream).await?;
        }
        let about_us = serde_json::json!({
            "verbose": false, "pedantic": false, "tls_required": true, "name": name.to_string(), "lang": "rust",
            "version": env!("CARGO_PKG_VERSION"), "protocol": 1, "echo": true, "headers": false,
        });
        stream.write_all(format!("CONNECT {about_us}\r\nPING\r\n").as_bytes()).await?;
        stream.flush().await?;
        loop {
            match operation(&mut stream).await? {
                Operation::Pong => return Ok(stream),
                Operation::Error(text) => return Err(io::Error::new(io::ErrorKind::PermissionDenied, text)),
                Operation::Message(_) | Operation::Ping | Operation::Other => {}
            }
        }
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
        let Self { host, port } = self;
        if host.contains(':') { write!(f, "tls://[{host}]:{port}") } else { write!(f, "tls://{host}:{port}") }
    }
}

fn what_to_do(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "; its configuration must know us: `cellcc assist permissions`",
        // TLS's alert, or, where it was lost on the way, a connection that ends with the handshake.
        io::ErrorKind::InvalidData
        | io::ErrorKind::ConnectionReset
        | io::ErrorKind::BrokenPipe
        | io::ErrorKind::UnexpectedEof => {
            "; has a certificate expired, or is it of another authority than that of its peer?"
        }
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broker_has_a_host_and_a_port_and_no_user() {
        let url: BrokerUrl = "nats://broker.example".parse().unwrap();
        assert_eq!(url.to_string(), "tls://broker.example:4222");
        assert_eq!("tls://[::1]:7".parse::<BrokerUrl>().unwrap().to_string(), "tls://[::1]:7");
        for wrong in [
            "",
            "broker:4222",
            "http://broker",
            "tls://",
            "tls://broker:x",
            "tls://broker:0",
            "quic://broker:4443",
        ] {
            let error = wrong.parse::<BrokerUrl>().unwrap_err().to_string();
            assert!(error.contains("tls://HOST:PORT"), "{wrong}: {error}");
        }
        assert!(
            "tls://me:secret@broker".parse::<BrokerUrl>().unwrap_err().to_string().contains("certificate")
        );
    }
}

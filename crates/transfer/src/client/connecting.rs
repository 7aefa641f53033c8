//! The client's connections: the control connection, then the data connections.

use crate::advice::AdviceConfig;
use crate::certificates::{Presented, client_crypto};
use crate::client::{ClientSettings, RESPONSE_TIMEOUT};
use crate::flow::Flow;
use crate::progress::Started;
use crate::protocol::Message;
use crate::receiving::PeerClock;
use crate::server::tickets::Ticket;
use crate::session::Control;
use crate::{Direction, Request, TransferError, transport};
use cellcc_quic::Congestion;
use cellcc_quic::qlog::Directory;
use cellcc_quic::receive_thread::endpoint;
use cellcc_units::Bytes;
use noq::crypto::rustls::QuicClientConfig;
use noq::{ClientConfig, Connection, ConnectionError, Endpoint, TransportErrorCode};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;
use tokio::time::timeout;

/// Number of clock comparisons; the one with the shortest round trip counts.
const PINGS: usize = 5;

/// Connects to a server.
pub(crate) struct Connector {
    pub(crate) endpoint: Endpoint,
    crypto: Arc<QuicClientConfig>,
    presented: Arc<Presented>,
    server: SocketAddr,
    server_name: String,
    qlog: Option<Directory>,
    advice: Option<AdviceConfig>,
}

/// The server's agreement.
pub(crate) struct Agreed {
    pub(crate) control: Control,
    pub(crate) started: Started,
    pub(crate) congestion: Congestion,
    pub(crate) tickets: Vec<Ticket>,
    pub(crate) bytes: Option<Bytes>,
}

/// Settings of a data connection.
struct Data<'a> {
    ticket: Ticket,
    /// The scheme, if the client sends.
    congestion: Option<&'a Congestion>,
}

impl Connector {
    pub(crate) fn new(settings: &ClientSettings) -> Result<Self, TransferError> {
        let server = settings.server;
        let anywhere: SocketAddr = match server {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        let (crypto, presented) = client_crypto(&settings.trust, settings.identity.as_ref())?;
        let endpoint = endpoint(anywhere, None)
            .map_err(|error| TransferError::Connect { server, cause: format!("no socket: {error}") })?;
        Ok(Self {
            endpoint,
            crypto: Arc::new(crypto),
            presented,
            server,
            server_name: settings.server_name.clone(),
            qlog: settings.qlog.clone(),
            advice: settings.advice.clone(),
        })
    }

    /// A control connection, or a data connection.
    async fn connect(&self, data: Option<Data<'_>>) -> Result<Connection, TransferError> {
        let mut config = ClientConfig::new(Arc::clone(&self.crypto) as _);
        let mut transport = transport(self.qlog.as_ref().filter(|_| data.is_some()));
        if let Some(Data { ticket, congestion }) = data {
            if let Some(congestion) = congestion {
                congestion.install(&mut transport);
            }
            config.initial_dst_cid_provider(Arc::new(move || ticket.connection_id()));
        }
        config.transport_config(Arc::new(transport));
        let connecting = self.endpoint.connect_with(config, self.server, &self.server_name);
        let connecting =
            connecting.map_err(|error| TransferError::Input(format!("{}: {error}", self.server)))?;
        connecting.await.map_err(|error| self.no_connection(error))
    }

    fn no_connection(&self, error: ConnectionError) -> TransferError {
        let server = self.server;
        if let Some(presented) = self.presented.refused() {
            return TransferError::Pin { server, presented };
        }
        let cause = match error {
            ConnectionError::TimedOut => {
                "no answer; is `cellcc serve` running there, and UDP let through to that port?".into()
            }
            ConnectionError::ConnectionClosed(close)
                if close.error_code == TransportErrorCode::CONNECTION_REFUSED =>
            {
                "it refuses new connections: it has too many, or it shuts down; try again".into()
            }
            ConnectionError::TransportError(error) => {
                format!("{error}; --ca and --pin set the accepted certificates")
            }
            other => return TransferError::of(other, "server"),
        };
        TransferError::Connect { server, cause }
    }

    /// Sends the request and waits for the answer.
    pub(crate) async fn agree(&self, request: &Request) -> Result<Agreed, TransferError> {
        let connection = self.connect(None).await?;
        let streams = connection.open_bi().await.map_err(|error| TransferError::of(error, "server"))?;
        let mut control = Control::new(connection, streams, "server");
        control.write(&Message::Request(request.clone())).await?;
        let silent = |_| TransferError::Lost("the server does not answer the request".into());
        match timeout(RESPONSE_TIMEOUT, control.read()).await.map_err(silent)?? {
            Message::Accepted { scheme, tickets, bytes, software } => {
                if tickets.len() != usize::from(request.connections) {
                    return Err(TransferError::Protocol(format!("{} tickets", tickets.len())));
                }
                let congestion = Congestion::named(&scheme).map_err(|error| {
                    TransferError::Protocol(format!("the server's scheme is not known here: {error}"))
                })?;
                let started = Started {
                    server: self.server,
                    software,
                    scheme,
                    connections: request.connections,
                    streams: request.streams,
                };
                let congestion = congestion.with_rtt_samples();
                Ok(Agreed { control, started, congestion, tickets, bytes })
            }
            other => Err(Control::unexpected(&other)),
        }
    }

    /// Opens the data connections and, for frames, compares the clocks.
    pub(crate) async fn prepare(
        &self,
        control: &mut Control,
        congestion: &Congestion,
        tickets: &[Ticket],
        request: &Request,
    ) -> Result<(Vec<Flow>, PeerClock), TransferError> {
        let congestion = (request.direction == Direction::Put).then_some(congestion);
        let mut flows = Vec::new();
        for ticket in tickets {
            let connection = self.connect(Some(Data { ticket: *ticket, congestion })).await?;
            flows.push(match congestion {
                Some(congestion) => Flow::sending(connection, congestion, self.advice.as_ref())?,
                None => Flow::receiving(connection),
            });
        }
        let epoch = Instant::now();
        let ahead_ns = match request.payload.deadline() {
            Some(_) => compare_clocks(control, epoch).await?,
            None => 0,
        };
        Ok((flows, PeerClock { epoch, ahead_ns }))
    }
}

/// The lead of the server's clock in nanoseconds. The error is at most half of the shortest round trip.
async fn compare_clocks(control: &mut Control, epoch: Instant) -> Result<i64, TransferError> {
    let now = || epoch.elapsed().as_nanos() as u64;
    let mut best: Option<(u64, i64)> = None;
    for _ in 0..PINGS {
        control.write(&Message::Ping { client_ns: now() }).await?;
        match control.read().await? {
            Message::Pong { client_ns, server_ns } => {
                let round_trip = now().saturating_sub(client_ns);
                let ahead = i128::from(server_ns) - i128::from(client_ns) - i128::from(round_trip / 2);
                let ahead = i64::try_from(ahead).unwrap_or(0);
                if best.is_none_or(|(quickest, _)| round_trip < quickest) {
                    best = Some((round_trip, ahead));
                }
            }
            other => return Err(Control::unexpected(&other)),
        }
    }
    Ok(best.map_or(0, |(_, ahead)| ahead))
}

//! One end of a connection: noq's endpoint and connection together, with datagrams in and out.

use super::crypto::Credentials;
use super::network::Datagram;
use crate::certificate::SERVER_NAME;
use bytes::{Bytes as Buffer, BytesMut};
use cellcc_control::Registry;
use cellcc_experiment::{AckPolicy, Endpoint as Policy, ResolveError, RunError};
use cellcc_quic::Clock;
use cellcc_quic::Congestion;
use cellcc_quic::PacketSize;
use cellcc_units::{Bytes, Time};
use noq_proto::{
    AckFrequencyConfig, ClientConfig, Connection, ConnectionError, ConnectionHandle, DatagramEvent, Endpoint,
    EndpointConfig, Event, FourTuple, ServerConfig, TransportConfig, ValidationTokenConfig, VarInt,
};
use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

/// Smallest UDP payload of a path for QUIC (RFC 9000, section 14).
const MIN_PAYLOAD: u64 = 1200;
/// IPv4's longest packet without its headers.
const MAX_PAYLOAD: u64 = 65_507;

/// A stream's receive window, in bytes: fewer than 1024 packets, since noq closes a connection at 1024 gaps in a stream
/// (`MAX_CHUNKS`).
const STREAM_WINDOW: u32 = 1_250_000;
/// Number of streams. Their windows together hold 300 ms of 2 Gbit/s.
pub(super) const STREAMS: u64 = 64;
const CONNECTION_WINDOW: u32 = STREAM_WINDOW * STREAMS as u32;

/// Shortest delay of a delayed acknowledgement in noq (`TIMER_GRANULARITY`).
const MIN_ACK_DELAY: Duration = Duration::from_millis(1);

/// UDP payload of a full packet.
///
/// # Errors
/// A size that QUIC does not allow.
pub(super) fn full_payload(policy: &Policy) -> Result<u16, ResolveError> {
    let payload = policy.packet().get().saturating_sub(PacketSize::IPV4_HEADERS.get());
    match u16::try_from(payload) {
        Ok(payload) if (MIN_PAYLOAD..=MAX_PAYLOAD).contains(&payload.into()) => Ok(payload),
        _ => Err(ResolveError(format!(
            "endpoint.mss and endpoint.header make packets of {} bytes; QUIC's have {} to {} with IPv4 and UDP",
            policy.packet().get(),
            MIN_PAYLOAD + PacketSize::IPV4_HEADERS.get(),
            MAX_PAYLOAD + PacketSize::IPV4_HEADERS.get()
        ))),
    }
}

/// The Scenario's settings for both ends.
fn transport(policy: &Policy, payload: u16) -> TransportConfig {
    let mut transport = TransportConfig::default();
    transport
        .initial_mtu(payload)
        .min_mtu(payload)
        .mtu_discovery_config(None)
        .enable_segmentation_offload(false)
        .max_idle_timeout(None)
        .max_concurrent_uni_streams(VarInt::from_u32(STREAMS as u32))
        .stream_receive_window(VarInt::from_u32(STREAM_WINDOW))
        .receive_window(VarInt::from_u32(CONNECTION_WINDOW))
        // A stream's data fill packets, and a packet has no more frames than it must.
        .send_fairness(false)
        .ack_frequency_config(Some(acknowledgements(policy)));
    transport
}

/// When the peer acknowledges.
fn acknowledgements(policy: &Policy) -> AckFrequencyConfig {
    let mut config = AckFrequencyConfig::default();
    let asked = policy.ack_frequency();
    let delay = Duration::from_nanos(AckPolicy::Quic(asked).max_delay().as_nanos());
    config
        .ack_eliciting_threshold(VarInt::from_u32(asked.threshold))
        .max_ack_delay(Some(delay.max(MIN_ACK_DELAY)))
        .reordering_threshold(VarInt::from_u32(asked.reordering));
    config
}

/// One end of a connection.
pub(super) struct Peer {
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    remote: SocketAddr,
    clock: Clock,
}

/// Settings for both ends of a flow's connection.
pub(super) struct PeerSettings<'a> {
    pub(super) credentials: &'a Credentials,
    pub(super) policy: &'a Policy,
    pub(super) payload: u16,
    pub(super) seed: u64,
    /// The schemes whose components run at a receiver.
    pub(super) registry: &'a Registry,
    pub(super) clock: Clock,
}

const SENDER: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 443);
const RECEIVER: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2)), 443);

impl PeerSettings<'_> {
    /// The end that sends data. It begins the connection at `now`.
    pub(super) fn sender(&self, now: Time, congestion: &Congestion) -> Result<Peer, RunError> {
        let mut transport = transport(self.policy, self.payload);
        transport.congestion_controller_factory(congestion.factory());
        let mut config = ClientConfig::new(Arc::clone(&self.credentials.client));
        config.transport_config(Arc::new(transport));
        let mut endpoint = Endpoint::new(self.endpoint_config(0)?, None, false);
        let connection = endpoint
            .connect(self.clock.instant(now), config, RECEIVER, SERVER_NAME)
            .map_err(|error| RunError(format!("no QUIC connection: {error}")))?;
        Ok(Peer { endpoint, connection: Some(connection), remote: RECEIVER, clock: self.clock })
    }

    /// The end that receives data.
    pub(super) fn receiver(&self) -> Result<Peer, RunError> {
        let mut config = ServerConfig::with_crypto(Arc::clone(&self.credentials.server));
        config.transport_config(Arc::new(transport(self.policy, self.payload)));
        // No tokens for later connections: they contain the time of day.
        let mut tokens = ValidationTokenConfig::default();
        tokens.sent(0);
        config.validation_token_config(tokens);
        let endpoint = Endpoint::new(self.endpoint_config(1)?, Some(Arc::new(config)), false);
        Ok(Peer { endpoint, connection: None, remote: SENDER, clock: self.clock })
    }

    fn endpoint_config(&self, side: u8) -> Result<Arc<EndpointConfig>, RunError> {
        let mut seed = [side; 32];
        seed[..8].copy_from_slice(&self.seed.to_le_bytes());
        let mut config = EndpointConfig::default();
        config
            .max_udp_payload_size(self.payload)
            .map_err(|error| RunError(format!("packets of {} bytes: {error}", self.payload)))?
            .rng_seed(Some(seed));
        Ok(Arc::new(config))
    }
}

impl Peer {
    pub(super) fn connection(&mut self) -> Option<&mut Connection> {
        self.connection.as_mut().map(|(_, connection)| connection)
    }

    /// When to call [`on_time`](Self::on_time).
    pub(super) fn next_time(&self) -> Time {
        let timeout = self.connection.as_ref().and_then(|(_, connection)| connection.poll_timeout());
        timeout.map_or(Time::NEVER, |timeout| self.clock.time(timeout))
    }

    pub(super) fn on_time(&mut self, now: Time) {
        let instant = self.clock.instant(now);
        if let Some((_, connection)) = &mut self.connection
            && connection.poll_timeout().is_some_and(|due| due <= instant)
        {
            connection.handle_timeout(instant);
        }
    }

    /// A datagram arrives.
    pub(super) fn on_datagram(&mut self, now: Time, datagram: Datagram) -> Result<(), RunError> {
        let path = FourTuple::new(self.remote, None);
        let now = self.clock.instant(now);
        let payload = BytesMut::from(Buffer::from(datagram.payload));
        // Responses to datagrams without a connection are not used.
        let mut response = Vec::new();
        match self.endpoint.handle(now, path, datagram.ecn, payload, &mut response) {
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some((_, connection)) = &mut self.connection {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                let accepted = self.endpoint.accept(incoming, now, &mut response, None);
                let refused = |error: Box<noq_proto::AcceptError>| lost(&error.cause);
                self.connection = Some(accepted.map_err(refused)?);
            }
            Some(DatagramEvent::Response(_)) | None => {}
        }
        Ok(())
    }

    /// The connection's next event.
    pub(super) fn poll(&mut self) -> Result<Option<Event>, RunError> {
        let Some((handle, connection)) = &mut self.connection else { return Ok(None) };
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(event);
            }
        }
        match connection.poll() {
            Some(Event::ConnectionLost { reason }) => Err(lost(&reason)),
            event => Ok(event),
        }
    }

    /// The next datagram that leaves now.
    pub(super) fn poll_transmit(&mut self, now: Time, capacity: usize) -> Option<Datagram> {
        let (_, connection) = self.connection.as_mut()?;
        let mut payload = Vec::with_capacity(capacity);
        let transmit = connection.poll_transmit(self.clock.instant(now), NonZeroUsize::MIN, &mut payload)?;
        payload.truncate(transmit.size);
        let bytes = Bytes::new(transmit.size as u64) + PacketSize::IPV4_HEADERS;
        Some(Datagram { bytes, ecn: transmit.ecn, payload })
    }
}

fn lost(reason: &ConnectionError) -> RunError {
    RunError(format!("the QUIC connection ended before the run: {reason}"))
}

//! noq's settings for both ends of a flow's connection.

use super::crypto::{Credentials, Protection};
use crate::certificate::SERVER_NAME;
use cellcc_experiment::{AckPolicy, Endpoint as Policy, ResolveError, RunError};
use cellcc_quic::PacketSize;
use noq_proto::congestion::ControllerFactory;
use noq_proto::{
    AckFrequencyConfig, ClientConfig, Connection, ConnectionHandle, Endpoint, EndpointConfig, ServerConfig,
    TransportConfig, ValidationTokenConfig, VarInt,
};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

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

/// The address of the end that sends data.
pub const SENDER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 443);
/// The address of the end that receives data.
pub const RECEIVER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2)), 443);

/// noq's settings for both ends of a connection, from those of a Scenario's endpoints.
#[derive(Clone)]
pub struct Settings {
    credentials: Credentials,
    policy: Policy,
    payload: u16,
}

impl Settings {
    /// Settings with a certificate that is made here.
    ///
    /// # Errors
    /// Packets of a size that QUIC does not allow; no certificate.
    pub fn new(policy: &Policy, protection: Protection) -> Result<Self, RunError> {
        let payload = full_payload(policy).map_err(|error| RunError(error.to_string()))?;
        let credentials = Credentials::new(protection)
            .map_err(|error| RunError(format!("no certificate for the run: {error}")))?;
        Ok(Self { credentials, policy: policy.clone(), payload })
    }

    /// UDP payload of a full packet.
    pub fn payload(&self) -> u16 {
        self.payload
    }

    /// The end that sends data. It begins the connection at `now`.
    ///
    /// # Errors
    /// Why noq refuses.
    pub fn sender(
        &self,
        now: Instant,
        seed: u64,
        congestion: Arc<dyn ControllerFactory + Send + Sync>,
    ) -> Result<(Endpoint, (ConnectionHandle, Connection)), RunError> {
        let mut transport = self.transport();
        transport.congestion_controller_factory(congestion);
        let mut config = ClientConfig::new(Arc::clone(&self.credentials.client));
        config.transport_config(Arc::new(transport));
        let mut endpoint = Endpoint::new(self.endpoint_config(seed, 0)?, None, false);
        let connection = endpoint
            .connect(now, config, RECEIVER, SERVER_NAME)
            .map_err(|error| RunError(format!("no QUIC connection: {error}")))?;
        Ok((endpoint, connection))
    }

    /// The end that receives data.
    ///
    /// # Errors
    /// Why noq refuses.
    pub fn receiver(&self, seed: u64) -> Result<Endpoint, RunError> {
        let mut config = ServerConfig::with_crypto(Arc::clone(&self.credentials.server));
        config.transport_config(Arc::new(self.transport()));
        // No tokens for later connections: they contain the time of day.
        let mut tokens = ValidationTokenConfig::default();
        tokens.sent(0);
        config.validation_token_config(tokens);
        Ok(Endpoint::new(self.endpoint_config(seed, 1)?, Some(Arc::new(config)), false))
    }

    fn endpoint_config(&self, flow: u64, side: u8) -> Result<Arc<EndpointConfig>, RunError> {
        let mut seed = [side; 32];
        seed[..8].copy_from_slice(&flow.to_le_bytes());
        let mut config = EndpointConfig::default();
        config
            .max_udp_payload_size(self.payload)
            .map_err(|error| RunError(format!("packets of {} bytes: {error}", self.payload)))?
            .rng_seed(Some(seed));
        Ok(Arc::new(config))
    }

    /// The common settings of both ends.
    fn transport(&self) -> TransportConfig {
        let mut transport = TransportConfig::default();
        transport
            .initial_mtu(self.payload)
            .min_mtu(self.payload)
            .mtu_discovery_config(None)
            .enable_segmentation_offload(false)
            .max_idle_timeout(None)
            .max_concurrent_uni_streams(VarInt::from_u32(STREAMS as u32))
            .stream_receive_window(VarInt::from_u32(STREAM_WINDOW))
            .receive_window(VarInt::from_u32(CONNECTION_WINDOW))
            // A stream's data fill packets, and a packet has no more frames than it must.
            .send_fairness(false)
            .ack_frequency_config(Some(acknowledgements(&self.policy)));
        transport
    }
}

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

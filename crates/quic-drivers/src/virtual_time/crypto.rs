//! TLS for both ends, with or without encryption of packets. Without it the handshake is still TLS's and packets have the
//! same sizes, but are sent in clear.

use crate::certificate::Tls;
use bytes::BytesMut;
use noq_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use noq_proto::crypto::{
    ClientConfig, CryptoError, ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey, ServerConfig,
    Session, UnsupportedVersion,
};
use noq_proto::transport_parameters::TransportParameters;
use noq_proto::{ConnectError, ConnectionId, PathId, Side, TransportError};
use std::any::Any;
use std::error::Error;
use std::sync::Arc;

/// The encryption of packets. Their sizes and times, and so all results, are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Protection {
    /// Not encrypted, which saves a quarter of the run's processor time.
    #[default]
    None,
    /// Encrypted by TLS's keys.
    Tls,
}

/// The cryptographic settings of both ends.
#[derive(Clone)]
pub(super) struct Credentials {
    pub(super) server: Arc<dyn ServerConfig>,
    pub(super) client: Arc<dyn ClientConfig>,
}

impl Credentials {
    /// A certificate made for the run, and a client that trusts it.
    pub(super) fn new(protection: Protection) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let Tls { server, client } = Tls::new()?;
        Ok(match protection {
            Protection::Tls => Self { server, client },
            Protection::None => {
                Self { server: Arc::new(Unprotected(server)), client: Arc::new(Unprotected(client)) }
            }
        })
    }
}

/// A session or its configuration, without encryption of packets.
struct Unprotected<T>(T);

impl ClientConfig for Unprotected<Arc<QuicClientConfig>> {
    fn start_session(
        &self,
        version: u32,
        server_name: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        Ok(Box::new(Unprotected(self.0.start_session(version, server_name, params)?)))
    }
}

impl ServerConfig for Unprotected<Arc<QuicServerConfig>> {
    fn initial_keys(&self, version: u32, id: ConnectionId) -> Result<Keys, UnsupportedVersion> {
        self.0.initial_keys(version, id).map(|_| no_keys())
    }

    fn retry_tag(&self, version: u32, id: ConnectionId, packet: &[u8]) -> [u8; 16] {
        self.0.retry_tag(version, id, packet)
    }

    fn start_session(&self, version: u32, params: &TransportParameters) -> Box<dyn Session> {
        Box::new(Unprotected(self.0.start_session(version, params)))
    }
}

impl Session for Unprotected<Box<dyn Session>> {
    fn initial_keys(&self, _: ConnectionId, _: Side) -> Keys {
        no_keys()
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        self.0.handshake_data()
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        self.0.peer_identity()
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        None
    }

    fn early_data_accepted(&self) -> Option<bool> {
        self.0.early_data_accepted()
    }

    fn is_handshaking(&self) -> bool {
        self.0.is_handshaking()
    }

    fn read_handshake(&mut self, bytes: &[u8]) -> Result<bool, TransportError> {
        self.0.read_handshake(bytes)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        self.0.transport_parameters()
    }

    fn write_handshake(&mut self, bytes: &mut Vec<u8>) -> Option<Keys> {
        self.0.write_handshake(bytes).map(|_| no_keys())
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        Some(no_keys().packet)
    }

    fn is_valid_retry(&self, id: ConnectionId, header: &[u8], payload: &[u8]) -> bool {
        self.0.is_valid_retry(id, header, payload)
    }

    fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        self.0.export_keying_material(output, label, context)
    }
}

/// A key that leaves packets as they are.
struct NoKey;

/// Length of the tag that AES-GCM appends (RFC 9001, section 5.3), and of the sample for header protection (5.4.2).
const TAG_BYTES: usize = 16;

fn no_keys() -> Keys {
    Keys {
        header: KeyPair { local: Box::new(NoKey), remote: Box::new(NoKey) },
        packet: KeyPair { local: Box::new(NoKey), remote: Box::new(NoKey) },
    }
}

impl PacketKey for NoKey {
    fn encrypt(&self, _: PathId, _: u64, _: &mut [u8], _: usize) {}

    fn decrypt(&self, _: PathId, _: u64, _: &[u8], payload: &mut BytesMut) -> Result<(), CryptoError> {
        let length = payload.len().checked_sub(TAG_BYTES).ok_or(CryptoError)?;
        payload.truncate(length);
        Ok(())
    }

    fn tag_len(&self) -> usize {
        TAG_BYTES
    }

    fn confidentiality_limit(&self) -> u64 {
        u64::MAX
    }

    fn integrity_limit(&self) -> u64 {
        u64::MAX
    }
}

impl HeaderKey for NoKey {
    fn decrypt(&self, _: usize, _: &mut [u8]) {}

    fn encrypt(&self, _: usize, _: &mut [u8]) {}

    fn sample_size(&self) -> usize {
        TAG_BYTES
    }
}

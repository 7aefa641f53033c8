//! A scheme, ready to be installed in noq.

use crate::attach::Attached;
use crate::controller::{Beginning, SchemeController};
use crate::packet_size::PacketSize;
use crate::qlog;
use crate::sender::Sender;
use cellcc_control::{Context, Registry, Scheme, SchemeError};
use cellcc_units::Bytes;
use noq_proto::congestion::{Controller, ControllerFactory};
use noq_proto::{AckFrequencyConfig, TransportConfig};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use thiserror::Error;

/// RFC 9002, section 7.2: ten packets.
const INITIAL_WINDOW_PACKETS: u64 = 10;

/// An acknowledgement that waits for a second packet is an RTT sample that is too long, and where the window is one packet
/// it stops the flow. QUIC's usual 25 ms are more than the shortest RTT of the papers (20 ms); this is a quarter of that.
const MAX_ACK_DELAY: Duration = Duration::from_millis(5);

/// Why there is no such congestion control.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CongestionError {
    /// The text names no scheme.
    #[error(transparent)]
    Scheme(#[from] SchemeError),
}

/// A scheme for the connections of a noq endpoint. Clones build the same.
#[derive(Debug, Clone)]
pub struct Congestion(Arc<Settings>);

#[derive(Debug)]
struct Settings {
    scheme: Scheme,
    seed: u64,
    epoch: Option<Instant>,
    keeps_rtt_samples: bool,
    built: AtomicU64,
}

impl Congestion {
    /// The scheme of this name among those that cellcc comes with: `"reminis(dtt=40ms)"`.
    ///
    /// # Errors
    /// An unknown name, parameter or value.
    pub fn named(text: &str) -> Result<Self, CongestionError> {
        Ok(Self::new(Registry::default().parse(text)?))
    }

    /// A scheme of any registry.
    pub fn new(scheme: Scheme) -> Self {
        Self(Arc::new(Settings {
            scheme,
            seed: 0,
            epoch: None,
            keeps_rtt_samples: false,
            built: AtomicU64::new(0),
        }))
    }

    /// Seeds the schemes' random numbers; connection number n gets `seed` + n.
    pub fn with_seed(&self, seed: u64) -> Self {
        Self(Arc::new(Settings { seed, ..self.settings() }))
    }

    /// Has all flows' clocks begin at `epoch` rather than with their connection.
    pub fn with_epoch(&self, epoch: Instant) -> Self {
        Self(Arc::new(Settings { epoch: Some(epoch), ..self.settings() }))
    }

    /// Has flows keep every RTT sample until it is taken.
    pub fn with_rtt_samples(&self) -> Self {
        Self(Arc::new(Settings { keeps_rtt_samples: true, ..self.settings() }))
    }

    fn settings(&self) -> Settings {
        Settings { scheme: self.0.scheme.clone(), built: AtomicU64::new(0), ..*self.0 }
    }

    /// The scheme.
    pub fn scheme(&self) -> &Scheme {
        &self.0.scheme
    }

    /// What noq takes as `TransportConfig::congestion_controller_factory`.
    pub fn factory(&self) -> Arc<dyn ControllerFactory + Send + Sync> {
        Arc::clone(&self.0) as _
    }

    /// Makes every connection of this configuration use the scheme, and asks its peers for acknowledgements within
    /// 5 ms where they can be asked (draft-ietf-quic-ack-frequency).
    pub fn install(&self, transport: &mut TransportConfig) {
        let mut acknowledgements = AckFrequencyConfig::default();
        acknowledgements.max_ack_delay(Some(MAX_ACK_DELAY));
        transport.congestion_controller_factory(self.factory()).ack_frequency_config(Some(acknowledgements));
    }

    /// Serves a connection between its acknowledgements, until it ends: the scheme's timers, what its halves send each
    /// other, its send buffer. `None` where the connection was made without [`install`](Self::install).
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn attach(&self, connection: &noq::Connection) -> Option<Attached> {
        Attached::start(connection, self.0.scheme.clone())
    }
}

impl ControllerFactory for Settings {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        let size = PacketSize { payload: Bytes::new(current_mtu.into()), headers: PacketSize::IPV4_HEADERS };
        let context = Context {
            packet: size.on_link(),
            initial_window: size.on_link() * INITIAL_WINDOW_PACKETS,
            seed: self.seed.wrapping_add(self.built.fetch_add(1, Ordering::Relaxed)),
        };
        let sender = Sender::new(self.scheme.build(&context), size, self.keeps_rtt_samples);
        Box::new(SchemeController::new(Beginning {
            scheme: self.scheme.text().into(),
            epoch: self.epoch.unwrap_or(now),
            initial_window: size.payload * INITIAL_WINDOW_PACKETS,
            sender,
            log: qlog::of_connection_being_made(now),
        }))
    }
}

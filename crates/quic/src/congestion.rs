//! A scheme, ready to be installed in noq.

#[cfg(feature = "sockets")]
use crate::attach::Attached;
use crate::controller::SchemeController;
use crate::ecn::is_l4s;
#[cfg(feature = "sockets")]
use crate::ecn_socket::Codepoints;
use crate::packet_size::{ANY_FLOW, PacketSize};
use crate::qlog;
use crate::sender::Sender;
use crate::shared_flow::FlowSettings;
use cellcc_control::{AdviceRoute, Context, Scheme, SchemeError};
use cellcc_units::{Bytes, FirstWindow};
use noq_proto::congestion::{Controller, ControllerFactory};
use noq_proto::{AckFrequencyConfig, TransportConfig};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use thiserror::Error;

/// Longest acknowledgement delay requested from peers: a quarter of the shortest RTT in the papers (20 ms); QUIC's
/// default of 25 ms is longer than that RTT. A delayed acknowledgement lengthens an RTT sample, and stops a flow whose window
/// is one packet. (`DEFAULT_MAX_ACK_DELAY` in `sender` is RFC 9000's default.)
const REQUESTED_MAX_ACK_DELAY: Duration = Duration::from_millis(5);

/// Reason why a congestion control is unavailable.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CongestionError {
    /// The text names no scheme.
    #[error(transparent)]
    Scheme(#[from] SchemeError),
    /// The scheme with these arguments needs something that QUIC cannot do.
    #[error(
        "scheme `{scheme}` cannot run over QUIC, which has no {unmet}; use the driver `sim`, or other settings"
    )]
    Unmet {
        /// The scheme.
        scheme: String,
        /// The unmet need.
        unmet: &'static str,
    },
}

pub(crate) const ADVICE_IN_BAND: &str =
    "advice in band (route=in-band): no node of a path can write on encrypted acknowledgements";

const ECN_COUNTS: &str = "counts of marked packets (noq says only that there are some)";

const ECT1: &str = "ECT(1) without sockets that map ECN codepoints, at both ends (noq sends ECT(0))";

const ARRIVALS: &str =
    "reports of when each packet arrived (it hides packet numbers from the receiver-side component)";

const OWN_TRANSPORT: &str = "entry for it in this registry (it is a controller of noq: give noq its factory)";

const PACKET_SIGNALS: &str =
    "signals on single packets (they travel by themselves, and feedback once enough has arrived)";

/// The need of the scheme with its arguments that QUIC cannot meet, over sockets that map ECN codepoints.
pub(crate) fn unmet(scheme: &Scheme) -> Option<&'static str> {
    if scheme.info().is_of_transport() {
        return Some(OWN_TRANSPORT);
    }
    if scheme.info().needs.arrivals {
        return Some(ARRIVALS);
    }
    if scheme.info().needs.ecn_counts && !is_l4s(scheme) {
        return Some(ECN_COUNTS);
    }
    if scheme.info().needs.packet_signals {
        return Some(PACKET_SIGNALS);
    }
    let holds_acks = scheme.build_receiver(&ANY_FLOW).is_some_and(|component| component.holds_acks());
    holds_acks.then_some(
        "regulated acknowledgements (fairness=acks): noq's receivers do not delay them for a scheme",
    )
}

/// A scheme for the connections of a noq endpoint. Clones share their settings.
#[derive(Debug, Clone)]
pub struct Congestion(Arc<Settings>);

#[derive(Debug)]
struct Settings {
    scheme: Scheme,
    seed: u64,
    epoch: Option<Instant>,
    keeps_rtt_samples: bool,
    initial_window: FirstWindow,
    built: AtomicU64,
}

impl Congestion {
    /// A scheme of cellcc's registry: `"reminis(dtt=40ms)"`.
    ///
    /// # Errors
    /// An unknown name, parameter or value; a scheme that needs something that noq cannot do.
    pub fn named(text: &str) -> Result<Self, CongestionError> {
        Self::new(cellcc_schemes::registry().parse(text)?)
    }

    /// A scheme of any registry.
    ///
    /// # Errors
    /// The scheme needs something that noq cannot do.
    pub fn new(scheme: Scheme) -> Result<Self, CongestionError> {
        let congestion = Self::over_mapping_sockets(scheme)?;
        if is_l4s(&congestion.0.scheme) {
            let scheme = congestion.0.scheme.text().into();
            return Err(CongestionError::Unmet { scheme, unmet: ECT1 });
        }
        Ok(congestion)
    }

    /// Builds it for connections whose sockets map ECN codepoints at both ends: L4S also runs.
    ///
    /// # Errors
    /// The scheme needs something that noq cannot do.
    pub fn over_mapping_sockets(scheme: Scheme) -> Result<Self, CongestionError> {
        if scheme.advice_request().is_some_and(|request| request.route == Some(AdviceRoute::InBand)) {
            return Err(CongestionError::Unmet { scheme: scheme.text().into(), unmet: ADVICE_IN_BAND });
        }
        Self::in_virtual_time(scheme)
    }

    /// Builds it for a driver in virtual time, whose base station writes its reports in front of acknowledgements: advice in band
    /// also arrives.
    ///
    /// # Errors
    /// The scheme needs something that noq cannot do.
    pub fn in_virtual_time(scheme: Scheme) -> Result<Self, CongestionError> {
        if let Some(unmet) = unmet(&scheme) {
            return Err(CongestionError::Unmet { scheme: scheme.text().into(), unmet });
        }
        Ok(Self(Arc::new(Settings {
            scheme,
            seed: 0,
            epoch: None,
            keeps_rtt_samples: false,
            initial_window: FirstWindow::default(),
            built: AtomicU64::new(0),
        })))
    }

    /// Seeds the schemes' random numbers; connection number n gets `seed` + n.
    pub fn with_seed(&self, seed: u64) -> Self {
        Self(Arc::new(Settings { seed, ..self.settings() }))
    }

    /// Starts the clocks of all flows at `epoch` rather than with their connections.
    pub fn with_epoch(&self, epoch: Instant) -> Self {
        Self(Arc::new(Settings { epoch: Some(epoch), ..self.settings() }))
    }

    /// Makes flows keep every RTT sample until [`take_rtt_samples`](crate::Monitor::take_rtt_samples).
    pub fn with_rtt_samples(&self) -> Self {
        Self(Arc::new(Settings { keeps_rtt_samples: true, ..self.settings() }))
    }

    /// Begins with this window instead of RFC 9002's ten packets.
    pub fn with_initial_window(&self, initial_window: FirstWindow) -> Self {
        Self(Arc::new(Settings { initial_window, ..self.settings() }))
    }

    fn settings(&self) -> Settings {
        Settings { scheme: self.0.scheme.clone(), built: AtomicU64::new(0), ..*self.0 }
    }

    /// The scheme.
    pub fn scheme(&self) -> &Scheme {
        &self.0.scheme
    }

    /// The factory for `TransportConfig::congestion_controller_factory`.
    pub fn factory(&self) -> Arc<dyn ControllerFactory + Send + Sync> {
        Arc::clone(&self.0) as _
    }

    /// Makes every connection of this configuration use the scheme, and asks peers that know
    /// draft-ietf-quic-ack-frequency for acknowledgements within 5 ms.
    pub fn install(&self, transport: &mut TransportConfig) {
        let mut acknowledgements = AckFrequencyConfig::default();
        acknowledgements.max_ack_delay(Some(REQUESTED_MAX_ACK_DELAY));
        transport.congestion_controller_factory(self.factory()).ack_frequency_config(Some(acknowledgements));
    }

    /// Serves a connection between its acknowledgements until it ends: the scheme's timers, the messages to and from its
    /// receiver-side component, its send buffer. `None` if the connection was made without [`install`](Self::install).
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    #[cfg(feature = "sockets")]
    pub fn attach(&self, connection: &noq::Connection) -> Option<Attached> {
        Attached::start(connection, self.0.scheme.clone(), None)
    }

    /// Attaches on an endpoint whose socket maps ECN codepoints.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    #[cfg(feature = "sockets")]
    pub fn attach_mapping(&self, connection: &noq::Connection, codepoints: &Codepoints) -> Option<Attached> {
        Attached::start(connection, self.0.scheme.clone(), Some(codepoints))
    }
}

impl ControllerFactory for Settings {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        let size = PacketSize { payload: Bytes::new(current_mtu.into()), headers: PacketSize::IPV4_HEADERS };
        let context = Context::new(
            size.on_link(),
            self.initial_window.of_packets(size.on_link()),
            self.seed.wrapping_add(self.built.fetch_add(1, Ordering::Relaxed)),
        );
        let sender = Sender::new(self.scheme.build(&context), size, self.keeps_rtt_samples);
        let sender = if is_l4s(&self.scheme) { sender.with_marks() } else { sender };
        Box::new(SchemeController::new(FlowSettings {
            scheme: self.scheme.text().into(),
            epoch: self.epoch.unwrap_or(now),
            initial_window: size.payload_of(context.initial_window),
            sender,
            log: qlog::of_connection_being_made(now),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_noq_cannot_do_is_refused_by_name() {
        for (scheme, named) in [
            ("natcp(fairness=acks)", "fairness=acks"),
            ("nacap(fairness=acks)", "fairness=acks"),
            ("natcp(route=in-band)", "route=in-band"),
            ("abc", "noq says only that there are some"),
            ("prague", "noq sends ECT(0)"),
            ("gcc", "it hides packet numbers from the receiver-side component"),
            ("scream", "it hides packet numbers from the receiver-side component"),
            ("sprout", "they travel by themselves, and feedback once enough has arrived"),
        ] {
            let error = Congestion::named(scheme).unwrap_err().to_string();
            assert!(error.contains(scheme) && error.contains(&format!("({named})")), "{error}");
        }
        for scheme in ["natcp(fairness=report)", "natcp(route=out-of-band)", "rbbr"] {
            assert!(Congestion::named(scheme).is_ok(), "{scheme}");
        }
    }
}

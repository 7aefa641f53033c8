//! noq's own CUBIC, with an optional send quantum: the batches of the compared scheme.

use noq_proto::congestion::{Controller, ControllerFactory, ControllerMetrics, CubicConfig};
use noq_proto::{RttEstimator, TransportConfig};
use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

/// Installs the controller of `text`, `stock` or `stock/BYTES`; false for another name.
pub(crate) fn install(text: &str, transport: &mut TransportConfig) -> bool {
    let factory: Arc<dyn ControllerFactory + Send + Sync> = match text.split_once('/') {
        None if text == "stock" => Arc::new(CubicConfig::default()),
        Some(("stock", quantum)) => match quantum.parse() {
            Ok(quantum) => Arc::new(Quantised { quantum }),
            Err(_) => return false,
        },
        _ => return false,
    };
    transport.congestion_controller_factory(factory);
    true
}

struct Quantised {
    quantum: u64,
}

impl ControllerFactory for Quantised {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        let cubic = Arc::new(CubicConfig::default()).build(now, current_mtu);
        Box::new(QuantisedCubic { cubic, quantum: self.quantum })
    }
}

#[derive(Debug)]
struct QuantisedCubic {
    cubic: Box<dyn Controller>,
    quantum: u64,
}

impl Controller for QuantisedCubic {
    fn on_ack(
        &mut self,
        now: Instant,
        sent: Instant,
        bytes: u64,
        pn: u64,
        limited: bool,
        rtt: &RttEstimator,
    ) {
        self.cubic.on_ack(now, sent, bytes, pn, limited, rtt);
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        persistent: bool,
        ecn: bool,
        lost: u64,
        largest: u64,
    ) {
        self.cubic.on_congestion_event(now, sent, persistent, ecn, lost, largest);
    }

    fn on_spurious_congestion_event(&mut self) {
        self.cubic.on_spurious_congestion_event();
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.cubic.on_mtu_update(new_mtu);
    }

    fn window(&self) -> u64 {
        self.cubic.window()
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = self.cubic.metrics();
        metrics.send_quantum = Some(self.quantum);
        metrics
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Self { cubic: self.cubic.clone_box(), quantum: self.quantum })
    }

    fn initial_window(&self) -> u64 {
        self.cubic.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

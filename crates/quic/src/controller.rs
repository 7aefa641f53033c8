//! A scheme as noq's congestion controller: passes noq's reports to the flow that the rest of the program shares.

use crate::packet_size::PacketSize;
use crate::shared_flow::{FlowSettings, SharedFlow};
use cellcc_control::Event;
use cellcc_units::Bytes;
use noq_proto::RttEstimator;
use noq_proto::congestion::{Controller, ControllerMetrics};
use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

/// A scheme as noq's congestion controller. Clones are the same flow: noq clones it to read it, and when the peer's address
/// changes but not its path (RFC 9000, section 9.4).
#[derive(Clone)]
pub(crate) struct SchemeController {
    shared: Arc<SharedFlow>,
    /// Numbers and sending times of the packets in the acknowledgement that noq is reporting. They are processed together,
    /// under one lock.
    acknowledged: Vec<(u64, Instant)>,
}

impl SchemeController {
    pub(crate) fn new(settings: FlowSettings) -> Self {
        Self { shared: Arc::new(SharedFlow::new(settings)), acknowledged: Vec::new() }
    }

    /// The flow that it controls.
    pub(crate) fn into_flow(self) -> Arc<SharedFlow> {
        self.shared
    }
}

impl Controller for SchemeController {
    fn on_packet_sent(&mut self, now: Instant, bytes: u16, number: u64) {
        let time = self.shared.time(now);
        self.shared.with(|sender| {
            sender.on_sent(time, Bytes::new(bytes.into()), number);
            self.shared.log(now, sender);
        });
    }

    fn on_cwnd_limited(&mut self) {
        self.shared.lock().on_window_limited();
    }

    fn on_ack(&mut self, _: Instant, sent: Instant, _: u64, number: u64, _: bool, _: &RttEstimator) {
        self.acknowledged.push((number, sent));
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, _: Option<u64>) {
        let time = self.shared.time(now);
        let acknowledged = self.acknowledged.drain(..);
        self.shared.with(|sender| {
            for (number, sent) in acknowledged {
                sender.on_packet_acknowledged(self.shared.time(sent), number);
            }
            sender.on_acknowledged(time, Bytes::new(in_flight), app_limited);
            self.shared.log(now, sender);
        });
    }

    fn on_packet_lost(&mut self, payload: u16, number: u64, _: Instant) {
        self.shared.lock().on_packet_lost(Bytes::new(payload.into()), number);
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent_congestion: bool,
        is_ecn: bool,
        _lost_bytes: u64,
        _largest_lost: u64,
    ) {
        let (now, sent_at) = (self.shared.time(now), self.shared.time(sent));
        self.shared.with(|sender| {
            if is_ecn {
                sender.on_congestion_mark(now, sent_at);
            } else {
                sender.settle_losses(now, is_persistent_congestion);
            }
        });
    }

    fn on_spurious_congestion_event(&mut self) {
        // noq gives no time here, and the scheme needs none to restore its saved state.
        self.shared.with(|sender| sender.on_event(sender.last_heard(), Event::SpuriousLoss));
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.shared.with(|sender| {
            let size = PacketSize { payload: Bytes::new(new_mtu.into()), ..sender.size() };
            sender.set_size(size);
        });
    }

    fn window(&self) -> u64 {
        self.shared.limits().cwnd_with_pacing()
    }

    fn metrics(&self) -> ControllerMetrics {
        self.shared.limits().metrics()
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        self.shared.initial_window().get()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

impl fmt::Debug for SchemeController {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("SchemeController").field(&self.shared.scheme()).finish()
    }
}

#[cfg(test)]
mod tests {
    use crate::{Congestion, Monitor};
    use noq_proto::congestion::Controller;
    use std::time::{Duration, Instant};

    /// Headers included.
    fn window(controller: &dyn Controller) -> u64 {
        Monitor::from_state(controller.clone_box()).unwrap().snapshot().limits.window.get()
    }

    /// NewReno with a packet in flight, and its sending time.
    fn newreno() -> (Box<dyn Controller>, Instant) {
        let now = Instant::now();
        let mut controller = Congestion::named("newreno").unwrap().factory().build(now, 1200);
        controller.on_packet_sent(now, 1200, 0);
        (controller, now)
    }

    #[test]
    fn a_mark_halves_the_window_as_a_loss_does() {
        let (mut controller, sent) = newreno();
        let before = window(&*controller);
        controller.on_congestion_event(sent + Duration::from_millis(20), sent, false, true, 0, 0);
        assert_eq!(window(&*controller), before / 2);
    }

    #[test]
    fn a_larger_packet_is_a_larger_smallest_window() {
        let (mut controller, sent) = newreno();
        controller.on_mtu_update(1452);
        let later = sent + Duration::from_millis(20);
        controller.on_packet_lost(1200, 0, later);
        controller.on_congestion_event(later, sent, true, false, 1200, 0);
        assert_eq!(window(&*controller), 2 * (1452 + 28));
    }
}

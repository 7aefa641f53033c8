//! Carries the messages between the two ends of a scheme, at one end of a connection in virtual time. With sockets,
//! `cellcc_quic`'s service does the same.

use cellcc_control::{Observer, Registry, Scheme};
use cellcc_quic::Clock;
use cellcc_quic::DrivenFlow;
use cellcc_quic::PacketSize;
use cellcc_quic::ecn::{EcnMap, L4s};
use cellcc_quic::extension::{Extension, Received, Totals};
use cellcc_units::{Bytes, Span, Time};
use noq_proto::{Connection, PathId};
use std::sync::Arc;

/// Resolution of timers in real time (tokio). Messages are checked no more often.
const TIMER_RESOLUTION: Span = Span::from_millis(1);
/// An RTT before there is a sample (RFC 9002, section 6.2.2).
const INITIAL_RTT: Span = Span::from_millis(333);

/// One end of the signaling.
#[derive(Debug)]
pub(super) struct Signaling {
    extension: Extension,
    clock: Clock,
    /// Space in noq's datagram buffer when it is empty; `None` before there is a connection.
    empty_buffer: Option<usize>,
}

impl Signaling {
    pub(super) fn new(registry: &Registry, clock: Clock, ecn: Arc<EcnMap>) -> Self {
        let extension = Extension::new(registry.clone()).with_ecn(ecn);
        Self { extension, clock, empty_buffer: None }
    }

    /// The connection is established. `scheme`: the scheme that sends at this end.
    pub(super) fn begin(&mut self, now: Time, connection: &mut Connection, scheme: Option<&Scheme>) {
        self.empty_buffer = Some(connection.datagrams().send_buffer_space());
        if let Some(scheme) = scheme {
            self.extension.begin_flow(now, scheme);
        }
    }

    /// When [`transmit`](Self::transmit) has something to do, after it was called at `now`.
    pub(super) fn next_wake(&self, now: Time) -> Time {
        if self.empty_buffer.is_none() {
            return Time::NEVER;
        }
        self.extension.next_wake().map_or(Time::NEVER, |due| due.max(now + TIMER_RESOLUTION))
    }

    /// Datagrams have arrived.
    pub(super) fn on_datagrams(
        &mut self,
        now: Time,
        connection: &mut Connection,
        scheme: Option<&DrivenFlow>,
    ) {
        let totals = totals(connection);
        while let Some(datagram) = connection.datagrams().recv() {
            match (self.extension.on_datagram(now, totals, &datagram), scheme) {
                (Received::Found, Some(scheme)) => scheme.on_component_found(),
                (Received::Feedback(feedback), Some(scheme)) => {
                    let now = self.clock.instant(now);
                    let (verdict, _) = scheme.on_feedback(now, &feedback, totals.sent);
                    self.extension.count(verdict);
                }
                (Received::Marked(payload), Some(scheme)) => scheme.on_marked(payload),
                _ => {}
            }
        }
    }

    /// Passes the messages that are due to noq.
    pub(super) fn transmit(&mut self, now: Time, connection: &mut Connection, scheme: Option<&DrivenFlow>) {
        let Some(empty_buffer) = self.empty_buffer else { return };
        if let Some(scheme) = scheme
            && let Some(signal) = scheme.signal()
        {
            if let Some(datagram) = self.extension.signal(signal) {
                send(connection, datagram);
            }
            // Also if it could not be sent: the scheme may wait for it and would stop.
            scheme.on_signal_queued(signal);
        }
        if self.extension.next_wake().is_none_or(|due| due > now) {
            return;
        }
        if self.extension.wants_totals() {
            self.extension.on_totals(now, totals(connection));
        }
        // Build no message while another waits for the window, so that it is up to date when it leaves.
        if connection.datagrams().send_buffer_space() < empty_buffer {
            return;
        }
        let rtt = connection.rtt(PathId::ZERO);
        let rtt =
            rtt.and_then(|rtt| u64::try_from(rtt.as_nanos()).ok()).map_or(INITIAL_RTT, Span::from_nanos);
        while let Some(datagram) = self.extension.poll_transmit(now, rtt) {
            send(connection, datagram);
        }
    }

    /// True if the peer does not run the receiver-side component of the scheme here.
    pub(super) fn lacks_component(&self) -> bool {
        self.extension.peer_component().is_missing()
    }

    /// The state of ECT(1) on the scheme's packets.
    pub(super) fn l4s(&self) -> L4s {
        self.extension.l4s()
    }

    /// True if the receiver-side component of the peer's scheme runs here.
    pub(super) fn runs_component(&self) -> bool {
        self.extension.wants_totals()
    }

    /// Sets the number of flows of the user at this end.
    pub(super) fn on_user_flows(&mut self, now: Time, flows: u32) {
        self.extension.on_user_flows(now, flows);
    }

    /// Shows the internal values of the component that runs here.
    pub(super) fn observe(&self, observer: &mut dyn Observer) {
        if let Some(component) = self.extension.component_here() {
            component.observe(observer);
        }
    }
}

/// A datagram that noq rejects is treated as lost.
fn send(connection: &mut Connection, datagram: Vec<u8>) {
    let _ = connection.datagrams().send(datagram.into(), true);
}

fn totals(connection: &mut Connection) -> Totals {
    let stats = connection.stats();
    let with_headers = |datagrams: u64, bytes: u64| Bytes::new(bytes) + PacketSize::IPV4_HEADERS * datagrams;
    Totals {
        received_datagrams: stats.udp_rx.datagrams,
        received: with_headers(stats.udp_rx.datagrams, stats.udp_rx.bytes),
        sent: with_headers(stats.udp_tx.datagrams, stats.udp_tx.bytes),
    }
}

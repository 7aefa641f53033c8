//! One flow of UDP packets as the taps see it.

use crate::realtime::{Event, List, Watched, delivery, flow_of_port, transport};
use crate::tap::{SegmentView, Tap};
use cellcc_experiment::{Delivery, FlowMeter, FlowSetup, Scenario};
use cellcc_units::Time;

/// An event of a packet to the flow's receiver.
#[derive(Debug, Clone, Copy)]
pub(super) enum Seen {
    /// The packet arrived at the link.
    Sent,
    /// The packet was dropped.
    Lost,
    /// The packet arrived at the receiver.
    Delivered(Delivery),
}

/// Measures one flow.
#[derive(Debug)]
pub(super) struct UdpFlow {
    meter: FlowMeter,
    /// The times at which it is active; packets at the link before and after are no part of its throughput.
    active: (Time, Time),
    arrived_packets: u64,
}

impl UdpFlow {
    /// The flow `setup`, before its first packet.
    pub(super) fn new(scenario: &Scenario, setup: &FlowSetup) -> Self {
        let end = Time::ZERO + scenario.duration;
        let stop = setup.stop.unwrap_or(end).min(end);
        Self {
            meter: FlowMeter::new(scenario.endpoint.series_bin),
            active: (setup.start.min(stop), stop),
            arrived_packets: 0,
        }
    }

    pub(super) fn meter(&self) -> &FlowMeter {
        &self.meter
    }

    /// The set start and end of the flow.
    pub(super) fn active(&self) -> (Time, Time) {
        self.active
    }

    /// All packets that arrived for its receiver while it was active.
    pub(super) fn arrived_packets(&self) -> u64 {
        self.arrived_packets
    }
}

impl Watched for UdpFlow {
    type Seen = Seen;

    fn taps(_up: List<Seen>, down: List<Seen>) -> (Box<dyn Tap>, Box<dyn Tap>) {
        (Box::new(NoTap), Box::new(DataTap(down)))
    }

    fn on(&mut self, now: Time, seen: &Seen) {
        let (start, stop) = self.active;
        match seen {
            Seen::Sent if start <= now && now <= stop => self.meter.on_sent(false),
            Seen::Lost if start <= now && now <= stop => self.meter.on_lost(),
            Seen::Delivered(delivery) if start <= delivery.queued_at && delivery.departed_at <= stop => {
                self.arrived_packets += 1;
                self.meter.on_delivery(delivery);
            }
            Seen::Sent | Seen::Lost | Seen::Delivered(_) => {}
        }
    }
}

/// Packets back to the sender are the backend's business.
struct NoTap;

impl Tap for NoTap {
    fn arrived(&mut self, _: Time, _: &SegmentView<'_>) {}

    fn dropped(&mut self, _: Time, _: &SegmentView<'_>) {}

    fn delivered(&mut self, _: &cellcc_link::Delivery<()>, _: &SegmentView<'_>) {}
}

/// Observes the packets on the downlink.
struct DataTap(List<Seen>);

impl DataTap {
    fn note(&self, at: Time, segment: &SegmentView<'_>, seen: Seen) {
        if let Some(flow) = destination_port(segment.headers).and_then(flow_of_port) {
            self.0.push(Event { at, flow, seen });
        }
    }
}

impl Tap for DataTap {
    fn arrived(&mut self, at: Time, segment: &SegmentView<'_>) {
        self.note(at, segment, Seen::Sent);
    }

    fn dropped(&mut self, at: Time, segment: &SegmentView<'_>) {
        self.note(at, segment, Seen::Lost);
    }

    fn delivered(&mut self, link: &cellcc_link::Delivery<()>, segment: &SegmentView<'_>) {
        self.note(link.arrived_at, segment, Seen::Delivered(delivery(segment.bytes, link)));
    }
}

/// IP protocol number (RFC 768).
const UDP: u8 = 17;

fn destination_port(packet: &[u8]) -> Option<u16> {
    let (_, udp) = transport(packet).filter(|(protocol, _)| *protocol == UDP)?;
    Some(u16::from_be_bytes([*udp.get(2)?, *udp.get(3)?]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::realtime::fixtures::{self, at};
    use crate::realtime::{FIRST_PORT, Watch};
    use cellcc_units::{Bytes, Span};

    /// A flow from 1 s to 2 s.
    fn flow() -> UdpFlow {
        let setup = FlowSetup { start: at(1000), stop: Some(at(2000)), ..fixtures::flow("bulk") };
        UdpFlow::new(&fixtures::scenario("quic", &setup), &setup)
    }

    fn packet(protocol: u8, port: u16) -> Vec<u8> {
        let mut packet = vec![0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, protocol, 0, 0, 100, 64, 0, 1, 100, 64, 0, 2];
        packet.extend(9_u16.to_be_bytes());
        packet.extend(port.to_be_bytes());
        packet.extend([0; 4]);
        packet
    }

    /// The meter's results for packets of 1500 bytes that come to the link at these times, 10 ms before they leave it.
    fn measured(packet: &[u8], millis: &[u64]) -> UdpFlow {
        let watch = Watch::start(vec![flow()]).unwrap();
        let (_, mut down) = watch.taps();
        let view = SegmentView { headers: packet, offset: 0, payload: 1472, bytes: Bytes::new(1500) };
        for &sent in millis {
            down.arrived(at(sent), &view);
            let (queued_at, departed_at, arrived_at) = (at(sent), at(sent + 10), at(sent + 30));
            down.delivered(&cellcc_link::Delivery { packet: (), queued_at, departed_at, arrived_at }, &view);
        }
        watch.finish().remove(0)
    }

    #[test]
    fn what_crosses_the_link_while_the_flow_is_active_counts() {
        // A handshake, two packets within, one that leaves too late, and packets sent after the end.
        let flow = measured(&packet(UDP, FIRST_PORT), &[900, 1000, 1990, 1995, 2001]);
        let metrics = flow.meter().metrics(Bytes::ZERO, Span::ZERO);
        assert_eq!((flow.meter().delivered(), metrics.sent_packets), (Bytes::new(3000), 3));
        assert_eq!((metrics.queueing_delay_mean_ms, metrics.one_way_delay_mean_ms), (Some(10.0), Some(30.0)));
    }

    #[test]
    fn packets_of_others_are_not_measured() {
        for other in [packet(UDP, 53), packet(UDP, FIRST_PORT + 1), packet(6, FIRST_PORT), vec![0x45; 3]] {
            assert_eq!(measured(&other, &[1500]).arrived_packets(), 0, "{other:?}");
        }
    }
}

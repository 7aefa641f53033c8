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

/// What the meter has of packets of 1500 bytes that come to the link at these times, 10 ms before they leave it.
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
    // A handshake, two packets within, one that leaves too late, and what is sent after the end.
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

//! The taps for TCP: sequence numbers of data on the downlink, acknowledgements on the uplink.

use super::packet::{self, Sacks, TcpHeaders};
use crate::realtime::{Event, List, delivery, flow_of_port};
use crate::tap::{SegmentView, Tap};
use cellcc_link::Delivery;
use cellcc_units::Time;

/// The taps' events of a flow.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Seen {
    /// The sender opened the connection; data begin at `data_from`.
    Opened { data_from: u32 },
    /// Data left the sender.
    Sent { sequence: u32, payload: u32 },
    /// Data were dropped on their way.
    Lost,
    /// Data arrived at the receiver.
    Delivered { sequence: u32, payload: u32, delivery: cellcc_experiment::Delivery },
    /// An acknowledgement arrived at the sender.
    Acknowledged { next: u32, sacks: Sacks },
    /// The receiver sent an acknowledgement.
    AckSent,
}

/// Observes the data on the downlink.
pub(super) struct DataTap(pub(super) List<Seen>);

impl DataTap {
    fn note(&self, at: Time, segment: &SegmentView<'_>, seen: impl FnOnce(u32, u32) -> Seen) {
        let Some(headers) = packet::parse(segment.headers) else { return };
        let Some(flow) = flow_of_port(headers.destination_port) else { return };
        // The view of a whole packet has all of it as headers: the payload follows TCP's header.
        let payload = (segment.bytes.get() as usize).saturating_sub(headers.length) as u32;
        if payload > 0 {
            let sequence = headers.sequence.wrapping_add(segment.offset);
            self.0.push(Event { at, flow, seen: seen(sequence, payload) });
        }
    }
}

impl Tap for DataTap {
    fn arrived(&mut self, at: Time, segment: &SegmentView<'_>) {
        if let Some(TcpHeaders { is_syn: true, destination_port, sequence, .. }) =
            packet::parse(segment.headers)
            && let Some(flow) = flow_of_port(destination_port)
        {
            let seen = Seen::Opened { data_from: sequence.wrapping_add(1) };
            self.0.push(Event { at, flow, seen });
        }
        self.note(at, segment, |sequence, payload| Seen::Sent { sequence, payload });
    }

    fn dropped(&mut self, at: Time, segment: &SegmentView<'_>) {
        self.note(at, segment, |_, _| Seen::Lost);
    }

    fn delivered(&mut self, link: &Delivery<()>, segment: &SegmentView<'_>) {
        let delivery = delivery(segment.bytes, link);
        self.note(link.arrived_at, segment, |sequence, payload| Seen::Delivered {
            sequence,
            payload,
            delivery,
        });
    }
}

/// Observes the acknowledgements on the uplink.
pub(super) struct AckTap(pub(super) List<Seen>);

impl Tap for AckTap {
    fn arrived(&mut self, at: Time, segment: &SegmentView<'_>) {
        let Some(headers) = packet::parse(segment.headers) else { return };
        let Some(flow) = flow_of_port(headers.source_port) else { return };
        if headers.acknowledgement.is_some() && !headers.is_syn {
            self.0.push(Event { at, flow, seen: Seen::AckSent });
        }
    }

    fn dropped(&mut self, _: Time, _: &SegmentView<'_>) {}

    fn delivered(&mut self, link: &Delivery<()>, segment: &SegmentView<'_>) {
        let Some(headers) = packet::parse(segment.headers) else { return };
        let Some(flow) = flow_of_port(headers.source_port) else { return };
        if let Some(next) = headers.acknowledgement {
            let seen = Seen::Acknowledged { next, sacks: headers.sacks };
            self.0.push(Event { at: link.arrived_at, flow, seen });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::conversation::tests::unseen;
    use crate::kernel::packet::tests::built;
    use crate::realtime::{FIRST_PORT, Watch};
    use cellcc_units::{Bytes, Span};

    const SYN: u8 = 0x02;
    const ACK: u8 = 0x10;

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    #[test]
    fn the_segments_of_a_super_packet_are_measured_one_by_one_whatever_the_order_of_the_threads() {
        let watch = Watch::start(vec![unseen("bulk")]).unwrap();
        let (mut up, mut down) = watch.taps();
        let view = |headers, offset, payload| SegmentView {
            headers,
            offset,
            payload,
            bytes: Bytes::new(52 + u64::from(payload)),
        };
        let link = |sent, arrived| Delivery {
            packet: (),
            queued_at: at(sent),
            departed_at: at(sent + 1),
            arrived_at: at(arrived),
        };
        let (syn, data) = (built((9, FIRST_PORT), 99, 0, SYN, &[]), built((9, FIRST_PORT), 100, 0, ACK, &[]));
        let ack = built((FIRST_PORT, 9), 0, 2100, ACK, &[]);
        // The uplink's thread reports first, although its events are later.
        up.delivered(&link(30, 40), &view(&ack, 0, 0));
        down.arrived(at(0), &view(&syn, 0, 0));
        for (offset, arrived) in [(0, 31), (1000, 32)] {
            down.arrived(at(20), &view(&data, offset, 1000));
            down.delivered(&link(20, arrived), &view(&data, offset, 1000));
        }
        // A whole packet: the view has all of it as headers.
        let single = [&built((9, FIRST_PORT), 2100, 0, ACK, &[])[..], &[0; 500]].concat();
        let single = SegmentView { headers: &single, offset: 0, payload: 0, bytes: Bytes::new(552) };
        down.arrived(at(21), &single);
        down.dropped(at(21), &single);
        let flow = watch.finish().remove(0);
        let metrics = flow.meter().metrics(Bytes::ZERO, Span::ZERO);
        assert_eq!((metrics.sent_packets, metrics.lost_packets, metrics.retransmitted_packets), (3, 1, 0));
        assert_eq!((metrics.rtt_mean_ms, flow.meter().delivered()), (Some(20.0), Bytes::new(2104)));
    }

    #[test]
    fn packets_of_others_are_not_measured() {
        let watch = Watch::start(vec![unseen("bulk")]).unwrap();
        let (_, mut down) = watch.taps();
        let headers = built((9, 80), 100, 0, ACK, &[]);
        let view = SegmentView { headers: &headers, offset: 0, payload: 1000, bytes: Bytes::new(1052) };
        down.arrived(at(1), &view);
        let others = built((9, FIRST_PORT + 1), 100, 0, ACK, &[]);
        down.arrived(at(1), &SegmentView { headers: &others, ..view });
        let metrics = watch.finish()[0].meter().metrics(Bytes::ZERO, Span::ZERO);
        assert_eq!(metrics.sent_packets, 0);
    }
}

//! Our `gcc` and an independent one, kixelated's port of libwebrtc, with equal arrivals.

use cellcc_control::{ArrivalReport, Context, Ecn, Flow, Packet, ReportedPacket};
use cellcc_units::{Bytes, Time};
use goog_cc::network_control::{NetworkControllerConfig, NetworkControllerInterface};
use goog_cc::transport::{
    NetworkControlUpdate, PacketResult, ProcessInterval, RoundTripTimeUpdate, SentPacket,
    TargetRateConstraints, TransportPacketsFeedback,
};
use goog_cc::units::{DataRate, DataSize, TimeDelta, Timestamp};
use goog_cc::{GoogCcConfig, GoogCcNetworkController};

const PACKET: Bytes = Bytes::new(1200);
const CONTEXT: Context = Context::new(PACKET, Bytes::new(12_000), 1);
const START_KBITS: i64 = 300;
const FEEDBACK_US: u64 = 50_000;
const ONE_WAY_US: u64 = 25_000;
/// The effect of one more packet in a window of 150 ms of 2 Mbit/s.
const A_PACKET: f64 = 1200.0 * 8.0 / 150.0 / 2000.0;

/// The port, and its target in kbit/s.
struct Port {
    controller: GoogCcNetworkController,
    target: f64,
}

impl Port {
    fn new() -> Self {
        let constraints = TargetRateConstraints {
            at_time: Timestamp::from_micros(0),
            min_data_rate: Some(DataRate::from_kilobits_per_sec(5)),
            max_data_rate: Some(DataRate::from_kilobits_per_sec(100_000)),
            starting_rate: Some(DataRate::from_kilobits_per_sec(START_KBITS)),
        };
        let mut config = NetworkControllerConfig { constraints, ..NetworkControllerConfig::default() };
        // The delay part alone, with the Bayesian estimate of the arrival rate.
        config.field_trials.loss_based_bwe_v2.enabled = false;
        config.field_trials.robust_throughput_estimator_settings.enabled = false;
        let controller = GoogCcNetworkController::new(config, GoogCcConfig { feedback_only: false });
        Self { controller, target: START_KBITS as f64 }
    }

    fn hear(&mut self, update: NetworkControlUpdate) {
        if let Some(target) = update.target_rate {
            self.target = target.target_rate.kbps_float();
        }
    }
}

/// A packet that has left, and when it arrives, in microseconds.
#[derive(Clone, Copy)]
struct OnPath {
    packet: Packet,
    arrives_us: u64,
}

/// Both targets in kbit/s at each report. A stream of full packets leaves at our target over a link of these rates in kbit/s,
/// each for so many seconds.
fn targets(link: &[(u64, f64)]) -> Vec<(f64, f64)> {
    let scheme = cellcc_schemes::registry().parse("gcc").expect("a scheme");
    let mut flow = Flow::new(scheme.build(&CONTEXT), PACKET);
    let mut port = Port::new();
    let update = port.controller.on_process_interval(ProcessInterval {
        at_time: Timestamp::from_micros(0),
        ..ProcessInterval::default()
    });
    port.hear(update);
    let end_us = link.iter().map(|(seconds, _)| seconds * 1_000_000).sum::<u64>();
    let rate_at = |us: u64| {
        let mut ends = 0;
        let step = link.iter().find(|(seconds, _)| {
            ends += seconds * 1_000_000;
            us < ends
        });
        step.or(link.last()).expect("a link has a rate").1
    };
    let (mut next_us, mut free_us) = (1000_u64, 0_u64);
    let (mut on_path, mut found): (Vec<OnPath>, Vec<(f64, f64)>) = (Vec::new(), Vec::new());
    for feedback_us in (FEEDBACK_US..end_us).step_by(FEEDBACK_US as usize) {
        while next_us < feedback_us {
            let packet = flow.on_sent(Time::from_nanos(next_us * 1000), PACKET);
            port.controller.on_sent_packet(sent(&packet));
            free_us = free_us.max(next_us) + (9600.0 / rate_at(next_us) * 1000.0) as u64;
            on_path.push(OnPath { packet, arrives_us: free_us + ONE_WAY_US });
            let target = flow.limits().media_rate.expect("gcc gives one");
            next_us += (PACKET.as_f64() / target.as_bytes_per_sec() as f64 * 1e6) as u64;
        }
        // The report is back a way later.
        let arrived: Vec<_> =
            on_path.iter().copied().filter(|packet| packet.arrives_us + ONE_WAY_US <= feedback_us).collect();
        on_path.retain(|packet| packet.arrives_us + ONE_WAY_US > feedback_us);
        if arrived.is_empty() {
            continue;
        }
        report(&mut flow, &mut port, feedback_us, &arrived);
        let ours = flow.limits().media_rate.expect("gcc gives one").as_mbit_per_sec() * 1e3;
        found.push((ours, port.target));
    }
    found
}

fn sent(packet: &Packet) -> SentPacket {
    SentPacket {
        send_time: timestamp(packet.sent_at),
        size: DataSize::from_bytes(packet.bytes.get() as i64),
        sequence_number: packet.number as i64,
        ..SentPacket::default()
    }
}

fn timestamp(time: Time) -> Timestamp {
    Timestamp::from_micros((time.as_nanos() / 1000) as i64)
}

fn report(flow: &mut Flow, port: &mut Port, now_us: u64, arrived: &[OnPath]) {
    let now = Time::from_nanos(now_us * 1000);
    // Both have the path's round-trip time of the newest packet.
    let newest = arrived.last().expect("not empty");
    let rtt = Time::from_nanos((newest.arrives_us + ONE_WAY_US) * 1000).since(newest.packet.sent_at);
    let packets: Vec<Packet> = arrived.iter().map(|packet| packet.packet).collect();
    flow.on_ack(now, &packets, Some(rtt), None);
    let update = port.controller.on_round_trip_time_update(RoundTripTimeUpdate {
        receive_time: timestamp(now),
        round_trip_time: TimeDelta::from_micros((flow.rtt().smoothed().as_nanos() / 1000) as i64),
        smoothed: false,
    });
    port.hear(update);
    let packets = arrived.iter().map(|packet| {
        Some(ReportedPacket { arrived_at: Time::from_nanos(packet.arrives_us * 1000), ecn: Ecn::NotEct })
    });
    flow.on_arrivals(
        now,
        &ArrivalReport { begin: arrived[0].packet.number, sent_at: now, packets: packets.collect() },
    );
    let feedback = TransportPacketsFeedback {
        feedback_time: timestamp(now),
        packet_feedbacks: arrived
            .iter()
            .map(|packet| PacketResult {
                sent_packet: sent(&packet.packet),
                receive_time: Timestamp::from_micros(packet.arrives_us as i64),
                ..PacketResult::default()
            })
            .collect(),
        ..TransportPacketsFeedback::default()
    };
    let update = port.controller.on_transport_packets_feedback(feedback);
    port.hear(update);
    let update = port
        .controller
        .on_process_interval(ProcessInterval { at_time: timestamp(now), ..ProcessInterval::default() });
    port.hear(update);
}

/// Both rates until the first over-use, from which small differences part the two: the packets follow ours. The port's first
/// window of throughput is 1000 ms, where libwebrtc's and ours is 500, so that later windows of 150 ms begin at other times.
/// With 1000 ms in ours both fall to within 1 % also on the second link.
#[test]
fn both_grow_alike_find_the_overuse_in_the_same_report_and_fall_to_the_same_rate() {
    for (link, after) in [(&[(40, 1000.0)][..], 0.01), (&[(30, 2000.0), (10, 700.0)], A_PACKET)] {
        let found = targets(link);
        let fall =
            |of: fn(&(f64, f64)) -> f64| found.windows(2).position(|two| of(&two[1]) < 0.95 * of(&two[0]));
        let (ours_at, theirs_at) =
            (fall(|both| both.0).expect("over-use"), fall(|both| both.1).expect("over-use"));
        let apart = |(ours, theirs): &(f64, f64)| (ours - theirs).abs() / theirs;
        let most = found[..=ours_at].iter().map(apart).fold(0.0, f64::max);

        assert_eq!(ours_at, theirs_at, "{link:?}");
        assert!(most < 0.001, "{link:?}: {most}");
        assert!(apart(&found[ours_at + 1]) < after, "{link:?}: {:?}", found[ours_at + 1]);
    }
}

//! Our `gcc` and an independent one, kixelated's port of libwebrtc, with equal arrivals.

use cellcc_control::{ArrivalReport, Context, Ecn, Flow, Packet, ReportedPacket};
use cellcc_units::{Bytes, Rate, Time};
use goog_cc::network_control::{NetworkControllerConfig, NetworkControllerInterface};
use goog_cc::transport::{
    NetworkAvailability, NetworkControlUpdate, PacedPacketInfo, PacketResult, ProbeClusterConfig,
    ProcessInterval, RoundTripTimeUpdate, SentPacket, TargetRateConstraints, TransportLossReport,
    TransportPacketsFeedback,
};
use goog_cc::units::{DataRate, DataSize, TimeDelta, Timestamp};
use goog_cc::{GoogCcConfig, GoogCcNetworkController};
use std::collections::VecDeque;

const PACKET: Bytes = Bytes::new(1200);
const CONTEXT: Context = Context::new(PACKET, Bytes::new(12_000), 1).with_most_media(Some(MOST_MEDIA));
/// Half of the port's highest rate: no probe is faster than twice that.
const MOST_MEDIA: Rate = Rate::from_bytes_per_sec(6_250_000);
const START_KBITS: i64 = 300;
const FEEDBACK_US: u64 = 50_000;
const ONE_WAY_US: u64 = 25_000;
/// The effect of one more packet in a window of 150 ms on 0.85 of the arriving rate, in kbit/s.
const A_PACKET: f64 = 0.85 * 1200.0 * 8.0 / 150.0;

/// The port, its target in kbit/s, and its probes that have not left in full, with the packets and bytes that have.
struct Port {
    controller: GoogCcNetworkController,
    target: f64,
    probes: VecDeque<(ProbeClusterConfig, i64, i64)>,
}

impl Port {
    fn new(probes: bool) -> Self {
        let constraints = TargetRateConstraints {
            at_time: Timestamp::from_micros(0),
            min_data_rate: Some(DataRate::from_kilobits_per_sec(5)),
            max_data_rate: Some(DataRate::from_kilobits_per_sec(100_000)),
            starting_rate: Some(DataRate::from_kilobits_per_sec(START_KBITS)),
        };
        let mut config = NetworkControllerConfig { constraints, ..NetworkControllerConfig::default() };
        // With the Bayesian estimate of the arrival rate.
        config.field_trials.robust_throughput_estimator_settings.enabled = false;
        let controller = GoogCcNetworkController::new(config, GoogCcConfig { feedback_only: false });
        let mut port = Self { controller, target: START_KBITS as f64, probes: VecDeque::new() };
        let at_time = Timestamp::from_micros(0);
        let update = port
            .controller
            .on_network_availability(NetworkAvailability { at_time, network_available: probes });
        port.hear(update);
        let update =
            port.controller.on_process_interval(ProcessInterval { at_time, ..ProcessInterval::default() });
        port.hear(update);
        port
    }

    fn hear(&mut self, update: NetworkControlUpdate) {
        if let Some(target) = update.target_rate {
            self.target = target.target_rate.kbps_float();
        }
        self.probes.extend(update.probe_cluster_configs.into_iter().map(|probe| (probe, 0, 0)));
    }

    /// The rate of the probe that is to leave, in kbit/s.
    fn probe(&self) -> Option<f64> {
        self.probes.front().map(|(probe, ..)| probe.target_data_rate.kbps_float())
    }

    /// A packet leaves, as a part of a probe where there is one.
    fn on_sent(&mut self, packet: &Packet) -> SentPacket {
        let mut sent = sent(packet);
        if let Some((probe, packets, bytes)) = self.probes.front_mut() {
            let least = probe.target_data_rate.bps() * probe.target_duration.ms() / 8000;
            let count = i64::from(probe.target_probe_count);
            sent.pacing_info = PacedPacketInfo::new(probe.id, count, least);
            (*packets, *bytes) = (*packets + 1, *bytes + sent.size.bytes());
            if *packets >= count && *bytes >= least {
                self.probes.pop_front();
            }
        }
        let update = self.controller.on_sent_packet(sent);
        self.hear(update);
        sent
    }
}

/// A packet that has left, and when it arrives, in microseconds.
#[derive(Clone, Copy)]
struct OnPath {
    packet: Packet,
    sent: SentPacket,
    arrives_us: u64,
    lost: bool,
}

/// Both targets in kbit/s at each report, and both rates of each packet of a probe. A stream of full packets leaves at our target
/// and our probes over a link of these rates in kbit/s, each for so many seconds, which loses one packet in so many.
struct Run {
    targets: Vec<(f64, f64)>,
    probes: Vec<(f64, f64)>,
}

fn run(scheme: &str, link: &[(u64, f64)], lost_of: u64) -> Run {
    let mut port = Port::new(scheme == "gcc");
    let scheme = cellcc_schemes::registry().parse(scheme).expect("a scheme");
    let mut flow = Flow::new(scheme.build(&CONTEXT), PACKET);
    let mut probes = Vec::new();
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
            let sent = port.on_sent(&packet);
            free_us = free_us.max(next_us) + (9600.0 / rate_at(next_us) * 1000.0) as u64;
            let lost = packet.number % lost_of == lost_of - 1;
            on_path.push(OnPath { packet, sent, arrives_us: free_us + ONE_WAY_US, lost });
            let limits = flow.limits();
            let (target, pacing) = (limits.media_rate().zip(limits.pacing_rate)).expect("gcc gives both");
            let rate = if limits.padding().is_zero() { target } else { pacing };
            let probe = (!limits.padding().is_zero()).then(|| pacing.as_mbit_per_sec() * 1e3);
            if probe.is_some() || port.probe().is_some() {
                probes.push((probe.unwrap_or(0.0), port.probe().unwrap_or(0.0)));
            }
            next_us += (PACKET.as_f64() / rate.as_bytes_per_sec() as f64 * 1e6) as u64;
        }
        // The report is back a way later, and ends with a packet that has arrived.
        let reported = |packet: &OnPath| packet.arrives_us + ONE_WAY_US <= feedback_us;
        let last = on_path.iter().rposition(|packet| reported(packet) && !packet.lost);
        let Some(last) = last else { continue };
        let arrived: Vec<_> = on_path.drain(..=last).collect();
        report(&mut flow, &mut port, feedback_us, &arrived);
        let ours = flow.limits().media_rate().expect("gcc gives one").as_mbit_per_sec() * 1e3;
        found.push((ours, port.target));
    }
    Run { targets: found, probes }
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
    let there = || arrived.iter().filter(|packet| !packet.lost);
    let newest = there().next_back().expect("not all are lost");
    let rtt = Time::from_nanos((newest.arrives_us + ONE_WAY_US) * 1000).since(newest.packet.sent_at);
    let packets: Vec<Packet> = there().map(|packet| packet.packet).collect();
    flow.on_ack(now, &packets, Some(rtt), None);
    let update = port.controller.on_round_trip_time_update(RoundTripTimeUpdate {
        receive_time: timestamp(now),
        round_trip_time: TimeDelta::from_micros((flow.rtt().smoothed().as_nanos() / 1000) as i64),
        smoothed: false,
    });
    port.hear(update);
    let packets = arrived.iter().map(|packet| {
        let arrived_at = Time::from_nanos(packet.arrives_us * 1000);
        (!packet.lost).then_some(ReportedPacket { arrived_at, ecn: Ecn::NotEct })
    });
    flow.on_arrivals(
        now,
        &ArrivalReport { begin: arrived[0].packet.number, sent_at: now, packets: packets.collect() },
    );
    let lost = arrived.iter().filter(|packet| packet.lost).count() as u64;
    let update = port.controller.on_transport_loss_report(TransportLossReport {
        receive_time: timestamp(now),
        packets_lost_delta: lost,
        packets_received_delta: arrived.len() as u64 - lost,
        ..TransportLossReport::default()
    });
    port.hear(update);
    let feedback = TransportPacketsFeedback {
        feedback_time: timestamp(now),
        packet_feedbacks: arrived
            .iter()
            .map(|packet| {
                let arrives = Timestamp::from_micros(packet.arrives_us as i64);
                let receive_time = if packet.lost { Timestamp::plus_infinity() } else { arrives };
                PacketResult { sent_packet: packet.sent, receive_time, ..PacketResult::default() }
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
/// window of throughput is 1000 ms, where libwebrtc's and ours is 500, so that later windows of 150 ms begin at other times, and
/// may have a packet more or less.
#[test]
fn both_grow_alike_find_the_overuse_in_the_same_report_and_fall_to_the_same_rate() {
    for link in [&[(40, 1000.0)][..], &[(30, 2000.0), (10, 700.0)]] {
        let found = run("gcc(probes=off)", link, u64::MAX).targets;
        let fall =
            |of: fn(&(f64, f64)) -> f64| found.windows(2).position(|two| of(&two[1]) < 0.95 * of(&two[0]));
        let (ours_at, theirs_at) =
            (fall(|both| both.0).expect("over-use"), fall(|both| both.1).expect("over-use"));
        let apart = |(ours, theirs): &(f64, f64)| (ours - theirs).abs() / theirs;
        let most = found[..=ours_at].iter().map(apart).fold(0.0, f64::max);

        assert_eq!(ours_at, theirs_at, "{link:?}");
        assert!(most < 0.001, "{link:?}: {most}");
        let (ours, theirs) = found[ours_at + 1];
        assert!((ours - theirs).abs() < A_PACKET, "{link:?}: {ours} and {theirs}");
    }
}

/// One packet in ten and one in a hundred is lost. In the last 5 s the first window of throughput, whose length differs, is forgotten.
#[test]
fn both_come_to_the_same_rate_by_loss() {
    for lost_of in [10, 100] {
        let found = run("gcc(probes=off)", &[(20, 50_000.0)], lost_of).targets;
        let last = &found[found.len() - 95..];
        let apart = last.iter().map(|(ours, theirs)| (ours - theirs).abs() / theirs).fold(0.0, f64::max);
        assert!(apart < 0.001, "{lost_of}: {apart}");
    }
}

#[test]
fn both_send_the_same_probes_and_find_the_same_rate() {
    let Run { targets, probes } = run("gcc", &[(3, 18_000.0)], u64::MAX);
    for (number, (ours, theirs)) in probes.iter().enumerate() {
        assert!(
            (ours - theirs).abs() < 0.001 * theirs,
            "packet {number} of probes: {ours} and {theirs} kbit/s"
        );
    }
    assert!(probes.len() > 80, "{}", probes.len());
    // The link is found, and the rate has not begun to grow, which the first window of throughput bounds.
    let (ours, theirs) = targets[10];
    assert!((ours - theirs).abs() < 0.001 * theirs && ours > 16_000.0, "{ours} and {theirs} kbit/s");
}

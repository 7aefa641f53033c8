//! Events of real QUIC beyond the simulator: marks of routers, and packets of another size.

use cellcc_control::{Context, Episode, Event, Flow, Packet};
use cellcc_units::{Bytes, Span, Time};

const CONTEXT: Context = Context::new(Bytes::new(1200), Bytes::new(12_000), 1);
const RTT: Span = Span::from_millis(50);
const LARGER: Bytes = Bytes::new(1452);

/// A flow of `scheme` that has filled its window four times, with the packets of the last one in flight, at the time at
/// which their acknowledgements are due.
fn running(scheme: &str) -> (Flow, Vec<Packet>, Time) {
    let mut flow =
        Flow::new(cellcc_schemes::registry().parse(scheme).unwrap().build(&CONTEXT), CONTEXT.packet);
    let mut now = Time::ZERO + Span::from_millis(1);
    let mut packets: Vec<Packet> = Vec::new();
    for _ in 0..4 {
        for packet in packets.drain(..) {
            flow.on_ack(now, &[packet], Some(RTT), None);
        }
        while packets.len() < 100
            && flow.inflight() + CONTEXT.packet <= flow.limits().window
            && flow.limits().budget.is_none_or(|budget| budget >= CONTEXT.packet)
        {
            packets.push(flow.on_sent(now, CONTEXT.packet));
        }
        flow.mark_window_limited();
        now += RTT;
    }
    (flow, packets, now)
}

#[test]
fn a_mark_cuts_the_window_as_a_loss_does() {
    for scheme in ["newreno", "cubic", "vegas", "westwood", "c2tcp", "reminis", "nacubic"] {
        let (mut lossy, packets, now) = running(scheme);
        let (mut marked, ..) = running(scheme);
        let before = marked.limits().window;
        lossy.on_loss(now, &packets[..1]);
        assert_eq!(marked.on_congestion_mark(now, packets[0].sent_at), Episode::Begins, "{scheme}");
        assert_eq!(marked.limits().window, lossy.limits().window, "{scheme}");
        assert!(marked.limits().window < before, "{scheme}: {before} is not cut");
    }
}

#[test]
fn further_marks_and_losses_of_an_episode_change_nothing() {
    let (mut flow, packets, now) = running("newreno");
    assert_eq!(flow.on_congestion_mark(now, packets[0].sent_at), Episode::Begins);
    let cut = flow.limits().window;
    assert_eq!(flow.on_congestion_mark(now, packets[1].sent_at), Episode::GoesOn);
    assert_eq!(flow.on_loss(now, &packets[..1]), Episode::GoesOn);
    assert_eq!(flow.limits().window, cut);
    let later = flow.on_sent(now + RTT, CONTEXT.packet);
    assert_eq!(flow.on_congestion_mark(now + RTT * 2, later.sent_at), Episode::Begins, "the next episode");
    assert!(flow.limits().window < cut);
}

#[test]
fn a_cut_for_a_mark_is_not_given_back() {
    for scheme in ["newreno", "cubic", "westwood", "c2tcp"] {
        let (mut flow, packets, now) = running(scheme);
        flow.on_loss(now, &packets[..1]);
        let later = flow.on_sent(now + RTT, CONTEXT.packet);
        flow.on_congestion_mark(now + RTT * 2, later.sent_at);
        let cut = flow.limits().window;
        flow.on_event(now + RTT * 2, Event::SpuriousLoss);
        assert_eq!(flow.limits().window, cut, "{scheme}");
    }
}

#[test]
fn schemes_that_go_by_delay_or_rate_take_a_mark_for_nothing() {
    for scheme in ["bbr", "bbr2", "rbbr", "verus", "copa", "vivace", "abc", "sprout", "tide", "fixed-window"]
    {
        let (mut flow, packets, now) = running(scheme);
        let before = flow.limits();
        flow.on_congestion_mark(now, packets[0].sent_at);
        assert_eq!(flow.limits().window, before.window, "{scheme}");
        assert_eq!(flow.limits().pacing_rate, before.pacing_rate, "{scheme}");
    }
}

#[test]
fn no_window_changes_with_the_size_of_packets() {
    let registry = cellcc_schemes::registry();
    // Sprout's heartbeat, and SCReAM's packets beyond its windows, have the present size.
    for info in registry.schemes().iter().filter(|info| !["sprout", "scream"].contains(&&*info.name)) {
        let (mut flow, packets, now) = running(&info.name);
        // In recovery no law of growth changes its window at an acknowledgement; nor does Reminis within an interval.
        flow.on_loss(now, &packets[..1]);
        if flow.next_timer().is_some_and(|due| due <= now) {
            flow.on_timer(now);
        }
        let before = flow.limits().window;
        flow.set_packet_size(LARGER);
        if ["newreno", "cubic", "vegas", "westwood", "c2tcp", "reminis", "nacubic"].contains(&&*info.name) {
            flow.on_ack(now, &packets[1..2], Some(RTT), None);
        } else {
            flow.on_sent(now, Bytes::ZERO);
        }
        let after = flow.limits().window;
        let difference = before.max(after) - before.min(after);
        assert!(difference <= Bytes::new(1), "{}: {after} after {before}", info.name);
    }
}

#[test]
fn the_smallest_window_is_two_packets_of_the_present_size() {
    for scheme in ["newreno", "cubic", "vegas", "westwood", "c2tcp"] {
        let (mut flow, packets, now) = running(scheme);
        flow.set_packet_size(LARGER);
        flow.on_persistent_congestion(now, &packets[..1]);
        assert_eq!(flow.limits().window, LARGER * 2, "{scheme}");
    }
}

#[test]
fn bbr_sends_at_once_what_is_a_packet_now() {
    let (mut flow, _, now) = running("bbr(pacing=on)");
    flow.set_packet_size(LARGER);
    flow.on_sent(now, LARGER);
    assert_eq!(flow.limits().send_quantum.get() % LARGER.get(), 0, "{:?}", flow.limits());
}

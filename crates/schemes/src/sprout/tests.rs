use super::*;
use crate::testing::CONTEXT;
use cellcc_control::Flow;

fn flow(scheme: &str) -> Flow {
    let scheme = crate::registry().parse(scheme).expect("a scheme");
    Flow::new(scheme.build(&CONTEXT), CONTEXT.packet)
}

fn millis(millis: u64) -> Time {
    Time::ZERO + Span::from_millis(millis)
}

/// A forecast of so many packets in each tick, after the packet of this number has arrived.
fn forecast(sequence: u32, newest: u64, each_tick: u64) -> Feedback {
    let amounts = std::array::from_fn(|tick| CONTEXT.packet * (each_tick * (tick as u64 + 1)));
    Forecast { sequence, newest, amounts }.encode().expect("it fits")
}

fn budget(flow: &Flow) -> f64 {
    flow.limits().budget.expect("always").in_packets(CONTEXT.packet)
}

#[test]
fn it_sends_what_five_ticks_drain_less_what_is_in_the_queue() {
    let mut flow = flow("sprout");
    assert_eq!(budget(&flow), 1.0, "a heartbeat before the first forecast");
    for _ in 0..3 {
        flow.on_sent(millis(0), CONTEXT.packet);
    }
    let sent = flow.sent();
    assert_eq!(flow.on_feedback(millis(40), &forecast(1, 0, 4), sent), Verdict::Taken);
    // Five ticks of four, less the two that have not arrived.
    assert_eq!(budget(&flow), 18.0);
    flow.on_sent(millis(40), CONTEXT.packet);
    assert_eq!(budget(&flow), 17.0);
    // A tick drains four of the three in the queue, and the forecast reaches a tick further.
    flow.on_timer(millis(60));
    assert_eq!(budget(&flow), 20.0);
    // At the end of the forecast nothing more is known; a heartbeat is due.
    flow.on_timer(millis(200));
    assert_eq!(budget(&flow), 1.0);
}

#[test]
fn the_authors_program_drains_more_with_each_tick() {
    let budgets = ["sprout", "sprout(profile=code)"].map(|scheme| {
        let mut flow = flow(scheme);
        for _ in 0..20 {
            flow.on_sent(millis(0), CONTEXT.packet);
        }
        let sent = flow.sent();
        flow.on_feedback(millis(0), &forecast(1, 0, 4), sent);
        // Nineteen less four and four; or less four and eight. The first was a heartbeat, which has arrived.
        flow.on_timer(millis(40));
        budget(&flow)
    });
    assert_eq!(budgets, [20.0 - 11.0, 20.0 - 7.0]);
}

#[test]
fn what_was_lost_waits_no_longer() {
    let mut flow = flow("sprout");
    let packets: Vec<_> = (0..10).map(|_| flow.on_sent(millis(0), CONTEXT.packet)).collect();
    flow.on_loss(millis(30), &packets[..4]);
    let sent = flow.sent();
    // Two of the ten have come after the four.
    flow.on_feedback(millis(40), &forecast(1, 5, 4), sent);
    assert_eq!(budget(&flow), 16.0);
}

#[test]
fn a_time_out_that_was_spurious_leaves_the_estimate_of_the_queue() {
    // The bug: packets that had been declared lost and came after all were subtracted twice, permanently, and that much more
    // was sent.
    let mut flow = flow("sprout");
    let packets: Vec<_> = (0..10).map(|_| flow.on_sent(millis(0), CONTEXT.packet)).collect();
    flow.on_loss(millis(300), &packets);
    flow.on_spurious_timeout(millis(310), CONTEXT.packet * 10);
    for _ in 10..16 {
        flow.on_sent(millis(310), CONTEXT.packet);
    }
    let sent = flow.sent();
    flow.on_feedback(millis(350), &forecast(1, 9, 4), sent);
    // Twenty minus the six after the ten; the first of those was a heartbeat.
    assert_eq!(budget(&flow), 15.0);
}

#[test]
fn a_forecast_that_is_old_or_cannot_be_true_changes_nothing() {
    let mut flow = flow("sprout");
    flow.on_sent(millis(0), CONTEXT.packet);
    let sent = flow.sent();
    assert_eq!(flow.on_feedback(millis(1), &forecast(5, 1, 4), sent), Verdict::Untrue);
    assert_eq!(flow.on_feedback(millis(1), &forecast(5, 0, 4), sent), Verdict::Taken);
    assert_eq!(flow.on_feedback(millis(2), &forecast(5, 0, 9), sent), Verdict::Stale);
    assert_eq!(flow.on_feedback(millis(2), &forecast(4, 0, 9), sent), Verdict::Stale);
    let garbage = Feedback::new(b"no forecast").expect("bytes");
    assert_eq!(flow.on_feedback(millis(2), &garbage, sent), Verdict::Malformed);
    assert_eq!(budget(&flow), 20.0);
}

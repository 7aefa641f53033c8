use super::*;
use crate::testing::{CONTEXT, Round};
use cellcc_control::EcnEcho;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

const RTT: Span = Span::from_millis(40);

fn round() -> Round {
    Round::new("prague", RTT, Ecn::Ect1)
}

/// True with this probability, each time it is asked.
fn draws(probability: f64) -> impl FnMut(usize) -> bool {
    let mut random = Pcg64Mcg::seed_from_u64(1);
    move |_| random.random_bool(probability)
}

#[test]
fn alpha_and_the_window_follow_the_share_of_marks() {
    let mut prague = Prague { window: 100.0, ssthresh: 100.0, ..Prague::new(&CONTEXT, 500) };
    let mut found = Vec::new();
    let mut now = Time::ZERO;
    for share in [0.1, 0.0, 0.0, 0.04, 0.02] {
        now += RTT;
        prague.acked = Bytes::new(1_000_000);
        prague.marked = Bytes::new((share * 1e6) as u64);
        prague.has_been_marked |= share > 0.0;
        prague.move_alpha(now, now, VIRTUAL_RTT);
        if share > 0.0 {
            prague.cut_to(prague.window * (1.0 - prague.alpha / 2.0));
        }
        found.push((prague.alpha, prague.window));
    }
    let expected = [
        (0.943_75, 52.8125),
        (0.884_766, 52.8125),
        (0.829_468, 52.8125),
        (0.780_126, 32.2123),
        (0.732_618, 20.4126),
    ];
    for (found, expected) in found.iter().zip(expected) {
        assert!(
            (found.0 - expected.0).abs() < 1e-6 && (found.1 - expected.1).abs() < 1e-4,
            "{found:?}, {expected:?}"
        );
    }
}

#[test]
fn the_first_mark_takes_nearly_half_of_the_window_and_ends_slow_start() {
    let mut round = round();
    (0..3).for_each(|_| round.run(|_| false));
    let before = round.window();
    assert!((before - 80.0).abs() < 1.0, "{before}");
    let mut first = true;
    round.run(|_| std::mem::take(&mut first));
    // Alpha moves first, to 1 - (1 - 1/80) / 16 = 0.938; then the round's other packets add one.
    let expected = before * (1.0 - 0.938 / 2.0) + 1.0;
    assert!((round.window() - expected).abs() < 1.0, "{}, expected {expected}", round.window());
}

#[test]
fn under_a_fixed_probability_of_marks_the_window_is_as_many_packets_as_its_law_says() {
    for (probability, packets) in [(0.01, 222.0), (0.02, 110.0), (0.05, 43.0)] {
        let mut round = round();
        let mut marks = draws(probability);
        (0..1000).for_each(|_| round.run(&mut marks));
        let windows: Vec<f64> = (0..4000)
            .map(|_| {
                round.run(&mut marks);
                round.window()
            })
            .collect();
        let mean = windows.iter().sum::<f64>() / windows.len() as f64;
        assert!((mean / packets - 1.0).abs() < 0.1, "{probability}: {mean}");
    }
}

#[test]
fn a_loss_in_a_marked_round_halves_the_window_and_time_outs_in_a_row_are_one_loss() {
    let mut round = round();
    (0..4).for_each(|_| round.run(|_| false));
    let mut marks = draws(0.02);
    (0..40).for_each(|_| round.run(&mut marks));
    let packets = round.send_window();
    round.now += RTT;
    let echo = EcnEcho { ce: packets[0].bytes, ..EcnEcho::default() };
    round.flow.on_ack(round.now, &packets[..1], Some(RTT), Some(echo));
    let before = round.window();
    round.flow.on_loss(round.now, &packets[1..2]);
    assert!((round.window() / before - 0.5).abs() < 0.01, "{} of {before}", round.window());
    let after = round.window();
    let repeated = round.flow.on_sent(round.now, CONTEXT.packet);
    round.flow.on_repeated_timeout(round.now + Span::from_secs(1), &[repeated]);
    assert_eq!(round.window(), after);
}

#[test]
fn a_loss_that_was_none_gives_the_window_back() {
    let mut prague = Prague { window: 100.0, ssthresh: 100.0, ..Prague::new(&CONTEXT, 500) };
    prague.taken = 50.0;
    prague.cut_to(50.0);
    prague.on_event(Time::ZERO, Event::SpuriousLoss);
    assert_eq!(prague.window, 100.0);
}

#[test]
fn below_25_ms_a_flow_grows_in_25_ms_as_much_as_one_with_that_rtt() {
    let growth = |rtt_ms: f64| {
        let mut prague = Prague { window: 100.0, ssthresh: 50.0, ..Prague::new(&CONTEXT, 0) };
        prague.left_slow_start = Some(0);
        // As many packets as 25 ms hold.
        let srtt = Span::from_secs_f64(rtt_ms / 1e3);
        prague.grow(CONTEXT.packet * (100.0 * 25.0 / rtt_ms) as u64, srtt);
        (prague.window - 100.0) * 25.0 / rtt_ms
    };
    assert!((growth(5.0) - growth(25.0)).abs() < 0.01, "{} {}", growth(5.0), growth(25.0));
}

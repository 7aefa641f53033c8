use super::*;

fn at(ms: u64) -> Time {
    Time::ZERO + Span::from_millis(ms)
}

#[test]
fn the_average_follows_the_largest_delays_and_its_change_has_their_sign() {
    let mut delays = DelayEstimator::new(0.2, 0.875, true);
    assert_eq!(delays.end_epoch(at(5)), None);
    for (epoch, before, after, rising) in [
        ([40.0, 30.0], 40.0, 40.0, false),
        ([35.0, 50.0], 40.0, 48.0, true),
        ([45.0, 20.0], 48.0, 45.6, false),
    ] {
        epoch.into_iter().for_each(|delay| delays.add(delay));
        let found = delays.end_epoch(at(10)).expect("delays");
        assert!(
            (found.before_ms - before).abs() < 1e-9 && (found.after_ms - after).abs() < 1e-9,
            "{found:?}"
        );
        assert_eq!(found.rising, rising);
    }
    assert_eq!(delays.min_ms(), Some(20.0));
}

#[test]
fn silence_counts_as_delay_once_it_is_longer_and_not_by_the_paper() {
    for (counts, after_ms) in [(true, 50.0), (false, 40.0)] {
        let mut delays = DelayEstimator::new(0.0, 0.875, counts);
        delays.add(40.0);
        delays.heard_at(at(100));
        let ended = |delays: &mut DelayEstimator, ms| delays.end_epoch(at(ms)).expect("delays");
        assert!(!ended(&mut delays, 105).rising);
        assert!(!ended(&mut delays, 135).rising, "35 ms of silence are no more than the 40 ms before");
        let silent = ended(&mut delays, 150);
        assert!(silent.rising == counts && (silent.after_ms - after_ms).abs() < 1e-9);
    }
}

#[test]
fn the_smoothed_delay_begins_with_the_first() {
    let mut delays = DelayEstimator::new(0.2, 0.875, true);
    delays.add(80.0);
    delays.add(160.0);
    assert!((delays.smoothed_ms().expect("set") - 90.0).abs() < 1e-9);
}

#[test]
fn a_minimum_that_is_not_met_for_its_lifetime_is_measured_on_an_empty_queue() {
    let mut probe = MinDelayProbe::new(Span::from_secs(10));
    assert_eq!(probe.end_epoch(at(0), 20.0, 50), 20.0);
    probe.add(at(5_000), 21.0);
    probe.add(at(9_000), 60.0);
    probe.end_epoch(at(10_005), 20.0, 50);
    assert!(!probe.is_running(), "21 ms confirmed it after 5 s");
    probe.end_epoch(at(15_000), 20.0, 50);
    assert!(probe.is_running());
    probe.add(at(15_040), 40.0);
    probe.end_epoch(at(15_100), 20.0, 4);
    probe.add(at(15_150), 62.0);
    probe.add(at(15_200), 55.0);
    assert_eq!(probe.end_epoch(at(15_295), 20.0, 4), 20.0);
    assert_eq!(
        probe.end_epoch(at(15_300), 20.0, 4),
        55.0,
        "what came while the queue emptied does not count"
    );
    assert!(!probe.is_running());
}

#[test]
fn a_minimum_without_a_lifetime_is_kept() {
    let mut probe = MinDelayProbe::new(Span::ZERO);
    for secs in 0..100 {
        assert_eq!(probe.end_epoch(at(secs * 1000), 20.0, 50), 20.0);
        assert!(!probe.is_running());
    }
}

#[test]
fn a_probe_without_an_answer_changes_nothing() {
    let mut probe = MinDelayProbe::new(Span::from_secs(10));
    for ms in [0, 10_000, 10_005] {
        probe.end_epoch(at(ms), 20.0, 0);
    }
    assert!(probe.is_running());
    assert_eq!(probe.end_epoch(at(10_205), 20.0, 0), 20.0);
    assert!(!probe.is_running());
}

#[test]
fn a_packet_counts_as_lost_once_its_timer_expires() {
    let mut pending = PendingLosses::default();
    pending.add(at(10), Span::from_millis(150), 30, Bytes::new(1500));
    pending.add(at(20), Span::from_millis(150), 31, Bytes::new(1500));
    assert_eq!(pending.expire(at(159)), None);
    assert_eq!(pending.expire(at(160)).map(|packet| packet.window), Some(30));
    assert_eq!(pending.expire(at(160)), None, "the second has ten more milliseconds");
    assert_eq!(pending.forget(), Bytes::new(1500));
}

#[test]
fn three_losses_in_a_row_stand_out_from_one_in_a_hundred() {
    let mut share = LossShare::default();
    (1..=1000).for_each(|packet| share.add(packet % 100 == 0));
    assert!(share.get() < 0.02, "{}", share.get());
    (0..3).for_each(|_| share.add(true));
    assert!(share.get() > 0.02, "{}", share.get());
}

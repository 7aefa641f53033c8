use super::*;

#[test]
fn a_minimum_expires_after_ten_seconds_and_gives_way_to_any_sample() {
    let ms = Span::from_millis;
    let mut min = MinRtt::default();
    let at = |secs| Time::ZERO + Span::from_secs(secs);
    assert!(!min.update(at(1), Some(ms(20))));
    assert!(!min.update(at(5), Some(ms(30))));
    assert_eq!(min.get(), Some(ms(20)));
    assert!(!min.update(at(11), Some(ms(30))), "ten seconds, and not more");
    assert!(min.update(at(12), Some(ms(30))));
    assert_eq!(min.get(), Some(ms(30)));
}

#[test]
fn three_rounds_of_less_than_a_quarter_more_fill_the_pipe() {
    let mut pipe = FullPipe::default();
    for (mbit, reached) in [(10.0, false), (20.0, false), (24.0, false), (24.5, false), (24.9, true)] {
        pipe.on_round(Rate::from_mbit_per_sec(mbit), None);
        assert_eq!(pipe.is_reached(), reached, "at {mbit}");
    }
}

#[test]
fn a_rise_in_between_starts_the_count_again() {
    let mut pipe = FullPipe::default();
    for mbit in [10.0, 11.0, 12.0, 12.5, 13.0, 14.0] {
        pipe.on_round(Rate::from_mbit_per_sec(mbit), None);
        assert!(!pipe.is_reached());
    }
    pipe.on_round(Rate::from_mbit_per_sec(15.0), None);
    assert!(pipe.is_reached());
}

#[test]
fn a_round_that_conservation_held_back_does_not_count_and_one_at_the_paths_rate_does() {
    let mut pipe = FullPipe::default();
    let (bandwidth, half) = (Rate::from_mbit_per_sec(10.0), Rate::from_mbit_per_sec(5.0));
    pipe.on_round(bandwidth, None);
    (0..10).for_each(|_| pipe.on_round(bandwidth, Some(half)));
    assert!(!pipe.is_reached());
    (0..3).for_each(|_| pipe.on_round(bandwidth, Some(bandwidth)));
    assert!(pipe.is_reached());
}

#[test]
fn acks_in_bursts_show_as_the_size_of_a_burst_and_are_forgotten_after_ten_rounds() {
    let packet = Bytes::new(1000);
    let bandwidth = Rate::from_bytes_per_sec(1_000_000);
    let mut aggregation = Aggregation::new(packet);
    let mut now = Time::ZERO;
    for _ in 0..20 {
        now += Span::from_millis(10);
        aggregation.update(now, false, packet * 10, bandwidth, packet * 100);
    }
    assert_eq!(aggregation.extra(bandwidth), packet * 10);
    now += Span::from_millis(20);
    for _ in 0..10 {
        now += Span::from_millis(1);
        aggregation.update(now, true, packet, bandwidth, packet * 100);
    }
    assert_eq!(aggregation.extra(bandwidth), packet);
}

use super::*;
use crate::queue::Queue;
use crate::queue::backlog::testing::Full;
use cellcc_units::Rate;

fn at_micros(micros: u64) -> Time {
    Time::ZERO + Span::from_micros(micros)
}

fn queue(settings: DualPi2) -> DualQueue<Full> {
    DualQueue::new(settings, Arc::new(Capacity::constant(Rate::from_mbit_per_sec(100.0)).unwrap()), 1)
}

fn push(queue: &mut DualQueue<Full>, micros: u64, ecn: Ecn) {
    queue.push(at_micros(micros), Full { ecn }, Bytes::ZERO).expect("it decides when the service begins");
}

/// p' after updates with these delays in ms.
fn probabilities(settings: DualPi2) -> Vec<f64> {
    let mut queue = queue(settings);
    [0, 5, 20, 30, 25, 15, 15]
        .map(|delay| {
            queue.update(Span::from_millis(delay));
            (queue.base * 1e6).round() / 1e6
        })
        .to_vec()
}

#[test]
fn the_probability_follows_the_formula_with_the_constants_of_the_rfc_and_of_linux() {
    assert_eq!(probabilities(DualPi2::RFC), [0.0, 0.0135, 0.05925, 0.0915, 0.078, 0.048, 0.048]);
    assert_eq!(probabilities(DualPi2::DEFAULT), [0.0, 0.0144, 0.0632, 0.0976, 0.0832, 0.0512, 0.0512]);
}

#[test]
fn low_latency_marks_beyond_a_step_or_along_a_ramp_and_never_a_packet_that_found_none_before_it() {
    let ramp = DualPi2::RFC.marks;
    let near = |delay, expected: f64| {
        let found = ramp.probability(Span::from_micros(delay));
        assert!((found - expected).abs() < 1e-12, "{delay} us: {found}");
    };
    near(800, 0.0);
    near(1000, 0.5);
    near(1200, 1.0);
    let step = DualPi2::DEFAULT.marks;
    assert_eq!(step.probability(Span::from_micros(1000)), 0.0);
    assert_eq!(step.probability(Span::from_micros(1001)), 1.0);

    let mut queue = queue(DualPi2::DEFAULT);
    (0..3).for_each(|_| push(&mut queue, 0, Ecn::Ect1));
    let marks: Vec<bool> =
        (0..3).map(|_| queue.next(at_micros(1500)).expect("it waits").packet.is_marked()).collect();
    assert_eq!(marks, [false, false, true], "the first two found none and one");
}

/// The fractions of dropped and marked packets of 20,000 of this kind, with p' held.
fn shares(base: f64, ecn: Ecn) -> (f64, f64) {
    const PACKETS: usize = 20_000;
    let mut queue = queue(DualPi2 { marks: Ramp::of_micros(1_000_000, 1_000_000), ..DualPi2::DEFAULT });
    (0..PACKETS + 2).for_each(|_| push(&mut queue, 0, ecn));
    queue.base = base;
    let (mut left, mut marked) = (0, 0);
    while queue.len() > 2 {
        let Some(next) = queue.next(at_micros(1)) else { break };
        left += 1;
        marked += usize::from(next.packet.is_marked());
    }
    let dropped = std::iter::from_fn(|| queue.next_drop()).count();
    assert!(left + dropped >= PACKETS);
    (marked as f64 / PACKETS as f64, dropped as f64 / PACKETS as f64)
}

#[test]
fn classic_traffic_is_signalled_with_the_square_of_what_couples_to_low_latency() {
    let near = |found: (f64, f64), expected: (f64, f64)| {
        assert!((found.0 - expected.0).abs() < 0.01 && (found.1 - expected.1).abs() < 0.01, "{found:?}");
    };
    near(shares(0.2, Ecn::Ect1), (0.4, 0.0));
    near(shares(0.2, Ecn::Ect0), (0.04, 0.0));
    near(shares(0.2, Ecn::NotEct), (0.0, 0.04));
    // Overload: L drops too, and C no longer marks.
    near(shares(0.6, Ecn::Ect1), (0.64, 0.36));
    near(shares(0.6, Ecn::Ect0), (0.0, 0.36));
}

#[test]
fn two_full_packets_are_no_queue_for_the_controller() {
    let mut queue = queue(DualPi2::DEFAULT);
    queue.base = 1.0;
    push(&mut queue, 0, Ecn::NotEct);
    assert!(queue.next(at_micros(0)).is_some());
    assert_eq!(queue.next_drop().map(|dropped| dropped.at), None);
}

#[test]
fn classic_traffic_keeps_a_tenth_next_to_a_flood_of_low_latency() {
    let mut queue = queue(DualPi2::DEFAULT);
    (0..2000).for_each(|_| push(&mut queue, 0, Ecn::Ect1));
    (0..2000).for_each(|_| push(&mut queue, 0, Ecn::Ect0));
    let classic = (0..2000).filter(|_| queue.next(at_micros(1)).expect("both wait").packet.ecn == Ecn::Ect0);
    let share = classic.count() as f64 / 2000.0;
    assert!((share - 0.1).abs() < 0.002, "{share}");
}

#[test]
fn an_outage_moves_nothing_with_radio_and_otherwise_drops_all() {
    let outage = |settings| {
        let steps =
            [(1, 10.0), (9, 0.0)].map(|(secs, mbit)| (Span::from_secs(secs), Rate::from_mbit_per_sec(mbit)));
        let rate = Capacity::from_steps(steps.to_vec()).unwrap();
        let mut queue = DualQueue::<Full>::new(settings, Arc::new(rate), 1);
        (0..10).for_each(|_| push(&mut queue, 1_100_000, Ecn::Ect1));
        queue.update_until(at_micros(1_500_000));
        queue.base
    };
    assert_eq!(outage(DualPi2::RADIO), 0.0);
    assert!(outage(DualPi2::DEFAULT) > 0.9);
}

#[test]
fn settings_are_read_as_they_are_written() {
    for text in
        ["dualpi2", "dualpi2(rfc)", "dualpi2(radio, limit=2bdp)", "dualpi2(marks=2ms..10ms, min-qlen=0)"]
    {
        let queue: Queue = text.parse().expect(text);
        assert_eq!(queue.to_string().parse::<Queue>(), Ok(queue), "{text}");
    }
    for wrong in ["dualpi2(marks=3ms..1ms)", "dualpi2(k=0)", "dualpi2(update=1us)", "dualpi2(step=1ms)"] {
        assert!(wrong.parse::<Queue>().is_err(), "{wrong}");
    }
}

#[test]
fn a_second_starves_classic_traffic_where_it_waits_throughout_and_gets_less_than_a_twentieth() {
    let starved = |weight: f64| {
        let unsignalled = DualPi2 { alpha: 1e-9, beta: 1e-9, ..DualPi2::DEFAULT };
        let mut queue = queue(DualPi2 { weight: Ratio::new(weight), ..unsignalled });
        (0..4000).for_each(|_| push(&mut queue, 0, Ecn::Ect1));
        (0..100).for_each(|_| push(&mut queue, 500_000, Ecn::Ect0));
        // Until 3.5 s, and then an outage.
        (0..300).for_each(|number| assert!(queue.next(at_micros(10_000 * number + 500_000)).is_some()));
        let mut counters = QueueCounters::default();
        queue.add_counters(at_micros(9_000_000), &mut counters);
        own(&counters, "classic_starvation_s")
    };
    assert_eq!(starved(0.03), 3.0, "neither the second in which it came nor the outage's");
    assert_eq!(starved(0.1), 0.0);
}

#[test]
fn the_base_probability_is_added_up_over_time() {
    let mut queue = queue(DualPi2::RFC);
    push(&mut queue, 0, Ecn::Ect1);
    let mut counters = QueueCounters::default();
    queue.add_counters(at_micros(45_000), &mut counters);
    // p' is 0, 0.045 and 0.09225 before the updates at 15, 30 and 45 ms.
    assert_eq!(own(&counters, "p_base_mean"), Span::from_nanos(2_058_750).as_secs_f64() / 0.045);
}

/// The metric of DualPI2's own that has this key.
fn own(counters: &QueueCounters, key: &str) -> f64 {
    counters.own.metrics().find(|(metric, _)| *metric == key).expect("it reports it").1
}

use super::*;
use proptest::prelude::*;

const RULES: ProfileRules = ProfileRules {
    fit: Fit::Penalised,
    knot_spacing: 15,
    smoothing: 2.0,
    old_share: 0.875,
    learned: true,
    max_window: 40_000,
    lifetime: Span::ZERO,
};

fn at(secs: u64) -> Time {
    Time::ZERO + Span::from_secs(secs)
}

/// A link that holds 40 packets without a queue: 40 ms, then a millisecond per packet.
fn with_points(rules: ProfileRules, windows: std::ops::RangeInclusive<u64>) -> Profile {
    let mut profile = Profile::new(rules);
    for window in windows {
        profile.add(at(1), window, window.max(40) as f64);
    }
    profile
}

#[test]
fn a_point_begins_at_its_first_delay_and_follows_slowly() {
    let mut profile = Profile::new(RULES);
    profile.add(at(0), 7, 40.0);
    profile.add(at(0), 7, 80.0);
    assert_eq!(profile.points().collect::<Vec<_>>(), [(7.0, 45.0)]);
}

#[test]
fn before_the_first_curve_the_points_are_looked_up() {
    let profile = with_points(RULES, 1..=100);
    assert_eq!(profile.delay_ms(60.7), Some(60.0));
    assert_eq!(profile.delay_ms(101.0), None);
    assert_eq!(profile.window(60.0), Some(60));
    assert_eq!(profile.window(500.0), Some(1));
}

#[test]
fn every_fit_finds_the_window_of_a_delay_where_the_link_has_a_queue() {
    for fit in [Fit::Penalised, Fit::Interpolated, Fit::Monotone] {
        let mut profile = with_points(ProfileRules { fit, ..RULES }, 1..=300);
        assert!(profile.refit(at(1)));
        let window = profile.window(150.5).expect("on the curve");
        assert!((148..=152).contains(&window), "{fit:?}: {window}");
        let beyond = profile.window(350.0).expect("on its continuation");
        assert!((345..=355).contains(&beyond), "{fit:?}: {beyond}");
    }
}

#[test]
fn a_spline_needs_five_windows_and_a_monotone_curve_one() {
    let first = |fit, windows| with_points(ProfileRules { fit, ..RULES }, windows).refit(at(1));
    assert!(!first(Fit::Penalised, 1..=4));
    assert!(first(Fit::Penalised, 1..=5));
    assert!(first(Fit::Monotone, 4..=4));
}

#[test]
fn a_static_profile_keeps_its_first_curve() {
    for (learned, window) in [(true, 120), (false, 60)] {
        let mut profile =
            with_points(ProfileRules { learned, fit: Fit::Monotone, old_share: 0.0, ..RULES }, 1..=300);
        profile.refit(at(1));
        for window in 1..=300 {
            profile.add(at(2), window, window as f64 / 2.0);
        }
        profile.refit(at(2));
        assert_eq!(profile.window(60.0), Some(window), "learned: {learned}");
    }
}

#[test]
fn points_age_and_points_above_a_stop_are_dropped() {
    let mut profile = with_points(ProfileRules { lifetime: Span::from_secs(10), ..RULES }, 1..=100);
    profile.add(at(5), 50, 50.0);
    profile.drop_from(60);
    profile.refit(at(6));
    assert_eq!(profile.points().count(), 59);
    profile.refit(at(11));
    assert_eq!(profile.points().count(), 1);
    assert!(profile.curve().is_some(), "one point is too few for a new curve: the old one stays");
}

/// The linear scan of the authors' program.
fn scan(curve: &Curve, delay: f64, limit: u64) -> Option<u64> {
    (2..=limit).find(|&window| curve.delay(window as f64) > delay).map(|window| window - 1)
}

proptest! {
    #[test]
    fn halving_finds_what_a_scan_finds(
        values in prop::collection::vec(10.0..200.0f64, 1..80),
        slope in -1.0..3.0f64,
        delay in 0.0..400.0f64,
        limit in 2u64..400,
    ) {
        let curve = Curve::from_values(values, slope);
        prop_assert_eq!(curve.window(delay, limit), scan(&curve, delay, limit));
    }

    #[test]
    fn a_delay_on_the_curve_is_found_as_the_scan_finds_it(
        values in prop::collection::vec(10.0..200.0f64, 1..80), slope in 0.1..3.0f64, window in 1u64..160,
    ) {
        let curve = Curve::from_values(values, slope);
        let delay = curve.delay(window as f64);
        prop_assert_eq!(curve.window(delay, 400), scan(&curve, delay, 400));
    }
}

#[test]
fn the_first_crossing_counts_and_one_is_the_least() {
    // Window 3 is a hump: a delay of 35 ms never reaches the windows behind it.
    let curve = Curve::from_values(vec![20.0, 30.0, 40.0, 30.0, 50.0], 10.0);
    for (delay, window) in [(5.0, 1), (30.0, 2), (35.0, 2), (45.0, 4), (50.0, 5), (60.0, 6), (100.0, 10)] {
        assert_eq!(curve.window(delay, 40_000), Some(window), "{delay} ms");
    }
}

#[test]
fn a_curve_that_falls_at_its_end_has_no_window_for_a_delay_above_it() {
    assert_eq!(Curve::from_values(vec![20.0, 30.0, 40.0], -1.0).window(45.0, 40_000), None);
    assert_eq!(Curve::from_values(vec![20.0, 30.0, 40.0], 0.0).window(45.0, 40_000), None);
    assert_eq!(Curve::from_values(vec![20.0, 30.0, 40.0], 0.001).window(45.0, 4000), None, "the limit");
}

#[test]
fn a_curve_of_one_value_answers_with_its_first_window_whether_it_rises_or_not() {
    for slope in [-1.0, 0.0, 1.0] {
        let curve = Curve::from_values(vec![143.0], slope);
        assert_eq!(curve.window(0.0, 2), Some(1), "slope {slope}");
    }
}

#[test]
fn between_whole_windows_the_delay_lies_between_theirs() {
    let curve = Curve::from_values(vec![20.0, 30.0], 5.0);
    for (window, delay) in [(0.3, 20.0), (1.0, 20.0), (1.5, 25.0), (2.0, 30.0), (3.5, 37.5)] {
        assert!((curve.delay(window) - delay).abs() < 1e-12);
    }
}

proptest! {
    #[test]
    fn the_curve_never_falls_and_stays_within_the_points(
        steps in prop::collection::vec((1u32..9, 20.0..600.0f64, 0.1..1.0f64), 1..100),
    ) {
        let mut x = 0;
        let points: Vec<_> =
            steps.iter().map(|&(step, y, weight)| { x += step; ((f64::from(x), y), weight) }).collect();
        let curve = monotone_curve(&points).expect("a curve");
        let (low, high) = points.iter().fold((f64::MAX, f64::MIN), |(low, high), &((_, y), _)| (low.min(y), high.max(y)));
        for pair in curve.values().windows(2) {
            prop_assert!(pair[0] <= pair[1] + 1e-9);
        }
        for &value in curve.values() {
            prop_assert!((low - 1e-9..=high + 1e-9).contains(&value));
        }
        prop_assert!(curve.window(high * 2.0, u64::MAX).is_some(), "every delay has a window");
    }
}

#[test]
fn a_hump_becomes_a_step_of_the_same_mean() {
    let points = [(1.0, 20.0), (2.0, 50.0), (3.0, 40.0), (4.0, 60.0)].map(|point| (point, 1.0));
    let curve = monotone_curve(&points).expect("a curve");
    assert!((curve.delay(2.5) - 45.0).abs() < 8.0);
    assert!((curve.delay(1.0) - 20.0).abs() < 1e-9);
    assert!((curve.delay(4.0) - 60.0).abs() < 1e-9);
}

proptest! {
    #[test]
    fn the_curve_passes_through_every_point(steps in prop::collection::vec((1u32..9, 20.0..600.0f64), 2..60)) {
        let mut x = 0;
        let points: Vec<_> = steps.iter().map(|&(step, y)| { x += step; (f64::from(x), y) }).collect();
        let curve = interpolated_curve(&points).expect("a curve");
        for (x, y) in points {
            prop_assert!((curve.delay(x) - y).abs() < 1e-6, "{} for {y}", curve.delay(x));
        }
    }
}

#[test]
fn it_bends_like_a_natural_spline() {
    // Through (0, 0), (1, 1), (2, 0) in steps of ten: s'' = -3 (1/100) in the middle, slope 1.5 (1/10) at the ends.
    let curve = interpolated_curve(&[(11.0, 0.0), (21.0, 1.0), (31.0, 0.0)]).expect("a curve");
    assert!((curve.delay(16.0) - 0.6875).abs() < 1e-9);
    assert!((curve.delay(1.0) + 1.5).abs() < 1e-9, "{}", curve.delay(1.0));
    assert!((curve.delay(41.0) + 1.5).abs() < 1e-9, "{}", curve.delay(41.0));
}

#[test]
fn one_point_is_no_curve() {
    assert!(interpolated_curve(&[(5.0, 40.0)]).is_none());
}

use super::*;

#[test]
fn the_slope_is_that_of_the_line_and_zero_where_there_is_none() {
    let mut line = Regression::default();
    assert_eq!(line.slope(), 0.0);
    line.add(0.1, 0.05);
    assert_eq!(line.slope(), 0.0);
    for (x, noise) in [(0.2, 0.001), (0.3, -0.001), (0.4, -0.001), (0.5, 0.001)] {
        line.add(x, 0.02 + 0.3 * x + noise);
    }
    assert!((line.slope() - 0.3).abs() < 0.01, "{}", line.slope());
}

fn utility(settings: Settings, loss_rate: f64, rtt_gradient: f64) -> f64 {
    settings.utility(&Outcome { rate: 10.0, loss_rate, rtt_gradient })
}

#[test]
fn the_utility_is_that_of_the_papers_formula() {
    let latency = Settings { profile: Profile::Paper, utility: Utility::Latency };
    let alone = utility(latency, 0.0, 0.0);
    assert!((alone - libm::pow(10.0, 0.9)).abs() < 1e-12);
    assert!((alone - utility(latency, 0.1, 0.0) - 11.35).abs() < 1e-9, "11.35 * 10 * 0.1");
    assert!((alone - utility(latency, 0.0, 0.02) - 180.0).abs() < 1e-9, "900 * 10 * 0.02");
    assert_eq!(utility(latency, 0.0, 0.009), alone, "noise");
    assert_eq!(utility(latency, 0.0, -0.5), alone, "a falling RTT earns nothing");
    let loss = Settings { utility: Utility::Loss, ..latency };
    assert_eq!(utility(loss, 0.0, 0.5), alone);
}

#[test]
fn the_authors_program_tolerates_three_percent_and_counts_the_slope_in_even_hundredths() {
    let settings = Settings { profile: Profile::Nsdi2018, utility: Utility::Latency };
    let alone = utility(settings, 0.0, 0.019);
    assert!((alone - utility(settings, 0.03, 0.0) - 0.3).abs() < 1e-9);
    assert!((alone - utility(settings, 0.04, 0.0) - 4.54).abs() < 1e-9);
    assert!((alone - utility(settings, 0.0, 0.039) - 2266.0).abs() < 1e-9, "11330 * 10 * 0.02");
    // The bug: a falling RTT earned nothing here, so that a lower rate, which lets it fall faster, was never better.
    assert!((utility(settings, 0.0, -0.039) - alone - 2266.0).abs() < 1e-9);
}

/// WebRTC, `modules/congestion_controller/pcc/bitrate_controller_unittest.cc`,
/// `StepSizeIncreaseWhenGradientDoesntChangeSign` and `ChangeInGradientSign`, with the paper's amplifier.
#[test]
fn each_step_in_one_direction_is_amplified_more_and_a_turn_begins_anew() {
    for direction in [10.0, -10.0] {
        let mut steps = Steps::new(Profile::Paper);
        for factor in [1.0, 2.0, 3.0, 5.0, 7.0, 9.0] {
            assert_eq!(steps.change(direction, 1e9), factor * direction);
        }
        assert_eq!(steps.change(-direction, 1e9), -direction);
        assert_eq!(steps.change(direction, 1e9), direction);
    }
}

/// From that file, `InitialBoundary` and `VariousChangeRate`. After a change within the boundary WebRTC leaves it one step
/// wider than the narrowest that the paper asks for; that number of its test is not here.
#[test]
fn a_step_is_cut_to_a_boundary_that_widens_with_each_cut() {
    let mut steps = Steps::new(Profile::Paper);
    assert_eq!(steps.bound(1.0, 100.0), 1.0);
    assert_eq!(steps.bound(100.0, 100.0), 5.0);
    let mut steps = Steps::new(Profile::Paper);
    for direction in [1.0, -1.0] {
        for widened in 0..10 {
            let change = steps.change(100.0 * direction, 1.0) * direction;
            assert!((change - 0.05 - 0.1 * f64::from(widened)).abs() < 1e-9, "{change} after {widened}");
        }
    }
    assert_eq!(steps.change(100.0, 1.0), 0.05, "a turn narrows it at once");
    steps.widened = 10;
    assert_eq!((steps.bound(0.25, 1.0), steps.widened), (0.25, 2), "0.25 is what two steps allow");
    assert_eq!((steps.bound(0.05, 1.0), steps.widened), (0.05, 0));
}

/// From that file, `NoBoundaryWhenSmallGradient` and `NoChangesWhenUtilityFunctionDoesntChange`, in Mbit/s.
#[test]
fn the_gradient_is_the_difference_of_the_utilities_over_that_of_the_rates() {
    let (up, down) = (300.0 * 1.05, 300.0 * 0.95);
    assert_eq!(gradient(&[(up, 0.0), (down, 2.0 * 300.0 * 0.05)]).map(f64::round), Some(-1.0));
    assert_eq!(gradient(&[(up, 100.0), (down, 100.0)]), Some(0.0));
    assert_eq!(Steps::new(Profile::Paper).change(0.0, 300.0), 0.0);
}

#[test]
fn pairs_that_contradict_each_other_give_no_gradient_whatever_their_order() {
    let (more, less) = ((105.0, 12.0), (95.0, 10.0));
    assert_eq!(gradient(&[more, less, less, more]), Some(0.2));
    assert_eq!(gradient(&[more, less, (95.0, 12.0), (105.0, 10.0)]), None);
}

#[test]
fn the_authors_program_changes_by_half_a_megabit_at_least_and_faster_after_six_steps() {
    let mut steps = Steps::new(Profile::Nsdi2018);
    assert_eq!(steps.change(-0.01, 100.0), -0.5);
    assert_eq!([1, 3, 4, 7, 10].map(nsdi2018_amplifier), [1.0, 3.0, 4.0, 10.0, 31.0]);
}

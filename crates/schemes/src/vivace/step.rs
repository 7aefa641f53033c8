//! From the gradient of the utility to a change of the rate.

use super::settings::Profile;

/// Paper, rate control; WebRTC's port has the same: Mbit/s by which a gradient of one changes the rate (theta 0).
const CONVERSION: f64 = 1.0;
/// Paper, rate control; WebRTC's port has the same: the first step's largest share of the rate (omega 0).
const FIRST_BOUNDARY: f64 = 0.05;
/// Paper, rate control; WebRTC's port has the same: by how much that share grows with each step that it cut (delta).
const BOUNDARY_STEP: f64 = 0.1;
/// PCC-Uspace, `kMaximumProportionalChangeStepSize`: the same in the authors' program.
const NSDI2018_BOUNDARY_STEP: f64 = 0.06;
/// PCC-Uspace, branch NSDI-2018: the smallest change, in Mbit/s.
const NSDI2018_MIN_CHANGE: f64 = 0.5;

/// The gradient at the middle of pairs of rates, each of a larger and a smaller one, with their utilities; none where pairs
/// contradict each other.
pub(super) fn gradient(utilities: &[(f64, f64)]) -> Option<f64> {
    let gradients = utilities.chunks_exact(2).map(|pair| {
        let [(rate, utility), (other_rate, other_utility)] = [pair[0], pair[1]];
        (utility - other_utility) / (rate - other_rate)
    });
    let gradients: Vec<f64> = gradients.filter(|gradient| gradient.is_finite()).collect();
    let (&first, others) = gradients.split_first()?;
    let agree = others.iter().all(|other| (*other > 0.0) == (first > 0.0));
    agree.then(|| gradients.iter().sum::<f64>() / gradients.len() as f64)
}

/// The steps so far, as far as they decide on the size of the next.
#[derive(Debug)]
pub(super) struct Steps {
    profile: Profile,
    rises: bool,
    /// Steps in the present direction; none before the first, and after a gradient of zero.
    count: u32,
    /// By how many steps of the boundary it has grown.
    widened: u32,
}

impl Steps {
    pub(super) fn new(profile: Profile) -> Self {
        Self { profile, rises: true, count: 0, widened: 0 }
    }

    /// Steps in the present direction.
    pub(super) fn in_one_direction(&self) -> u32 {
        self.count
    }

    /// By how many Mbit/s `rate` changes.
    pub(super) fn change(&mut self, gradient: f64, rate: f64) -> f64 {
        if gradient == 0.0 || (gradient > 0.0) != self.rises {
            (self.rises, self.count, self.widened) = (gradient > 0.0, 0, 0);
        }
        if gradient == 0.0 {
            return 0.0;
        }
        self.count = self.count.saturating_add(1);
        let amplifier = match self.profile {
            Profile::Paper => amplifier(self.count),
            Profile::Nsdi2018 => nsdi2018_amplifier(self.count),
        };
        let change = self.bound(amplifier * CONVERSION * gradient.abs(), rate);
        let change = match self.profile {
            Profile::Paper => change,
            Profile::Nsdi2018 => change.max(NSDI2018_MIN_CHANGE),
        };
        if self.rises { change } else { -change }
    }

    /// Cuts a change to the boundary, which widens then; otherwise it narrows.
    fn bound(&mut self, change: f64, rate: f64) -> f64 {
        let boundary = self.boundary() * rate;
        if change > boundary {
            self.widened = self.widened.saturating_add(1);
            return boundary;
        }
        match self.profile {
            Profile::Paper => {
                // To the narrowest that leaves the change as it is.
                let steps = ((change / rate - FIRST_BOUNDARY) / BOUNDARY_STEP).ceil().max(0.0);
                self.widened = self.widened.min(steps as u32);
            }
            Profile::Nsdi2018 => self.widened = self.widened.saturating_sub(1),
        }
        change
    }

    fn boundary(&self) -> f64 {
        let step = match self.profile {
            Profile::Paper => BOUNDARY_STEP,
            Profile::Nsdi2018 => NSDI2018_BOUNDARY_STEP,
        };
        FIRST_BOUNDARY + f64::from(self.widened) * step
    }
}

/// Paper, the confidence amplifier: the factor of the `count`-th step in one direction.
fn amplifier(count: u32) -> f64 {
    let count = f64::from(count);
    if count <= 3.0 { count } else { 2.0 * count - 3.0 }
}

/// PCC-Uspace, `pcc_vivace_rate_controller.cpp`: the same in the authors' program.
fn nsdi2018_amplifier(count: u32) -> f64 {
    let before = f64::from(count - 1);
    match count - 1 {
        0..3 => before + 1.0,
        3..6 => 2.0 * before - 2.0,
        6..9 => 4.0 * before - 14.0,
        _ => 9.0 * before - 50.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

    /// The same file, `InitialBoundary` and `VariousChangeRate`. After a change within the boundary WebRTC leaves it one step
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

    /// The same file, `NoBoundaryWhenSmallGradient` and `NoChangesWhenUtilityFunctionDoesntChange`, in Mbit/s.
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
}

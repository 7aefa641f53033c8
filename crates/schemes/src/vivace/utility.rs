//! What an interval was worth: its rate, less what was lost and what came later.

use super::interval::Outcome;
use super::settings::{Profile, Settings, Utility};

/// Paper, utility function: the exponent of the rate (t).
const EXPONENT: f64 = 0.9;
/// Paper, utility function: the weight of the RTT's slope (b).
const LATENCY_WEIGHT: f64 = 900.0;
/// Paper, utility function: the weight of the share that is lost (c).
const LOSS_WEIGHT: f64 = 11.35;
/// Paper; WebRTC's port has the same: slopes below this are noise.
const NOISE: f64 = 0.01;
/// PCC-Uspace, branch NSDI-2018: the weight of the RTT's slope.
const NSDI2018_LATENCY_WEIGHT: f64 = 11_330.0;
/// PCC-Uspace, branch NSDI-2018: slopes count in even hundredths, cut towards zero.
const NSDI2018_SLOPE_STEP: f64 = 0.02;
/// PCC-Uspace, branch NSDI-2018: the weight of a loss of up to `NSDI2018_TOLERATED_LOSS`.
const NSDI2018_LOW_LOSS_WEIGHT: f64 = 1.0;
/// PCC-Uspace, branch NSDI-2018.
const NSDI2018_TOLERATED_LOSS: f64 = 0.03;

impl Settings {
    /// The utility of an interval.
    pub(super) fn utility(&self, outcome: &Outcome) -> f64 {
        let &Outcome { rate, loss_rate, rtt_gradient } = outcome;
        let rising = match self.profile {
            _ if self.utility == Utility::Loss => 0.0,
            Profile::Paper if rtt_gradient.abs() < NOISE => 0.0,
            Profile::Paper => LATENCY_WEIGHT * rtt_gradient.max(0.0),
            Profile::Nsdi2018 => {
                let steps = (rtt_gradient / NSDI2018_SLOPE_STEP).trunc();
                NSDI2018_LATENCY_WEIGHT * steps * NSDI2018_SLOPE_STEP
            }
        };
        let loss_weight = match self.profile {
            Profile::Nsdi2018 if loss_rate <= NSDI2018_TOLERATED_LOSS => NSDI2018_LOW_LOSS_WEIGHT,
            _ => LOSS_WEIGHT,
        };
        libm::pow(rate, EXPONENT) - rate * rising - loss_weight * rate * loss_rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        // What used to happen: a falling RTT earned nothing here, so that a lower rate, which lets it fall faster, was never better.
        assert!((utility(settings, 0.0, -0.039) - alone - 2266.0).abs() < 1e-9);
    }
}

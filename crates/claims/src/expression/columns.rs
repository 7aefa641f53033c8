//! Quantities taken from the time series of a run.

use super::Operator;
use cellcc_units::Span;

/// Quantity taken from the time series of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnUse {
    /// Reduction of the bins to one number.
    pub reduction: Reduction,
    /// The part of the run.
    pub window: Window,
}

/// A part of a run: the bins that lie in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// From here on.
    pub from: Span,
    /// To here; none: to the end.
    pub to: Option<Span>,
}

/// Reduction of the bins of a window to one number. Columns are named as in the file of series; a name without `flowN.` means
/// the column of flow 0 where the run has none of that name.
#[derive(Debug, Clone, PartialEq)]
pub enum Reduction {
    /// `window_mean(scheme; column, 10s..15s)`.
    Mean(String),
    /// `window_p95`: the 95th percentile of the bins, by nearest rank.
    P95(String),
    /// `window_max`.
    Max(String),
    /// `window_sd`: the standard deviation of the bins.
    Deviation(String),
    /// `window_peaks(scheme; column above 40, 5s..)`: the mean of those bins above a number that are at least as high as the one before
    /// and higher than the one after.
    Peaks(String, f64),
    /// `window_use(scheme; 10s..15s)`: the share of the capacity that all flows carried together.
    Use,
    /// `reached_s(scheme; column >= 0.9 * column, 10s.., for 100ms)`: seconds from the window's start until it holds for that time;
    /// infinite where it never does.
    Reached {
        /// The column.
        column: String,
        /// The comparison.
        operator: Operator,
        /// Right side of the comparison.
        threshold: Threshold,
        /// Time for which it has to hold.
        length: Span,
    },
    /// `prediction_error(scheme; column by line, within 100ms)`: the root of the mean squared error of a predictor that far ahead, by the
    /// standard deviation of the bins. `hold` predicts the last bin, `line` goes on along the last two; at 1 or above, the mean of all
    /// bins is no worse a predictor.
    Prediction {
        /// The column.
        column: String,
        /// True for `line`, false for `hold`.
        is_line: bool,
        /// How far ahead.
        ahead: Span,
    },
    /// `slope_correlation(scheme; curve from 5 to 20, within 5s)`: the rank correlation over time of the curve's slope between two places
    /// with the mean capacity of the time before.
    Slope {
        /// The curve's name.
        curve: String,
        /// From here.
        from: f64,
        /// To here.
        to: f64,
        /// The capacity's time.
        within: Span,
    },
    /// `falls(scheme; column, 900 to 50, within 3s)`: 1 where it is at least the first and not later than that at most the second.
    Falls {
        /// The column.
        column: String,
        /// From at least this.
        from: f64,
        /// To at most this.
        to: f64,
        /// Within this.
        within: Span,
    },
}

/// Right side of a comparison with a column.
#[derive(Debug, Clone, PartialEq)]
pub enum Threshold {
    /// A number.
    Number(f64),
    /// Another column, times a number.
    Column(f64, String),
}

impl Reduction {
    /// Names of their functions in expressions.
    pub(crate) const NAMES: [&'static str; 10] = [
        "window_mean",
        "window_p95",
        "window_max",
        "window_sd",
        "window_peaks",
        "window_use",
        "reached_s",
        "falls",
        "prediction_error",
        "slope_correlation",
    ];
}

//! Kinds of claims, and the verdict that each gives. The bands are those of whole kinds and are frozen: they change only for a
//! whole kind, in a commit that changes no value.

use crate::quantity::Value;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Comparison of a value with the paper's statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Delays, power, RTTs, large ratios: within a factor of the paper's, and on the same side of 1.
    Times,
    /// Throughputs or uses from 2/3 to 3/2.
    Ratio,
    /// Use, Jain's index, parts lost or saved.
    Share,
    /// Durations: within a factor of the paper's.
    Time,
    /// Rare events on one run.
    Count,
    /// The paper's own lower bound.
    AtLeast,
    /// The paper's own upper bound.
    AtMost,
    /// A theorem.
    Bound,
    /// An order of schemes, pair by pair.
    Order,
    /// A set of schemes.
    Set,
    /// Something of every trace.
    Every,
    /// Something of most traces.
    Mostly,
    /// Largest less smallest is small.
    FlatRange,
    /// Largest by smallest is near 1.
    FlatRatio,
    /// Largest less smallest is large.
    VariesRange,
    /// Largest by smallest is large.
    VariesRatio,
    /// Something that rises: `rising(list)`.
    Monotone,
    /// Jain's index.
    Fair,
    /// A correlation, with the sign that makes the paper's positive.
    Correlation,
}

/// Agreement with the paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Unknown: it cannot be expressed, or was not run.
    Untested,
    /// It does not agree.
    Miss,
    /// It agrees in part.
    Partly,
    /// It agrees.
    Hit,
}

/// The values of a hit and of a partial one, ends included.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Bands {
    pub(crate) hit: (f64, f64),
    pub(crate) partly: (f64, f64),
}

/// Within a factor of this: a hit, and partly.
const TIMES: (f64, f64) = (1.25, 1.6);
/// The part of the effect, in logarithms, that has to be there.
const OF_THE_EFFECT: (f64, f64) = (0.5, 0.25);
const RATIO: (f64, f64) = (0.05, 0.15);
const SHARE: (f64, f64) = (0.05, 0.10);
const COUNT: (f64, f64) = (2.0, 4.0);
/// Distance beyond a bound that is still partly, as a share of the bound.
const BEYOND: f64 = 0.10;
/// A share of pairs, of statements or of traces.
const ALL: (f64, f64) = (1.0, 0.75);
const MOSTLY: (f64, f64) = (0.75, 0.5);
const FLAT_RANGE: (f64, f64) = (0.05, 0.10);
const FLAT_RATIO: (f64, f64) = (1.25, 1.6);
const VARIES_RANGE: (f64, f64) = (0.2, 0.1);
const VARIES_RATIO: (f64, f64) = (1.5, 1.25);
const FAIR: (f64, f64) = (0.95, 0.85);
const CORRELATION: (f64, f64) = (0.8, 0.5);
/// The rank correlation of a list with its order: 1 only where it rises at every step.
const RISING: (f64, f64) = (1.0, 0.8);

impl Kind {
    /// All of them, by their names.
    pub(crate) const NAMES: [(&'static str, Self); 19] = [
        ("times", Self::Times),
        ("ratio", Self::Ratio),
        ("share", Self::Share),
        ("time", Self::Time),
        ("count", Self::Count),
        ("at least", Self::AtLeast),
        ("at most", Self::AtMost),
        ("bound", Self::Bound),
        ("order", Self::Order),
        ("set", Self::Set),
        ("every", Self::Every),
        ("mostly", Self::Mostly),
        ("flat range", Self::FlatRange),
        ("flat ratio", Self::FlatRatio),
        ("varies range", Self::VariesRange),
        ("varies ratio", Self::VariesRatio),
        ("monotone", Self::Monotone),
        ("fair", Self::Fair),
        ("correlation", Self::Correlation),
    ];

    /// True if it compares with a number of the paper.
    pub(crate) fn needs_number(self) -> bool {
        use Kind::{AtLeast, AtMost, Count, Ratio, Share, Time, Times};
        matches!(self, Times | Ratio | Share | Time | Count | AtLeast | AtMost)
    }

    /// True if a list holds statements, judged by the share that hold; else each number is judged, and the worst counts.
    pub(crate) fn is_of_statements(self) -> bool {
        matches!(self, Self::Order | Self::Set | Self::Every | Self::Mostly)
    }

    /// The bands around the paper's number, or the fixed ones of a kind without.
    pub(crate) fn bands(self, paper: f64) -> Bands {
        let least =
            |(hit, partly): (f64, f64)| Bands { hit: (hit, f64::INFINITY), partly: (partly, f64::INFINITY) };
        let most = |(hit, partly): (f64, f64)| Bands {
            hit: (f64::NEG_INFINITY, hit),
            partly: (f64::NEG_INFINITY, partly),
        };
        let around = |(hit, partly): (f64, f64)| Bands {
            hit: (paper - hit, paper + hit),
            partly: (paper - partly, paper + partly),
        };
        let factor = |(hit, partly): (f64, f64)| Bands {
            hit: (paper / hit, paper * hit),
            partly: (paper / partly, paper * partly),
        };
        match self {
            Self::Times => {
                let bands = factor(TIMES);
                Bands {
                    hit: same_side(paper, bands.hit, OF_THE_EFFECT.0),
                    partly: same_side(paper, bands.partly, OF_THE_EFFECT.1),
                }
            }
            Self::Ratio => around(RATIO),
            Self::Share => around(SHARE),
            Self::Time => factor(TIMES),
            Self::Count => factor(COUNT),
            Self::AtLeast => least((paper, paper - BEYOND * paper.abs())),
            Self::AtMost => most((paper, paper + BEYOND * paper.abs())),
            Self::Bound => Bands { hit: (1.0, 1.0), partly: (1.0, 1.0) },
            Self::Order | Self::Set | Self::Every => least(ALL),
            Self::Mostly => least(MOSTLY),
            Self::FlatRange => most(FLAT_RANGE),
            Self::FlatRatio => most(FLAT_RATIO),
            Self::VariesRange => least(VARIES_RANGE),
            Self::VariesRatio => least(VARIES_RATIO),
            Self::Fair => least(FAIR),
            Self::Correlation => least(CORRELATION),
            Self::Monotone => least(RISING),
        }
    }
}

/// The part of a band that has at least `part` of the paper's effect, in logarithms, on the paper's side of 1.
fn same_side(paper: f64, (low, high): (f64, f64), part: f64) -> (f64, f64) {
    let least = libm::pow(paper, part);
    if paper >= 1.0 { (low.max(least), high) } else { (low, high.min(least)) }
}

impl Bands {
    pub(crate) fn verdict(&self, value: f64) -> Verdict {
        // Values and bounds are decimal numbers that are not exact: 0.9 - 0.75 is below 0.15.
        const NOISE: f64 = 1e-9;
        let is_in = |(low, high): (f64, f64)| {
            let slack = |bound: f64| if bound.is_finite() { NOISE * bound.abs().max(1.0) } else { 0.0 };
            value >= low - slack(low) && value <= high + slack(high)
        };
        match value {
            value if value.is_nan() => Verdict::Untested,
            _ if is_in(self.hit) => Verdict::Hit,
            _ if is_in(self.partly) => Verdict::Partly,
            _ => Verdict::Miss,
        }
    }

    /// True if the intervals of a list's numbers, or that of one number, reach into another verdict: the worst number decides.
    pub(crate) fn differ_in(&self, intervals: &[(f64, f64)]) -> bool {
        let range = |&(low, high): &(f64, f64)| {
            let edges = [self.hit.0, self.hit.1, self.partly.0, self.partly.1];
            let inside = edges.into_iter().filter(|edge| low < *edge && *edge < high);
            let best = inside.chain([low, high]).map(|value| self.verdict(value)).max();
            (self.verdict(low).min(self.verdict(high)), best)
        };
        let (worst, best): (Vec<_>, Vec<_>) = intervals.iter().map(range).unzip();
        worst.into_iter().min() != best.into_iter().flatten().min()
    }
}

/// The verdict on a value: the worst of several numbers', or that of the share of statements that hold.
pub(crate) fn judge(kind: Kind, bands: Bands, value: &Value) -> Verdict {
    match value {
        Value::Number(number) => bands.verdict(*number),
        Value::List(values) if kind.is_of_statements() => bands.verdict(share(values)),
        Value::List(values) => {
            values.iter().map(|value| bands.verdict(*value)).min().unwrap_or(Verdict::Untested)
        }
    }
}

/// The share of statements that hold; NaN where one is unknown.
pub(crate) fn share(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Untested => "untested",
            Self::Miss => "miss",
            Self::Partly => "partly",
            Self::Hit => "hit",
        })
    }
}

impl FromStr for Verdict {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let all = [Self::Untested, Self::Miss, Self::Partly, Self::Hit];
        let shown: String = text.chars().take(40).collect();
        all.into_iter()
            .find(|verdict| verdict.to_string() == text)
            .ok_or_else(|| format!("`{shown}` is no verdict; there are hit, partly, miss and untested"))
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::NAMES.into_iter().find(|(_, kind)| kind == self).map_or("", |(name, _)| name))
    }
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names: Vec<&str> = Self::NAMES.iter().map(|(name, _)| *name).collect();
        let shown: String = text.chars().take(40).collect();
        Self::NAMES.into_iter().find(|(name, _)| *name == text).map(|(_, kind)| kind).ok_or_else(|| {
            format!(
                "`{shown}` is no kind of claim{}",
                cellcc_units::instead(&shown, "there are", &names.join(", "))
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Verdict::{Hit, Miss, Partly, Untested};

    fn verdicts(kind: Kind, paper: f64, values: &[f64]) -> Vec<Verdict> {
        values.iter().map(|value| kind.bands(paper).verdict(*value)).collect()
    }

    /// The bands as the specification has them, at both sides of each end.
    #[test]
    fn each_kind_has_the_bands_of_its_row() {
        assert_eq!(
            verdicts(Kind::Times, 5.0, &[3.12, 3.13, 3.99, 4.0, 6.25, 6.26, 8.0, 8.01]),
            [Miss, Partly, Partly, Hit, Hit, Partly, Partly, Miss]
        );
        // Half of the effect of 1.4 is 1.183, a quarter 1.088.
        assert_eq!(
            verdicts(Kind::Times, 1.4, &[1.08, 1.09, 1.18, 1.19, 1.75]),
            [Miss, Partly, Partly, Hit, Hit]
        );
        assert_eq!(
            verdicts(Kind::Times, 0.8, &[0.64, 0.89, 0.9, 0.94, 0.95]),
            [Hit, Hit, Partly, Partly, Miss]
        );
        assert_eq!(
            verdicts(Kind::Ratio, 1.1, &[1.05, 1.15, 1.16, 1.25, 1.26]),
            [Hit, Hit, Partly, Partly, Miss]
        );
        assert_eq!(
            verdicts(Kind::Share, 0.9, &[0.75, 0.8, 0.85, 0.95, 1.0]),
            [Miss, Partly, Hit, Hit, Partly]
        );
        assert_eq!(
            verdicts(Kind::Count, 20.0, &[4.9, 5.0, 10.0, 40.0, 80.0]),
            [Miss, Partly, Hit, Hit, Partly]
        );
        assert_eq!(verdicts(Kind::AtLeast, 2.4, &[2.15, 2.16, 2.4]), [Miss, Partly, Hit]);
        assert_eq!(verdicts(Kind::AtMost, 20.0, &[20.0, 22.0, 22.1]), [Hit, Partly, Miss]);
        assert_eq!(verdicts(Kind::Bound, 0.0, &[0.0, 1.0]), [Miss, Hit]);
        assert_eq!(verdicts(Kind::Order, 0.0, &[0.74, 0.75, 1.0]), [Miss, Partly, Hit]);
        assert_eq!(verdicts(Kind::Mostly, 0.0, &[0.49, 0.5, 0.75]), [Miss, Partly, Hit]);
        assert_eq!(verdicts(Kind::FlatRange, 0.0, &[0.05, 0.1, 0.11]), [Hit, Partly, Miss]);
        assert_eq!(verdicts(Kind::VariesRatio, 0.0, &[1.24, 1.25, 1.5]), [Miss, Partly, Hit]);
        assert_eq!(verdicts(Kind::Fair, 0.0, &[0.84, 0.85, 0.95]), [Miss, Partly, Hit]);
        assert_eq!(verdicts(Kind::Correlation, 0.0, &[-0.9, 0.5, 0.8]), [Miss, Partly, Hit]);
        assert_eq!(verdicts(Kind::Monotone, 0.0, &[0.79, 0.8, 1.0]), [Miss, Partly, Hit]);
        assert_eq!(verdicts(Kind::Share, 0.9, &[f64::NAN]), [Untested]);
    }

    #[test]
    fn of_several_numbers_the_worst_counts_and_of_statements_their_share() {
        let judged = |kind: Kind, values: &[f64]| judge(kind, kind.bands(0.8), &Value::List(values.to_vec()));
        assert_eq!(judged(Kind::Share, &[0.8, 0.88, 0.8]), Partly);
        assert_eq!(judged(Kind::Order, &[1.0, 1.0, 1.0, 0.0]), Partly);
        assert_eq!(judged(Kind::Order, &[1.0, f64::NAN]), Untested);
    }

    #[test]
    fn an_interval_that_spans_a_band_reaches_into_another_verdict() {
        let bands = Kind::Share.bands(0.5);
        let differ = |intervals: &[(f64, f64)]| bands.differ_in(intervals);
        assert!(!differ(&[]) && !differ(&[(0.46, 0.54)]) && differ(&[(0.44, 0.5)]) && differ(&[(0.1, 0.9)]));
        // A second number that may be a hit or partly moves a hit, and not a miss.
        assert!(differ(&[(0.46, 0.54), (0.44, 0.5)]) && !differ(&[(0.1, 0.2), (0.44, 0.5)]));
    }
}

//! Detail in which the time series and curves of runs are kept.

use cellcc_experiment::{Curve, Record};
use std::str::FromStr;

/// Detail in which the time series and curves of runs are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SeriesDetail {
    /// Nothing: the report has no figures over time.
    Off,
    /// Every series, and of each curve the points that a figure can show apart.
    #[default]
    Sampled,
    /// Everything: a Verus profile has ten thousand points every second.
    Full,
}

/// Points of a curve that are nearer to each other than this share of their horizontal place lie on each other in a figure
/// of a column's width.
const APART: f64 = 0.04;

impl SeriesDetail {
    /// Removes the parts of a Record that are not to be kept.
    pub(crate) fn apply(self, record: &mut Record) {
        match self {
            Self::Full => {}
            Self::Sampled => record.curves.iter_mut().for_each(sample),
            Self::Off => {
                record.series.columns.clear();
                record.curves.clear();
            }
        }
    }
}

/// Keeps the first point of each stretch of the horizontal axis, and every point at zero or below. The choice does not depend on
/// the points elsewhere, so that a part of a curve that did not change from one moment to the next looks the same.
fn sample(curve: &mut Curve) {
    let mut last = None;
    curve.points.retain(|(x, _)| {
        let stretch = (*x > 0.0).then(|| libm::floor(libm::log(f64::from(*x)) / APART));
        let is_first = stretch.is_none() || stretch != last;
        last = stretch;
        is_first
    });
}

impl FromStr for SeriesDetail {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "off" => Ok(Self::Off),
            "sampled" => Ok(Self::Sampled),
            "full" => Ok(Self::Full),
            _ => Err(format!(
                "`{}` is not how much to keep; write off, sampled or full",
                text.chars().take(60).collect::<String>()
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampled(windows: impl Iterator<Item = u16>) -> Vec<f32> {
        let [name, x, y] = ["profile", "window_packets", "delay_ms"].map(String::from);
        let points = windows.map(|window| (f32::from(window), 20.0)).collect();
        let mut curve = Curve { time_s: 1.0, flow: 0, name, x, y, points };
        sample(&mut curve);
        curve.points.into_iter().map(|(x, _)| x).collect()
    }

    #[test]
    fn a_sampled_curve_keeps_small_windows_and_a_hundredth_of_large_ones() {
        let kept = sampled(0..=10_000);
        assert!(kept.starts_with(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0]));
        assert!((150..250).contains(&kept.len()), "{}", kept.len());
        assert!(kept.windows(2).all(|pair| pair[1] <= pair[0] * 1.09 + 2.0), "no part of it is missing");
    }

    #[test]
    fn more_points_elsewhere_change_nothing() {
        let (few, more) = (sampled(500..600), sampled(400..900));
        assert!(few[1..].iter().all(|window| more.contains(window)));
    }
}

//! How the numbers of a figure are written for the report's script: short.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

/// A number written with four significant digits; null where there is none.
pub(crate) struct Short(pub(crate) f64);

impl Serialize for Short {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !self.0.is_finite() {
            return serializer.serialize_none();
        }
        // Whole powers of ten are exact up to 10^22: the result is the number that the four digits read as.
        let places = 3.0 - libm::log10(self.0.abs().max(1e-18)).floor();
        let power = libm::pow(10.0, places.abs());
        let rounded =
            if places < 0.0 { (self.0 / power).round() * power } else { (self.0 * power).round() / power };
        // Integers without ".0": a quarter of the characters.
        if rounded.fract() == 0.0 && rounded.abs() < 1e15 {
            serializer.serialize_i64(rounded as i64)
        } else {
            serializer.serialize_f64(rounded)
        }
    }
}

/// Numbers one by one; those at even steps as the first, the step and how many there are.
#[derive(Serialize)]
#[serde(untagged)]
enum Numbers {
    Each(Vec<Short>),
    Even { from: f64, step: f64, count: usize },
}

impl Numbers {
    fn new(values: &[f64]) -> Self {
        if let [from, second, .., last] = *values {
            let step = (last - from) / (values.len() - 1) as f64;
            let is_even =
                |(at, value): (usize, &f64)| (value - from - at as f64 * step).abs() <= 1e-6 * step.abs();
            if second != from && values.iter().enumerate().all(is_even) {
                return Self::Even { from, step, count: values.len() };
            }
        }
        Self::Each(values.iter().copied().map(Short).collect())
    }
}

/// `x` and `y`.
pub(super) fn points<S: Serializer>(points: &[(f64, f64)], serializer: S) -> Result<S::Ok, S::Error> {
    let (x, y): (Vec<f64>, Vec<f64>) = points.iter().copied().unzip();
    let mut map = serializer.serialize_map(Some(2))?;
    map.serialize_entry("x", &Numbers::new(&x))?;
    map.serialize_entry("y", &Numbers::new(&y))?;
    map.end()
}

/// For each point `[[low, high], [low, high]]`, null where there is none.
pub(super) fn intervals<S: Serializer>(
    intervals: &[[Option<(f64, f64)>; 2]],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let short = |pair: Option<(f64, f64)>| pair.map(|(low, high)| (Short(low), Short(high)));
    serializer.collect_seq(intervals.iter().map(|both| both.map(short)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_steps_are_written_as_such_and_a_gap_as_null() {
        let text = |values: &[f64]| serde_json::to_string(&Numbers::new(values)).unwrap();
        assert_eq!(text(&[0.0, 0.5, 1.0, 1.5]), r#"{"from":0.0,"step":0.5,"count":4}"#);
        assert_eq!(text(&[1.0, 2.000_04, f64::NAN, 12_345.6]), "[1,2,null,12350]");
        assert_eq!(text(&[3.0, 3.0, 3.0]), "[3,3,3]");
        assert_eq!(text(&[]), "[]");
    }
}

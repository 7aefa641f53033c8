//! A natural cubic spline through every point: the delay profile by the letter of the paper's section 5.1.

use super::banded::solve_tridiagonal;
use super::curve::Curve;

/// The curve through `points` (by rising x, whole windows from 1 on), along its tangents outside. None with less than
/// two points.
pub(super) fn through(points: &[(f64, f64)]) -> Option<Curve> {
    let last = points.len().checked_sub(1).filter(|&last| last > 0)?;
    let seconds = second_derivatives(points);
    let slope_at = |left: usize, at_right: bool| {
        let ((x0, y0), (x1, y1)) = (points[left], points[left + 1]);
        let (near, far) = (seconds[left + usize::from(at_right)], seconds[left + usize::from(!at_right)]);
        let turn = (x1 - x0) * (2.0 * near + far) / 6.0;
        (y1 - y0) / (x1 - x0) + if at_right { turn } else { -turn }
    };
    let (first_slope, last_slope) = (slope_at(0, false), slope_at(last - 1, true));
    let mut left = 0;
    Some(Curve::tabulate(points[last].0 as usize, last_slope, |window| {
        let x = window as f64;
        if x < points[0].0 {
            return points[0].1 + first_slope * (x - points[0].0);
        }
        while left + 1 < last && points[left + 1].0 < x {
            left += 1;
        }
        let ((x0, y0), (x1, y1)) = (points[left], points[left + 1]);
        let (width, from_left, to_right) = (x1 - x0, x - x0, x1 - x);
        let bend = |second: f64, side: f64| second * (side * side * side / width - side * width) / 6.0;
        (y0 * to_right + y1 * from_left) / width
            + bend(seconds[left], to_right)
            + bend(seconds[left + 1], from_left)
    }))
}

fn second_derivatives(points: &[(f64, f64)]) -> Vec<f64> {
    let count = points.len();
    let (mut lower, mut diagonal, mut upper) = (vec![0.0; count], vec![1.0; count], vec![0.0; count]);
    let mut right = vec![0.0; count];
    for place in 1..count - 1 {
        let [(x0, y0), (x1, y1), (x2, y2)] = [points[place - 1], points[place], points[place + 1]];
        (lower[place], upper[place]) = ((x1 - x0) / 6.0, (x2 - x1) / 6.0);
        diagonal[place] = (x2 - x0) / 3.0;
        right[place] = (y2 - y1) / (x2 - x1) - (y1 - y0) / (x1 - x0);
    }
    solve_tridiagonal(&lower, &mut diagonal, &upper, &mut right);
    right
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_curve_passes_through_every_point(steps in prop::collection::vec((1u32..9, 20.0..600.0f64), 2..60)) {
            let mut x = 0;
            let points: Vec<_> = steps.iter().map(|&(step, y)| { x += step; (f64::from(x), y) }).collect();
            let curve = through(&points).expect("a curve");
            for (x, y) in points {
                prop_assert!((curve.delay(x) - y).abs() < 1e-6, "{} for {y}", curve.delay(x));
            }
        }
    }

    #[test]
    fn it_bends_like_a_natural_spline() {
        // Through (0, 0), (1, 1), (2, 0) in steps of ten: s'' = -3 (1/100) in the middle, slope 1.5 (1/10) at the ends.
        let curve = through(&[(11.0, 0.0), (21.0, 1.0), (31.0, 0.0)]).expect("a curve");
        assert!((curve.delay(16.0) - 0.6875).abs() < 1e-9);
        assert!((curve.delay(1.0) + 1.5).abs() < 1e-9, "{}", curve.delay(1.0));
        assert!((curve.delay(41.0) + 1.5).abs() < 1e-9, "{}", curve.delay(41.0));
    }

    #[test]
    fn one_point_is_no_curve() {
        assert!(through(&[(5.0, 40.0)]).is_none());
    }
}

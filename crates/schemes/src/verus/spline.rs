//! The penalised regression spline that the authors' program draws through its points (ALGLIB's
//! `spline1dfitpenalized`), solved with a banded matrix instead of a dense one.
//!
//! Of all natural cubic splines `s` with `M` equidistant knots over the data it is the one that minimises
//! `sum (s(x_i) - y_i)^2 + p integral s''^2`, with `p = 10^rho max_j |F_j|^2 / max_j A_jj` (`F_j`: the spline that is 1 at
//! knot `j` and 0 at the others, at the data; `A_jj`: the integral of its squared second derivative). In that basis
//! the matrix is full; in that of B-splines the same minimiser has a matrix of seven diagonals. Outside the data the
//! spline goes on along its end tangents.

use super::banded::{SymmetricBanded, solve_tridiagonal};

/// The basis spline of a knot falls by 2 - sqrt(3) per knot; after so many, what remains is below 1e-12 of a norm.
const REACH: usize = 12;

/// A fitted spline: coefficients of uniform cubic B-splines, one before the first knot and one after the last.
#[derive(Debug, Clone)]
pub(super) struct Spline {
    first: f64,
    knots_per_unit: f64,
    coefficients: Vec<f64>,
}

impl Spline {
    /// The spline of `points` (by rising x) with `knots` knots, four at least, and smoothing `rho`. None where all
    /// points have one x.
    pub(super) fn fit(points: &[(f64, f64)], knots: usize, rho: f64) -> Option<Self> {
        let (first, last) = (points.first()?.0, points.last()?.0);
        if last <= first || knots < 4 {
            return None;
        }
        let knots_per_unit = (knots - 1) as f64 / (last - first);
        let mut normal = SymmetricBanded::zero(knots);
        let mut right = vec![0.0; knots];
        for &(x, y) in points {
            let (interval, fraction) = locate((x - first) * knots_per_unit, knots);
            let (place, values, count) = inner_weights(interval, weights(fraction), knots);
            normal.add_outer(place, &values[..count], 1.0);
            for (sum, value) in right[place..].iter_mut().zip(&values[..count]) {
                *sum += value * y;
            }
        }
        let (roughness, ridge) = (roughness(knots), squared_knot_values(knots));
        let largest = LargestDiagonals::of_knot_basis(&normal, &roughness);
        let unit_penalty = libm::pow(10.0, rho) * largest.normal / largest.roughness;
        // ALGLIB's ridge counts the penalty on an x scaled to [-1, 1], where the integral is larger by h^-3.
        let spacing = 2.0 / (knots - 1) as f64;
        let scaled_penalty = unit_penalty * spacing * spacing * spacing;
        normal.add(&roughness, unit_penalty);
        normal.add(&ridge, largest.normal * (1.0 + scaled_penalty) * 10.0 * f64::EPSILON);
        let inner = normal.solve(right)?;
        let before = 2.0 * inner[0] - inner[1];
        let after = 2.0 * inner[knots - 1] - inner[knots - 2];
        let coefficients = std::iter::once(before).chain(inner).chain(std::iter::once(after)).collect();
        Some(Self { first, knots_per_unit, coefficients })
    }

    /// Its value at `x`.
    pub(super) fn value(&self, x: f64) -> f64 {
        let knots = self.coefficients.len() - 2;
        let position = (x - self.first) * self.knots_per_unit;
        let (interval, fraction) = locate(position, knots);
        let inside: f64 =
            weights(fraction).iter().zip(&self.coefficients[interval..]).map(|(weight, c)| weight * c).sum();
        let outside = position - position.clamp(0.0, (knots - 1) as f64);
        if outside == 0.0 { inside } else { inside + outside * self.slope_at_knot(interval, fraction) }
    }

    /// The slope per knot interval at the end of the data that `fraction` (0 or 1) of an outer interval marks.
    fn slope_at_knot(&self, interval: usize, fraction: f64) -> f64 {
        let before = interval + usize::from(fraction > 0.5);
        (self.coefficients[before + 2] - self.coefficients[before]) / 2.0
    }
}

/// The interval between knots that holds `position`, or the nearest, and the fraction of it, within 0 and 1.
fn locate(position: f64, knots: usize) -> (usize, f64) {
    let clamped = position.clamp(0.0, (knots - 1) as f64);
    let interval = (clamped as usize).min(knots - 2);
    (interval, clamped - interval as f64)
}

/// What the four B-splines of an interval are worth at `t` of it.
fn weights(t: f64) -> [f64; 4] {
    let (rest, square) = (1.0 - t, t * t);
    [
        rest * rest * rest / 6.0,
        (3.0 * square * t - 6.0 * square + 4.0) / 6.0,
        (-3.0 * square * t + 3.0 * square + 3.0 * t + 1.0) / 6.0,
        square * t / 6.0,
    ]
}

/// The same over the inner coefficients alone: a natural spline's outermost ones are `2 c_0 - c_1` and alike. Gives the
/// first coefficient, the weights from there on and how many there are.
fn inner_weights(interval: usize, outer: [f64; 4], knots: usize) -> (usize, [f64; 4], usize) {
    let [before, left, right, after] = outer;
    let at_start = interval == 0;
    let at_end = interval + 2 == knots;
    let (left, right, after) =
        if at_start { (left + 2.0 * before, right - before, after) } else { (left, right, after) };
    let (left, right) = if at_end { (left - after, right + 2.0 * after) } else { (left, right) };
    match (at_start, at_end) {
        (true, _) => (0, [left, right, after, 0.0], 3),
        (false, true) => (interval - 1, [before, left, right, 0.0], 3),
        (false, false) => (interval - 1, [before, left, right, after], 4),
    }
}

/// The integral of the squared second derivative, with knots one apart, over the inner coefficients.
fn roughness(knots: usize) -> SymmetricBanded {
    let mut matrix = SymmetricBanded::zero(knots);
    // s'' is linear between its values m at the knots: the integral of an interval is (m0^2 + m0 m1 + m1^2) / 3, and
    // that is ((m0 + m1)^2 + m0^2 + m1^2) / 6. At both ends m is 0.
    for inner in 1..knots - 1 {
        matrix.add_outer(inner - 1, &[1.0, -2.0, 1.0], 1.0 / 3.0);
        if inner + 2 < knots {
            matrix.add_outer(inner - 1, &[1.0, -1.0, -1.0, 1.0], 1.0 / 6.0);
        }
    }
    matrix.add_outer(0, &[1.0, -2.0, 1.0], 1.0 / 6.0);
    matrix.add_outer(knots - 3, &[1.0, -2.0, 1.0], 1.0 / 6.0);
    matrix
}

/// The sum of the squared values at the knots.
fn squared_knot_values(knots: usize) -> SymmetricBanded {
    let mut matrix = SymmetricBanded::zero(knots);
    for inner in 1..knots - 1 {
        matrix.add_outer(inner - 1, &[1.0 / 6.0, 4.0 / 6.0, 1.0 / 6.0], 1.0);
    }
    matrix.add_outer(0, &[1.0], 1.0);
    matrix.add_outer(knots - 1, &[1.0], 1.0);
    matrix
}

/// The largest diagonal entries that the matrices have in the basis of splines that are 1 at one knot and 0 at the others.
struct LargestDiagonals {
    normal: f64,
    roughness: f64,
}

impl LargestDiagonals {
    fn of_knot_basis(normal: &SymmetricBanded, roughness: &SymmetricBanded) -> Self {
        let mut largest = Self { normal: 0.0, roughness: 0.0 };
        let knots = normal.size();
        // Away from the ends all are alike.
        let mut inner = None;
        for knot in 0..knots {
            let near_end = knot <= REACH || knot + REACH >= knots - 1;
            let (first, spline) = if near_end {
                knot_basis(knot, knots)
            } else {
                (knot - REACH, inner.take().unwrap_or_else(|| knot_basis(knot, knots).1))
            };
            largest.normal = largest.normal.max(normal.quadratic_form(first, &spline));
            largest.roughness = largest.roughness.max(roughness.quadratic_form(first, &spline));
            inner = if near_end { inner } else { Some(spline) };
        }
        largest
    }
}

/// The inner coefficients of the spline that is 1 at `knot` and 0 at the others, from the first one that counts on.
fn knot_basis(knot: usize, knots: usize) -> (usize, Vec<f64>) {
    let first = knot.saturating_sub(REACH);
    let last = (knot + REACH).min(knots - 1);
    // A natural spline's value at an end knot is its coefficient there.
    let is_end = |place: usize| place == 0 || place == knots - 1;
    let side: Vec<_> = (first..=last).map(|place| if is_end(place) { 0.0 } else { 1.0 / 6.0 }).collect();
    let mut diagonal: Vec<_> =
        (first..=last).map(|place| if is_end(place) { 1.0 } else { 4.0 / 6.0 }).collect();
    let mut spline = vec![0.0; last - first + 1];
    spline[knot - first] = 1.0;
    solve_tridiagonal(&side, &mut diagonal, &side, &mut spline);
    (first, spline)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The definition, with full matrices: a natural spline for every knot, integrals by Simpson's rule (exact for
    /// squares of lines), Gauss' elimination.
    struct Dense {
        first: f64,
        last: f64,
        /// Per basis spline: values and second derivatives at the knots, on an x scaled to [-1, 1].
        basis: Vec<(Vec<f64>, Vec<f64>)>,
        values_at_knots: Vec<f64>,
    }

    impl Dense {
        fn fit(points: &[(f64, f64)], knots: usize, rho: f64) -> Self {
            let (first, last) = (points[0].0, points[points.len() - 1].0);
            let basis = (0..knots).map(|knot| natural_spline(knot, knots)).collect();
            let mut dense = Self { first, last, basis, values_at_knots: Vec::new() };
            let design: Vec<Vec<f64>> = points
                .iter()
                .map(|&(x, _)| (0..knots).map(|knot| dense.basis_value(knot, x)).collect())
                .collect();
            let h = 2.0 / (knots - 1) as f64;
            let integral = |left: &[f64], right: &[f64]| -> f64 {
                (0..knots - 1)
                    .map(|k| {
                        let middle = (left[k] + left[k + 1]) * (right[k] + right[k + 1]) / 4.0;
                        h / 6.0 * (left[k] * right[k] + 4.0 * middle + left[k + 1] * right[k + 1])
                    })
                    .sum()
            };
            let penalty: Vec<Vec<f64>> = (0..knots)
                .map(|i| (0..knots).map(|j| integral(&dense.basis[i].1, &dense.basis[j].1)).collect())
                .collect();
            let gram = |i: usize, j: usize| design.iter().map(|row| row[i] * row[j]).sum::<f64>();
            let largest_gram = (0..knots).map(|j| gram(j, j)).fold(0.0, f64::max);
            let largest_penalty = (0..knots).map(|j| penalty[j][j]).fold(0.0, f64::max);
            let p = libm::pow(10.0, rho) * largest_gram / largest_penalty;
            let mut matrix: Vec<Vec<f64>> =
                (0..knots).map(|i| (0..knots).map(|j| gram(i, j) + p * penalty[i][j]).collect()).collect();
            for (place, row) in matrix.iter_mut().enumerate() {
                row[place] += largest_gram * (1.0 + p) * 10.0 * f64::EPSILON;
                row.push(design.iter().zip(points).map(|(row, point)| row[place] * point.1).sum());
            }
            dense.values_at_knots = gauss(matrix);
            dense
        }

        fn basis_value(&self, knot: usize, x: f64) -> f64 {
            let (values, seconds) = &self.basis[knot];
            let knots = values.len();
            let h = 2.0 / (knots - 1) as f64;
            let scaled = (2.0 * x - self.first - self.last) / (self.last - self.first);
            let left = (((scaled + 1.0) / h) as usize).min(knots - 2);
            let (a, b) = (left as f64 * h - 1.0, (left + 1) as f64 * h - 1.0);
            let (from_a, to_b) = (scaled - a, b - scaled);
            (seconds[left] * to_b * to_b * to_b + seconds[left + 1] * from_a * from_a * from_a) / (6.0 * h)
                + (values[left] / h - seconds[left] * h / 6.0) * to_b
                + (values[left + 1] / h - seconds[left + 1] * h / 6.0) * from_a
        }

        fn value(&self, x: f64) -> f64 {
            (0..self.basis.len()).map(|knot| self.values_at_knots[knot] * self.basis_value(knot, x)).sum()
        }
    }

    fn natural_spline(knot: usize, knots: usize) -> (Vec<f64>, Vec<f64>) {
        let h = 2.0 / (knots - 1) as f64;
        let values: Vec<_> = (0..knots).map(|other| f64::from(u8::from(other == knot))).collect();
        let matrix = (0..knots)
            .map(|row| {
                let mut line = vec![0.0; knots + 1];
                line[row] = 1.0;
                if row > 0 && row + 1 < knots {
                    line[row - 1] = h / 6.0;
                    line[row] = 2.0 * h / 3.0;
                    line[row + 1] = h / 6.0;
                    line[knots] = (values[row - 1] - 2.0 * values[row] + values[row + 1]) / h;
                }
                line
            })
            .collect();
        (values, gauss(matrix))
    }

    fn gauss(mut matrix: Vec<Vec<f64>>) -> Vec<f64> {
        let size = matrix.len();
        for column in 0..size {
            let pivot = (column..size)
                .max_by(|&a, &b| matrix[a][column].abs().total_cmp(&matrix[b][column].abs()))
                .expect("a row");
            matrix.swap(column, pivot);
            for row in 0..size {
                if row != column {
                    let factor = matrix[row][column] / matrix[column][column];
                    let eliminated = matrix[column].clone();
                    for (entry, eliminated) in matrix[row].iter_mut().zip(eliminated) {
                        *entry -= factor * eliminated;
                    }
                }
            }
        }
        (0..size).map(|row| matrix[row][size] / matrix[row][row]).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn the_banded_solution_is_the_dense_one(
            steps in prop::collection::vec((1u32..9, 20.0..600.0f64), 5..120),
            knots in 4usize..40,
            rho in -1.0..4.0f64,
        ) {
            let mut x = 0;
            let points: Vec<_> = steps.iter().map(|&(step, y)| { x += step; (f64::from(x), y) }).collect();
            let (dense, banded) = (Dense::fit(&points, knots, rho), Spline::fit(&points, knots, rho).expect("a fit"));
            let mut x = points[0].0;
            while x <= points[points.len() - 1].0 {
                let (expected, found) = (dense.value(x), banded.value(x));
                prop_assert!((expected - found).abs() < 1e-5 * expected.abs().max(1.0), "{found} for {expected} at {x}");
                x += 0.7;
            }
        }

        #[test]
        fn a_line_is_fitted_exactly_and_goes_on_outside(
            start in 1u32..100, count in 5u32..300, slope in -5.0..5.0f64, knots in 5usize..30,
        ) {
            let line = |x: f64| 40.0 + slope * x;
            let points: Vec<_> = (start..start + count).map(|x| (f64::from(x), line(f64::from(x)))).collect();
            let spline = Spline::fit(&points, knots, 2.0).expect("a fit");
            for x in [-100.0, 0.0, f64::from(start), f64::from(start) + 1.3, f64::from(start + count), 5000.0] {
                prop_assert!((spline.value(x) - line(x)).abs() < 1e-3, "{} for {} at {x}", spline.value(x), line(x));
            }
        }
    }

    #[test]
    fn points_of_one_x_have_no_curve() {
        assert!(Spline::fit(&[(5.0, 40.0)], 5, 2.0).is_none());
        assert!(Spline::fit(&[], 5, 2.0).is_none());
    }

    #[test]
    fn outside_the_data_the_curve_goes_on_along_its_tangents() {
        let points: Vec<_> = (10..200).map(|w| (f64::from(w), 30.0 + f64::from(w * w) / 100.0)).collect();
        let spline = Spline::fit(&points, 13, 2.0).expect("a fit");
        for (inner, outer, step) in [(10.01, 9.0, -1.0), (198.99, 200.0, 1.0)] {
            let end = if step < 0.0 { 10.0 } else { 199.0 };
            let tangent = (spline.value(end) - spline.value(inner)) / (end - inner);
            let beyond = spline.value(outer + step) - spline.value(outer);
            assert!((beyond - tangent * step).abs() < 1e-2, "{beyond} for {}", tangent * step);
        }
    }
}

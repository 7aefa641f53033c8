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

proptest! {
    #[test]
    fn the_solution_solves_the_system(
        parts in prop::collection::vec(prop::array::uniform4(-1.0..1.0f64), 4..30),
    ) {
        let size = parts.len() + BANDWIDTH;
        let mut matrix = SymmetricBanded::zero(size);
        for (first, part) in parts.iter().enumerate() {
            matrix.add_outer(first, part, 1.0);
        }
        for place in 0..size {
            matrix.add_outer(place, &[1.0], 0.5);
        }
        let right: Vec<_> = (0..size).map(|place| place as f64 - 3.0).collect();
        let solution = matrix.clone().solve(right.clone()).expect("positive definite");
        for (row, expected) in right.iter().enumerate() {
            let found: f64 = (0..size).map(|column| matrix.get(row, column) * solution[column]).sum();
            prop_assert!((found - expected).abs() < 1e-9 * size as f64, "row {row}: {found} for {expected}");
        }
        let form: f64 = solution.iter().zip(&right).map(|(x, b)| x * b).sum();
        prop_assert!((matrix.quadratic_form(0, &solution) - form).abs() < 1e-6 * form.abs().max(1.0));
    }
}

#[test]
fn what_is_not_positive_definite_has_no_solution() {
    let mut matrix = SymmetricBanded::zero(4);
    matrix.add_outer(0, &[1.0, 1.0], 1.0);
    assert!(matrix.solve(vec![1.0; 4]).is_none());
}

#[test]
fn a_tridiagonal_system_is_solved_by_elimination() {
    let mut right = [5.0, 6.0, 5.0];
    solve_tridiagonal(&[0.0, 1.0, 1.0], &mut [4.0, 4.0, 4.0], &[1.0, 1.0, 0.0], &mut right);
    for (found, expected) in right.iter().zip([1.0, 1.0, 1.0]) {
        assert!((found - expected).abs() < 1e-12);
    }
}

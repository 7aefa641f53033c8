//! Symmetric positive definite systems whose entries lie within three places of the diagonal, as those of a cubic
//! spline do: solved in time linear in their size.

/// Entries off the diagonal on each side.
pub(super) const BANDWIDTH: usize = 3;

/// The lower half of a symmetric matrix: row `i` holds columns `i - 3` to `i`.
#[derive(Debug, Clone)]
pub(super) struct SymmetricBanded {
    rows: Vec<[f64; BANDWIDTH + 1]>,
}

impl SymmetricBanded {
    pub(super) fn zero(size: usize) -> Self {
        Self { rows: vec![[0.0; BANDWIDTH + 1]; size] }
    }

    pub(super) fn size(&self) -> usize {
        self.rows.len()
    }

    /// The entry of `row` and `column`; zero outside the band.
    fn get(&self, row: usize, column: usize) -> f64 {
        let (row, column) = (row.max(column), row.min(column));
        if row - column > BANDWIDTH { 0.0 } else { self.rows[row][column + BANDWIDTH - row] }
    }

    fn entry(&mut self, row: usize, column: usize) -> &mut f64 {
        &mut self.rows[row][column + BANDWIDTH - row]
    }

    /// Adds `scale v v'`, where `v` is zero but for `values` from `first` on: at most four.
    pub(super) fn add_outer(&mut self, first: usize, values: &[f64], scale: f64) {
        for (i, &left) in values.iter().enumerate() {
            for (j, &right) in values[..=i].iter().enumerate() {
                *self.entry(first + i, first + j) += scale * left * right;
            }
        }
    }

    /// Adds `scale` times `other`, of the same size.
    pub(super) fn add(&mut self, other: &Self, scale: f64) {
        for (row, added) in self.rows.iter_mut().zip(&other.rows) {
            for (entry, added) in row.iter_mut().zip(added) {
                *entry += scale * added;
            }
        }
    }

    /// `v' A v`, where `v` is zero but for `values` from `first` on.
    pub(super) fn quadratic_form(&self, first: usize, values: &[f64]) -> f64 {
        let mut sum = 0.0;
        for (i, &left) in values.iter().enumerate() {
            let mut row = self.get(first + i, first + i) * left;
            for back in 1..=BANDWIDTH.min(i) {
                row += 2.0 * self.get(first + i, first + i - back) * values[i - back];
            }
            sum += left * row;
        }
        sum
    }

    /// Solves `A x = right` by Cholesky's method; none where the matrix is not positive definite.
    pub(super) fn solve(mut self, mut right: Vec<f64>) -> Option<Vec<f64>> {
        let size = self.size();
        for row in 0..size {
            let first = row.saturating_sub(BANDWIDTH);
            for column in first..=row {
                let mut value = self.get(row, column);
                for inner in first.max(column.saturating_sub(BANDWIDTH))..column {
                    value -= self.get(row, inner) * self.get(column, inner);
                }
                *self.entry(row, column) = if column < row {
                    value / self.get(column, column)
                } else if value > 0.0 {
                    value.sqrt()
                } else {
                    return None;
                };
            }
        }
        for row in 0..size {
            for column in row.saturating_sub(BANDWIDTH)..row {
                right[row] -= self.get(row, column) * right[column];
            }
            right[row] /= self.get(row, row);
        }
        for row in (0..size).rev() {
            for below in row + 1..size.min(row + BANDWIDTH + 1) {
                right[row] -= self.get(below, row) * right[below];
            }
            right[row] /= self.get(row, row);
        }
        right.iter().all(|value| value.is_finite()).then_some(right)
    }
}

/// Solves a tridiagonal system in place by elimination: row `i` reads `lower[i] x[i-1] + diagonal[i] x[i] + upper[i]
/// x[i+1] = right[i]`. Sound where the diagonal dominates, as it does for splines.
pub(super) fn solve_tridiagonal(lower: &[f64], diagonal: &mut [f64], upper: &[f64], right: &mut [f64]) {
    for row in 1..right.len() {
        let factor = lower[row] / diagonal[row - 1];
        diagonal[row] -= factor * upper[row - 1];
        right[row] -= factor * right[row - 1];
    }
    for row in (0..right.len()).rev() {
        if row + 1 < right.len() {
            right[row] -= upper[row] * right[row + 1];
        }
        right[row] /= diagonal[row];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
}

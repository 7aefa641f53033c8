//! The penalised regression spline that the authors' program draws through its points (ALGLIB's
//! `spline1dfitpenalized`), solved with a banded matrix instead of a dense one.
//!
//! Among all natural cubic splines `s` with `M` equidistant knots over the data, it is the one that minimises
//! `sum (s(x_i) - y_i)^2 + p integral s''^2`, with `p = 10^rho max_j |F_j|^2 / max_j A_jj` (`F_j`: the spline that is 1 at
//! knot `j` and 0 at the others, at the data; `A_jj`: the integral of its squared second derivative). In that basis
//! the matrix is full; in that of B-splines the same minimiser has a matrix of seven diagonals. Outside the data the
//! spline goes on along its end tangents.

#[cfg(test)]
mod tests;

/// The basis spline of a knot falls by 2 - sqrt(3) per knot; after this many, the rest is below 1e-12 of a norm.
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

/// Values of the four B-splines of an interval at its fraction `t`.
fn weights(t: f64) -> [f64; 4] {
    let (rest, square) = (1.0 - t, t * t);
    [
        rest * rest * rest / 6.0,
        (3.0 * square * t - 6.0 * square + 4.0) / 6.0,
        (-3.0 * square * t + 3.0 * square + 3.0 * t + 1.0) / 6.0,
        square * t / 6.0,
    ]
}

/// These weights over the inner coefficients alone: a natural spline's outermost ones are `2 c_0 - c_1` and likewise at
/// the end. Returns the first coefficient, the weights from there on, and their number.
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

// Symmetric positive definite systems whose entries lie within three places of the diagonal, as those of a cubic
// spline do: solved in time linear in their size.

/// Entries off the diagonal on each side.
const BANDWIDTH: usize = 3;

/// The lower half of a symmetric matrix: row `i` holds columns `i - 3` to `i`.
#[derive(Debug, Clone)]
pub(super) struct SymmetricBanded {
    rows: Vec<[f64; BANDWIDTH + 1]>,
}

impl SymmetricBanded {
    fn zero(size: usize) -> Self {
        Self { rows: vec![[0.0; BANDWIDTH + 1]; size] }
    }

    fn size(&self) -> usize {
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

    /// Adds `scale v v'`, where `v` is zero except for `values` from `first` on, four at most.
    fn add_outer(&mut self, first: usize, values: &[f64], scale: f64) {
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

    /// `v' A v`, where `v` is zero except for `values` from `first` on.
    fn quadratic_form(&self, first: usize, values: &[f64]) -> f64 {
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
    fn solve(mut self, mut right: Vec<f64>) -> Option<Vec<f64>> {
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

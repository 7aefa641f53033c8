//! The delay profiler: one point per sending window, moved by every acknowledgement, and a curve through the points,
//! redrawn at intervals.

#[cfg(test)]
mod tests;

use super::parameters::Fit;
use super::spline::{Spline, solve_tridiagonal};
use cellcc_units::{Span, Time};

/// The program wants five knots at least and puts them closer together where the windows are few.
const MIN_KNOTS: u64 = 5;

/// Rules for the profile.
#[derive(Debug, Clone, Copy)]
pub(super) struct ProfileRules {
    pub(super) fit: Fit,
    /// Windows per knot.
    pub(super) knot_spacing: u64,
    /// ALGLIB's rho.
    pub(super) smoothing: f64,
    /// Share of the old value of a point.
    pub(super) old_share: f64,
    /// The first curve is not kept for ever.
    pub(super) learned: bool,
    /// The largest window, in packets.
    pub(super) max_window: u64,
    /// A point that is not refreshed for so long is dropped; none are where this is zero.
    pub(super) lifetime: Span,
}

#[derive(Debug, Clone, Copy)]
struct Point {
    delay_ms: f64,
    updated_at: Time,
}

/// The points and the curve through them.
#[derive(Debug, Clone)]
pub(super) struct Profile {
    rules: ProfileRules,
    /// At windows 1, 2, ...
    points: Vec<Option<Point>>,
    curve: Option<Curve>,
    /// Points of this window and above are dropped when the curve is drawn next.
    stop: u64,
}

impl Profile {
    pub(super) fn new(rules: ProfileRules) -> Self {
        Self { rules, points: Vec::new(), curve: None, stop: u64::MAX }
    }

    /// A packet that had left with `window` (from 1 on) took `delay_ms`.
    pub(super) fn add(&mut self, now: Time, window: u64, delay_ms: f64) {
        if !(1..=self.rules.max_window).contains(&window) {
            return;
        }
        let place = window as usize - 1;
        if place >= self.points.len() {
            self.points.resize(place + 1, None);
        }
        let share = self.rules.old_share;
        let delay_ms = match self.points[place] {
            Some(old) => share * old.delay_ms + (1.0 - share) * delay_ms,
            None => delay_ms,
        };
        self.points[place] = Some(Point { delay_ms, updated_at: now });
    }

    /// Drops the points of `window` and above when the curve is drawn next.
    pub(super) fn drop_from(&mut self, window: u64) {
        self.stop = window;
    }

    /// Redraws the curve. False where there is none and the points are too few for one.
    pub(super) fn refit(&mut self, now: Time) -> bool {
        if self.curve.is_some() && !self.rules.learned {
            return true;
        }
        self.points.truncate(usize::try_from(self.stop.saturating_sub(1)).unwrap_or(usize::MAX));
        self.stop = u64::MAX;
        self.drop_old(now);
        if let Some(curve) = self.draw(now) {
            self.curve = Some(curve);
        }
        self.curve.is_some()
    }

    fn drop_old(&mut self, now: Time) {
        let lifetime = self.rules.lifetime;
        if lifetime.is_zero() {
            return;
        }
        for point in &mut self.points {
            *point = point.filter(|point| now.since(point.updated_at) < lifetime);
        }
    }

    fn draw(&self, now: Time) -> Option<Curve> {
        let points: Vec<_> = self.points().collect();
        match self.rules.fit {
            Fit::Penalised => {
                let last = points.last()?.0 as u64;
                // max_w / N knots, N falling from its setting until they are five; the program restarts below N = 1.
                let spacing = self.rules.knot_spacing.min(last / MIN_KNOTS);
                let knots = last.checked_div(spacing)? as usize;
                let spline = Spline::fit(&points, knots, self.rules.smoothing)?;
                let end = last as f64;
                let slope = spline.value(end + 1.0) - spline.value(end);
                Some(Curve::tabulate(last as usize, slope, |window| spline.value(window as f64)))
            }
            Fit::Interpolated => interpolated_curve(&points),
            Fit::Monotone => {
                let weights = self.points.iter().flatten().map(|point| self.weight(now, point));
                monotone_curve(&points.iter().copied().zip(weights).collect::<Vec<_>>())
            }
        }
    }

    /// Weight of a point in the monotone curve: it falls with the point's age.
    fn weight(&self, now: Time, point: &Point) -> f64 {
        if self.rules.lifetime.is_zero() {
            return 1.0;
        }
        let age = now.since(point.updated_at).as_secs_f64() / self.rules.lifetime.as_secs_f64();
        (1.0 - age).max(0.01)
    }

    /// The delay at a window, ms: the curve's, or before the first curve that of the point.
    pub(super) fn delay_ms(&self, window: f64) -> Option<f64> {
        match &self.curve {
            Some(curve) => Some(curve.delay(window)),
            None => {
                self.points.get((window.max(1.0) as usize) - 1).copied().flatten().map(|point| point.delay_ms)
            }
        }
    }

    /// The window, in packets, for a delay: one less than the first whose delay is above it. None where the curve never
    /// exceeds it; before the first curve 1 then, as in the program.
    pub(super) fn window(&self, delay_ms: f64) -> Option<u64> {
        match &self.curve {
            Some(curve) => curve.window(delay_ms, self.rules.max_window),
            None => {
                let above = |&(window, delay): &(f64, f64)| window >= 2.0 && delay > delay_ms;
                Some(self.points().find(above).map_or(1, |(window, _)| window as u64 - 1))
            }
        }
    }

    /// The largest window that has a point.
    pub(super) fn largest_window(&self) -> u64 {
        let has_none = self.points.iter().rev().take_while(|point| point.is_none()).count();
        (self.points.len() - has_none) as u64
    }

    /// The points: window and delay in ms, by rising window.
    pub(super) fn points(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        let numbered = self.points.iter().enumerate();
        numbered.filter_map(|(place, point)| point.map(|point| ((place + 1) as f64, point.delay_ms)))
    }

    /// The curve, where there is one.
    pub(super) fn curve(&self) -> Option<&Curve> {
        self.curve.as_ref()
    }
}

// A delay profile as a curve: delay by window, and back. Each way to draw it gives one value per whole window; beyond
// the last the curve goes on along a line.

/// A curve over the windows 1, 2, ... in packets; delays in ms.
#[derive(Debug, Clone)]
pub(super) struct Curve {
    /// At window 1, 2, ...; never empty.
    values: Vec<f64>,
    /// The largest value at windows from 2 up to this one, so that the first window above a delay is found by halving.
    highest: Vec<f64>,
    /// Per packet, beyond the last window.
    slope: f64,
}

impl Curve {
    /// The curve with `value(w)` at w = 1 ... `last` (at least 1) and `slope` per packet beyond.
    fn tabulate(last: usize, slope: f64, value: impl FnMut(usize) -> f64) -> Self {
        Self::from_values((1..=last.max(1)).map(value).collect(), slope)
    }

    fn from_values(values: Vec<f64>, slope: f64) -> Self {
        let mut running = f64::NEG_INFINITY;
        let highest = values
            .iter()
            .enumerate()
            .map(|(place, &value)| {
                if place > 0 {
                    running = running.max(value);
                }
                running
            })
            .collect();
        Self { values, highest, slope }
    }

    /// The delay at a window of `window` packets; at less than one packet that of one.
    pub(super) fn delay(&self, window: f64) -> f64 {
        let place = window.max(1.0) - 1.0;
        let last = self.values.len() - 1;
        if place >= last as f64 {
            return self.values[last] + self.slope * (place - last as f64);
        }
        let (left, fraction) = (place as usize, place.fract());
        self.values[left] + (self.values[left + 1] - self.values[left]) * fraction
    }

    /// One less than the first of the windows 2, 3, ... up to `limit` whose delay is above `delay`; none where there is
    /// no such window. The answer of the authors' program, which looks at every window, found by halving.
    pub(super) fn window(&self, delay: f64, limit: u64) -> Option<u64> {
        let within = self.highest.partition_point(|&highest| highest <= delay);
        let above = if within < self.values.len() { within as u64 + 1 } else { self.first_beyond(delay)? };
        (above <= limit).then(|| above - 1)
    }

    /// The first window on the line beyond the last value whose delay is above `delay`, which no value from window 2 on
    /// exceeds. Window 1 is never asked, so that a curve of one value has its first answer here even where it falls.
    fn first_beyond(&self, delay: f64) -> Option<u64> {
        let last = self.values.len() as f64;
        let is_above = |window: f64| self.delay(window) > delay;
        if is_above(last + 1.0) {
            return Some(last as u64 + 1);
        }
        let steps = ((delay - self.delay(last)) / self.slope).floor();
        if !(self.slope > 0.0 && steps < 1e9) {
            return None;
        }
        // Rounding may put the crossing one window off.
        let guess = last + steps;
        [guess, guess + 1.0, guess + 2.0]
            .into_iter()
            .find(|&window| window > last && is_above(window))
            .map(|window| window as u64)
    }

    /// The values at windows 1, 2, ...
    pub(super) fn values(&self) -> &[f64] {
        &self.values
    }
}

// The delay profile of `robust`: of all curves that never fall, the one nearest to the points. A larger window never
// has a smaller delay on it, so that it has one window for every delay.

/// Points pooled because they would fall otherwise: their mean stands at the mean of their windows.
#[derive(Clone, Copy)]
struct Block {
    window: f64,
    delay: f64,
    weight: f64,
}

/// The curve nearest to `points` ((window, delay in ms), weight above zero; by rising window): the blocks of isotonic
/// regression by pooling adjacent violators, joined by lines. Before the first it is flat. Beyond the last it rises
/// along the line from the origin, as the delay of a busy link does (its window over its rate), or along the line from the
/// first block to the last where that is steeper. None without a point.
fn monotone_curve(points: &[((f64, f64), f64)]) -> Option<Curve> {
    let blocks = pool(points);
    let (first, last) = (*blocks.first()?, *blocks.last()?);
    let mean_slope =
        if blocks.len() > 1 { (last.delay - first.delay) / (last.window - first.window) } else { 0.0 };
    let slope = mean_slope.max(last.delay / last.window);
    let mut next = 0;
    Some(Curve::tabulate(last.window as usize, slope, |window| {
        let window = window as f64;
        while next < blocks.len() && blocks[next].window < window {
            next += 1;
        }
        match (next.checked_sub(1).map(|left| blocks[left]), blocks.get(next)) {
            (None, _) => first.delay,
            (Some(_), None) => last.delay,
            (Some(left), Some(right)) => {
                let share = (window - left.window) / (right.window - left.window);
                left.delay + (right.delay - left.delay) * share
            }
        }
    }))
}

fn pool(points: &[((f64, f64), f64)]) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::with_capacity(points.len());
    for &((window, delay), weight) in points {
        let mut block = Block { window, delay, weight };
        while let Some(&before) = blocks.last().filter(|before| before.delay >= block.delay) {
            let weight = before.weight + block.weight;
            let mean = |a: f64, b: f64| (a * before.weight + b * block.weight) / weight;
            block = Block {
                window: mean(before.window, block.window),
                delay: mean(before.delay, block.delay),
                weight,
            };
            blocks.pop();
        }
        blocks.push(block);
    }
    blocks
}

// A natural cubic spline through every point: the delay profile by the letter of the paper's section 5.1.

/// The curve through `points` (by rising x, whole windows from 1 on), along its tangents outside. None with less than
/// two points.
fn interpolated_curve(points: &[(f64, f64)]) -> Option<Curve> {
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

//! A delay profile as a curve: delay by window, and back. Whatever draws it gives one value per whole window; what
//! lies beyond the last goes on along a line.

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
    pub(super) fn tabulate(last: usize, slope: f64, value: impl FnMut(usize) -> f64) -> Self {
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What the authors' program does.
    fn scan(curve: &Curve, delay: f64, limit: u64) -> Option<u64> {
        (2..=limit).find(|&window| curve.delay(window as f64) > delay).map(|window| window - 1)
    }

    proptest! {
        #[test]
        fn halving_finds_what_a_scan_finds(
            values in prop::collection::vec(10.0..200.0f64, 1..80),
            slope in -1.0..3.0f64,
            delay in 0.0..400.0f64,
            limit in 2u64..400,
        ) {
            let curve = Curve::from_values(values, slope);
            prop_assert_eq!(curve.window(delay, limit), scan(&curve, delay, limit));
        }

        #[test]
        fn a_delay_on_the_curve_is_found_as_the_scan_finds_it(
            values in prop::collection::vec(10.0..200.0f64, 1..80), slope in 0.1..3.0f64, window in 1u64..160,
        ) {
            let curve = Curve::from_values(values, slope);
            let delay = curve.delay(window as f64);
            prop_assert_eq!(curve.window(delay, 400), scan(&curve, delay, 400));
        }
    }

    #[test]
    fn the_first_crossing_counts_and_one_is_the_least() {
        // Window 3 is a hump: what lies behind it is never reached for 35 ms.
        let curve = Curve::from_values(vec![20.0, 30.0, 40.0, 30.0, 50.0], 10.0);
        for (delay, window) in [(5.0, 1), (30.0, 2), (35.0, 2), (45.0, 4), (50.0, 5), (60.0, 6), (100.0, 10)]
        {
            assert_eq!(curve.window(delay, 40_000), Some(window), "{delay} ms");
        }
    }

    #[test]
    fn a_curve_that_falls_at_its_end_has_no_window_for_a_delay_above_it() {
        assert_eq!(Curve::from_values(vec![20.0, 30.0, 40.0], -1.0).window(45.0, 40_000), None);
        assert_eq!(Curve::from_values(vec![20.0, 30.0, 40.0], 0.0).window(45.0, 40_000), None);
        assert_eq!(Curve::from_values(vec![20.0, 30.0, 40.0], 0.001).window(45.0, 4000), None, "the limit");
    }

    #[test]
    fn a_curve_of_one_value_answers_with_its_first_window_whether_it_rises_or_not() {
        for slope in [-1.0, 0.0, 1.0] {
            let curve = Curve::from_values(vec![143.0], slope);
            assert_eq!(curve.window(0.0, 2), Some(1), "slope {slope}");
        }
    }

    #[test]
    fn between_whole_windows_the_delay_lies_between_theirs() {
        let curve = Curve::from_values(vec![20.0, 30.0], 5.0);
        for (window, delay) in [(0.3, 20.0), (1.0, 20.0), (1.5, 25.0), (2.0, 30.0), (3.5, 37.5)] {
            assert!((curve.delay(window) - delay).abs() < 1e-12);
        }
    }
}

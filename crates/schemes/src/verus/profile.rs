//! The delay profiler: a point per sending window, moved by every acknowledgement, and a curve through the points,
//! drawn anew at intervals.

use super::curve::Curve;
use super::parameters::Fit;
use super::spline::Spline;
use super::{interpolation, monotone};
use cellcc_units::{Span, Time};

/// The program wants five knots at least and puts them closer together where the windows are few.
const MIN_KNOTS: u64 = 5;

/// How the profile is kept.
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

    /// Draws the curve anew. False where there is none and the points are too few for one.
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
            Fit::Interpolated => interpolation::through(&points),
            Fit::Monotone => {
                let weights = self.points.iter().flatten().map(|point| self.weight(now, point));
                monotone::nearest(&points.iter().copied().zip(weights).collect::<Vec<_>>())
            }
        }
    }

    /// What a point counts in the monotone curve: the less the older it is.
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

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: ProfileRules = ProfileRules {
        fit: Fit::Penalised,
        knot_spacing: 15,
        smoothing: 2.0,
        old_share: 0.875,
        learned: true,
        max_window: 40_000,
        lifetime: Span::ZERO,
    };

    fn at(secs: u64) -> Time {
        Time::ZERO + Span::from_secs(secs)
    }

    /// A link that holds 40 packets without a queue: 40 ms, then a millisecond per packet.
    fn with_points(rules: ProfileRules, windows: std::ops::RangeInclusive<u64>) -> Profile {
        let mut profile = Profile::new(rules);
        for window in windows {
            profile.add(at(1), window, window.max(40) as f64);
        }
        profile
    }

    #[test]
    fn a_point_begins_at_its_first_delay_and_follows_slowly() {
        let mut profile = Profile::new(RULES);
        profile.add(at(0), 7, 40.0);
        profile.add(at(0), 7, 80.0);
        assert_eq!(profile.points().collect::<Vec<_>>(), [(7.0, 45.0)]);
    }

    #[test]
    fn before_the_first_curve_the_points_are_looked_up() {
        let profile = with_points(RULES, 1..=100);
        assert_eq!(profile.delay_ms(60.7), Some(60.0));
        assert_eq!(profile.delay_ms(101.0), None);
        assert_eq!(profile.window(60.0), Some(60));
        assert_eq!(profile.window(500.0), Some(1));
    }

    #[test]
    fn every_fit_finds_the_window_of_a_delay_where_the_link_has_a_queue() {
        for fit in [Fit::Penalised, Fit::Interpolated, Fit::Monotone] {
            let mut profile = with_points(ProfileRules { fit, ..RULES }, 1..=300);
            assert!(profile.refit(at(1)));
            let window = profile.window(150.5).expect("on the curve");
            assert!((148..=152).contains(&window), "{fit:?}: {window}");
            let beyond = profile.window(350.0).expect("on its continuation");
            assert!((345..=355).contains(&beyond), "{fit:?}: {beyond}");
        }
    }

    #[test]
    fn a_spline_needs_five_windows_and_a_monotone_curve_one() {
        let first = |fit, windows| with_points(ProfileRules { fit, ..RULES }, windows).refit(at(1));
        assert!(!first(Fit::Penalised, 1..=4));
        assert!(first(Fit::Penalised, 1..=5));
        assert!(first(Fit::Monotone, 4..=4));
    }

    #[test]
    fn a_static_profile_keeps_its_first_curve() {
        for (learned, window) in [(true, 120), (false, 60)] {
            let mut profile =
                with_points(ProfileRules { learned, fit: Fit::Monotone, old_share: 0.0, ..RULES }, 1..=300);
            profile.refit(at(1));
            for window in 1..=300 {
                profile.add(at(2), window, window as f64 / 2.0);
            }
            profile.refit(at(2));
            assert_eq!(profile.window(60.0), Some(window), "learned: {learned}");
        }
    }

    #[test]
    fn points_age_and_points_above_a_stop_are_dropped() {
        let mut profile = with_points(ProfileRules { lifetime: Span::from_secs(10), ..RULES }, 1..=100);
        profile.add(at(5), 50, 50.0);
        profile.drop_from(60);
        profile.refit(at(6));
        assert_eq!(profile.points().count(), 59);
        profile.refit(at(11));
        assert_eq!(profile.points().count(), 1);
        assert!(profile.curve().is_some(), "one point is too few for a new curve: the old one stays");
    }
}

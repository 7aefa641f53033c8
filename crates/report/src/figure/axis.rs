//! Axes: positions, and the places that have a number.

use serde::Serialize;

/// An axis.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Axis {
    /// Its quantity, with the unit.
    pub title: String,
    /// How values become places.
    pub scale: Scale,
    /// Its lower end.
    pub from: f64,
    /// Its upper end, above the lower one.
    pub to: f64,
    /// Larger values stand further left.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub leftwards: bool,
    /// Values with a text of their own; empty: round numbers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ticks: Vec<(f64, String)>,
}

/// How values become places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// In proportion.
    Value,
    /// By their logarithms.
    Log,
    /// In proportion, seconds of a run: a page's plots show the same part of them.
    Time,
    /// Shares by their nines, in proportion: each nine has the same room.
    Tail,
}

/// More numbers than this at 1, 2, 5 and 10 would touch; powers of ten are left then.
const MOST_TICKS: usize = 10;
/// The relative room round values on a linear axis.
const ROOM: f64 = 0.06;

impl Axis {
    /// From one value to another.
    pub fn linear(title: impl Into<String>, from: f64, to: f64) -> Self {
        let to = if to > from { to } else { from + f64::max(from.abs() * 1e-3, 1e-3) };
        Self { title: title.into(), scale: Scale::Value, from, to, leftwards: false, ticks: Vec::new() }
    }

    /// From zero, or the smallest of the values where that is below, to the largest.
    pub fn from_zero(title: impl Into<String>, values: impl Iterator<Item = f64>) -> Self {
        let ends = |(low, high), value| (f64::min(low, value), f64::max(high, value));
        let (low, high) = values.filter(|value| value.is_finite()).fold((0.0, 1e-3), ends);
        Self::linear(title, low * (1.0 + ROOM), high * (1.0 + ROOM))
    }

    /// Round values, and below zero where one of them is.
    pub fn around(title: impl Into<String>, values: impl Iterator<Item = f64> + Clone) -> Self {
        let values = values.filter(|value| value.is_finite());
        let (low, high) = (values.clone().fold(f64::INFINITY, f64::min), values.fold(0.0, f64::max));
        let room = f64::max(high - low, 0.05 * high) * 2.0 * ROOM;
        let from = if low < 0.0 { low - room } else { f64::max(low - room, 0.0).min(high) };
        Self::linear(title, from, high + room)
    }

    /// Seconds of a run.
    pub fn time(from_s: f64, to_s: f64) -> Self {
        Self { scale: Scale::Time, ..Self::linear("Time, s", from_s, to_s) }
    }

    /// Delays in milliseconds, by their logarithms, from one of 1, 2, 5 and 10 to another one; values that are not above zero
    /// do not count.
    pub fn delay(title: impl Into<String>, delays_ms: impl Iterator<Item = f64> + Clone) -> Self {
        Self::by_logarithms(title, delays_ms, delay_text)
    }

    /// Numbers, in the same way.
    pub fn logarithmic(title: impl Into<String>, values: impl Iterator<Item = f64> + Clone) -> Self {
        Self::by_logarithms(title, values, crate::tables::number::short)
    }

    fn by_logarithms(
        title: impl Into<String>,
        values: impl Iterator<Item = f64> + Clone,
        text: fn(f64) -> String,
    ) -> Self {
        let values = values.filter(|value| value.is_finite() && *value > 0.0);
        let (low, high) = (values.clone().fold(f64::INFINITY, f64::min), values.fold(0.0, f64::max));
        let (low, high) = if high > 0.0 { (low, high) } else { (1.0, 1.0) };
        // A marker at the very end would be cut.
        let below = steps().take_while(|step| *step < low * 0.97).last().unwrap_or(low * 0.97);
        let above = steps().find(|step| *step > high * 1.03).unwrap_or(high * 1.03);
        let inside: Vec<f64> = steps().filter(|step| (below..=above).contains(step)).collect();
        let is_decade = |step: &f64| (libm::log10(*step).round() - libm::log10(*step)).abs() < 1e-6;
        let kept = inside.iter().filter(|step| inside.len() <= MOST_TICKS || is_decade(step));
        let ticks = kept.map(|&step| (step, text(step))).collect();
        Self { scale: Scale::Log, ticks, ..Self::linear(title, below, above) }
    }

    /// Names at 0, 1, 2 and so on.
    pub fn names<T: AsRef<str>>(title: impl Into<String>, names: &[T]) -> Self {
        let ticks =
            names.iter().enumerate().map(|(at, name)| (at as f64, name.as_ref().to_owned())).collect();
        Self { ticks, ..Self::linear(title, -0.5, names.len().max(1) as f64 - 0.5) }
    }

    /// Shares up to [`TAIL_END`], by their [nines](nines).
    pub(crate) fn tail(title: impl Into<String>) -> Self {
        const SHARES: [(f64, &str); 6] =
            [(0.0, "0"), (0.5, "50 %"), (0.9, "90 %"), (0.95, "95 %"), (0.99, "99 %"), (0.999, "99.9 %")];
        let ticks = SHARES.iter().map(|(share, text)| (nines(*share), (*text).to_owned())).collect();
        Self { scale: Scale::Tail, ticks, ..Self::linear(title, 0.0, nines(TAIL_END)) }
    }

    /// Such an axis for these values.
    pub(crate) fn holding(&self, values: impl Iterator<Item = f64> + Clone) -> Self {
        let title = self.title.clone();
        let axis =
            if self.scale == Scale::Log { Self::delay(title, values) } else { Self::around(title, values) };
        Self { leftwards: self.leftwards, ..axis }
    }

    /// The value this share of the axis further to the right or the top.
    pub(crate) fn shifted(&self, value: f64, share: f64) -> f64 {
        let share = if self.leftwards { -share } else { share };
        match self.scale {
            Scale::Log => value * libm::pow(self.to / self.from, share),
            _ => value + (self.to - self.from) * share,
        }
    }

    /// Puts larger values further left.
    #[must_use]
    pub fn leftwards(self) -> Self {
        Self { leftwards: true, ..self }
    }

    /// Where a value is: 0 at the left or the bottom, 1 at the right or the top.
    pub(crate) fn share(&self, value: f64) -> f64 {
        let place = |value: f64| if self.scale == Scale::Log { libm::log10(value) } else { value };
        let share = (place(value) - place(self.from)) / (place(self.to) - place(self.from));
        if self.leftwards { 1.0 - share } else { share }
    }

    /// The values that have a text, about so many where they are round numbers.
    pub(crate) fn labelled(&self, about: usize) -> Vec<(f64, String)> {
        if !self.ticks.is_empty() {
            return self.ticks.clone();
        }
        let step = round_step((self.to - self.from) / about as f64);
        let (first, last) = ((self.from / step).ceil() as i64, (self.to / step).floor() as i64);
        let decimals = (-libm::log10(step).floor()).clamp(0.0, 9.0) as usize;
        (first..=last)
            .map(|count| count as f64 * step)
            .map(|value| (value, format!("{value:.decimals$}")))
            .collect()
    }
}

/// The largest share on an axis for tails: a little above the last one with a text, 99.9 %.
pub(crate) const TAIL_END: f64 = 0.9995;

/// The nines of a share: 1 for 90 %, 2 for 99 %.
pub(crate) fn nines(share: f64) -> f64 {
    0.0 - libm::log10(1.0 - share)
}

/// The share of so many nines.
pub(crate) fn share_of(nines: f64) -> f64 {
    1.0 - libm::pow(10.0, -nines)
}

/// A title in ever fewer letters: `p95 queueing delay, ms` and `p95 queueing, ms` instead of `95th percentile of the queueing delay,
/// ms`.
pub(crate) fn shortened_titles(title: &str) -> [String; 3] {
    let short = shorter(title);
    let shortest = short.replace(" delay,", ",");
    [title.into(), short, shortest]
}

/// A title in fewer letters: `p95 RTT, ms` instead of `95th percentile of the RTT, ms`.
pub(crate) fn shorter(title: &str) -> String {
    match title.split_once("th percentile of the ") {
        Some((percent, rest)) => format!("p{percent} {rest}"),
        None => title.into(),
    }
}

/// 1, 2, 5, 10 and so on, from a microsecond to a day, in milliseconds.
fn steps() -> impl Iterator<Item = f64> {
    (-3..8).flat_map(|power| [1.0, 2.0, 5.0].map(|digit| digit * libm::pow(10.0, f64::from(power))))
}

/// The smallest of 1, 2, 5 and 10 times a power of ten that is not below `least`.
fn round_step(least: f64) -> f64 {
    let power = libm::pow(10.0, libm::log10(least).floor());
    [1.0, 2.0, 5.0]
        .iter()
        .map(|digit| digit * power)
        .find(|step| *step >= least * 0.999)
        .unwrap_or(10.0 * power)
}

/// `0.5`, `200`, `2 s`.
fn delay_text(ms: f64) -> String {
    if ms > 999.0 { format!("{} s", (ms / 1e3).round()) } else { crate::tables::number::short(ms) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(axis: &Axis) -> Vec<String> {
        axis.labelled(5).into_iter().map(|(_, text)| text).collect()
    }

    /// Ticks used to be powers of two: 16384 ms.
    #[test]
    fn delays_are_counted_in_ones_twos_and_fives_and_above_a_second_in_seconds() {
        assert_eq!(
            texts(&Axis::delay("", [130.0, 4100.0].into_iter())),
            ["100", "200", "500", "1 s", "2 s", "5 s"]
        );
        assert_eq!(texts(&Axis::delay("", [0.3, 17_000.0].into_iter())), ["1", "10", "100", "1 s", "10 s"]);
        assert_eq!(texts(&Axis::delay("", [0.0, f64::NAN].into_iter())), ["0.5", "1", "2"]);
    }

    #[test]
    fn a_linear_axis_has_round_numbers() {
        assert_eq!(texts(&Axis::linear("", 0.0, 1.0)), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(texts(&Axis::linear("", 0.913, 0.987)), ["0.92", "0.94", "0.96", "0.98"]);
        assert_eq!(texts(&Axis::linear("", 0.0, 2300.0)), ["0", "500", "1000", "1500", "2000"]);
        assert!(!texts(&Axis::linear("", 5.0, 5.0)).is_empty());
    }

    #[test]
    fn room_round_values_goes_below_zero_only_where_one_of_them_does() {
        let from = |values: [f64; 2]| Axis::around("", values.into_iter()).from;
        assert_eq!(from([0.01, 1.0]), 0.0);
        assert!(from([-0.25, 1.0]) < -0.25);
    }

    #[test]
    fn an_axis_for_tails_gives_each_nine_as_much_room() {
        let axis = Axis::tail("");
        assert_eq!(texts(&axis), ["0", "50 %", "90 %", "95 %", "99 %", "99.9 %"]);
        let place = |share: f64| axis.share(nines(share));
        assert!((place(0.99) - place(0.9) - place(0.9)).abs() < 1e-9);
        assert!((place(0.999) - 3.0 * place(0.9)).abs() < 1e-9 && (place(TAIL_END) - 1.0).abs() < 1e-9);
        assert!((share_of(nines(0.95)) - 0.95).abs() < 1e-12);
    }

    #[test]
    fn places_follow_the_scale() {
        let axis = Axis::delay("", [11.0, 95.0].into_iter());
        assert!((axis.share(10.0), axis.share(100.0)) == (0.0, 1.0), "{axis:?}");
        assert!((axis.share(31.622_776_6) - 0.5).abs() < 1e-6);
        assert!((axis.leftwards().share(10.0) - 1.0).abs() < 1e-9);
        assert_eq!(Axis::names("", &["a", "b"]).share(0.5), 0.5);
    }
}

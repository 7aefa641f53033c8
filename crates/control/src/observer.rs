//! The internal values that a scheme shows, for Records and plots.

use cellcc_units::Span;

/// Records a scheme's internal values.
pub trait Observer {
    /// A number at this moment; [`SchemeInfo::shows`](crate::SchemeInfo::shows) says what it means. `unit` is part of the name
    /// in the Record (`dtt`, `ms` becomes `dtt_ms`); empty for none.
    fn value(&mut self, name: &'static str, unit: &'static str, value: f64);
    /// The state that the scheme is in: its number in `names`, which the Record has, counts from zero.
    fn state(&mut self, name: &'static str, _names: &'static [&'static str], number: usize) {
        self.value(name, "", number as f64);
    }
    /// A state that is on or off: 1 or 0 in the Record.
    fn switch(&mut self, name: &'static str, on: bool) {
        self.state(name, &SWITCH, on.into());
    }
    /// The delay that the scheme aims at: `dtt_ms` in the Record, whose metric D3 divides the mean RTT by it.
    fn delay_target(&mut self, target: Span) {
        self.value("dtt", "ms", target.as_millis_f64());
    }
    /// True where [`curve`](Self::curve) is recorded: a scheme need not compute its curves otherwise.
    fn wants_curves(&self) -> bool {
        false
    }
    /// A curve at this moment, such as Verus' delay over the window; `x` and `y` name the axes, units included.
    fn curve(&mut self, _name: &'static str, _x: &'static str, _y: &'static str, _points: &[(f64, f64)]) {}
    /// A remark about the whole run, such as a parameter that had to be changed.
    fn note(&mut self, _text: &str) {}
}

/// The names of the states of a switch, by number.
pub(crate) const SWITCH: [&str; 2] = ["off", "on"];

/// A value that a scheme shows to an [`Observer`], for plots and for readers of Records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShownValue {
    /// As in the Record, its unit at the end: `dtt_ms`.
    pub name: &'static str,
    /// Its meaning in one line.
    pub meaning: &'static str,
    /// The names of its states, in the order of their numbers; empty: it is a quantity.
    pub states: &'static [&'static str],
}

impl ShownValue {
    /// A quantity.
    pub const fn number(name: &'static str, meaning: &'static str) -> Self {
        Self { name, meaning, states: &[] }
    }

    /// A value that is one of these states, which [`Observer::state`] also takes.
    pub const fn state(name: &'static str, meaning: &'static str, states: &'static [&'static str]) -> Self {
        Self { name, meaning, states }
    }

    /// A value that [`Observer::switch`] shows.
    pub const fn switch(name: &'static str, meaning: &'static str) -> Self {
        Self::state(name, meaning, &SWITCH)
    }
}

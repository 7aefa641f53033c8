//! What the values mean that a scheme shows of its inside.

/// The names of the states of a switch, by number.
pub(crate) const SWITCH: [&str; 2] = ["off", "on"];

/// A value that a scheme shows to an [`Observer`](crate::Observer), for plots and for readers of Records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShownValue {
    /// As in the Record, its unit at the end: `dtt_ms`.
    pub name: &'static str,
    /// One line: what it is.
    pub meaning: &'static str,
    /// The names of its states, in the order of their numbers; empty: it is a quantity.
    pub states: &'static [&'static str],
}

impl ShownValue {
    /// A quantity.
    pub const fn number(name: &'static str, meaning: &'static str) -> Self {
        Self { name, meaning, states: &[] }
    }

    /// One of these states, which are given to [`Observer::state`](crate::Observer::state) as well.
    pub const fn state(name: &'static str, meaning: &'static str, states: &'static [&'static str]) -> Self {
        Self { name, meaning, states }
    }

    /// What [`Observer::switch`](crate::Observer::switch) shows.
    pub const fn switch(name: &'static str, meaning: &'static str) -> Self {
        Self::state(name, meaning, &SWITCH)
    }
}

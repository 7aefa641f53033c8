//! A scheme's internal values, recorded for plots, Records and displays.

use crate::observer::Observer;
use cellcc_units::Span;

/// A curve's name, its axes and its points.
pub type ShownCurve = (&'static str, (&'static str, &'static str), Vec<(f64, f64)>);

/// Everything that a scheme shows at one moment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Observed {
    /// The numbers, by their names in the Record (`dtt_ms`).
    pub values: Vec<(String, f64)>,
    /// Which of the values are states: the value's name, and that of the state.
    pub states: Vec<(&'static str, &'static str)>,
    /// The delay that the scheme aims at, where it has such a target.
    pub delay_target_ms: Option<f64>,
    /// Remarks about the whole run.
    pub notes: Vec<String>,
    /// The curves; `None`: not wanted now.
    pub curves: Option<Vec<ShownCurve>>,
}

impl Observed {
    /// Records curves too.
    pub fn with_curves() -> Self {
        Self { curves: Some(Vec::new()), ..Self::default() }
    }
}

impl Observer for Observed {
    fn value(&mut self, name: &'static str, unit: &'static str, value: f64) {
        let name = if unit.is_empty() { name.into() } else { format!("{name}_{unit}") };
        self.values.push((name, value));
    }

    fn state(&mut self, name: &'static str, names: &'static [&'static str], number: usize) {
        self.value(name, "", number as f64);
        self.states.push((name, names.get(number).copied().unwrap_or("unknown")));
    }

    fn delay_target(&mut self, target: Span) {
        let target_ms = target.as_millis_f64();
        self.value("dtt", "ms", target_ms);
        self.delay_target_ms = Some(target_ms);
    }

    fn wants_curves(&self) -> bool {
        self.curves.is_some()
    }

    fn curve(&mut self, name: &'static str, x: &'static str, y: &'static str, points: &[(f64, f64)]) {
        if let Some(curves) = &mut self.curves {
            curves.push((name, (x, y), points.to_vec()));
        }
    }

    fn note(&mut self, text: &str) {
        self.notes.push(text.into());
    }
}

//! Recorded delays over time, for the condition `extra_delay`.

use cellcc_units::Span;

/// Delays, each with its length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Delays {
    /// The length of each (first), and the delay.
    pub(crate) steps: Vec<(Span, Span)>,
    /// True for round-trip times: one direction takes half of each.
    pub(crate) are_round_trips: bool,
}

impl Delays {
    /// The delays of one direction. Equal ones in sequence are one; those without a length are none.
    pub(crate) fn one_way(&self) -> Vec<(Span, Span)> {
        let mut steps: Vec<(Span, Span)> = Vec::new();
        for &(length, delay) in self.steps.iter().filter(|(length, _)| !length.is_zero()) {
            let delay = if self.are_round_trips { delay / 2 } else { delay };
            match steps.last_mut() {
                Some(last) if last.1 == delay => last.0 += length,
                _ => steps.push((length, delay)),
            }
        }
        steps
    }

    /// The range of the delays, and the flag that applies them in a run.
    pub(crate) fn note(&self, file: &str) -> String {
        let delays = || self.steps.iter().map(|&(_, delay)| delay);
        let (least, most) = (delays().min().unwrap_or(Span::ZERO), delays().max().unwrap_or(Span::ZERO));
        let [shown_least, shown_most] = [least, most].map(in_ms);
        let kind = if self.are_round_trips { "round-trip times" } else { "one-way delays" };
        if least == most {
            let rtt = if self.are_round_trips { least } else { least + least };
            return format!("the file also has {kind} of {shown_least}; --rtt {rtt} applies them");
        }
        format!(
            "the file also has {kind} of {shown_least} to {shown_most}; --extra-delay @{file} applies them"
        )
    }
}

/// In milliseconds, to a tenth.
fn in_ms(delay: Span) -> String {
    let ms = format!("{:.1}", delay.as_secs_f64() * 1e3);
    format!("{}ms", ms.strip_suffix(".0").unwrap_or(&ms))
}

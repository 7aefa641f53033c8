//! The one seed of a run, spread over all that is random in it.

use crate::Scenario;
use cellcc_units::Span;
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// Something that is random in a run, independently of everything else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Randomness {
    /// Losses of data packets.
    ForwardLoss,
    /// Losses of acknowledgements.
    ReverseLoss,
    /// Reordering of data packets.
    Reordering,
    /// The scheme of the flow with this index.
    Flow(usize),
    /// The sizes of this flow's frames.
    Frames(usize),
    /// Losses of this flow's reports of network assistance.
    Assistance(usize),
    /// Duplicates among them.
    AssistanceDuplication(usize),
    /// Reordering among them.
    AssistanceReordering(usize),
    /// Start of the run within the trace.
    TraceOffset,
    /// Start of the flow with this index within a round-trip time.
    FlowStart(usize),
}

impl Scenario {
    /// The seed of something random in this run.
    pub fn seed_of(&self, what: Randomness) -> u64 {
        // Flows come after the two directions; other streams with one index per flow begin far beyond all of them.
        let index = match what {
            Randomness::ForwardLoss => 0,
            Randomness::ReverseLoss => 1,
            Randomness::Flow(flow) => 2 + flow as u64,
            Randomness::Frames(flow) => u64::MAX / 8 * 7 + flow as u64,
            Randomness::TraceOffset => u64::MAX / 8,
            Randomness::Reordering => u64::MAX / 4,
            Randomness::FlowStart(flow) => u64::MAX / 8 * 3 + flow as u64,
            Randomness::Assistance(flow) => u64::MAX / 2 + flow as u64,
            Randomness::AssistanceDuplication(flow) => u64::MAX / 8 * 5 + flow as u64,
            Randomness::AssistanceReordering(flow) => u64::MAX / 4 * 3 + flow as u64,
        };
        stream(self.seed, index)
    }

    /// A time below `below`, as the seed has it.
    fn drawn_below(&self, below: Span, what: Randomness) -> Span {
        let nanos = (u128::from(self.seed_of(what)) * u128::from(below.as_nanos())) >> 64;
        Span::from_nanos(nanos as u64)
    }

    /// Start of the run within a trace of this period: a whole millisecond, as delivery opportunities are.
    pub(crate) fn drawn_offset(&self, period: Option<Span>) -> Span {
        let Some(period) = period.filter(|_| self.offset == Offset::Random) else { return Span::ZERO };
        let nanos = self.drawn_below(period, Randomness::TraceOffset).as_nanos();
        Span::from_millis(nanos / 1_000_000)
    }

    /// Lets each flow start up to a round-trip time later, where offsets are random and the flow does not stop before.
    pub(crate) fn draw_starts(&mut self) {
        if self.offset == Offset::Fixed {
            return;
        }
        for index in 0..self.flows.len() {
            let rtt = self.path.rtt + self.flows[index].extra_rtt;
            let later = self.flows[index].start + self.drawn_below(rtt, Randomness::FlowStart(index));
            if self.flows[index].stop.is_none_or(|stop| later < stop) {
                self.flows[index].start = later;
            }
        }
    }
}

/// Times that a seed draws, besides losses and the schemes' random numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Offset {
    /// No further variation: every run begins where its trace does, and flows start at their set times.
    #[default]
    Fixed,
    /// The start of the run within the trace, and each flow's delay of its start, within a round-trip time.
    Random,
}

impl Offset {
    /// True for the default.
    pub(crate) fn is_fixed(&self) -> bool {
        *self == Self::Fixed
    }
}

impl FromStr for Offset {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "fixed" => Ok(Self::Fixed),
            "random" => Ok(Self::Random),
            _ => Err(format!(
                "`{}` is not an offset; write random or fixed",
                text.chars().take(60).collect::<String>()
            )),
        }
    }
}

/// An independent seed for each stream (SplitMix64, Steele et al. 2014).
fn stream(seed: u64, index: u64) -> u64 {
    let mut z = seed.wrapping_add((index + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

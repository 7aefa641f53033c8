//! The one seed of a run, spread over all that is random in it.

use crate::Scenario;

/// Something that is random in a run, independently of everything else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Randomness {
    /// Which data packets are lost.
    ForwardLoss,
    /// Which acknowledgements are lost.
    ReverseLoss,
    /// Which data packets are overtaken.
    Reordering,
    /// The scheme of the flow with this index.
    Flow(usize),
    /// Which reports of this flow's network assistance are lost.
    Assistance(usize),
    /// Which of them arrive twice.
    AssistanceDuplication(usize),
    /// Which of them are overtaken.
    AssistanceReordering(usize),
}

impl Scenario {
    /// The seed of something random in this run.
    pub fn seed_of(&self, what: Randomness) -> u64 {
        // Flows come after the two directions, and what is as many as they are far beyond all of them.
        let index = match what {
            Randomness::ForwardLoss => 0,
            Randomness::ReverseLoss => 1,
            Randomness::Flow(flow) => 2 + flow as u64,
            Randomness::Reordering => u64::MAX / 4,
            Randomness::Assistance(flow) => u64::MAX / 2 + flow as u64,
            Randomness::AssistanceDuplication(flow) => u64::MAX / 8 * 5 + flow as u64,
            Randomness::AssistanceReordering(flow) => u64::MAX / 4 * 3 + flow as u64,
        };
        stream(self.seed, index)
    }
}

/// An independent seed for each stream (SplitMix64, Steele et al. 2014).
fn stream(seed: u64, index: u64) -> u64 {
    let mut z = seed.wrapping_add((index + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

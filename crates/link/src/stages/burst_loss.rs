//! Losses in bursts: the Gilbert–Elliott channel, a chain of two states that may change with every packet.
//!
//! A good channel loses nothing, a bad one a share *lost* of the packets. It stays bad for *burst* packets on average,
//! geometrically, and is bad for a share *b* of them, so that *share = b · lost* of all packets are lost. So it leaves the bad
//! state with *r = 1 / burst*, and the good one with *p = r b / (1 - b)*.
//!
//! Source: Gilbert 1960, Elliott 1963; RFC 9743 section 6.4 asks for such losses. The channel's state for a packet does not
//! depend on the time since the last one: a sender that pauses finds it unchanged.

use crate::queue::text::{Notation, Part, part, part_in, parts_form};
use crate::share::Loss;
use cellcc_units::Ratio;

/// Losses in bursts, as they are written: `share=1%, burst=8, lost=100%`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BurstLoss {
    /// Share of all packets that is lost; below `lost`.
    pub share: Ratio,
    /// Packets for which the channel stays bad, on average; at least one.
    pub burst: u32,
    /// Share of the packets that is lost while it is.
    pub lost: Ratio,
}

impl BurstLoss {
    /// Ours.
    const DEFAULT: Self = Self { share: Ratio::new(0.01), burst: 8, lost: Ratio::ONE };

    /// The share of the packets that meet a bad channel; one or more where the parts cannot be together.
    fn bad(&self) -> f64 {
        self.share.get() / self.lost.get()
    }

    /// The probability of leaving the bad state with a packet.
    fn leaves(&self) -> f64 {
        1.0 / f64::from(self.burst)
    }

    /// The probability of leaving the good one.
    fn enters(&self) -> f64 {
        self.leaves() * self.bad() / (1.0 - self.bad())
    }
}

impl Notation for BurstLoss {
    const NAME: &'static str = "burst_loss";
    const BASES: &'static [(&'static str, Self)] = &[("", Self::DEFAULT)];
    const PARTS: &'static [Part<Self>] = &[
        part_in("share=1%", "below `lost`, and where bursts are short, less", |own| &mut own.share, |_| true),
        part_in("burst=8", "1 or more packets", |own| &mut own.burst, |own| own.burst > 0),
        part("lost=100%", |own| &mut own.lost),
    ];

    fn contradiction(&self) -> Option<String> {
        let is_possible = self.bad() < 1.0 && self.enters() <= 1.0;
        let Self { share, burst, lost } = self;
        let percent = |share: &Ratio| share.get() * 100.0;
        (!is_possible).then(|| format!("share={}%, burst={burst}, lost={}%", percent(share), percent(lost)))
    }
}

parts_form!(BurstLoss, "share=1%", "losses in bursts: `share=1%, burst=8, lost=100%`; parts may be left out");

/// The channel over time.
#[derive(Debug, Clone)]
pub(crate) struct Channel {
    is_bad: bool,
    enters: Loss,
    leaves: Loss,
    strikes: Loss,
}

/// Keeps the draws apart from those of other parts of a link with the same seed.
const BURSTS: u64 = 0x0062_7572_7374; // "burst"

impl Channel {
    pub(crate) fn new(losses: BurstLoss, seed: u64) -> Self {
        let chance =
            |probability, number: u64| Loss::new(Ratio::new(probability), seed ^ BURSTS ^ (number << 48));
        Self {
            is_bad: chance(losses.bad(), 0).strikes(),
            enters: chance(losses.enters(), 1),
            leaves: chance(losses.leaves(), 2),
            strikes: chance(losses.lost.get(), 3),
        }
    }

    /// True if the next packet is lost.
    pub(crate) fn strikes(&mut self) -> bool {
        let lost = self.is_bad && self.strikes.strikes();
        let change = if self.is_bad { &mut self.leaves } else { &mut self.enters };
        self.is_bad ^= change.strikes();
        lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKETS: usize = 1_000_000;

    fn losses(text: &str, seed: u64) -> Vec<bool> {
        let mut channel = Channel::new(text.parse().unwrap(), seed);
        (0..PACKETS).map(|_| channel.strikes()).collect()
    }

    /// The share that is lost, and the mean number of packets lost one after the other.
    fn share_and_run(lost: &[bool]) -> (f64, f64) {
        let runs = lost.chunk_by(|one, next| one == next).filter(|run| run[0]).count();
        let lost = lost.iter().filter(|&&lost| lost).count() as f64;
        (lost / PACKETS as f64, lost / runs as f64)
    }

    /// A geometric length of mean m has a standard deviation of √(m (m - 1)), and the number of losses one of about √(2 m) for each
    /// square root of their number; four of each are allowed.
    #[test]
    fn the_share_that_is_lost_and_the_mean_burst_are_what_is_written() {
        for (share, burst) in [(0.01, 8.0), (0.01, 1.0), (0.05, 20.0), (0.3, 3.0)] {
            let text = format!("share={}%, burst={burst}", share * 100.0);
            let (lost, run) = share_and_run(&losses(&text, 1));
            let count = share * PACKETS as f64;
            assert!((lost / share - 1.0).abs() < 4.0 * (2.0 * burst / count).sqrt(), "{text}: {lost}");
            let error = 4.0 * (burst * (burst - 1.0) / (count / burst)).sqrt();
            assert!((run - burst).abs() <= error, "{text}: {run}");
        }
    }

    /// In a bad state with s packets to come, a lost packet is followed by a lost one with a probability of h (1 - 1/s) and by
    /// one of the next bad state, which is rare.
    #[test]
    fn where_a_bad_channel_loses_a_half_bursts_have_holes_and_the_share_stays() {
        let lost = losses("share=1%, burst=8, lost=50%", 1);
        let (share, _) = share_and_run(&lost);
        assert!((share / 0.01 - 1.0).abs() < 4.0 * (2.0 * 8.0 / 10_000.0_f64).sqrt(), "{share}");
        let after: Vec<bool> = lost.windows(2).filter(|pair| pair[0]).map(|pair| pair[1]).collect();
        let followed = after.iter().filter(|&&lost| lost).count() as f64 / after.len() as f64;
        let expected = 0.5 * (1.0 - 1.0 / 8.0);
        assert!((followed - expected).abs() < 4.0 * (0.25 / after.len() as f64).sqrt(), "{followed}");
    }

    #[test]
    fn the_seed_decides_which_packets_are_lost() {
        assert_eq!(losses("burst=4", 7), losses("burst=4", 7));
        assert_ne!(losses("burst=4", 7), losses("burst=4", 8));
    }

    #[test]
    fn what_is_written_reads_back_and_what_cannot_be_is_refused() {
        for text in ["share=2%, burst=3", "share=1%", "burst=1", "share=10%, lost=50%"] {
            let losses: BurstLoss = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(losses.to_string().parse(), Ok(losses));
        }
        // Every packet would be lost, or every second one, which bursts of one cannot exceed.
        for text in
            ["", "share=100%", "share=50%, lost=50%", "share=60%, burst=1", "burst=0", "share=0%", "1%"]
        {
            assert!(text.parse::<BurstLoss>().is_err(), "{text}");
        }
    }
}

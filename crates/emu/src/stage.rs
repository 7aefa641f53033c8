//! What the emulated path consists of.

use crate::log::LogSpec;
use cellcc_link::{LinkConfig, Policer, ReorderingConfig, Scheduler};

/// One piece of one direction of the path. A direction is a list of stages in the order in which packets cross them;
/// all of them run in one thread, and a packet enters each at the scheduled time at which it left the one before.
#[derive(Debug, Clone)]
#[expect(clippy::large_enum_variant, reason = "a path has a few stages, and they are not moved about")]
pub enum Stage {
    /// A link that all users share: random loss, queue, service, propagation delay. A pure delay, and a pure loss, are
    /// links of unlimited capacity and queue.
    Link(LinkStage),
    /// A base station: a queue for each user.
    Cell(CellStage),
}

/// A link with a policer before it and reordering behind it, or with a log.
#[derive(Debug, Clone)]
pub struct LinkStage {
    /// Loss, queue, capacity, delay.
    pub config: LinkConfig,
    /// Decides which packets are lost.
    pub seed: u64,
    /// What is dropped before the link because it comes too fast.
    pub policer: Option<Policer>,
    /// Which packets arrive later than others sent after them.
    pub reordering: Option<ReorderingConfig>,
    /// The log of its packets, for a link without delay and reordering: see [`Stage::logged`].
    pub log: Option<LogSpec>,
}

/// A base station with a queue for each user; [`cellcc_link::Cell`].
#[derive(Debug, Clone)]
pub struct CellStage {
    /// The channel of each user; as many as the topology has.
    pub users: Vec<LinkConfig>,
    /// Who is served in a slot.
    pub scheduler: Scheduler,
    /// Decides which packets are lost.
    pub seed: u64,
}

impl Stage {
    /// Splits the link into a link with a log and a stage with its repetitions, delay, jitter and reordering: the log has packets
    /// when they leave the link. `None` for a cell, where each user has a queue.
    pub fn logged(self, log: LogSpec) -> Option<[Self; 2]> {
        let Self::Link(LinkStage { config, seed, policer, reordering, .. }) = self else { return None };
        let LinkConfig { capacity, queue, delay, jitter, loss, burst_loss, access, harq } = config;
        let link = LinkConfig { capacity, queue, loss, burst_loss, access, ..LinkConfig::transparent() };
        let after = LinkConfig { harq, delay, jitter, ..LinkConfig::transparent() };
        Some([
            Self::Link(LinkStage { config: link, seed, policer, reordering: None, log: Some(log) }),
            Self::Link(LinkStage { config: after, seed, policer: None, reordering, log: None }),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::LogHeader;

    #[test]
    fn a_logged_link_waits_for_its_grant_before_the_log_and_repeats_behind_it() {
        let (access, harq) = ("request=40ms".parse().ok(), "fdd-up".parse().ok());
        let config = LinkConfig { access, harq, ..LinkConfig::transparent() };
        let stage = LinkStage { config, seed: 1, policer: None, reordering: None, log: None };
        let log = LogSpec { path: "up.log".into(), header: LogHeader::default() };
        let Some([Stage::Link(link), Stage::Link(after)]) = Stage::Link(stage).logged(log) else {
            panic!("two links");
        };
        assert_eq!((link.config.access, link.config.harq), (access, None));
        assert_eq!((after.config.access, after.config.harq), (None, harq));
    }
}

//! The stages of the emulated path: the links that the simulator makes of a Scenario's path.

use crate::log::LogSpec;
use cellcc_experiment::{PathLinks, ResolveError, Scenario};
use cellcc_link::{Capacities, LinkConfig, PathConfig};

/// One piece of one direction of the path. A direction is a list of stages in the order in which packets cross them;
/// all of them run in one thread, and a packet enters each at the scheduled time at which it left the one before.
#[derive(Debug, Clone)]
pub struct Stage {
    /// A link or a cell, with the stages before it and behind it. A pure delay, and a pure loss, are links of unlimited
    /// capacity and queue.
    pub path: PathConfig,
    /// The log of its packets, for a link without delay and reordering: see [`Stage::logged`].
    pub log: Option<LogSpec>,
}

/// The stages of the uplink, for acknowledgements, and of the downlink, for data.
#[derive(Debug, Clone)]
pub struct Stages {
    /// The path from the users to the outside.
    pub up: Vec<Stage>,
    /// The path towards the users.
    pub down: Vec<Stage>,
}

impl Stages {
    /// The path of a Scenario over links of these capacities.
    ///
    /// # Errors
    /// The Scenario contains a setting that no link supports.
    pub fn new(scenario: &Scenario, capacities: &Capacities) -> Result<Self, ResolveError> {
        let PathLinks { forward, reverse, reverse_seed } = PathLinks::new(scenario, capacities)?;
        let up = PathConfig { grain: forward.grain, ..PathConfig::link(reverse, reverse_seed) };
        Ok(Self { up: vec![up.into()], down: vec![forward.into()] })
    }
}

impl Stage {
    /// A link and nothing else. `seed` decides what is random.
    pub fn link(config: LinkConfig, seed: u64) -> Self {
        PathConfig::link(config, seed).into()
    }

    /// Splits the link into a link with a log and a stage with the parts behind its service: the log has packets when they
    /// leave the link. `None` for a cell, where each user has a queue.
    pub fn logged(self, log: LogSpec) -> Option<[Self; 2]> {
        let [link, after] = self.path.split()?;
        Some([Self { path: link, log: Some(log) }, after.into()])
    }
}

impl From<PathConfig> for Stage {
    /// The path without a log.
    fn from(path: PathConfig) -> Self {
        Self { path, log: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::LogHeader;
    use cellcc_link::TraceCache;
    use cellcc_units::Span;

    #[test]
    fn both_directions_have_the_grain_of_the_path() {
        let text = "scheme = 'cubic'\ntrace = '3g'\nseed = 1\nduration = '9s'\nflows = []\n[path]\nrtt = '20ms'\ngrain = '1ms'\n";
        let scenario: Scenario = toml::from_str(text).expect("a Scenario");
        let capacities = scenario.capacities(&TraceCache::default()).expect("embedded");
        let stages = Stages::new(&scenario, &capacities).expect("a path");
        let grains = [stages.up, stages.down].map(|stages| stages[0].path.grain);
        assert_eq!(grains, [Span::from_millis(1); 2]);
    }

    #[test]
    fn a_logged_link_waits_for_its_grant_before_the_log_and_repeats_behind_it() {
        let (access, harq) = ("request=40ms".parse().ok(), "fdd-up".parse().ok());
        let config = LinkConfig { access, harq, ..LinkConfig::transparent() };
        let log = LogSpec { path: "up.log".into(), header: LogHeader::default() };
        let stages = Stage::link(config, 1).logged(log).expect("a link");
        let [link, after] = stages.map(|stage| stage.path.links()[0].clone());
        assert_eq!((link.access, link.harq), (access, None));
        assert_eq!((after.access, after.harq), (None, harq));
    }
}

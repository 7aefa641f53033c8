//! A Scenario's path as stages of the emulation: the same links that the simulator makes of it.

use crate::stage::{CellStage, LinkStage, Stage};
use cellcc_experiment::{PathLinks, ResolveError, Scenario};
use cellcc_link::Capacities;

/// The stages of the uplink, for acknowledgements, and of the downlink, for data.
pub struct Stages {
    /// From the users to the outside.
    pub up: Vec<Stage>,
    /// To the users.
    pub down: Vec<Stage>,
}

/// The path of a Scenario over links of these capacities.
///
/// # Errors
/// Where the Scenario asks for something that the emulator cannot do.
pub fn stages(scenario: &Scenario, capacities: &Capacities) -> Result<Stages, ResolveError> {
    let links = PathLinks::new(scenario, capacities)?;
    let PathLinks { mut forward, forward_seed: seed, policer, reordering, .. } = links;
    let down = match links.scheduler {
        None => {
            Stage::Link(LinkStage { config: forward.swap_remove(0), seed, policer, reordering, log: None })
        }
        Some(_) if reordering.is_some() || policer.is_some() => {
            return Err(ResolveError(
                "the emulator has no policer before a cell and does not reorder packets behind it; leave out path.policer and \
                 path.reordered, or the cell"
                    .into(),
            ));
        }
        Some(scheduler) => Stage::Cell(CellStage { users: forward, scheduler, seed }),
    };
    let up = LinkStage {
        config: links.reverse,
        seed: links.reverse_seed,
        policer: None,
        reordering: None,
        log: None,
    };
    Ok(Stages { up: vec![Stage::Link(up)], down: vec![down] })
}

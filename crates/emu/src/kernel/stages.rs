//! A Scenario's path as stages of the emulation: the same links that the simulator makes of it.

use crate::stage::{CellStage, LinkStage, Stage};
use cellcc_experiment::{Path, Randomness, ResolveError, Scenario};
use cellcc_link::{Capacities, Capacity, Delay, Jitter, LinkConfig, LossRate, Scheduler};
use std::sync::Arc;

/// The stages of the way up, of the acknowledgements, and of the way down, of the data.
pub(crate) struct Stages {
    pub(crate) up: Vec<Stage>,
    pub(crate) down: Vec<Stage>,
}

/// The path of a Scenario over links of these capacities.
///
/// # Errors
/// What the Scenario asks for and no link does.
pub(crate) fn stages(scenario: &Scenario, capacities: &Capacities) -> Result<Stages, ResolveError> {
    let Path { rtt, queue, loss, reordered, reordered_by, reverse, .. } = &scenario.path;
    let there = *rtt / 2;
    let delay = Delay::with_extra(there, &scenario.path.extra_delay)
        .map_err(|error| ResolveError(format!("extra delay: {error}")))?;
    let loss = LossRate::with_extra(*loss, &scenario.path.extra_loss)
        .map_err(|error| ResolveError(format!("extra loss: {error}")))?;
    let config = |capacity: &Arc<Capacity>| LinkConfig {
        capacity: Arc::clone(capacity),
        queue: *queue,
        delay: delay.clone(),
        jitter: Jitter { up_to: scenario.path.jitter, reorders: scenario.path.jitter_reorders },
        loss: loss.clone(),
    };
    let seed = scenario.seed_of(Randomness::ForwardLoss);
    let reordering = (!reordered.is_zero()).then_some((*reordered, *reordered_by));
    let down = match &scenario.cell {
        None => {
            Stage::Link(LinkStage { config: config(&capacities.forward[0]), seed, reordering, log: None })
        }
        Some(_) if reordering.is_some() => {
            return Err(ResolveError(
                "the driver `kernel` does not reorder packets behind a cell; leave out path.reordered or the cell".into(),
            ));
        }
        Some(cell) => Stage::Cell(CellStage {
            users: capacities.forward.iter().map(config).collect(),
            scheduler: cell
                .scheduler
                .parse::<Scheduler>()
                .map_err(|error| ResolveError(error.to_string()))?,
            seed,
        }),
    };
    let up = Stage::Link(LinkStage {
        config: LinkConfig {
            capacity: Arc::clone(&capacities.reverse),
            queue: reverse.queue,
            delay: Delay::constant(rtt.saturating_sub(there)),
            jitter: Jitter::NONE,
            loss: LossRate::constant(reverse.loss),
        },
        seed: scenario.seed_of(Randomness::ReverseLoss),
        reordering: None,
        log: None,
    });
    Ok(Stages { up: vec![up], down: vec![down] })
}

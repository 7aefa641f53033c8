//! `mm-loss uplink|downlink RATE`: packets of one direction are lost at random.

use super::words::Words;
use super::{Chain, Direction, open_stage};
use crate::error::EmuError;
use crate::stage::LinkStage;
use cellcc_link::{LinkConfig, ShareOverTime};
use cellcc_units::Ratio;

pub(super) fn add(words: &mut Words, chain: &mut Chain) -> Result<(), EmuError> {
    let direction = words.next_direction()?;
    let (loss, shown) = words.next_parsed("the rate", |text| Ok((loss(text)?, text.to_owned())))?;
    let seed = words.next_seed(chain.next_seed())?;
    let open = open_stage();
    let config = LinkConfig { loss, ..open.config };
    chain.add(direction, LinkStage { config, seed, ..open });
    let name = match direction {
        Direction::Up => "up",
        Direction::Down => "down",
    };
    chain.prefix += &format!("[loss {name}={shown}] ");
    Ok(())
}

/// A share from 0 to 1 as Mahimahi has it, or one with its unit.
fn loss(text: &str) -> Result<ShareOverTime, String> {
    match text.parse::<f64>() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(ShareOverTime::constant(Ratio::new(share))),
        Ok(_) => Err("a loss rate is a share from 0 to 1, or has its unit, such as 10%".into()),
        Err(_) => text.parse().map_err(|_| {
            "write a share from 0 to 1, such as 0.01, or with its unit, such as 1% or 0%@5s,1%@5s".into()
        }),
    }
}

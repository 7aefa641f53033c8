//! `mm-delay MILLISECONDS`: the same delay in both directions.

use super::words::Words;
use super::{Chain, Direction, open_stage};
use crate::error::EmuError;
use crate::stage::LinkStage;
use cellcc_link::{Delay, LinkConfig};
use cellcc_units::Span;

pub(super) fn add(words: &mut Words, chain: &mut Chain) -> Result<(), EmuError> {
    let (delay, shown) = words.next_parsed("the delay", delay)?;
    for direction in [Direction::Up, Direction::Down] {
        let open = open_stage();
        let config = LinkConfig { delay: delay.clone(), ..open.config };
        chain.add(direction, LinkStage { config, ..open });
    }
    chain.prefix += &format!("[delay {shown}] ");
    Ok(())
}

/// As `cellcc shell` takes for a round trip.
const MOST_MILLIS: u32 = 60_000;

/// Whole milliseconds as Mahimahi has them, or a delay with its unit; and how the prompt shows it.
fn delay(text: &str) -> Result<(Delay, String), String> {
    if let Ok(millis) = text.parse::<u32>() {
        if millis > MOST_MILLIS {
            return Err(format!("a delay is at most {MOST_MILLIS} ms"));
        }
        return Ok((Delay::constant(Span::from_millis(millis.into())), format!("{millis} ms")));
    }
    let expected =
        "write whole milliseconds, such as 20, or a delay with its unit, such as 2.5ms or 10ms@5s,40ms@5s";
    text.parse().map(|delay| (delay, text.to_owned())).map_err(|_| expected.into())
}

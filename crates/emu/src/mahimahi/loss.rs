//! Losses in one direction.
//!
//! `mm-loss uplink|downlink RATE`: packets are lost at random.
//!
//! `mm-onoff uplink|downlink MEAN-ON-TIME MEAN-OFF-TIME`: the direction is cut off at times. As in Mahimahi it begins on,
//! each stretch lasts for a time drawn from an exponential distribution, and while it is off everything is lost. Mahimahi
//! cuts the times to whole milliseconds, which makes them half a millisecond shorter; here they are not cut.

use super::words::Words;
use super::{Chain, Direction};
use crate::error::EmuError;
use crate::stage::Stage;
use cellcc_link::{LinkConfig, ShareOverTime};
use cellcc_units::{Ratio, Span};
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};

pub(super) fn add_loss(words: &mut Words, chain: &mut Chain) -> Result<(), EmuError> {
    let direction = words.next_direction()?;
    let (loss, shown) = words.next_parsed("the rate", |text| Ok((loss(text)?, text.to_owned())))?;
    let seed = words.next_seed(chain.next_seed())?;
    chain.add(direction, Stage::link(LinkConfig { loss, ..LinkConfig::transparent() }, seed));
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

/// Stretches are drawn for a day, and at most a million of them; after that the last state stays.
const LONGEST: Span = Span::from_secs(24 * 3600);
const MOST_STRETCHES: usize = 1_000_000;

pub(super) fn add_on_off(words: &mut Words, chain: &mut Chain) -> Result<(), EmuError> {
    let direction = words.next_direction()?;
    let (on, on_text) = words.next_parsed("the mean on-time", seconds)?;
    let (off, off_text) = words.next_parsed("the mean off-time", seconds)?;
    if on.is_zero() && off.is_zero() {
        return Err(words.refused("the mean on-time and the mean off-time cannot both be zero"));
    }
    let seed = words.next_seed(chain.next_seed())?;
    let (loss, drawn_for) = pattern(on, off, seed);
    if drawn_for < LONGEST {
        chain.notes.push(format!(
            "mm-onoff: with times this short the link changes for {:.0} min and then stays as it is",
            drawn_for.as_secs_f64() / 60.0
        ));
    }
    chain.add(direction, Stage::link(LinkConfig { loss, ..LinkConfig::transparent() }, seed));
    let name = match direction {
        Direction::Up => "(up)",
        Direction::Down => "(down)",
    };
    chain.prefix += &format!("[onoff {name} on={on_text} off={off_text}] ");
    Ok(())
}

/// Seconds as Mahimahi has them, or a time with its unit; and how the prompt shows it.
fn seconds(text: &str) -> Result<(Span, String), String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.0..1e9).contains(&seconds) => {
            Ok((Span::from_secs_f64(seconds), format!("{text}s")))
        }
        Ok(_) => Err("a mean time is from 0 to 1e9 seconds".into()),
        Err(_) => text
            .parse()
            .map(|span| (span, text.to_owned()))
            .map_err(|_| "write seconds, such as 1.5, or a time with its unit, such as 200ms".into()),
    }
}

/// The times at which packets pass or not, and the length of this pattern.
fn pattern(on: Span, off: Span, seed: u64) -> (ShareOverTime, Span) {
    let always = |share| (ShareOverTime::constant(share), LONGEST);
    if on.is_zero() {
        return always(Ratio::ONE);
    }
    if off.is_zero() {
        return always(Ratio::ZERO);
    }
    let mut generator = Pcg64Mcg::seed_from_u64(seed);
    let (mut steps, mut end) = (Vec::new(), Span::ZERO);
    while end < LONGEST && steps.len() < MOST_STRETCHES {
        for (mean, lost) in [(on, Ratio::ZERO), (off, Ratio::ONE)] {
            let stretch = exponential(mean, &mut generator);
            steps.push((stretch, lost));
            end += stretch;
        }
    }
    let loss = ShareOverTime::steps(steps).unwrap_or(ShareOverTime::constant(Ratio::ZERO));
    (loss, end)
}

/// A time from the exponential distribution with this mean.
fn exponential(mean: Span, generator: &mut Pcg64Mcg) -> Span {
    // The 53 bits of a double, from above zero to one.
    let share = ((generator.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64;
    mean.mul_f64(-libm::log(share))
}

#[cfg(test)]
mod tests {
    use super::*;
    use cellcc_link::Capacity;
    use cellcc_link::Link;
    use cellcc_units::{Bytes, Time};

    /// The share of the time in which packets pass, and how often that changes, over an hour in steps of 10 ms.
    fn on_share_and_changes(loss: ShareOverTime) -> (f64, usize) {
        #[derive(Debug)]
        struct Probe;
        impl cellcc_link::Packet for Probe {
            fn size(&self) -> Bytes {
                Bytes::new(1)
            }
        }
        let config = LinkConfig { loss, ..LinkConfig::transparent() };
        let mut link = Link::new(config, 1);
        let passes: Vec<bool> = (0..360_000)
            .map(|step| link.enqueue(Time::ZERO + Span::from_millis(10 * step), Probe).is_ok())
            .collect();
        let on = passes.iter().filter(|passes| **passes).count();
        assert!(passes[0], "it begins on");
        (on as f64 / passes.len() as f64, passes.windows(2).filter(|pair| pair[0] != pair[1]).count())
    }

    #[test]
    fn it_is_on_and_off_for_times_of_those_means() {
        let (loss, drawn_for) = pattern(Span::from_secs(3), Span::from_secs(1), 7);
        let (share, changes) = on_share_and_changes(loss);
        // 900 rounds of 4 s in an hour: standard deviation of the share 0.75 % (3/4 * 1/4 * sqrt(2 / 900) each side).
        assert!((0.72..0.78).contains(&share), "{share}");
        assert!((1600..2000).contains(&changes), "{changes}");
        assert!(drawn_for >= LONGEST);
    }

    #[test]
    fn the_seed_decides_when() {
        let drawn = |seed| pattern(Span::from_secs(3), Span::from_secs(1), seed).0;
        assert_eq!(drawn(1), drawn(1));
        assert_ne!(drawn(1), drawn(2));
    }

    #[test]
    fn very_short_times_do_not_fill_the_memory() {
        let (_, drawn_for) = pattern(Span::from_nanos(1), Span::from_nanos(1), 1);
        assert!(drawn_for < Span::from_secs(1));
    }

    #[test]
    fn a_stage_of_no_capacity_limit_takes_next_to_no_time() {
        let fastest = LinkConfig::transparent().capacity;
        assert!(fastest.time_to_carry(Time::ZERO, Capacity::OPPORTUNITY) <= Time::from_nanos(2));
    }
}

//! Pieces of links one after the other, in text and as a capacity: `join(drive.mbps,duration=5s;gap=100ms;lte-drive)`.

use crate::capacity::opportunities::{Opportunities, Opportunity};
use crate::capacity::spec::{CapacitySpec, EXPECTED, SpecError};
use crate::capacity::steps::Steps;
use crate::capacity::{Capacity, CapacityError, Shape};
use cellcc_units::{ParseError, Rate, Span};
use std::fmt;
use std::sync::Arc;

/// A piece of a [`CapacitySpec::Join`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// `gap=100ms`: nothing is carried for that time, as while a phone changes its cell.
    Gap(Span),
    /// One period of a link: a trace, a named link or `step=`.
    Link(CapacitySpec),
}

/// Reads `PIECE;PIECE;...`, the text between the parentheses.
pub(crate) fn parse(text: &str) -> Result<Vec<Piece>, SpecError> {
    text.split(';').map(|piece| parse_piece(piece.trim())).collect()
}

fn parse_piece(text: &str) -> Result<Piece, SpecError> {
    let refused = || SpecError::from(ParseError::new(text, EXPECTED));
    if let Some(gap) = text.strip_prefix("gap=") {
        let gap: Span = gap.parse()?;
        return if gap.is_zero() { Err(refused()) } else { Ok(Piece::Gap(gap)) };
    }
    if text.starts_with("join(") {
        return Err(refused());
    }
    // `step=` may leave out the length of its last step, but not in a join: there every piece ends.
    let has_no_end =
        text.starts_with("step=") && text.rsplit(',').next().is_some_and(|last| !last.contains('@'));
    match text.parse()? {
        CapacitySpec::Constant(_) => Err(SpecError::Endless(text.into())),
        _ if has_no_end => Err(SpecError::Endless(text.into())),
        link => Ok(Piece::Link(link)),
    }
}

/// Writes the form that [`parse`] reads.
pub(crate) fn format(pieces: &[Piece], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (index, piece) in pieces.iter().enumerate() {
        let separator = if index > 0 { ";" } else { "" };
        match piece {
            Piece::Gap(gap) => write!(f, "{separator}gap={gap}")?,
            Piece::Link(link) => write!(f, "{separator}{link}")?,
        }
    }
    Ok(())
}

/// A stretch of a joined capacity.
pub(crate) enum Stretch {
    Gap(Span),
    Link(Arc<Capacity>),
}

/// All stretches once, one after the other; then the first again, as in a trace.
pub(crate) fn join(stretches: &[Stretch]) -> Result<Capacity, CapacityError> {
    if stretches.iter().any(|stretch| matches!(stretch, Stretch::Link(link) if link.delay.is_some())) {
        return Err(CapacityError::JoinOfDelays);
    }
    let is_opportunities = |stretch: &Stretch| match stretch {
        Stretch::Link(capacity) => Some(capacity.is_opportunities()),
        Stretch::Gap(_) => None,
    };
    let mut kinds = stretches.iter().filter_map(is_opportunities);
    let first = kinds.next().ok_or(CapacityError::NeverCarries)?;
    if kinds.any(|kind| kind != first) {
        return Err(CapacityError::Mixed);
    }
    let shape = match first {
        true => Shape::Opportunities(join_opportunities(stretches)?),
        false => Shape::Steps(join_steps(stretches)?),
    };
    Ok(shape.into())
}

fn join_steps(stretches: &[Stretch]) -> Result<Steps, CapacityError> {
    let mut steps = Vec::new();
    for stretch in stretches {
        match stretch {
            Stretch::Gap(gap) => steps.push((*gap, Rate::ZERO)),
            Stretch::Link(capacity) => {
                if let Shape::Steps(part) = &capacity.shape {
                    steps.extend(part.steps());
                }
            }
        }
    }
    Steps::new(&steps, true)
}

fn join_opportunities(stretches: &[Stretch]) -> Result<Opportunities, CapacityError> {
    let (mut list, mut period, mut carried) = (Vec::<Opportunity>::new(), 0u64, 0u64);
    for stretch in stretches {
        match stretch {
            Stretch::Gap(gap) => period = period.saturating_add(gap.as_nanos()),
            Stretch::Link(capacity) => {
                if let Shape::Opportunities(part) = &capacity.shape {
                    list.extend(part.list.iter().map(|entry| Opportunity {
                        at: period.saturating_add(entry.at),
                        through: carried + entry.through,
                    }));
                    carried += part.total();
                    period = period.saturating_add(part.period);
                }
            }
        }
        if period > Capacity::MAX_PERIOD.as_nanos() {
            return Err(CapacityError::TooLong);
        }
    }
    Ok(Opportunities { list, period })
}

#[cfg(test)]
mod tests {
    use super::*;
    use cellcc_units::{Bytes, Time};

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    fn open(text: &str) -> Result<Arc<Capacity>, SpecError> {
        let named = |name: &str| {
            let capacity = match name {
                "every-10ms" => Capacity::from_opportunities([10, 20, 30]),
                "every-5ms" => Capacity::from_opportunities([5, 10]),
                _ => Capacity::from_steps(vec![
                    (Span::from_secs(1), Rate::from_mbit_per_sec(8.0)),
                    (Span::from_secs(1), Rate::from_mbit_per_sec(16.0)),
                ]),
            };
            capacity.ok().map(Arc::new)
        };
        text.parse::<CapacitySpec>()?.open(named).map(|source| source.capacity)
    }

    #[test]
    fn rates_follow_one_another_with_nothing_carried_in_the_gap() {
        let capacity = open("join(walk,offset=1s; gap=100ms; step=4Mbit/s@500ms)").unwrap();
        let mbit = |from, to| capacity.rate_in(at(from), at(to)).as_mbit_per_sec();
        assert_eq!([mbit(0, 1000), mbit(1000, 1100), mbit(1100, 1600)], [16.0, 0.0, 4.0]);
        assert_eq!(capacity.period(), Some(Span::from_millis(1600)));
        assert_eq!(mbit(1600, 2600), 16.0, "a join repeats, as a trace does");
    }

    #[test]
    fn opportunities_keep_their_times_within_their_piece() {
        let capacity = open("join(every-10ms;gap=100ms;every-5ms)").unwrap();
        let left: Vec<u64> = [10, 20, 30, 134, 135, 140, 150]
            .map(|millis| capacity.bytes_between(at(0), at(millis)).get() / Capacity::OPPORTUNITY.get())
            .to_vec();
        assert_eq!(left, [1, 2, 3, 3, 4, 5, 6]);
        assert_eq!(capacity.period(), Some(Span::from_millis(140)));
        assert_eq!(capacity.time_to_carry(at(30), Bytes::new(1500)), at(135));
    }

    #[test]
    fn a_join_of_one_link_is_that_link() {
        assert_eq!(open("join(walk)").unwrap(), open("walk").unwrap());
        assert_eq!(open("join(every-10ms)").unwrap(), open("every-10ms").unwrap());
    }

    #[test]
    fn what_has_no_end_or_carries_nothing_is_refused() {
        for text in ["join(rate=1Mbit/s)", "join(step=3Mbit/s@1s,4Mbit/s;walk)"] {
            let message = open(text).unwrap_err().to_string();
            assert!(message.contains("has no end"), "{text}: {message}");
        }
        for text in [
            "join()",
            "join(walk",
            "join(walk;)",
            "join(join(walk))",
            "join(gap=0s;walk)",
            "join(gap=5;walk)",
        ] {
            assert!(text.parse::<CapacitySpec>().is_err(), "{text}");
        }
        let message = open("join(gap=1s;gap=2s)").unwrap_err().to_string();
        assert!(message.contains("never carries"), "{message}");
    }

    #[test]
    fn rates_and_opportunities_are_not_joined_silently() {
        let message = open("join(walk;every-10ms)").unwrap_err().to_string();
        assert!(message.contains("cellcc trace convert"), "{message}");
    }
}

//! What a queue does with packets: how many it holds, and which it drops or marks.

use crate::parts::{NotZero, Parts, name_and_parts};
use crate::text::deserialize_text;
use crate::{CoDel, ParseError, Pie, QueueLimit, Ratio, Red, Span};
use core::fmt;
use core::str::FromStr;

/// A queue, as it is written:
///
/// | text | what it does |
/// |---|---|
/// | `3200pkt`, `1.5MB`, `100ms`, `unlimited` | drop-tail: a packet that does not fit is dropped |
/// | `droptail(3200pkt, mark=1ms)` | the same, and marks ECN-capable packets that waited longer than that |
/// | `droptail(100pkt, ack-filter)` | the same, and of a flow's acknowledgements in the queue the oldest goes when a newer one says all it says |
/// | `drophead(100pkt)` | the oldest packets make room for the newest |
/// | `codel(target=5ms, interval=100ms, limit=1000pkt, ecn)` | CoDel, RFC 8289; each part may be left out |
/// | `pie(target=15ms, burst=150ms, update=15ms, limit=1000pkt, ecn)` | PIE, RFC 8033; each part may be left out |
/// | `red(min=7.5kB, max=22.5kB, probability=10%, limit=1000pkt, ecn)` | RED, gentle; each part may be left out |
/// | `red(verus)` | with the thresholds of the Verus paper, which other parts may change |
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Queue {
    /// First in, first out; a packet that does not fit is dropped.
    DropTail {
        /// What it holds.
        limit: QueueLimit,
        /// ECN-capable packets that waited longer than this are marked, as by the step threshold of an L4S queue
        /// (RFC 9332); none: nothing is marked.
        mark_above: Option<Span>,
        /// Drops acknowledgements that newer ones in the queue make superfluous, as CAKE's `ack-filter` does: see
        /// docs/link-model.md.
        ack_filter: bool,
    },
    /// First in, first out; the oldest packets are dropped until the newest fits.
    DropHead(QueueLimit),
    /// Controlled delay.
    CoDel(CoDel),
    /// Proportional integral controller, enhanced.
    Pie(Pie),
    /// Random early detection.
    Red(Red),
}

impl Queue {
    /// What it holds at most.
    pub fn limit(&self) -> QueueLimit {
        match *self {
            Self::DropTail { limit, .. } | Self::DropHead(limit) => limit,
            Self::CoDel(CoDel { limit, .. })
            | Self::Pie(Pie { limit, .. })
            | Self::Red(Red { limit, .. }) => limit,
        }
    }
}

impl From<QueueLimit> for Queue {
    /// Drop-tail with this limit.
    fn from(limit: QueueLimit) -> Self {
        Self::DropTail { limit, mark_above: None, ack_filter: false }
    }
}

const EXPECTED: &str = "a queue: a limit above zero such as `3200pkt`, `1.5MB`, `100ms` or `unlimited`, \
                        `droptail(LIMIT, mark=1ms, ack-filter)`, `drophead(LIMIT)`, `codel(target=5ms, interval=100ms, limit=1000pkt, ecn)`, \
                        `pie(target=15ms, burst=150ms, update=15ms, limit=1000pkt, ecn)` \
                        or `red(min=7.5kB, max=22.5kB, probability=10%, limit=1000pkt, ecn)`";
const OF_DROPTAIL: &str =
    "a part of `droptail`, which takes a limit, `mark=1ms` and `ack-filter`, each at most once";
const OF_DROPHEAD: &str = "a part of `drophead`, which takes a limit such as `100pkt`, once";
const OF_CODEL: &str = "a part of `codel`, which takes `target=5ms`, `interval=100ms`, `limit=1000pkt` and `ecn`, each at most once";
const OF_PIE: &str = "a part of `pie`, which takes `target=15ms`, `burst=150ms`, `update=15ms` \
                      (1ms or more), `limit=1000pkt` and `ecn`, each at most once";
const OF_RED: &str = "a part of `red`, which takes `min=7.5kB`, `max=22.5kB` (above `min`), `probability=10%` (above 0%, up to \
                      100%), `limit=1000pkt`, `verus` and `ecn`, each at most once";

impl FromStr for Queue {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let text = text.trim();
        if let Ok(limit) = text.parse::<QueueLimit>() {
            return Ok(limit.into());
        }
        let refused = || ParseError::new(text, EXPECTED);
        let (name, inside) = name_and_parts(text).ok_or_else(refused)?;
        let queue = match name {
            "droptail" => drop_tail(&mut Parts::new(inside, OF_DROPTAIL)?)?,
            "drophead" => drop_head(&mut Parts::new(inside, OF_DROPHEAD)?)?,
            "codel" => codel(&mut Parts::new(inside, OF_CODEL)?)?,
            "pie" => pie(&mut Parts::new(inside, OF_PIE)?)?,
            "red" => red(&mut Parts::new(inside, OF_RED)?)?,
            _ => None,
        };
        queue.ok_or_else(refused)
    }
}

fn drop_tail(parts: &mut Parts) -> Result<Option<Queue>, ParseError> {
    let ack_filter = parts.take_word("ack-filter");
    let (limit, mark_above) = (parts.take("")?, parts.take("mark")?.map(|NotZero(span)| span));
    parts.end()?;
    Ok(limit.map(|limit| Queue::DropTail { limit, mark_above, ack_filter }))
}

fn drop_head(parts: &mut Parts) -> Result<Option<Queue>, ParseError> {
    let limit = parts.take("")?;
    parts.end()?;
    Ok(limit.map(Queue::DropHead))
}

fn codel(parts: &mut Parts) -> Result<Option<Queue>, ParseError> {
    let CoDel { target, interval, limit, .. } = CoDel::DEFAULT;
    let codel = CoDel {
        target: parts.take("target")?.map_or(target, |NotZero(span)| span),
        interval: parts.take("interval")?.map_or(interval, |NotZero(span)| span),
        limit: parts.take("limit")?.unwrap_or(limit),
        ecn: parts.take_word("ecn"),
    };
    parts.end()?;
    Ok(Some(Queue::CoDel(codel)))
}

fn pie(parts: &mut Parts) -> Result<Option<Queue>, ParseError> {
    let Pie { target, burst, update, limit, .. } = Pie::DEFAULT;
    let pie = Pie {
        target: parts.take("target")?.map_or(target, |NotZero(span)| span),
        burst: parts.take("burst")?.unwrap_or(burst),
        update: parts.take("update")?.map_or(update, |Update(span)| span),
        limit: parts.take("limit")?.unwrap_or(limit),
        ecn: parts.take_word("ecn"),
    };
    parts.end()?;
    Ok(Some(Queue::Pie(pie)))
}

fn red(parts: &mut Parts) -> Result<Option<Queue>, ParseError> {
    let preset = if parts.take_word("verus") { Red::VERUS } else { Red::DEFAULT };
    let red = Red {
        min: parts.take("min")?.unwrap_or(preset.min),
        max: parts.take("max")?.unwrap_or(preset.max),
        probability: parts.take("probability")?.map_or(preset.probability, |Probability(share)| share),
        limit: parts.take("limit")?.unwrap_or(preset.limit),
        ecn: parts.take_word("ecn"),
    };
    parts.end()?;
    if red.min >= red.max {
        return Err(ParseError::new(&format!("min={}, max={}", red.min, red.max), OF_RED));
    }
    Ok(Some(Queue::Red(red)))
}

/// A share above nothing.
struct Probability(Ratio);

impl FromStr for Probability {
    type Err = ();
    fn from_str(text: &str) -> Result<Self, ()> {
        let share = text.strip_suffix('%').and_then(|_| text.parse().ok());
        share.filter(|share: &Ratio| !share.is_zero() && *share <= Ratio::ONE).map(Self).ok_or(())
    }
}

/// A time between updates.
struct Update(Span);

impl FromStr for Update {
    type Err = ();
    fn from_str(text: &str) -> Result<Self, ()> {
        text.parse().ok().filter(|span| *span >= Pie::SHORTEST_UPDATE).map(Self).ok_or(())
    }
}

impl fmt::Display for Queue {
    /// The shortest text that reads back.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        let mut note = |differs: bool, part: String| {
            if differs {
                parts.push(part);
            }
        };
        let name = match *self {
            Self::DropTail { limit, mark_above: None, ack_filter: false } => return limit.fmt(f),
            Self::DropTail { limit, mark_above, ack_filter } => {
                note(true, limit.to_string());
                mark_above.iter().for_each(|span| note(true, format!("mark={span}")));
                note(ack_filter, "ack-filter".into());
                "droptail"
            }
            Self::DropHead(limit) => return f.pad(&format!("drophead({limit})")),
            Self::CoDel(CoDel { target, interval, limit, ecn }) => {
                let usual = CoDel::DEFAULT;
                note(target != usual.target, format!("target={target}"));
                note(interval != usual.interval, format!("interval={interval}"));
                note(limit != usual.limit, format!("limit={limit}"));
                note(ecn, "ecn".into());
                "codel"
            }
            Self::Pie(Pie { target, burst, update, limit, ecn }) => {
                let usual = Pie::DEFAULT;
                note(target != usual.target, format!("target={target}"));
                note(burst != usual.burst, format!("burst={burst}"));
                note(update != usual.update, format!("update={update}"));
                note(limit != usual.limit, format!("limit={limit}"));
                note(ecn, "ecn".into());
                "pie"
            }
            Self::Red(Red { min, max, probability, limit, ecn }) => {
                let is_verus = (min, max) == (Red::VERUS.min, Red::VERUS.max);
                let usual = if is_verus { Red::VERUS } else { Red::DEFAULT };
                note(is_verus, "verus".into());
                note(min != usual.min, format!("min={min}"));
                note(max != usual.max, format!("max={max}"));
                note(probability != usual.probability, format!("probability={}%", probability.get() * 100.0));
                note(limit != usual.limit, format!("limit={limit}"));
                note(ecn, "ecn".into());
                "red"
            }
        };
        match parts.is_empty() {
            true => f.pad(name),
            false => f.pad(&format!("{name}({})", parts.join(", "))),
        }
    }
}

impl serde::Serialize for Queue {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Queue {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize_text(deserializer, EXPECTED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(text: &str) -> Queue {
        text.parse().unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn a_limit_alone_is_drop_tail() {
        assert_eq!(queue("3200pkt"), QueueLimit::Packets(3200).into());
        assert_eq!(queue("droptail(100ms)"), queue("100ms"));
    }

    #[test]
    fn what_is_written_reads_back_in_its_shortest_form() {
        for (text, shortest) in [
            ("unlimited", "unlimited"),
            ("droptail(1.5MB,mark=1ms)", "droptail(1.5MB, mark=1ms)"),
            ("droptail(ack-filter, 100pkt)", "droptail(100pkt, ack-filter)"),
            ("drophead( 100pkt )", "drophead(100pkt)"),
            ("codel()", "codel"),
            (
                "codel(ecn, target = 5ms, interval=50ms, limit=1000pkt)",
                "codel(interval=50ms, limit=1000pkt, ecn)",
            ),
            (
                "pie(target=20ms, burst=0s, update=16ms, limit=1MB, ecn)",
                "pie(target=20ms, burst=0s, update=16ms, limit=1MB, ecn)",
            ),
            ("pie", "pie"),
            ("red", "red"),
            ("red(min=375kB, max=1125kB)", "red(verus)"),
            ("red(ecn, verus, max=2MB, limit=1000pkt)", "red(min=375kB, max=2MB, limit=1000pkt, ecn)"),
            ("red(probability=2%)", "red(probability=2%)"),
        ] {
            assert_eq!(queue(text).to_string(), shortest);
            assert_eq!(queue(shortest), queue(text));
        }
    }

    #[test]
    fn an_unknown_part_is_refused_by_its_name_with_what_there_is() {
        for (text, part, known) in [
            ("codel(tarjet=5ms)", "`tarjet=5ms`", "`target=5ms`"),
            ("codel(target=5ms, target=6ms)", "`target=6ms`", "at most once"),
            ("codel(target=0s)", "`target=0s`", "`target=5ms`"),
            ("pie(alpha=1)", "`alpha=1`", "`update=15ms`"),
            ("pie(update=1us)", "`update=1us`", "1ms or more"),
            ("pie(100pkt)", "`100pkt`", "`limit=1000pkt`"),
            ("red(min=30kB)", "`min=30kB, max=22.5kB`", "above `min`"),
            ("red(probability=0%)", "`probability=0%`", "above 0%"),
            ("red(probability=0.1)", "`probability=0.1`", "`probability=10%`"),
            ("drophead(100pkt, ecn)", "`ecn`", "`drophead`"),
            ("droptail(100pkt, mark=1)", "`mark=1`", "`mark=1ms`"),
        ] {
            let error = text.parse::<Queue>().unwrap_err().to_string();
            assert!(error.contains(part) && error.contains(known), "{text}: {error}");
        }
    }

    #[test]
    fn a_queue_without_its_limit_or_of_an_unknown_kind_is_refused() {
        for text in [
            "",
            "3200",
            "0pkt",
            "droptail",
            "drophead()",
            "droptail(mark=1ms)",
            "blue",
            "codel(",
            "codel(ecn",
        ] {
            assert!(text.parse::<Queue>().is_err(), "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in "(droptail|drophead|codel|pie|red|)\\(?\\PC*\\)?") {
            let _ = text.parse::<Queue>();
        }
    }
}

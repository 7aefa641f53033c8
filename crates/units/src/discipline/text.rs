//! How queues are written.

use super::{Abc, CoDel, FqCoDel, MahimahiCoDel, MahimahiPie, Pie, Queue, Red};
use crate::parts::{NotZero, Parts, name_and_parts};
use crate::text::deserialize_text;
use crate::{Bytes, ParseError, QueueLimit, Ratio, Span};
use core::fmt;
use core::str::FromStr;

const EXPECTED: &str = "a queue: a limit above zero such as `3200pkt`, `1.5MB`, `100ms` or `unlimited`, \
                        `droptail(LIMIT, mark=1ms, ack-filter)`, `drophead(LIMIT)`, `codel(target=5ms, interval=100ms, limit=1000pkt, ecn)` or `codel(mahimahi)`, \
                        `pie(target=15ms, burst=150ms, update=15ms, limit=1000pkt, ecn)` or `pie(mahimahi)`, \
                        `red(min=7.5kB, max=22.5kB, probability=10%, limit=1000pkt, ecn)` or `red(verus)`, \
                        `fq-codel(target=5ms, interval=100ms, quantum=1514B, queues=1024, limit=10240pkt, ecn)` \
                        or `abc(target=50ms, eta=98%, delta=133ms, limit=250pkt)`";
const OF_DROPTAIL: &str =
    "a part of `droptail`, which takes a limit, `mark=1ms` and `ack-filter`, each at most once";
const OF_DROPHEAD: &str = "a part of `drophead`, which takes a limit such as `100pkt`, once";
const OF_CODEL: &str = "a part of `codel`, which takes `target=5ms`, `interval=100ms`, `limit=1000pkt`, `ecn` and \
                        `mahimahi`, each at most once";
const OF_MAHIMAHI_CODEL: &str = "a part of `codel(mahimahi)`, which takes `target=5ms` and `interval=100ms` (in whole \
                                 milliseconds) and `limit=1000pkt`, each at most once";
const OF_MAHIMAHI_PIE: &str = "a part of `pie(mahimahi)`, which takes `target=15ms` and `burst=150ms` (in whole milliseconds) \
                               and `limit=1000pkt`, each at most once";
const OF_PIE: &str = "a part of `pie`, which takes `target=15ms`, `burst=150ms`, `update=15ms` \
                      (1ms or more), `limit=1000pkt`, `ecn` and `mahimahi`, each at most once";
const OF_RED: &str = "a part of `red`, which takes `min=7.5kB`, `max=22.5kB` (above `min`), `probability=10%` (above 0%, up to \
                      100%), `limit=1000pkt`, `verus` and `ecn`, each at most once";
const OF_FQ_CODEL: &str = "a part of `fq-codel`, which takes `target=5ms`, `interval=100ms`, `quantum=1514B` (256B or more), \
                           `queues=1024` (1 to 65536), `limit=10240pkt` and `ecn`, each at most once";
const OF_ABC: &str = "a part of `abc`, which takes `target=50ms`, `eta=98%` (above 0%, up to 100%), `delta=133ms` and \
                      `limit=250pkt`, each at most once";

impl FromStr for Queue {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let text = text.trim();
        if let Ok(limit) = text.parse::<QueueLimit>() {
            return Ok(limit.into());
        }
        let in_packets = || Some(format!("{text}pkt")).filter(|limit| limit.parse::<QueueLimit>().is_ok());
        let refused = || ParseError::new(text, EXPECTED).meaning(in_packets());
        let (name, inside) = name_and_parts(text).ok_or_else(refused)?;
        let queue = match name {
            "droptail" => drop_tail(&mut Parts::new(inside, OF_DROPTAIL)?)?,
            "drophead" => drop_head(&mut Parts::new(inside, OF_DROPHEAD)?)?,
            "codel" if has_word(inside, "mahimahi") => {
                Some(Queue::MahimahiCoDel(mahimahi_codel(Parts::new(inside, OF_MAHIMAHI_CODEL)?)?))
            }
            "pie" if has_word(inside, "mahimahi") => {
                Some(Queue::MahimahiPie(mahimahi_pie(Parts::new(inside, OF_MAHIMAHI_PIE)?)?))
            }
            "codel" => Some(Queue::CoDel(codel(Parts::new(inside, OF_CODEL)?, CoDel::DEFAULT)?)),
            "pie" => pie(&mut Parts::new(inside, OF_PIE)?)?,
            "red" => red(&mut Parts::new(inside, OF_RED)?)?,
            "abc" => Some(Queue::Abc(abc(Parts::new(inside, OF_ABC)?)?)),
            "fq-codel" => Some(Queue::FqCoDel(fq_codel(Parts::new(inside, OF_FQ_CODEL)?)?)),
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

fn codel(mut parts: Parts, usual: CoDel) -> Result<CoDel, ParseError> {
    let codel = CoDel {
        target: parts.take("target")?.map_or(usual.target, |NotZero(span)| span),
        interval: parts.take("interval")?.map_or(usual.interval, |NotZero(span)| span),
        limit: parts.take("limit")?.unwrap_or(usual.limit),
        ecn: parts.take_word("ecn"),
    };
    parts.end()?;
    Ok(codel)
}

fn has_word(inside: &str, word: &str) -> bool {
    inside.split(',').any(|part| part.trim() == word)
}

fn mahimahi_codel(mut parts: Parts) -> Result<MahimahiCoDel, ParseError> {
    parts.take_word("mahimahi");
    let usual = MahimahiCoDel::DEFAULT;
    let codel = MahimahiCoDel {
        target: parts.take("target")?.map_or(usual.target, |WholeMillis(span)| span),
        interval: parts.take("interval")?.map_or(usual.interval, |WholeMillis(span)| span),
        limit: parts.take("limit")?.unwrap_or(usual.limit),
    };
    parts.end()?;
    Ok(codel)
}

fn mahimahi_pie(mut parts: Parts) -> Result<MahimahiPie, ParseError> {
    parts.take_word("mahimahi");
    let usual = MahimahiPie::DEFAULT;
    let pie = MahimahiPie {
        target: parts.take("target")?.map_or(usual.target, |WholeMillis(span)| span),
        burst: parts.take("burst")?.map_or(usual.burst, |WholeMillis(span)| span),
        limit: parts.take("limit")?.unwrap_or(usual.limit),
    };
    parts.end()?;
    Ok(pie)
}

fn abc(mut parts: Parts) -> Result<Abc, ParseError> {
    let usual = Abc::DEFAULT;
    let abc = Abc {
        target: parts.take("target")?.unwrap_or(usual.target),
        eta: parts.take("eta")?.map_or(usual.eta, |Probability(share)| share),
        delta: parts.take("delta")?.map_or(usual.delta, |NotZero(span)| span),
        limit: parts.take("limit")?.unwrap_or(usual.limit),
    };
    parts.end()?;
    Ok(abc)
}

fn fq_codel(mut parts: Parts) -> Result<FqCoDel, ParseError> {
    let usual = FqCoDel::DEFAULT;
    let quantum = parts.take("quantum")?.map_or(usual.quantum, |Quantum(bytes)| bytes);
    let queues = parts.take("queues")?.map_or(usual.queues, |Queues(count)| count);
    Ok(FqCoDel { codel: codel(parts, usual.codel)?, quantum, queues })
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

/// A time above zero in whole milliseconds.
struct WholeMillis(Span);

impl FromStr for WholeMillis {
    type Err = ();
    fn from_str(text: &str) -> Result<Self, ()> {
        let NotZero(span) = text.parse()?;
        let is_whole = span.as_nanos().is_multiple_of(Span::from_millis(1).as_nanos());
        if is_whole { Ok(Self(span)) } else { Err(()) }
    }
}

/// What a queue may send before the others' turn.
struct Quantum(Bytes);

impl FromStr for Quantum {
    type Err = ();
    fn from_str(text: &str) -> Result<Self, ()> {
        let smallest = FqCoDel::SMALLEST_QUANTUM;
        text.parse().ok().filter(|bytes| *bytes >= smallest).map(Self).ok_or(())
    }
}

/// A number of queues.
struct Queues(u32);

impl FromStr for Queues {
    type Err = ();
    fn from_str(text: &str) -> Result<Self, ()> {
        text.parse().ok().filter(|count| (1..=65_536).contains(count)).map(Self).ok_or(())
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
            Self::CoDel(codel) => {
                note_codel(&codel, &CoDel::DEFAULT, &mut note);
                "codel"
            }
            Self::MahimahiCoDel(MahimahiCoDel { target, interval, limit }) => {
                let usual = MahimahiCoDel::DEFAULT;
                note(true, "mahimahi".into());
                note(target != usual.target, format!("target={target}"));
                note(interval != usual.interval, format!("interval={interval}"));
                note(limit != usual.limit, format!("limit={limit}"));
                "codel"
            }
            Self::MahimahiPie(MahimahiPie { target, burst, limit }) => {
                let usual = MahimahiPie::DEFAULT;
                note(true, "mahimahi".into());
                note(target != usual.target, format!("target={target}"));
                note(burst != usual.burst, format!("burst={burst}"));
                note(limit != usual.limit, format!("limit={limit}"));
                "pie"
            }
            Self::Abc(Abc { target, eta, delta, limit }) => {
                let usual = Abc::DEFAULT;
                note(target != usual.target, format!("target={target}"));
                note(eta != usual.eta, format!("eta={}%", eta.get() * 100.0));
                note(delta != usual.delta, format!("delta={delta}"));
                note(limit != usual.limit, format!("limit={limit}"));
                "abc"
            }
            Self::FqCoDel(FqCoDel { codel, quantum, queues }) => {
                let usual = FqCoDel::DEFAULT;
                note(quantum != usual.quantum, format!("quantum={quantum}"));
                note(queues != usual.queues, format!("queues={queues}"));
                note_codel(&codel, &usual.codel, &mut note);
                "fq-codel"
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

fn note_codel(codel: &CoDel, usual: &CoDel, note: &mut impl FnMut(bool, String)) {
    let CoDel { target, interval, limit, ecn } = *codel;
    note(target != usual.target, format!("target={target}"));
    note(interval != usual.interval, format!("interval={interval}"));
    note(limit != usual.limit, format!("limit={limit}"));
    note(ecn, "ecn".into());
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

//! `--uplink-queue=KIND` and `--uplink-queue-args=NAME=NUMBER,...`; or `--uplink-queue='red(verus, limit=100pkt)'`.

use cellcc_link::{Abc, DropHead, MahimahiCoDel, MahimahiPie, Queue};
use cellcc_units::{Bytes, QueueLimit, Span};
use std::fmt;

/// A queue, and how Mahimahi's logs name it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Named {
    pub(super) queue: Queue,
    pub(super) name: String,
}

/// The unit of the percentage `beta` of ABC's authors (`cellular_packet_queue.cc` of their Mahimahi).
const ABC_DELTA: Span = Span::from_millis(100);

/// The queue of this kind with these arguments. Times are in milliseconds; those that are not given are the RFCs'.
pub(super) fn queue(kind: &str, arguments: &str) -> Result<Named, String> {
    let mut arguments = Arguments::parse(arguments)?;
    let name = if arguments.0.is_empty() { kind.to_owned() } else { format!("{kind} [{arguments}]") };
    let queue = match kind {
        "infinite" => QueueLimit::Unlimited.into(),
        "droptail" => arguments.limit()?.into(),
        "drophead" => Queue::DropHead(DropHead { limit: arguments.limit()? }),
        "codel" => Queue::MahimahiCoDel(MahimahiCoDel {
            limit: arguments.limit()?,
            target: arguments.span("target").unwrap_or(MahimahiCoDel::DEFAULT.target),
            interval: arguments.span("interval").unwrap_or(MahimahiCoDel::DEFAULT.interval),
        }),
        "pie" => Queue::MahimahiPie(MahimahiPie {
            limit: arguments.limit()?,
            target: arguments.span("qdelay_ref").unwrap_or(MahimahiPie::DEFAULT.target),
            burst: arguments.span("max_burst").unwrap_or(MahimahiPie::DEFAULT.burst),
        }),
        "cellular" => Queue::Abc(Abc {
            limit: arguments.limit()?,
            target: arguments.span("qdelay_ref").unwrap_or(Abc::DEFAULT.target),
            delta: arguments.take("beta").map_or(Abc::DEFAULT.delta, |percent| ABC_DELTA * 100 / percent),
            ..Abc::DEFAULT
        }),
        _ => other(kind, &arguments)?,
    };
    match arguments.0.first() {
        None => Ok(Named { queue, name }),
        Some((unknown, _)) => Err(format!("the queue {kind} takes no `{unknown}`")),
    }
}

/// A queue that Mahimahi does not have, as the rest of cellcc writes it.
fn other(kind: &str, arguments: &Arguments) -> Result<Queue, String> {
    let queue: Queue = kind.parse().map_err(|error| {
        format!(
            "Mahimahi has the queues infinite, droptail, drophead, codel and pie, and ABC's authors have cellular; others are written with their settings, such as \
             `red(verus, limit=100pkt)`: {error}"
        )
    })?;
    queue.check_emulated()?;
    match arguments.0.is_empty() {
        true => Ok(queue),
        false => {
            Err(format!("only Mahimahi's own queues take arguments here; write the settings into `{kind}`"))
        }
    }
}

/// `packets=100, bytes=150000`, in order; [`take`](Self::take) removes the value that it returns.
struct Arguments<'a>(Vec<(&'a str, u64)>);

impl<'a> Arguments<'a> {
    fn parse(text: &'a str) -> Result<Self, String> {
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        let parts = parts.map(|part| {
            part.split_once('=')
                .and_then(|(name, number)| Some((name.trim(), number.trim().parse().ok()?)))
                .ok_or_else(|| format!("`{part}` has not the form NAME=NUMBER, such as packets=100"))
        });
        Ok(Self(parts.collect::<Result<_, _>>()?))
    }

    /// Zero means not given, as in Mahimahi.
    fn take(&mut self, name: &str) -> Option<u64> {
        let place = self.0.iter().position(|(given, _)| *given == name)?;
        Some(self.0.remove(place).1).filter(|number| *number > 0)
    }

    fn span(&mut self, name: &str) -> Option<Span> {
        self.take(name).map(Span::from_millis)
    }

    fn limit(&mut self) -> Result<QueueLimit, String> {
        match (self.take("packets"), self.take("bytes")) {
            (Some(packets), None) => Ok(QueueLimit::Packets(packets)),
            (None, Some(bytes)) => Ok(QueueLimit::Bytes(Bytes::new(bytes))),
            (None, None) => Err("a limit is missing: packets=NUMBER or bytes=NUMBER".into()),
            (Some(_), Some(_)) => {
                Err("two limits, but only one is possible: leave packets or bytes out".into())
            }
        }
    }
}

impl fmt::Display for Arguments<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (name, number)) in self.0.iter().enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            write!(f, "{comma}{name}={number}")?;
        }
        Ok(())
    }
}

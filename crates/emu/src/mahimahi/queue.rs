//! `--uplink-queue=KIND` and `--uplink-queue-args=NAME=NUMBER,...`.

use cellcc_units::{Bytes, QueueLimit};
use std::fmt;

/// A queue, and how Mahimahi's logs name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) queue: QueueLimit,
    pub(super) name: String,
}

/// The queue of this kind with these arguments.
pub(super) fn queue(kind: &str, arguments: &str) -> Result<Named, String> {
    let mut arguments = Arguments::parse(arguments)?;
    let name = if arguments.0.is_empty() { kind.to_owned() } else { format!("{kind} [{arguments}]") };
    let queue = match kind {
        "infinite" => QueueLimit::Unlimited,
        "droptail" => arguments.limit()?,
        _ => return Err("there are the queues infinite and droptail".into()),
    };
    match arguments.0.first() {
        None => Ok(Named { queue, name }),
        Some((unknown, _)) => Err(format!("the queue {kind} takes no `{unknown}`")),
    }
}

/// `packets=100, bytes=150000`, in order; those that were taken are gone.
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

    fn take(&mut self, name: &str) -> Option<u64> {
        let place = self.0.iter().position(|(given, _)| *given == name)?;
        Some(self.0.remove(place).1)
    }

    /// What a queue holds. Zero is as good as nothing, as in Mahimahi.
    fn limit(&mut self) -> Result<QueueLimit, String> {
        let mut above_zero = |name| self.take(name).filter(|limit| *limit > 0);
        match (above_zero("packets"), above_zero("bytes")) {
            (Some(packets), None) => Ok(QueueLimit::Packets(packets)),
            (None, Some(bytes)) => Ok(QueueLimit::Bytes(Bytes::new(bytes))),
            (None, None) => Err("a limit is missing: packets=NUMBER or bytes=NUMBER".into()),
            (Some(_), Some(_)) => {
                Err("two limits, of which one alone is possible: leave packets or bytes out".into())
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

//! The values of conditions: names, ranges and forms.

use cellcc_control::split_list;
use cellcc_units::{Bytes, QueueLimit, Ratio, Span, split_number};
use std::fmt::Display;
use std::ops::{Bound, RangeBounds};
use std::str::FromStr;
use toml::Value;

/// The values of a condition.
#[derive(Debug, Clone, Copy)]
pub struct Takes {
    /// Name of the value in the help; empty for a switch.
    pub name: &'static str,
    /// The range, as error texts say it and as it is read: `0s to 60s, such as 20ms`, `above 0s up to 24h`, `0% to below 100%`.
    /// Empty: none.
    pub(super) range: &'static str,
    /// True if the flag takes several values.
    pub several: bool,
    /// Converts the flag's argument to the form of a Scenario file.
    pub(super) read: fn(&str) -> Result<Value, String>,
    /// True if a value is in the range.
    pub(super) fits: fn(&str, &str) -> bool,
}

const ANY: Takes =
    Takes { name: "", range: "", several: false, read: |text| Ok(text.into()), fits: |_, _| true };

pub(super) const SWITCH: Takes = Takes { read: |text| Ok((text == "true").into()), ..ANY };
pub(super) const LIST: Takes = Takes { name: "LIST", read: |text| Ok(list(text)), ..ANY };
pub(super) const LINKS: Takes =
    Takes { name: "LINK", several: true, read: |text| Ok(Value::Array(vec![text.into()])), ..ANY };
pub(super) const QUEUE: Takes = Takes {
    range: "at most 100000000pkt, 100GB, 1h or 1000bdp, such as 3200pkt, or `unlimited`",
    fits: |_, text| text.parse().is_ok_and(|queue| is_bounded(&queue)),
    ..parsed::<cellcc_link::Queue>("QUEUE")
};
/// Steps over time; their longest is checked once their files have been read.
pub(super) const DELAYS: Takes =
    Takes { range: "at most 60s, such as 5ms@10s,20ms@5s", ..text("STEPS|@FILE") };
pub(super) const CELL: Takes = Takes {
    name: "SCHEDULER:LIST",
    read: |text| {
        let (scheduler, users) = text.split_once(':').unwrap_or((text, ""));
        let scheduler = ("scheduler".into(), scheduler.trim().into());
        Ok(Value::Table([scheduler, ("users".into(), list(users))].into_iter().collect()))
    },
    ..ANY
};

pub(super) const fn text(name: &'static str) -> Takes {
    Takes { name, ..ANY }
}

pub(super) const fn parsed<T: FromStr<Err: Display>>(name: &'static str) -> Takes {
    Takes { read: |text| parse::<T>(text).map(|_| text.into()), ..self::text(name) }
}

const fn within<T: FromStr<Err: Display> + PartialOrd>(name: &'static str, range: &'static str) -> Takes {
    Takes { range, fits: is_within::<T>, ..parsed::<T>(name) }
}

pub(super) const fn time(range: &'static str) -> Takes {
    within::<Span>("TIME", range)
}

pub(super) const fn size(range: &'static str) -> Takes {
    within::<Bytes>("BYTES", range)
}

pub(super) const fn share(range: &'static str) -> Takes {
    within::<Ratio>("SHARE", range)
}

pub(super) const fn factor(range: &'static str) -> Takes {
    within::<Ratio>("FACTOR", range)
}

pub(super) const fn count(range: &'static str) -> Takes {
    Takes {
        read: |text| parse::<u32>(text).map(|count| i64::from(count).into()),
        ..within::<u32>("COUNT", range)
    }
}

impl Takes {
    /// A guess at the value meant by a number without its unit, which is the example's, or by `5m`.
    pub(super) fn meant(&self, text: &str) -> Option<String> {
        let (_, example) = self.range.split_once(", such as ")?;
        let more = match (split_number(text)?.1, self.name) {
            ("", _) => split_number(example)?.1,
            ("m", "TIME") => "in",
            _ => return None,
        };
        let meant = format!("{}{more}", text.trim());
        (self.fits)(self.range, &meant).then_some(meant)
    }

    /// A value as a person would write it, where that reads back as the same.
    pub fn natural(&self, text: &str) -> Option<String> {
        match self.name {
            "BYTES" => text.parse::<Bytes>().ok().map(|bytes| format!("{}B", bytes.get())),
            "SHARE" => {
                let ratio: Ratio = text.parse().ok()?;
                let percent = format!("{:.10}", ratio.get() * 100.0);
                let percent = format!("{}%", percent.trim_end_matches('0').trim_end_matches('.'));
                (percent.parse() == Ok(ratio)).then_some(percent)
            }
            _ => None,
        }
    }
}

fn list(text: &str) -> Value {
    split_list(text).into_iter().map(Value::from).collect::<Vec<_>>().into()
}

fn parse<T: FromStr<Err: Display>>(text: &str) -> Result<T, String> {
    text.parse::<T>().map_err(|error| error.to_string())
}

/// The ends of a range in its text form.
pub(super) fn ends<T: FromStr>(range: &str) -> Option<(Bound<T>, Bound<T>)> {
    let range = range.split(", such as ").next()?;
    if let Some(most) = range.strip_prefix("at most ") {
        return Some((Bound::Unbounded, Bound::Included(most.parse().ok()?)));
    }
    let (least, most) = range.split_once(" up to ").or_else(|| range.split_once(" to "))?;
    let end = |text: &str, open: &str| match text.strip_prefix(open) {
        Some(text) => text.parse().ok().map(Bound::Excluded),
        None => text.parse().ok().map(Bound::Included),
    };
    Some((end(least, "above ")?, end(most, "below ")?))
}

pub(super) fn is_within<T: FromStr + PartialOrd>(range: &str, text: &str) -> bool {
    ends::<T>(range).zip(text.parse().ok()).is_some_and(|(ends, value)| ends.contains(&value))
}

fn is_bounded(queue: &cellcc_link::Queue) -> bool {
    match queue.limit() {
        QueueLimit::Packets(count) => count <= 100_000_000,
        QueueLimit::Bytes(bytes) => bytes <= Bytes::new(100_000_000_000),
        QueueLimit::Time(span) => span <= Span::from_secs(3600),
        QueueLimit::Bdp(thousandths) => thousandths <= 1_000_000,
        QueueLimit::Unlimited => true,
    }
}

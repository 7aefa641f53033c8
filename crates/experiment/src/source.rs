//! Sources of a flow's data.

use cellcc_link::{format_steps, parse_steps};
use cellcc_units::{Bytes, Rate, Span};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// The data that a flow's application gives it to send.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Source {
    /// Always more: `bulk`.
    #[default]
    Bulk,
    /// This much, then nothing; its completion time is measured: `sized(10MB)`.
    Sized(Bytes),
    /// Bulk for a while, silent for a while, and again: `on-off(2s,3s)`.
    OnOff {
        /// Time for which it sends.
        on: Span,
        /// Time for which it is silent.
        off: Span,
    },
    /// A constant stream of full packets: `rate(5Mbit/s)`.
    Rate(Rate),
    /// 60 frames a second, each of which must arrive whole within the deadline: `frames(20Mbit/s,40ms)`.
    /// The Reminis paper motivates 20 ms for VR, 40 ms for cloud gaming, 100 ms for video (section 1.1).
    Frames {
        /// Mean rate of the frames together.
        rate: Rate,
        /// The longest time from a frame's creation to the arrival of its last byte.
        deadline: Span,
    },
    /// As `Frames`, with frames whose size follows the scheme's [`media_rate`](cellcc_control::Limits::media_rate) within bounds:
    /// `video(1Mbit/s..20Mbit/s,100ms)`. Data that wait longer than 100 ms are given up, and a key frame follows. If the scheme
    /// gives no rate, it is 0.9 times the rate that window and pacing allow over an RTT, and less as the sender's queue grows older.
    Video {
        /// The lowest rate of the encoder.
        min: Rate,
        /// The highest rate of the encoder.
        max: Rate,
        /// The longest time from a frame's creation to the arrival of its last byte.
        deadline: Span,
    },
    /// One after the other, each for its time from the flow's start on, the last to the end: `steps(bulk@10s,rate(2Mbit/s)@10s)`. Data
    /// that a step could not send are not left to the next.
    Steps(Arc<[(Span, Pace)]>),
}

/// A step of [`Source::Steps`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// Always more: `bulk`.
    Bulk,
    /// A constant stream of full packets, `rate(2Mbit/s)`; none at `rate(0bit/s)`.
    Rate(Rate),
}

impl fmt::Display for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bulk => f.write_str("bulk"),
            Self::Rate(rate) => write!(f, "rate({rate})"),
        }
    }
}

impl FromStr for Pace {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let text = text.trim();
        let rate = || text.strip_prefix("rate(")?.strip_suffix(')')?.parse().ok();
        if text == "bulk" { Ok(Self::Bulk) } else { rate().map(Self::Rate).ok_or(()) }
    }
}

impl Source {
    /// Frames per second of [`Source::Frames`] and [`Source::Video`].
    pub const FRAMES_PER_SECOND: u64 = 60;

    /// The highest rate that it produces, headers included; `None` for one that always has more.
    pub fn most_media(&self) -> Option<Rate> {
        match self {
            Self::Video { max: rate, .. } | Self::Frames { rate, .. } | Self::Rate(rate) => Some(*rate),
            Self::Bulk | Self::Sized(_) | Self::OnOff { .. } | Self::Steps(_) => None,
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bulk => f.write_str("bulk"),
            Self::Sized(bytes) => write!(f, "sized({bytes})"),
            Self::OnOff { on, off } => write!(f, "on-off({on},{off})"),
            Self::Rate(rate) => write!(f, "rate({rate})"),
            Self::Frames { rate, deadline } => write!(f, "frames({rate},{deadline})"),
            Self::Video { min, max, deadline } => write!(f, "video({min}..{max},{deadline})"),
            Self::Steps(steps) => write!(f, "steps({})", format_steps(steps)),
        }
    }
}

impl FromStr for Source {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        read(text.trim()).ok_or_else(|| {
            let text: String = text.chars().take(60).collect();
            format!(
                "`{text}` is not a source; there are bulk, sized(10MB), on-off(2s,3s), rate(5Mbit/s), frames(20Mbit/s,40ms), \
                 video(1Mbit/s..20Mbit/s,100ms), each value above zero, and steps(bulk@10s,rate(2Mbit/s)@10s)"
            )
        })
    }
}

fn read(text: &str) -> Option<Source> {
    if text == "bulk" {
        return Some(Source::Bulk);
    }
    let (name, inside) = text.strip_suffix(')')?.split_once('(')?;
    let (first, second) = inside.split_once(',').unwrap_or((inside, ""));
    let span = |text: &str| text.trim().parse::<Span>().ok().filter(|span| !span.is_zero());
    let rate = |text: &str| text.trim().parse::<Rate>().ok().filter(|rate| !rate.is_zero());
    let source = match name {
        "sized" => Source::Sized(inside.trim().parse().ok().filter(|bytes: &Bytes| !bytes.is_zero())?),
        "on-off" => Source::OnOff { on: span(first)?, off: span(second)? },
        "rate" => Source::Rate(rate(inside)?),
        "frames" => Source::Frames { rate: rate(first)?, deadline: span(second)? },
        "video" => {
            let (min, max) = first.split_once("..")?;
            let (min, max) = (rate(min)?, rate(max)?);
            Source::Video { min, max: Some(max).filter(|max| min <= *max)?, deadline: span(second)? }
        }
        "steps" => Source::Steps(steps(inside)?),
        _ => return None,
    };
    Some(source)
}

/// Parses steps; `None` where no step ever sends.
fn steps(text: &str) -> Option<Arc<[(Span, Pace)]>> {
    let steps: Vec<(Span, Pace)> = parse_steps(text, "").ok()?;
    steps.iter().any(|(_, pace)| *pace != Pace::Rate(Rate::ZERO)).then(|| steps.into())
}

impl Serialize for Source {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Source {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        cellcc_units::deserialize_text(deserializer, "a source such as `bulk` or `sized(10MB)`")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_source_reads_back() {
        for text in [
            "bulk",
            "sized(10MB)",
            "on-off(2s,3s)",
            "rate(5Mbit/s)",
            "frames(20Mbit/s,40ms)",
            "video(1Mbit/s..20Mbit/s,100ms)",
            "steps(bulk@10s,rate(0bit/s)@100ms,rate(2Mbit/s)@10s)",
        ] {
            assert_eq!(text.parse::<Source>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_source_that_never_sends_is_refused() {
        for text in [
            "sized(0B)",
            "rate(0bit/s)",
            "frames(20Mbit/s,0ms)",
            "frames(20Mbit/s)",
            "video(20Mbit/s,40ms)",
            "video(2Mbit/s..1Mbit/s,40ms)",
            "on-off(1s)",
            "sized(10)",
            "steps()",
            "steps(bulk)",
            "steps(bulk,bulk@1s)",
            "steps(rate(0bit/s)@1s,rate(0bit/s)@1s)",
            "steps(sized(1MB)@1s,bulk)",
        ] {
            assert!(text.parse::<Source>().is_err(), "{text}");
        }
    }
}

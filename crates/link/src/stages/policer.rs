//! A policer: a bucket of tokens before the queue. Packets above its rate are dropped, the rest passes without delay.
//!
//! The bucket is kept as the time at which it will be full again (the virtual scheduling of ITU-T I.371, annex A), in whole
//! nanoseconds: nothing has to be added up between packets.

use cellcc_units::{Bytes, ParseError, Parts, Rate, Time, deserialize_text};
use std::fmt;
use std::str::FromStr;

/// A policer, as it is written: `10Mbit/s, bucket=250kB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policer {
    /// How fast tokens come.
    pub rate: Rate,
    /// The largest and first number of tokens: the burst that may pass.
    pub bucket: Bytes,
}

const EXPECTED: &str =
    "a policer: a rate above zero and the bytes that may pass at once, such as `10Mbit/s, bucket=250kB`";

impl FromStr for Policer {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let refused = || ParseError::new(text, EXPECTED);
        let (rate, inside) = text.split_once(',').ok_or_else(refused)?;
        let rate: Rate = rate.trim().parse().map_err(|_| refused())?;
        let mut parts = Parts::new(inside, EXPECTED)?;
        let bucket: Bytes = parts.take("bucket")?.ok_or_else(refused)?;
        parts.end()?;
        if rate == Rate::ZERO || bucket.is_zero() { Err(refused()) } else { Ok(Self { rate, bucket }) }
    }
}

impl fmt::Display for Policer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}, bucket={}", self.rate, self.bucket))
    }
}

impl serde::Serialize for Policer {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Policer {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize_text(deserializer, EXPECTED)
    }
}

/// The bucket at work.
#[derive(Debug, Clone)]
pub(crate) struct Bucket {
    policer: Policer,
    full_at: Time,
}

impl Bucket {
    pub(crate) fn new(policer: Policer) -> Self {
        Self { policer, full_at: Time::ZERO }
    }

    /// True where a packet of `bytes` passes at `now`, and takes its tokens. Time does not decrease from call to call.
    pub(crate) fn passes(&mut self, now: Time, bytes: Bytes) -> bool {
        let full_at = self.full_at.max(now) + self.policer.rate.time_for(bytes);
        let passes = full_at.since(now) <= self.policer.rate.time_for(self.policer.bucket);
        if passes {
            self.full_at = full_at;
        }
        passes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cellcc_units::Span;

    const PACKET: Bytes = Bytes::new(1000);

    fn bucket() -> Bucket {
        Bucket::new("8Mbit/s, bucket=10kB".parse().expect("a policer"))
    }

    fn passed(bucket: &mut Bucket, times: impl IntoIterator<Item = Span>) -> usize {
        times.into_iter().filter(|&after| bucket.passes(Time::ZERO + after, PACKET)).count()
    }

    #[test]
    fn exactly_the_bucket_passes_at_once_and_exactly_the_rate_afterwards() {
        let mut bucket = bucket();
        assert_eq!(passed(&mut bucket, [Span::ZERO; 50]), 10);
        // A packet has its tokens in a millisecond: ten thousand in ten seconds of ten times as many.
        let flood = (1..=100_000).map(|number| Span::from_micros(100 * number));
        assert_eq!(passed(&mut bucket, flood), 10_000);
    }

    #[test]
    fn a_pause_fills_the_bucket_and_no_more() {
        let mut bucket = bucket();
        assert_eq!(passed(&mut bucket, [Span::ZERO; 20]), 10);
        assert_eq!(passed(&mut bucket, [Span::from_millis(4); 20]), 4);
        assert_eq!(passed(&mut bucket, [Span::from_secs(100); 20]), 10);
    }

    #[test]
    fn what_comes_at_the_rate_passes_whole() {
        let times = (0..10_000).map(Span::from_millis);
        assert_eq!(passed(&mut bucket(), times), 10_000);
    }

    #[test]
    fn a_packet_larger_than_the_bucket_never_passes() {
        assert!(!bucket().passes(Time::ZERO + Span::from_secs(9), Bytes::new(10_001)));
    }

    #[test]
    fn what_is_written_reads_back_and_the_rest_is_refused() {
        for text in ["10Mbit/s, bucket=250kB", "64kbit/s,bucket=1500B"] {
            let policer: Policer = text.parse().unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(policer.to_string().parse(), Ok(policer));
        }
        for text in [
            "",
            "10Mbit/s",
            "0Mbit/s, bucket=1kB",
            "10Mbit/s, bucket=0B",
            "10Mbit/s, burst=1kB",
            "1Mbit/s, bucket=1kB, x=1",
        ] {
            assert!(text.parse::<Policer>().is_err(), "{text}");
        }
    }
}

//! An encoder that follows the network: [`Source::Video`](crate::Source::Video).
//!
//! A frame is its share of the present media rate times a seeded lognormal draw. Frames wait in the sender's queue; one whose head
//! is too old is cleared, and the next frame is a key frame, since those after a gap cannot be decoded.

use cellcc_units::{Bytes, Rate, Span, Time};
use rand_distr::{Distribution, StandardNormal};
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;

/// The sender's queue is cleared where its head is older, at most so often (SCReAM's sender).
const OLDEST_HEAD: Span = Span::from_millis(100);
const BETWEEN_CLEARINGS: Span = Span::from_millis(250);
/// Size of a key frame, as a multiple of another's.
const KEY_FRAME: f64 = 3.0;
/// Standard deviation of the logarithm of a lognormal draw with mean 1 and standard deviation 0.2: the root of ln 1.04.
const SIGMA: f64 = 0.198_042_200_435_365;
/// A change of the rate by more than this is a switch.
const SWITCH: f64 = 0.1;

/// The encoder, and the frames that it has made.
#[derive(Debug, Clone)]
pub(crate) struct Video {
    min: Rate,
    max: Rate,
    random: Pcg64Mcg,
    frames: Vec<Frame>,
    cleared_at: Option<Time>,
    key_frame_is_due: bool,
    discarded: u64,
}

/// A frame, cut into segments.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Frame {
    pub(crate) created_at: Time,
    pub(crate) first_segment: u64,
    pub(crate) bytes: Bytes,
    /// The encoder's target.
    rate: Rate,
}

impl Video {
    pub(crate) fn new(min: Rate, max: Rate, seed: u64) -> Self {
        Self {
            min,
            max,
            random: Pcg64Mcg::seed_from_u64(seed),
            frames: Vec::new(),
            cleared_at: None,
            key_frame_is_due: true,
            discarded: 0,
        }
    }

    /// Number of frames.
    pub(crate) fn len(&self) -> u64 {
        self.frames.len() as u64
    }

    /// Makes a frame, so that the stream with headers has this rate: `mss` bytes of each `packet` are the frame's.
    pub(crate) fn encode(&mut self, created_at: Time, rate: Rate, mss: Bytes, packet: Bytes) {
        let rate = rate.clamp(self.min, self.max);
        let normal: f64 = StandardNormal.sample(&mut self.random);
        let draw = libm::exp(SIGMA * normal - SIGMA * SIGMA / 2.0);
        let key = if std::mem::take(&mut self.key_frame_is_due) { KEY_FRAME } else { 1.0 };
        let share = rate.as_bytes_per_sec() as f64 / crate::Source::FRAMES_PER_SECOND as f64;
        let bytes = Bytes::new((share * draw * key * mss.in_packets(packet)) as u64).max(Bytes::new(1));
        self.frames.push(Frame { created_at, first_segment: self.segments(mss), bytes, rate });
    }

    /// Number of segments of all frames together.
    pub(crate) fn segments(&self, mss: Bytes) -> u64 {
        self.frames.last().map_or(0, |frame| frame.first_segment + frame.segments(mss))
    }

    /// The frame of a segment, and its number.
    pub(crate) fn frame_of(&self, segment: u64) -> Option<(u64, Frame)> {
        let index = self.frames.partition_point(|frame| frame.first_segment <= segment).checked_sub(1)?;
        Some((index as u64, self.frames[index]))
    }

    /// Gives up all frames from segment `next` on if the first of them is too old, and returns true then.
    pub(crate) fn clears(&mut self, now: Time, next: u64) -> bool {
        let Some((index, head)) = self.frame_of(next) else { return false };
        let recently = self.cleared_at.is_some_and(|cleared| now.since(cleared) < BETWEEN_CLEARINGS);
        if recently || now.since(head.created_at) <= OLDEST_HEAD {
            return false;
        }
        self.discarded += self.len() - index;
        self.cleared_at = Some(now);
        self.key_frame_is_due = true;
        true
    }

    /// An estimate of the rate by a scheme that gives none, less where the sender's queue waits: nothing at the age at which it is
    /// cleared.
    pub(crate) fn slowed(&self, now: Time, next: u64, estimate: Rate, mss: Bytes) -> Rate {
        if next >= self.segments(mss) {
            return estimate;
        }
        let waited = self.frame_of(next).map_or(Span::ZERO, |(_, head)| now.since(head.created_at));
        estimate.mul_f64((1.0 - waited.as_secs_f64() / OLDEST_HEAD.as_secs_f64()).max(0.0))
    }

    /// Frames that were given up, in whole or in part.
    pub(crate) fn discarded(&self) -> u64 {
        self.discarded
    }

    /// The mean rate that frames from `from` on aimed at, and how often that had changed by more than a tenth.
    pub(crate) fn rates(&self, from: Time) -> Option<(f64, u64)> {
        let mut rates = self
            .frames
            .iter()
            .filter(|frame| frame.created_at >= from)
            .map(|frame| frame.rate.as_mbit_per_sec());
        let mut held = rates.next()?;
        let (mut sum, mut count, mut switches) = (held, 1, 0);
        for rate in rates {
            sum += rate;
            count += 1;
            if (rate - held).abs() > SWITCH * held {
                held = rate;
                switches += 1;
            }
        }
        Some((sum / f64::from(count), switches))
    }
}

impl Frame {
    /// Number of its segments.
    pub(crate) fn segments(&self, mss: Bytes) -> u64 {
        self.bytes.get().div_ceil(mss.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: Bytes = Bytes::new(1448);
    const PACKET: Bytes = Bytes::new(1500);

    fn mbit(rate: f64) -> Rate {
        Rate::from_mbit_per_sec(rate)
    }

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    fn video() -> Video {
        Video::new(mbit(1.0), mbit(10.0), 7)
    }

    #[test]
    fn frames_have_the_media_rate_on_the_wire_within_its_bounds() {
        for (asked, gets) in [(0.1, 1.0), (4.0, 4.0), (99.0, 10.0)] {
            let mut video = video();
            (0..6000).for_each(|frame| video.encode(at(frame * 17), mbit(asked), MSS, PACKET));
            let bytes: f64 = video.frames.iter().map(|frame| frame.bytes.as_f64()).sum();
            let rate = bytes * 1500.0 / 1448.0 * 8.0 / 100.0 / 1e6;
            assert!((rate / gets - 1.0).abs() < 0.02, "{asked}: {rate}");
            assert_eq!(video.rates(at(0)).unwrap().1, 0);
        }
    }

    #[test]
    fn sizes_vary_by_a_fifth_of_their_mean() {
        let mut video = video();
        (0..6000).for_each(|frame| video.encode(at(frame * 17), mbit(4.0), MSS, PACKET));
        let sizes: Vec<f64> = video.frames[1..].iter().map(|frame| frame.bytes.as_f64()).collect();
        let mean = sizes.iter().sum::<f64>() / sizes.len() as f64;
        let variance =
            sizes.iter().map(|size| (size - mean) * (size - mean)).sum::<f64>() / sizes.len() as f64;
        assert!((0.19..0.21).contains(&(variance.sqrt() / mean)), "{}", variance.sqrt() / mean);
    }

    #[test]
    fn an_old_head_clears_the_queue_once_in_a_quarter_second_and_a_key_frame_follows() {
        let mut video = video();
        (0..10).for_each(|frame| video.encode(at(frame * 17), mbit(4.0), MSS, PACKET));
        let next = video.frames[2].first_segment + 1;
        assert!(!video.clears(at(134), next));
        assert!(video.clears(at(135), next));
        assert_eq!(video.discarded(), 8);
        video.encode(at(170), mbit(4.0), MSS, PACKET);
        let key = video.frames[10];
        assert!(key.bytes > Bytes::new(14_000), "three times 8 kB, less what the draw takes off: {key:?}");
        assert!(!video.clears(at(384), key.first_segment));
        assert!(video.clears(at(385), key.first_segment));
    }

    #[test]
    fn a_change_by_more_than_a_tenth_is_a_switch() {
        let mut video = video();
        for rate in [4.0, 4.3, 4.5, 4.6, 4.0] {
            video.encode(at(0), mbit(rate), MSS, PACKET);
        }
        assert_eq!(video.rates(at(0)).unwrap().1, 2);
    }
}

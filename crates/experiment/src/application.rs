//! What a flow has to send, as numbered segments.

use crate::{Endpoint, FlowSetup, Source};
use cellcc_units::{Bytes, Rate, Span, Time};

/// A flow's application. Segments are numbered from zero; each is at most one packet's payload.
#[derive(Debug, Clone)]
pub struct Application {
    source: Source,
    start: Time,
    stop: Time,
    mss: Bytes,
    packet: Bytes,
    next_segment: u64,
}

impl Application {
    /// What the flow `setup` has to send in a run that ends at `run_end`.
    pub fn new(setup: &FlowSetup, endpoint: &Endpoint, run_end: Time) -> Self {
        Self {
            source: setup.source,
            start: setup.start,
            stop: setup.stop.unwrap_or(run_end).min(run_end),
            mss: endpoint.mss,
            packet: endpoint.packet(),
            next_segment: 0,
        }
    }

    /// What it sends.
    pub fn source(&self) -> Source {
        self.source
    }

    /// The flow sends from here on.
    pub fn start(&self) -> Time {
        self.start
    }

    /// The flow sends no more from here on.
    pub fn stop(&self) -> Time {
        self.stop
    }

    /// How many segments there are in all; `None` where there is no end.
    pub fn total_segments(&self) -> Option<u64> {
        match self.source {
            Source::Sized(bytes) => Some(bytes.get().div_ceil(self.mss.get())),
            _ => None,
        }
    }

    /// When the next segment is there to be sent: at or before `now` if it already is; never, after the last.
    #[inline]
    pub fn ready_at(&self, now: Time) -> Time {
        let next = self.next_segment;
        let ready = match self.source {
            Source::Bulk => self.start,
            Source::Sized(_) if self.total_segments().is_some_and(|total| next >= total) => Time::NEVER,
            Source::Sized(_) => self.start,
            Source::OnOff { on, off } => self.on_off_ready_at(now, on, off),
            Source::Rate(rate) => self.start + rate.time_for(self.packet * next),
            Source::Frames { rate, .. } => self.frame_created_at(next / self.segments_per_frame(rate)),
        };
        if ready >= self.stop { Time::NEVER } else { ready }
    }

    /// Takes the next segment.
    #[inline]
    pub fn take(&mut self) -> u64 {
        self.next_segment += 1;
        self.next_segment - 1
    }

    /// The payload of a segment.
    #[inline]
    pub fn payload(&self, segment: u64) -> Bytes {
        match self.source {
            Source::Sized(total) => last_shorter(segment, total, self.mss),
            Source::Frames { rate, .. } => {
                last_shorter(segment % self.segments_per_frame(rate), frame_bytes(rate), self.mss)
            }
            Source::Bulk | Source::OnOff { .. } | Source::Rate(_) => self.mss,
        }
    }

    /// Which frame a segment belongs to, and how many segments that has.
    pub fn frame_of(&self, segment: u64) -> Option<(u64, u64)> {
        match self.source {
            Source::Frames { rate, .. } => {
                let segments = self.segments_per_frame(rate);
                Some((segment / segments, segments))
            }
            _ => None,
        }
    }

    /// When a frame is created. Frames of 1/60 s do not last a whole number of nanoseconds: no error adds up.
    pub fn frame_created_at(&self, frame: u64) -> Time {
        const NANOS_PER_SEC: u128 = 1_000_000_000;
        let nanos = u128::from(frame) * NANOS_PER_SEC / u128::from(Source::FRAMES_PER_SECOND);
        self.start + Span::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    fn segments_per_frame(&self, rate: Rate) -> u64 {
        frame_bytes(rate).get().div_ceil(self.mss.get())
    }

    fn on_off_ready_at(&self, now: Time, on: Span, off: Span) -> Time {
        let cycle = (on + off).as_nanos();
        let since = now.since(self.start).as_nanos();
        let phase = since % cycle;
        if now < self.start || phase < on.as_nanos() {
            now.max(self.start)
        } else {
            self.start + Span::from_nanos(since - phase + cycle)
        }
    }
}

fn frame_bytes(rate: Rate) -> Bytes {
    Bytes::new((rate.as_bytes_per_sec() / Source::FRAMES_PER_SECOND).max(1))
}

/// The payload of part `index` of `total` bytes cut into parts of `mss`.
fn last_shorter(index: u64, total: Bytes, mss: Bytes) -> Bytes {
    total.saturating_sub(mss * index).min(mss)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn application(source: &str) -> Application {
        let setup = FlowSetup {
            scheme: String::new(),
            start: Time::ZERO + Span::from_secs(1),
            stop: None,
            source: source.parse().unwrap(),
            user: 0,
            extra_rtt: Span::ZERO,
        };
        Application::new(&setup, &Endpoint::default(), Time::ZERO + Span::from_secs(100))
    }

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    #[test]
    fn a_sized_source_ends_with_a_shorter_segment() {
        let mut sized = application("sized(3000B)");
        assert_eq!(sized.total_segments(), Some(3));
        let payloads: Vec<_> = (0..3).map(|segment| sized.payload(segment).get()).collect();
        assert_eq!(payloads, [1448, 1448, 104]);
        (0..3).for_each(|_| _ = sized.take());
        assert_eq!(sized.ready_at(at(2000)), Time::NEVER);
    }

    #[test]
    fn an_on_off_source_is_silent_between_its_bursts() {
        let on_off = application("on-off(2s,3s)");
        assert_eq!(on_off.ready_at(at(2999)), at(2999));
        assert_eq!(on_off.ready_at(at(3000)), at(6000));
        assert_eq!(on_off.ready_at(at(6500)), at(6500));
    }

    #[test]
    fn sixty_frames_a_second_stay_sixty_after_an_hour() {
        let frames = application("frames(20Mbit/s,40ms)");
        assert_eq!(frames.frame_created_at(60 * 3600), at(1000 + 3_600_000));
        assert_eq!(frames.frame_of(28), Some((0, 29)));
        assert_eq!(frames.frame_of(29), Some((1, 29)));
    }

    #[test]
    fn a_constant_stream_has_its_rate_on_the_wire() {
        let mut stream = application("rate(12Mbit/s)");
        (0..1000).for_each(|_| _ = stream.take());
        assert_eq!(stream.ready_at(at(0)), at(2000));
    }
}

//! The data of a flow's application, as numbered segments.

use crate::video::{Frame, Video};
use crate::{Endpoint, FlowSetup, Pace, Source};
use cellcc_units::{Bytes, Rate, Span, Time};

/// A flow's application. Segments are numbered from zero; each is at most one packet's payload.
#[derive(Debug, Clone)]
#[repr(C)]
pub struct Application {
    stop: Time,
    video: Option<Box<Video>>,
    next_segment: u64,
    start: Time,
    mss: Bytes,
    packet: Bytes,
    source: Source,
    /// The step of a source in steps in which the last segment was taken, and how many of its segments were.
    step: (usize, u64),
}

impl Application {
    /// The number of a segment without data, which a scheme sends to probe the path: [`cellcc_control::Media::padding`].
    pub const PADDING: u64 = u64::MAX;

    /// The application of the flow `setup` in a run that ends at `run_end`.
    pub fn new(setup: &FlowSetup, endpoint: &Endpoint, run_end: Time) -> Self {
        Self {
            source: setup.source.clone(),
            start: setup.start,
            stop: setup.stop.unwrap_or(run_end).min(run_end),
            mss: endpoint.mss,
            packet: endpoint.packet(),
            next_segment: 0,
            step: (0, 0),
            video: None,
        }
    }

    /// Seeds the random parts of the application; without a seed there are no frames of [`Source::Video`].
    #[must_use]
    pub fn seeded(self, seed: u64) -> Self {
        let video = match self.source {
            Source::Video { min, max, .. } => Some(Box::new(Video::new(min, max, seed))),
            _ => None,
        };
        Self { video, ..self }
    }

    /// True if the data follow the network: they are made by [`encode`](Self::encode).
    #[inline]
    pub fn is_adaptive(&self) -> bool {
        self.video.is_some()
    }

    /// Makes the frames that are due by now, and gives up those that have waited for too long. The rate is the scheme's
    /// `media_rate`, or else follows from `estimate`, the rate that its window and pacing allow.
    pub fn encode(&mut self, now: Time, media_rate: Option<Rate>, estimate: Rate) {
        let Some(mut video) = self.video.take() else { return };
        while self.frame_created_at(video.len()) <= now {
            let rate = media_rate.unwrap_or_else(|| video.slowed(now, self.next_segment, estimate, self.mss));
            video.encode(self.frame_created_at(video.len()), rate, self.mss, self.packet);
        }
        let end = video.segments(self.mss);
        if self.next_segment < end && video.clears(now, self.next_segment) {
            self.next_segment = end;
        }
        self.video = Some(video);
    }

    /// The mean rate in Mbit/s that frames from `from` on aimed at, how often that changed, and how many frames were given up.
    pub(crate) fn media(&self, from: Time) -> Option<(f64, u64, u64)> {
        let video = self.video.as_ref()?;
        let (mean, switches) = video.rates(from)?;
        Some((mean, switches, video.discarded()))
    }

    /// The kind of data, as the Scenario has it.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// The flow sends from here on.
    pub fn start(&self) -> Time {
        self.start
    }

    /// The flow sends no more from here on.
    pub fn stop(&self) -> Time {
        self.stop
    }

    /// Total number of segments; `None` for an endless source.
    pub fn total_segments(&self) -> Option<u64> {
        match self.source {
            Source::Sized(bytes) => Some(bytes.get().div_ceil(self.mss.get())),
            _ => None,
        }
    }

    /// Time from which the next segment can be sent: at or before `now` if it already can; never, after the last.
    #[inline]
    pub fn ready_at(&self, now: Time) -> Time {
        let next = self.next_segment;
        let ready = match &self.source {
            Source::Bulk => self.start,
            Source::Sized(_) if self.total_segments().is_some_and(|total| next >= total) => Time::NEVER,
            Source::Sized(_) => self.start,
            Source::OnOff { on, off } => self.on_off_ready_at(now, *on, *off),
            Source::Rate(rate) => self.start + rate.time_for(self.packet * next),
            Source::Frames { rate, .. } => self.frame_created_at(next / self.segments_per_frame(*rate)),
            Source::Video { .. } => self.video.as_ref().map_or(Time::NEVER, |video| {
                if next < video.segments(self.mss) { self.start } else { self.frame_created_at(video.len()) }
            }),
            Source::Steps(steps) => self.stepped_ready_at(steps, now),
        };
        if ready >= self.stop { Time::NEVER } else { ready }
    }

    /// Takes the next segment, which is ready at `now`.
    #[inline]
    pub fn take(&mut self, now: Time) -> u64 {
        if let Source::Steps(steps) = &self.source {
            let (step, _) = self.step_at(steps, now);
            let taken = if step == self.step.0 { self.step.1 } else { 0 };
            self.step = (step, taken + 1);
        }
        self.next_segment += 1;
        self.next_segment - 1
    }

    /// The payload of a segment.
    #[inline]
    pub fn payload(&self, segment: u64) -> Bytes {
        match self.source {
            _ if segment == Self::PADDING => self.mss,
            Source::Sized(total) => last_shorter(segment, total, self.mss),
            Source::Frames { rate, .. } => {
                last_shorter(segment % self.segments_per_frame(rate), frame_bytes(rate), self.mss)
            }
            Source::Video { .. } => self.video_frame_of(segment).map_or(self.mss, |(_, frame)| {
                last_shorter(segment - frame.first_segment, frame.bytes, self.mss)
            }),
            Source::Bulk | Source::OnOff { .. } | Source::Rate(_) | Source::Steps(_) => self.mss,
        }
    }

    /// The frame of a segment, and that frame's number of segments.
    pub fn frame_of(&self, segment: u64) -> Option<(u64, u64)> {
        match self.source {
            _ if segment == Self::PADDING => None,
            Source::Frames { rate, .. } => {
                let segments = self.segments_per_frame(rate);
                Some((segment / segments, segments))
            }
            Source::Video { .. } => {
                self.video_frame_of(segment).map(|(number, frame)| (number, frame.segments(self.mss)))
            }
            _ => None,
        }
    }

    /// Creation time of a frame. Frames of 1/60 s do not last a whole number of nanoseconds: no error adds up.
    pub fn frame_created_at(&self, frame: u64) -> Time {
        const NANOS_PER_SEC: u128 = 1_000_000_000;
        let nanos = u128::from(frame) * NANOS_PER_SEC / u128::from(Source::FRAMES_PER_SECOND);
        self.start + Span::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    fn video_frame_of(&self, segment: u64) -> Option<(u64, Frame)> {
        self.video.as_ref()?.frame_of(segment)
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

    /// The step that holds at `now`, and when it began.
    fn step_at(&self, steps: &[(Span, Pace)], now: Time) -> (usize, Time) {
        let mut began = self.start;
        for (index, (length, _)) in steps.iter().enumerate().take(steps.len() - 1) {
            if now < began + *length {
                return (index, began);
            }
            began += *length;
        }
        (steps.len() - 1, began)
    }

    fn stepped_ready_at(&self, steps: &[(Span, Pace)], now: Time) -> Time {
        let (first, mut began) = self.step_at(steps, now);
        for (index, (length, pace)) in steps.iter().enumerate().skip(first) {
            let taken = if index == self.step.0 { self.step.1 } else { 0 };
            let ready = match pace {
                Pace::Bulk => began.max(now),
                Pace::Rate(rate) if rate.is_zero() => Time::NEVER,
                Pace::Rate(rate) => began + rate.time_for(self.packet * taken),
            };
            let ends = if index + 1 == steps.len() { Time::NEVER } else { began + *length };
            if ready < ends {
                return ready;
            }
            began = ends;
        }
        Time::NEVER
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
            initial_window: None,
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
        (0..3).for_each(|_| _ = sized.take(at(1000)));
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
        (0..1000).for_each(|_| _ = stream.take(at(1000)));
        assert_eq!(stream.ready_at(at(0)), at(2000));
    }

    #[test]
    fn a_source_in_steps_paces_each_step_from_its_own_beginning() {
        let mut steps = application("steps(bulk@2s,rate(0bit/s)@1s,rate(12Mbit/s)@1s,bulk)");
        (0..5000).for_each(|_| _ = steps.take(at(1500)));
        assert_eq!(steps.ready_at(at(2999)), at(2999), "bulk");
        assert_eq!(steps.ready_at(at(3000)), at(4000), "the pause ends a second later");
        (0..100).for_each(|_| _ = steps.take(at(4000)));
        assert_eq!(steps.ready_at(at(4000)), at(4100), "a packet of 1500 bytes each millisecond");
        (100..1000).for_each(|_| _ = steps.take(at(4500)));
        assert_eq!(steps.ready_at(at(4500)), at(5000), "the stream of this step is all sent");
        assert_eq!(steps.ready_at(at(7000)), at(7000), "the last step stays");
    }
}

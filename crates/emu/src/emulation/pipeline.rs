//! The stages of one direction, one behind the other.
//!
//! A packet enters a stage at the scheduled time at which it left the stage before, however late the thread is. So
//! lateness does not add up.

use super::segment::Segment;
use crate::error::EmuError;
use crate::log::{LogEvent, LogSink, LogSummary};
use crate::stage::Stage;
use cellcc_link::{Capacity, Delivery, Dropped, ForwardPath, Packet, Poll, QueueCounters};
use cellcc_units::{Rate, Span, Time};
use std::sync::Arc;
use std::time::SystemTime;

/// The fate of a packet: it arrives, or it is dropped.
pub(crate) type Outcome = Result<Delivery<Segment>, Dropped<Segment>>;

/// The stages of one direction.
pub(crate) struct Pipeline {
    stages: Vec<StageState>,
    /// The stage with the lowest rate: there a packet's time in the queue is measured.
    slowest: usize,
}

struct StageState {
    path: ForwardPath<Segment>,
    log: Option<LogSink>,
    /// The time at which the last packet entered. The next packet does not enter before it.
    entered: Time,
}

impl Pipeline {
    /// Empty stages at time zero, which is now.
    ///
    /// # Errors
    /// A log cannot be written.
    pub(crate) fn new(stages: Vec<Stage>) -> Result<Self, EmuError> {
        let slowest = (0..stages.len()).min_by_key(|&stage| mean_rate(&stages[stage])).unwrap_or(0);
        let stages = stages.into_iter().map(StageState::new).collect::<Result<_, _>>()?;
        Ok(Self { slowest, stages })
    }

    /// Hands a packet to the first stage.
    pub(crate) fn enqueue(&mut self, now: Time, segment: Segment, out: &mut impl FnMut(Outcome)) {
        self.enter(0, now, segment, out);
    }

    /// Moves everything that is due by `now`, in the order of its schedule.
    pub(crate) fn release(&mut self, now: Time, out: &mut impl FnMut(Outcome)) {
        for stage in 0..self.stages.len() {
            while let Some(outcome) = self.stages[stage].poll(now) {
                match outcome {
                    Ok(mut delivery) => {
                        if stage == self.slowest {
                            delivery.packet.queued_at = delivery.queued_at;
                            delivery.packet.departed_at = delivery.departed_at;
                        }
                        self.enter(stage + 1, delivery.arrived_at, delivery.packet, out);
                    }
                    dropped => out(dropped),
                }
            }
        }
    }

    /// The time of the next release: that of the last packet due within `granularity` of the next one, so that all of
    /// them are released together. [`Time::NEVER`] where no packet is due.
    pub(crate) fn next_wake(&self, granularity: Span) -> Time {
        // A later stage reckons from scheduled times: a packet that is late here by the granularity is late at the end
        // by no more.
        let wakes = self.stages.iter().map(|stage| stage.path.last_arrival_within(granularity));
        wakes.min().unwrap_or(Time::NEVER)
    }

    /// The counters of a user's queue in the slowest stage.
    pub(crate) fn counters(&mut self, now: Time, user: usize) -> QueueCounters {
        self.stages.get_mut(self.slowest).map(|stage| stage.path.counters(now, user)).unwrap_or_default()
    }

    /// Ends the logs, and says how each went.
    pub(crate) fn finish(self, now: Time) -> Vec<Result<LogSummary, EmuError>> {
        self.stages.into_iter().filter_map(|stage| stage.log).map(|log| log.finish(now)).collect()
    }

    /// Enters a stage, or leaves the pipeline behind the last one.
    fn enter(&mut self, stage: usize, at: Time, segment: Segment, out: &mut impl FnMut(Outcome)) {
        let Some(stage) = self.stages.get_mut(stage) else {
            let Segment { queued_at, departed_at, .. } = segment;
            return out(Ok(Delivery { packet: segment, queued_at, departed_at, arrived_at: at }));
        };
        if let Err(dropped) = stage.enqueue(at, segment) {
            out(Err(dropped));
        }
    }
}

impl StageState {
    fn new(stage: Stage) -> Result<Self, EmuError> {
        let log = match (&stage.log, stage.path.links()) {
            (Some(spec), [link]) => {
                Some(LogSink::create(spec, Arc::clone(&link.capacity), SystemTime::now())?)
            }
            _ => None,
        };
        Ok(Self { path: ForwardPath::new(stage.path), log, entered: Time::ZERO })
    }

    fn enqueue(&mut self, at: Time, segment: Segment) -> Result<(), Dropped<Segment>> {
        self.entered = self.entered.max(at);
        let (at, bytes) = (self.entered, segment.size());
        self.write(LogEvent::Arrived { at, bytes });
        let admitted = self.path.enqueue(at, usize::from(segment.user), segment);
        if let Err(dropped) = &admitted {
            self.write(LogEvent::Dropped { at: dropped.at, bytes });
        }
        admitted
    }

    /// The next packet that left or was dropped by `now`, in order of time.
    fn poll(&mut self, now: Time) -> Option<Outcome> {
        let outcome = match self.path.poll(now) {
            Poll::Ready(delivery) => Ok(delivery),
            Poll::Dropped(dropped) => Err(dropped),
            Poll::Wake(_) | Poll::Idle => return None,
        };
        self.write(match &outcome {
            Ok(Delivery { packet, queued_at, departed_at, .. }) => LogEvent::Departed {
                at: *departed_at,
                bytes: packet.size(),
                queued: departed_at.since(*queued_at),
            },
            Err(dropped) => LogEvent::Dropped { at: dropped.at, bytes: dropped.packet.size() },
        });
        Some(outcome)
    }

    fn write(&mut self, event: LogEvent) {
        if let Some(log) = &mut self.log {
            log.push(event);
        }
    }
}

fn mean_rate(stage: &Stage) -> Rate {
    let links = stage.path.links().iter();
    links.map(|link| link.capacity.mean_rate()).min().unwrap_or(Capacity::MAX_RATE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emulation::arena::Arena;
    use crate::emulation::super_packet::Layout;
    use cellcc_link::{Bottleneck, Delay, Jitter, LinkConfig, PathConfig, Scheduler, ShareOverTime};
    use cellcc_units::Ecn;
    use cellcc_units::{QueueLimit, Ratio};
    use std::sync::Arc;

    fn link(rate: Rate, delay_ms: u64, queue: u64) -> Stage {
        let config = LinkConfig {
            capacity: Arc::new(Capacity::constant(rate).expect("a rate")),
            queue: QueueLimit::Packets(queue).into(),
            delay: Delay::constant(Span::from_millis(delay_ms)),
            jitter: Jitter::NONE,
            loss: ShareOverTime::constant(Ratio::ZERO),
            ..LinkConfig::transparent()
        };
        Stage::link(config, 1)
    }

    fn segment() -> Segment {
        Segment {
            slot: Arena::default().keep(1500, Layout::whole(1500)),
            index: 0,
            user: 0,
            flow: 0,
            size: 1500,
            ecn: Ecn::NotEct,
            queued_at: Time::ZERO,
            departed_at: Time::ZERO,
        }
    }

    fn micros(micros: u64) -> Time {
        Time::ZERO + Span::from_micros(micros)
    }

    /// Sends `packets` at time zero and releases at the times of `looks`, in microseconds. Gives the arrivals, and how many
    /// packets were dropped.
    fn arrivals(mut pipeline: Pipeline, packets: usize, looks: &[u64]) -> (Vec<Time>, usize) {
        let (mut arrived, mut dropped) = (Vec::new(), 0);
        let mut out = |outcome: Outcome| match outcome {
            Ok(delivery) => arrived.push(delivery.arrived_at),
            Err(_) => dropped += 1,
        };
        (0..packets).for_each(|_| pipeline.enqueue(Time::ZERO, segment(), &mut out));
        looks.iter().for_each(|&look| pipeline.release(micros(look), &mut out));
        assert_eq!(pipeline.next_wake(Span::ZERO), Time::NEVER);
        (arrived, dropped)
    }

    #[test]
    fn stages_add_their_delays_and_the_slower_link_spaces_packets() {
        let pipeline = Pipeline::new(vec![
            link(Rate::from_mbit_per_sec(12.0), 10, 100),
            link(Rate::from_mbit_per_sec(1200.0), 5, 100),
        ])
        .expect("no log");
        let (arrived, _) = arrivals(pipeline, 3, &[100_000]);
        assert_eq!(arrived, [micros(16_010), micros(17_010), micros(18_010)]);
    }

    #[test]
    fn a_thread_that_comes_late_to_one_stage_does_not_delay_the_next() {
        let stages = || {
            vec![link(Rate::from_mbit_per_sec(12.0), 10, 100), link(Rate::from_mbit_per_sec(12.0), 10, 100)]
        };
        let punctual: Vec<_> = (0..200).map(|tick| tick * 250).collect();
        let late = [14_900, 90_000];
        assert_eq!(
            arrivals(Pipeline::new(stages()).expect("no log"), 4, &late),
            arrivals(Pipeline::new(stages()).expect("no log"), 4, &punctual)
        );
    }

    #[test]
    fn what_does_not_fit_a_later_queue_is_dropped_there() {
        let pipeline = Pipeline::new(vec![
            link(Rate::from_mbit_per_sec(1200.0), 0, 100),
            link(Rate::from_mbit_per_sec(12.0), 0, 2),
        ])
        .expect("no log");
        let (arrived, dropped) = arrivals(pipeline, 10, &[100_000]);
        assert_eq!((arrived.len(), dropped), (2, 8));
    }

    #[test]
    fn a_policer_before_a_cell_is_one_for_all_its_users() {
        let cell =
            Bottleneck::Cell { users: vec![LinkConfig::transparent(); 2], scheduler: Scheduler::RoundRobin };
        let path = PathConfig { policer: "8Mbit/s, bucket=9kB".parse().ok(), ..cell.path(1) };
        let mut pipeline = Pipeline::new(vec![path.into()]).expect("no log");
        let mut dropped = 0;
        for user in [0, 1].repeat(5) {
            pipeline.enqueue(Time::ZERO, Segment { user, ..segment() }, &mut |_| dropped += 1);
        }
        assert_eq!(dropped, 4, "six packets of 1500 bytes fit the bucket");
    }
}

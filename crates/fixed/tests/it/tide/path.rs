//! A path to record conversations on: one queue, which a rival may share, and its faults.

use super::conversation::{Conversation, Happens};
use cellcc_fixed::tide::Event;
use cellcc_fixed::{Instant, Micros, Packets};
use std::collections::{BTreeMap, BTreeSet};

pub(super) const SECOND: u64 = 1_000_000;
/// The start of the flow; not zero, which stands for never.
const START: u64 = SECOND;
const PACKET_BYTES: u32 = 1500;
const INITIAL_WINDOW: u64 = 10;
/// Time after which a receiver acknowledges the packets that it holds.
const MOST_ACK_DELAY: u64 = 25_000;

/// A path and its faults. Times are in microseconds.
pub(super) struct Path {
    pub(super) delay: u32,
    /// The time that the link takes per packet.
    pub(super) service: u64,
    pub(super) base_rtt: u64,
    /// Packets that the queue holds; more are dropped.
    pub(super) room: u64,
    pub(super) end: u64,
    /// A timer of the flow ends each tick.
    pub(super) has_timers: bool,
    pub(super) acked_together: usize,
    /// Largest delay of a packet after the queue, in order.
    pub(super) jitter: u64,
    pub(super) lost_of_1000: u64,
    /// One acknowledgement in this many has no RTT sample.
    pub(super) sampleless: u32,
    pub(super) rival: Option<Rival>,
    /// The time at which the path becomes longer, and by how much.
    pub(super) longer: Option<(u64, u64)>,
    /// The start and end of a pause of the link.
    pub(super) pause: Option<(u64, u64)>,
    pub(super) frames: Option<Frames>,
}

/// From `from` to `to` the application has `packets` packets in each interval `every`; otherwise it always has some.
#[derive(Clone, Copy)]
pub(super) struct Frames {
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) every: u64,
    pub(super) packets: u64,
}

/// A flow whose window grows by one packet per RTT and halves on loss.
pub(super) struct Rival {
    pub(super) from: u64,
    pub(super) to: u64,
    /// The initial window.
    pub(super) window: u32,
}

impl Path {
    pub(super) const PLAIN: Self = Self {
        delay: 5_000,
        service: 8_000,
        base_rtt: 40_000,
        room: 1_000,
        end: 0,
        has_timers: false,
        acked_together: 1,
        jitter: 0,
        lost_of_1000: 0,
        sampleless: u32::MAX,
        rival: None,
        longer: None,
        pause: None,
        frames: None,
    };
}

#[derive(Clone, Copy)]
struct Packet {
    sent_at: u64,
    count_at_send: u32,
    app_limited: bool,
}

enum Comes {
    Arrival(Packet),
    AckTimer,
    Loss(Packet),
    RivalsAck,
    RivalsLoss,
    Wake,
}

/// Both flows, and the packets under way.
struct World<'a> {
    path: &'a Path,
    now: u64,
    coming: BTreeMap<(u64, u64), Comes>,
    scheduled: u64,
    wakes: BTreeSet<u64>,
    random: u64,
    free_at: u64,
    arrived_at: u64,
    held: Vec<Packet>,
    held_since: u64,
    flow: Conversation,
    inflight: u64,
    may_leave_at: u64,
    /// Packets of this frame that have not been sent; then the time of the next frame.
    frame: u64,
    next_frame: u64,
    count: u32,
    acks: u32,
    recovery_since: u64,
    rivals_window: f64,
    rivals_inflight: u64,
    rivals_recovery: u64,
}

/// Records a flow's events and decisions on the path.
pub(super) fn talk(path: &Path) -> Conversation {
    let mut world = World {
        path,
        now: START,
        coming: BTreeMap::new(),
        scheduled: 0,
        wakes: BTreeSet::new(),
        random: 1,
        free_at: 0,
        arrived_at: 0,
        held: Vec::new(),
        held_since: 0,
        flow: Conversation::new(path.delay, PACKET_BYTES),
        inflight: 0,
        may_leave_at: 0,
        frame: 0,
        next_frame: 0,
        count: 0,
        acks: 0,
        recovery_since: 0,
        rivals_window: path.rival.as_ref().map_or(0.0, |rival| rival.window.into()),
        rivals_inflight: 0,
        rivals_recovery: 0,
    };
    if let Some(rival) = &path.rival {
        world.schedule(START + rival.from, Comes::Wake);
    }
    world.schedule(START, Comes::Wake);
    while world.now < START + path.end {
        world.step();
    }
    world.flow
}

impl World<'_> {
    fn schedule(&mut self, at: u64, comes: Comes) {
        self.scheduled += 1;
        self.coming.insert((at, self.scheduled), comes);
    }

    fn draw(&mut self, below: u64) -> u64 {
        // Knuth's MMIX generator.
        self.random =
            self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) % below.max(1)
    }

    fn step(&mut self) {
        let next = self.coming.first_key_value().map_or(u64::MAX, |(key, _)| key.0);
        let tick = self.flow.core.next_tick().filter(|_| self.path.has_timers);
        match tick {
            Some(tick) if tick.0 <= next => {
                self.now = tick.0;
                self.flow.add(Happens::Tick(tick));
            }
            _ => {
                let (key, comes) = self.coming.pop_first().expect("something comes");
                self.now = key.0;
                self.on(comes);
            }
        }
        self.send();
        self.send_rivals();
    }

    fn on(&mut self, comes: Comes) {
        match comes {
            Comes::Arrival(packet) => {
                if self.held.is_empty() {
                    self.held_since = self.now;
                    self.schedule(self.now + MOST_ACK_DELAY, Comes::AckTimer);
                }
                self.held.push(packet);
                if self.held.len() >= self.path.acked_together {
                    self.acknowledge();
                }
            }
            Comes::AckTimer => {
                if !self.held.is_empty() && self.now >= self.held_since + MOST_ACK_DELAY {
                    self.acknowledge();
                }
            }
            Comes::Loss(packet) => {
                let new_episode = packet.sent_at >= self.recovery_since;
                if new_episode {
                    self.recovery_since = self.now;
                }
                self.inflight -= 1;
                self.flow.add(Happens::Loss(1, new_episode));
            }
            Comes::RivalsAck => {
                self.rivals_inflight -= 1;
                self.rivals_window += 1.0 / self.rivals_window;
            }
            Comes::RivalsLoss => {
                self.rivals_inflight -= 1;
                if self.now >= self.rivals_recovery {
                    self.rivals_window = (self.rivals_window / 2.0).max(2.0);
                    self.rivals_recovery = self.now + 2 * self.path.base_rtt;
                }
            }
            Comes::Wake => {}
        }
    }

    fn acknowledge(&mut self) {
        let newest = *self.held.last().expect("something was held");
        let acked = self.held.len() as u32;
        self.held.clear();
        self.inflight -= u64::from(acked);
        self.count += acked;
        self.acks += 1;
        let has_sample = !self.acks.is_multiple_of(self.path.sampleless);
        self.flow.add(Happens::Ack(Event {
            now: Instant(self.now),
            rtt: Micros(if has_sample { (self.now - newest.sent_at) as u32 } else { 0 }),
            delivered: Packets(self.count),
            delivered_at_send: Packets(newest.count_at_send),
            acked: Packets(acked),
            app_limited: newest.app_limited.into(),
            reserved: 0,
        }));
    }

    /// Packets that the application has, and the time at which it has more.
    fn application(&mut self) -> (u64, u64) {
        let past = self.now - START;
        let Some(frames) = self.path.frames.filter(|frames| (frames.from..frames.to).contains(&past)) else {
            return (u64::MAX, u64::MAX);
        };
        let next = frames.from + ((past - frames.from) / frames.every + 1) * frames.every;
        if self.next_frame != next {
            (self.next_frame, self.frame) = (next, frames.packets);
        }
        (self.frame, START + next)
    }

    /// Schedules another look.
    fn wake(&mut self, at: u64) {
        if self.wakes.insert(at) {
            self.schedule(at, Comes::Wake);
        }
    }

    fn send(&mut self) {
        loop {
            let (left, more_at) = self.application();
            if left == 0 {
                return self.wake(more_at);
            }
            let decision = self.flow.decision();
            let window = decision.map_or(INITIAL_WINDOW, |(window, _)| window >> 16);
            if self.inflight >= window {
                return;
            }
            if self.now < self.may_leave_at {
                return self.wake(self.may_leave_at);
            }
            self.may_leave_at =
                self.now + decision.map_or(0, |(_, pacing)| u64::from(PACKET_BYTES) * SECOND / pacing);
            self.inflight += 1;
            self.frame = self.frame.saturating_sub(1);
            let packet = Packet { sent_at: self.now, count_at_send: self.count, app_limited: left == 1 };
            let is_lost = self.draw(1_000) < self.path.lost_of_1000;
            let jitter = self.draw(self.path.jitter + 1);
            match self.enqueue().filter(|_| !is_lost) {
                Some(back_at) => {
                    self.arrived_at = self.arrived_at.max(back_at + jitter);
                    self.schedule(self.arrived_at, Comes::Arrival(packet));
                }
                None => self.schedule(self.free_at + self.rtt(), Comes::Loss(packet)),
            }
        }
    }

    fn send_rivals(&mut self) {
        let Some(Rival { from, to, .. }) = self.path.rival else { return };
        while (from..to).contains(&(self.now - START))
            && (self.rivals_inflight as f64) < self.rivals_window.floor()
        {
            self.rivals_inflight += 1;
            match self.enqueue() {
                Some(back_at) => self.schedule(back_at, Comes::RivalsAck),
                None => self.schedule(self.free_at + self.rtt(), Comes::RivalsLoss),
            }
        }
    }

    fn rtt(&self) -> u64 {
        let longer = self.path.longer.filter(|(from, _)| self.now - START >= *from);
        self.path.base_rtt + longer.map_or(0, |(_, by)| by)
    }

    /// The return of the acknowledgement of a packet sent now; `None` where the queue is full.
    fn enqueue(&mut self) -> Option<u64> {
        let begins = self.free_at.max(self.now);
        if (begins - self.now) / self.path.service >= self.path.room {
            return None;
        }
        let begins = match self.path.pause {
            Some((from, to)) if (from..to).contains(&(begins - START)) => START + to,
            _ => begins,
        };
        self.free_at = begins + self.path.service;
        Some(self.free_at + self.rtt())
    }
}

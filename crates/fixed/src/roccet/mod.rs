//! ROCCET: CUBIC that also answers delay, for queues that no other sender fills (RLC in LTE and 5G).
//!
//! 1. **Launch** is slow start. It ends when RTTs are twice the least and the rate of acknowledgements stops growing.
//! 2. **Orbiter** is CUBIC. Every five RTTs, if RTTs are twice the least and more was sent than acknowledged, it cuts
//!    the window as for a loss, and then **drains** for 100 ms without growth.
//! 3. After 5 s without a lower RTT it **probes** the RTT of an empty queue with half of the window, then restores it.
//!
//! ```text
//!            queue, loss or          queue and sent > acknowledged
//!            window unused            (or a mark)
//!   Launch ----------------> Orbiter ------------> Drain
//!     ^                       |   ^ <---------------' 100 ms
//!     | time-out, idle        |   |
//!     +---- from all          v   | twice max(200 ms, RTT)
//!                             Probe
//! ```
//!
//! Source: a description of the Linux patches of 2026 and of their review; neither code nor paper was read.
//!
//! **Differences, and choices that the description leaves open.** "Not while more was sent than acknowledged" would
//! stop growth after one packet in five RTTs, since growth itself is sent: growth stops at the excess that also makes
//! an event, a hundredth of the window. A recovery has already cut the window, so no event occurs in one. Data sent and
//! acknowledged are counted in packets, and those of an interval from its first acknowledgement, exclusive.

use crate::{Ack, Instant, Micros, Packets, Q16, Window};

pub mod step;

/// The srRTT above which there is a queue, as a multiple of the least RTT.
const QUEUE: Q16 = Q16::ONE;
/// Weight of a sample in srRTT: 0.2.
const WEIGHT: Q16 = Q16(13_107);
/// The interval over which acknowledged packets are counted.
const RATE_INTERVAL: Micros = Micros(100_000);
/// Growth in packets from one [`RATE_INTERVAL`] to the next that Launch must exceed to go on.
const LEAST_GROWTH: u32 = 10;
/// Time without acknowledgements after which their count is forgotten.
const RATE_FORGOTTEN: Micros = Micros(2_000_000);
/// Time after which Launch ends where the window is unused, even if it never was used.
const UNUSED_AFTER: Micros = Micros(500_000);
/// RTTs between two looks at the queue; then the longest time between them in microseconds.
const LOOK_RTTS: u64 = 5;
const LOOK_AT_MOST: u64 = 1_000_000;
/// Reciprocal of the excess of packets sent over acknowledged, in windows, that shows a growing queue: a hundredth.
const EXCESSES_PER_WINDOW: u64 = 100;
/// Time for which an event stops growth.
const DRAIN: Micros = Micros(100_000);
/// Time without a lower RTT after which the flow probes.
const PROBE_AFTER: Micros = Micros(5_000_000);
/// The bounds of a probe's duration, which is one RTT.
const PROBE_AT_LEAST: Micros = Micros(200_000);
const PROBE_AT_MOST: Micros = Micros(10_000_000);
/// The smallest window of Launch's end and of a probe, and the window after a time-out.
pub const LEAST_WINDOW: Packets = Packets(10);
/// No limit, or no count yet.
const NONE: Packets = Packets(u32::MAX);
/// Not begun yet.
const NEVER: Instant = Instant(u64::MAX);

/// The phase of a flow.
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "bytemuck", derive(bytemuck::CheckedBitPattern))]
pub enum Phase {
    /// Slow start.
    Launch = 0,
    /// CUBIC.
    Orbiter = 1,
    /// No growth while the queue empties.
    Drain = 2,
    /// A smaller window, and then the old one for the same time.
    Probe = 3,
}

/// CUBIC's action.
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Law {
    /// None: the window stays.
    Rests = 0,
    /// Growth for the acknowledgement.
    Grows = 1,
    /// None, and CUBIC's clock stops.
    Waits = 2,
    /// A cut of the window.
    Cuts = 3,
    /// A restart with the decided window.
    Begins = 4,
}

/// Further facts about the sender at an acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sender {
    /// The smoothed RTT.
    pub srtt: Micros,
    /// Packets sent since the flow began, including retransmissions. Wraps.
    pub sent: Packets,
    /// The flow is in recovery.
    pub in_recovery: bool,
}

/// The state of one flow: 112 bytes.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "bytemuck", derive(bytemuck::CheckedBitPattern))]
pub struct Roccet {
    rtts: Rtts,
    rate: AckRate,
    look: Look,
    /// Launch: the time of its first acknowledgement.
    launched_at: Instant,
    /// Probe: the end of its smaller window.
    low_until: Instant,
    /// Probe and Drain: the end.
    until: Instant,
    /// Probe: its smaller window; [`NONE`] otherwise.
    most: Packets,
    phase: Phase,
    /// Not zero: Launch has ended before.
    has_launched: u32,
    /// Launch, not zero: the window was used, or [`UNUSED_AFTER`] has passed.
    is_judged: u32,
}

/// The queue as RTTs show it.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
struct Rtts {
    /// The time of the last lower RTT.
    lowered_at: Instant,
    /// The least RTT since the last probe; [`Micros::MAX`] before a sample.
    least: Micros,
    /// The smoothed excess over the least RTT, as a multiple of it.
    sr_rtt: Q16,
    last: Micros,
    jitter: Micros,
}

/// Acknowledged packets per interval.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
struct AckRate {
    since: Instant,
    last_ack: Instant,
    /// Packets delivered when the interval began.
    before: Packets,
    /// Packets in the last complete interval, and in the one before it.
    current: Packets,
    last: Packets,
    reserved: u32,
}

/// The start of the present interval of [`LOOK_RTTS`].
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
struct Look {
    since: Instant,
    sent: Packets,
    delivered: Packets,
}

impl Rtts {
    #[inline(always)]
    fn add(&mut self, now: Instant, sample: Micros) {
        if sample < self.least {
            self.least = sample;
            self.lowered_at = now;
        }
        let above = Q16::ratio(sample.0.saturating_sub(self.least.0) as i64, self.least.0);
        self.sr_rtt = self.sr_rtt.plus(above.minus(self.sr_rtt).times(WEIGHT));
        let last = if self.last == Micros::ZERO { sample } else { self.last };
        self.jitter = Micros(sample.0.abs_diff(last.0));
        self.last = sample;
    }

    /// True where srRTT exceeds the level that jitter alone explains.
    #[inline(always)]
    fn show_queue(&self) -> bool {
        self.sr_rtt > QUEUE.plus(Q16::ratio(self.jitter.0 as i64, self.least.0))
    }
}

impl AckRate {
    const START: Self =
        Self { since: NEVER, last_ack: NEVER, before: Packets(0), current: NONE, last: NONE, reserved: 0 };

    #[inline(always)]
    fn add(&mut self, ack: &Ack) {
        if ack.now.since(self.last_ack) >= RATE_FORGOTTEN {
            *self = Self::START;
        }
        self.last_ack = ack.now;
        if self.since != NEVER {
            if ack.now.since(self.since) < RATE_INTERVAL {
                return;
            }
            self.last = self.current;
            self.current = Packets(ack.delivered.0.wrapping_sub(self.before.0));
        }
        self.since = ack.now;
        self.before = ack.delivered;
    }

    #[inline(always)]
    fn has_stopped_growing(&self) -> bool {
        let are_known = self.current != NONE && self.last != NONE;
        are_known && self.current.0 <= self.last.0.saturating_add(LEAST_GROWTH)
    }
}

impl Roccet {
    /// The state of a new flow.
    pub const START: Self = Self {
        rtts: Rtts {
            lowered_at: Instant(0),
            least: Micros::MAX,
            sr_rtt: Q16::ZERO,
            last: Micros::ZERO,
            jitter: Micros::ZERO,
        },
        rate: AckRate::START,
        look: Look { since: Instant(0), sent: Packets(0), delivered: Packets(0) },
        launched_at: NEVER,
        low_until: Instant(0),
        until: Instant(0),
        most: NONE,
        phase: Phase::Launch,
        has_launched: 0,
        is_judged: 0,
    };

    /// Takes an acknowledgement while CUBIC's window is `window`.
    #[inline(always)]
    pub fn on_ack(&mut self, ack: &Ack, sender: &Sender, window: &mut Window) -> Law {
        if ack.rtt != Micros::ZERO {
            self.rtts.add(ack.now, ack.rtt);
        }
        self.rate.add(ack);
        match self.phase {
            Phase::Launch => self.launch(ack, window),
            Phase::Orbiter => self.orbiter(ack, sender, window.cwnd),
            Phase::Drain | Phase::Probe if ack.now >= self.until => {
                self.phase = Phase::Orbiter;
                self.most = NONE;
                self.look_anew(ack, sender);
                Law::Rests
            }
            Phase::Drain => Law::Rests,
            Phase::Probe => {
                if ack.now >= self.low_until {
                    self.most = NONE;
                }
                Law::Waits
            }
        }
    }

    #[inline(always)]
    fn launch(&mut self, ack: &Ack, window: &mut Window) -> Law {
        if self.launched_at == NEVER {
            self.launched_at = ack.now;
        }
        if ack.cwnd_limited || ack.now.since(self.launched_at) >= UNUSED_AFTER {
            self.is_judged = 1;
        }
        let has_queue = self.rtts.sr_rtt > QUEUE && self.rate.has_stopped_growing();
        if !has_queue && (ack.cwnd_limited || self.is_judged == 0) {
            return Law::Grows;
        }
        let half = window.cwnd.0 >> 1;
        let two_thirds = ((window.cwnd.0 as u64) << 1).checked_div(3).unwrap_or(0) as u32;
        window.cwnd = Packets(if self.has_launched == 0 { half } else { two_thirds }).max(LEAST_WINDOW);
        self.end_launch(window);
        Law::Rests
    }

    #[inline(always)]
    fn end_launch(&mut self, window: &mut Window) {
        window.ssthresh = window.cwnd;
        self.has_launched = 1;
        self.phase = Phase::Orbiter;
    }

    #[inline(always)]
    fn orbiter(&mut self, ack: &Ack, sender: &Sender, cwnd: Packets) -> Law {
        let is_old = self.rtts.least != Micros::MAX && ack.now.since(self.rtts.lowered_at) >= PROBE_AFTER;
        if is_old && !sender.in_recovery {
            self.begin_probe(ack, sender, cwnd);
            return Law::Rests;
        }
        let sent = sender.sent.0.wrapping_sub(self.look.sent.0);
        let delivered = ack.delivered.0.wrapping_sub(self.look.delivered.0);
        let excess = (sent.wrapping_sub(delivered) as i32).max(0) as u64;
        let is_excess = excess * EXCESSES_PER_WINDOW > cwnd.0 as u64;
        let interval = (sender.srtt.0 as u64 * LOOK_RTTS).min(LOOK_AT_MOST);
        if ack.now.since(self.look.since).0 as u64 >= interval {
            self.look_anew(ack, sender);
            if self.rtts.show_queue() && is_excess && !sender.in_recovery {
                return self.on_mark(ack.now);
            }
        }
        if is_excess { Law::Rests } else { Law::Grows }
    }

    #[inline(always)]
    fn look_anew(&mut self, ack: &Ack, sender: &Sender) {
        self.look = Look { since: ack.now, sent: sender.sent, delivered: ack.delivered };
    }

    #[inline(always)]
    fn begin_probe(&mut self, ack: &Ack, sender: &Sender, cwnd: Packets) {
        let third = cwnd.0.checked_div(3).unwrap_or(0);
        let part = Packets(if ack.cwnd_limited { cwnd.0 >> 1 } else { third });
        self.most = part.max(LEAST_WINDOW).min(cwnd);
        let lasts = sender.srtt.min(PROBE_AT_MOST).max(PROBE_AT_LEAST);
        self.low_until = ack.now.after(lasts);
        self.until = self.low_until.after(lasts);
        self.phase = Phase::Probe;
        self.rtts.least = Micros::MAX;
    }

    /// Handles a loss that begins a recovery.
    #[inline(always)]
    pub fn on_loss(&mut self, window: &mut Window) -> Law {
        if self.phase == Phase::Launch {
            self.end_launch(window);
            return Law::Rests;
        }
        Law::Cuts
    }

    /// Handles a mark of the network (ECN-CE), or a queue.
    #[inline(always)]
    pub fn on_mark(&mut self, now: Instant) -> Law {
        self.phase = Phase::Drain;
        self.until = now.after(DRAIN);
        self.most = NONE;
        self.has_launched = 1;
        Law::Cuts
    }

    /// Handles a time-out.
    #[inline(always)]
    pub fn on_timeout(&mut self, window: &mut Window) -> Law {
        self.has_launched = 0;
        self.on_idle_restart(window)
    }

    /// Handles a restart after idling.
    #[inline(always)]
    pub fn on_idle_restart(&mut self, window: &mut Window) -> Law {
        *self = Self { has_launched: self.has_launched, ..Self::START };
        *window = Window { cwnd: LEAST_WINDOW, ssthresh: Packets::INFINITE_SSTHRESH };
        Law::Begins
    }

    /// The present phase.
    pub const fn phase(&self) -> Phase {
        self.phase
    }

    /// Packets that may be in flight, whatever CUBIC's window; [`u32::MAX`] without a bound.
    pub const fn most(&self) -> Packets {
        self.most
    }

    /// The smoothed excess of the RTT over the least, as a multiple of the least.
    pub const fn sr_rtt(&self) -> Q16 {
        self.rtts.sr_rtt
    }

    /// The last RTT sample; zero before the first.
    pub const fn last_rtt(&self) -> Micros {
        self.rtts.last
    }
}

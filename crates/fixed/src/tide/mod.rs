//! Tide: the window of the delivery rate, and a queue as long as the link is unsteady.
//!
//! The same scheme as in `cellcc_control`, whose folder says what it does and why, with the kernel's counts:
//!
//! - Packets in place of bytes, microseconds in place of nanoseconds.
//! - A tick ends with the first acknowledgement after it, since the kernel gives a scheme no timer. Ticks that went by without an
//!   acknowledgement count as such.
//!
//! A window, and what makes it, is in units of 2^-16 packets; a rate in units of 2^-32 packets a microsecond, which are 2.8 bit/s
//! of packets of 1500 bytes. docs/algorithms/tide.md has the measured differences.
//!
//! | file | concept |
//! |---|---|
//! | `settings` | the knob and the constants |
//! | `base_rtt` | the RTT of an empty queue, and the drains that show it |
//! | `delivery` | the delivery rate, over four ticks and over sixteen |
//! | `queue` | queueing delay, swing, and the target |
//! | `loss` | what lost packets change |
//! | `window` | from all these to the window |
//! | `rivals` | whether others fill the queue |
//! | `sawtooth` | whether it rises and falls, as flows that answer losses make it |
//! | `competition` | the window against them |

mod base_rtt;
mod competition;
mod delivery;
mod loss;
mod queue;
mod rivals;
mod sawtooth;
mod settings;
mod window;

pub use settings::Config;

use crate::number::product;
use crate::{BytesPerSecond, Instant, Micros, Packets, Q16};
use base_rtt::BaseRtt;
use delivery::{Delivery, TICKS_PER_BASE_RTT};
use loss::LossResponse;
use queue::Queue;
use rivals::{Rivals, Round};
use window::{State, min_window};

/// A tick is no shorter.
const MIN_TICK: Micros = Micros(500);
/// What a drain leaves in flight, as a share of rate times base RTT: a half, as a shift.
const DRAIN_TO: u32 = 1;
/// The queue is empty below this share of the target: a half, as a shift.
const EMPTY: u32 = 1;
/// So many ticks without an acknowledgement are caught up with: as many as the longer rate has.
const MOST_MISSED: u32 = 16;
/// So often [`Tide::end_tick`] ends a tick before an acknowledgement, at most.
pub const MOST_TICKS: u32 = MOST_MISSED + 1;
/// Packets that the pacing rate has beyond a multiple of the window's.
const PACING_PACKETS: u64 = 4;
/// Bits behind the point of a window.
pub(crate) const WINDOW_BITS: u32 = 16;
/// Bits behind the point of a rate in packets a microsecond.
const RATE_BITS: u32 = 32;

/// What an acknowledgement tells.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
pub struct Event {
    /// When it came.
    pub now: Instant,
    /// The RTT sample; zero for none.
    pub rtt: Micros,
    /// The smoothed RTT.
    pub smoothed_rtt: Micros,
    /// Packets delivered since the flow began, these included. Wraps.
    pub delivered: Packets,
    /// The same when the newest of these packets left.
    pub delivered_at_send: Packets,
    /// Packets delivered by this acknowledgement.
    pub acked: Packets,
    /// Not zero: the application had nothing to send when the newest packet left.
    pub app_limited: u32,
}

/// What the sender may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Packets that may be in flight.
    pub cwnd: Packets,
    /// The pacing rate; none before the first tick.
    pub pacing: Option<BytesPerSecond>,
}

/// The state of one flow.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
pub struct Tide {
    delivery: Delivery,
    rivals: Rivals,
    base_rtt: BaseRtt,
    /// As for a flow alone that does not drain; zero before the first tick.
    window: u64,
    rate: u64,
    /// Zero before the first RTT sample.
    next_tick: Instant,
    /// When the queue was last not empty, or the application had nothing to send; zero if never.
    filled_at: Instant,
    /// When the application last had nothing to send; zero if never.
    app_limited_at: Instant,
    queue: Queue,
    loss: LossResponse,
    /// The largest acknowledgement of this round, and of the last one.
    largest_ack: Packets,
    largest_ack_before: Packets,
    delivered: Packets,
    round_ends_at: Packets,
    app_limited: u32,
    reserved: u32,
}

impl Tide {
    /// A flow at its beginning.
    pub const START: Self = Self {
        delivery: Delivery::START,
        rivals: Rivals::START,
        base_rtt: BaseRtt::START,
        window: 0,
        rate: 0,
        next_tick: Instant(0),
        filled_at: Instant(0),
        app_limited_at: Instant(0),
        queue: Queue::START,
        loss: LossResponse::START,
        largest_ack: Packets(0),
        largest_ack_before: Packets(0),
        delivered: Packets(0),
        round_ends_at: Packets(0),
        app_limited: 0,
        reserved: 0,
    };

    /// An acknowledgement; all ticks that were over have been [ended](Self::end_tick).
    #[inline(always)]
    pub fn on_ack(&mut self, config: &Config, event: &Event) {
        self.app_limited = event.app_limited;
        self.largest_ack = self.largest_ack.max(event.acked);
        self.loss.on_delivered(event.acked);
        if event.rtt != Micros::ZERO {
            self.base_rtt.add(event.now, event.rtt, config.delay);
            self.queue.add(event.rtt);
            self.rivals.add(event.rtt);
            if self.next_tick == Instant(0) {
                self.next_tick = event.now.after(Micros(event.rtt.0 / TICKS_PER_BASE_RTT));
                self.delivery = Delivery::since(Instant(event.now.0.saturating_sub(event.rtt.0 as u64)));
            }
        }
        self.delivered = event.delivered;
        self.rivals.on_ack(event);
        let newest = event.delivered_at_send.0.wrapping_sub(self.round_ends_at.0);
        if newest < 1 << 31 {
            self.round_ends_at = event.delivered;
            self.end_round(config, event.now);
        }
    }

    /// Packets were declared lost; with them an episode of recovery begins, or not.
    #[inline(always)]
    pub fn on_loss(&mut self, now: Instant, lost: Packets, new_episode: bool) {
        self.loss.on_lost(lost);
        if new_episode {
            self.rivals.on_loss(now);
        }
    }

    #[inline(always)]
    fn end_round(&mut self, config: &Config, now: Instant) {
        self.largest_ack_before = self.largest_ack;
        self.largest_ack = Packets(0);
        self.loss.end_round(config);
        let round = Round {
            now,
            base_rtt: self.base_rtt.get(),
            target: self.queue.target(config),
            window: self.window,
            rate: self.rate,
            app_limited: self.app_limited != 0,
            is_settled: self.base_rtt.is_settled(now),
        };
        if let Some(base_rtt) = self.rivals.end_round(config, &round) {
            self.base_rtt.learn(base_rtt);
        }
    }

    #[inline(always)]
    fn tick_length(&self) -> Micros {
        Micros(self.base_rtt.get().0 / TICKS_PER_BASE_RTT).max(MIN_TICK)
    }

    /// Ends the next tick, if it is over; false where none is. Each call is one turn of a loop, which the kernel's verifier would
    /// follow turn by turn.
    #[inline(always)]
    pub fn end_tick(&mut self, config: &Config, present: Instant) -> bool {
        if self.next_tick == Instant(0) || present <= self.next_tick {
            return false;
        }
        let tick = self.tick_length();
        // Of a long silence only the last ticks count.
        let passed = present.since(self.next_tick).0.checked_div(tick.0).unwrap_or(0);
        let skipped = Micros(passed.saturating_sub(MOST_MISSED).saturating_mul(tick.0));
        let now = self.next_tick.after(skipped);
        self.next_tick = now.after(tick);
        let rates = self.delivery.on_tick(now, self.delivered);
        let base_rtt = self.base_rtt.get();
        self.queue.on_tick(config, base_rtt);
        let (queueing, target) = (self.queue.delay(), self.queue.target(config));
        if self.app_limited != 0 {
            self.app_limited_at = now;
        }
        if self.app_limited != 0 || queueing > Micros(target.0 >> EMPTY) {
            self.filled_at = now;
        }
        let is_long = queueing.0 as u64 > config.mean_above.of(target.0 as u64);
        let rate = if is_long { rates.mean() } else { rates.larger() };
        self.rate = self.loss.sending_rate(config, rate);
        self.rivals.on_tick(self.rate, tick);
        let state = State {
            rate: self.rate,
            base_rtt,
            target,
            queueing,
            empty_for: since(self.filled_at, now),
            app_limited_before: since(self.app_limited_at, now),
            share: self.loss.share(),
            aggregated: Packets(self.largest_ack.max(self.largest_ack_before).0.saturating_sub(1)),
        };
        let window = state.window(config);
        // What an application does not use says nothing of the path.
        let keeps = self.app_limited != 0 && queueing < target;
        self.window = if keeps { window.max(self.window) } else { window };
        self.base_rtt.on_tick(config, [now, self.next_tick], queueing, self.rivals.competes());
        true
    }

    /// The window, and the pacing rate for packets of this size; none before the first tick.
    #[inline(always)]
    pub fn limits(&self, config: &Config, packet_bytes: u32) -> Option<Limits> {
        if self.window == 0 {
            return None;
        }
        let base_rtt = self.base_rtt.get();
        let mut window = self.window.max(self.rivals.window());
        if self.base_rtt.is_draining() {
            let drained = window_of(self.rate, base_rtt) >> DRAIN_TO;
            window = drained.max(min_window()).min(window);
        }
        // Where packets are lost, the queue has no room for those that come too fast: a share of that haste is left.
        let share = self.loss.share();
        let faster = Q16::ONE.plus(config.pacing.minus(Q16::ONE).times(share));
        let paced = faster.of(window).saturating_add(share.of(PACING_PACKETS << WINDOW_BITS));
        let rtt = base_rtt.plus(part(share, self.queue.target(config)));
        let bytes = product(paced, packet_bytes) >> WINDOW_BITS;
        let pacing =
            product(bytes, 1_000_000).checked_div(rtt.0 as u64).map(|rate| BytesPerSecond(rate.max(1)));
        Some(Limits { cwnd: packets(window), pacing })
    }

    /// What the queue shall be.
    #[inline(always)]
    pub fn target(&self, config: &Config) -> Micros {
        self.queue.target(config)
    }

    /// The delivery rate that the window is made of, in packets per 2^32 microseconds.
    #[inline(always)]
    pub const fn rate(&self) -> u64 {
        self.rate
    }

    /// Another flow fills the queue, as far as this one knows.
    #[inline(always)]
    pub const fn competes(&self) -> bool {
        self.rivals.competes()
    }
}

/// The time since an instant; none where that is zero.
#[inline(always)]
fn since(then: Instant, now: Instant) -> Option<Micros> {
    if then == Instant(0) { None } else { Some(now.since(then)) }
}

/// What a rate delivers in a time.
#[inline(always)]
fn window_of(rate: u64, time: Micros) -> u64 {
    product(rate, time.0) >> (RATE_BITS - WINDOW_BITS)
}

/// Whole packets, rounded down.
#[inline(always)]
const fn packets(window: u64) -> Packets {
    let packets = window >> WINDOW_BITS;
    Packets(if packets > u32::MAX as u64 { u32::MAX } else { packets as u32 })
}

/// A share of a time.
#[inline(always)]
fn part(share: Q16, of: Micros) -> Micros {
    let micros = share.of(of.0 as u64);
    Micros(if micros > u32::MAX as u64 { u32::MAX } else { micros as u32 })
}

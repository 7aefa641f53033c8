//! Tide: the window of the delivery rate, and a queue as long as the link is unsteady.
//!
//! 1. A tick is a quarter of the base RTT. Each one measures the delivery rate, the queueing delay, and the swing of the RTT: a
//!    quantile of largest less smallest sample within a base RTT, in which no decision of the sender's shows.
//! 2. The target of the queueing delay is `delay`, the knob, and more in proportion to the swing; a swing and a quarter at least.
//! 3. The window is the rate times base RTT and target; two packets more; and more while the queue stays empty. Packets are paced
//!    a little faster than that. Frames that waited while the link paused leave at once, up to the restart window.
//! 4. Where the queue has not been empty for 10 s, and sooner in doubt, the flow holds back for a round: a drain. The next round shows
//!    the path without the flow's own queue: its RTT, and what it loses. An application that sends little is a drain for nothing.
//! 5. Lost packets take off what the window has beyond the base RTT, unless a drain has shown them to be random. A queue far above the
//!    target for many rounds is somebody else's or a longer path: the flow competes, with a window that only losses make smaller, and sees
//!    whether anybody yields.
//!
//! ```text
//!       no nearly empty queue for 10 s, or doubt       24 rounds (3 soon after) of a queue far above the target
//!  drain <---------------------------------- alone ------------------------------------------------------------> competing
//!        ---------------------------------->       <------------------------------------------------------------
//!                  after a round                     after 4 s, to look; or nobody yields, and the path has
//!                                                    become longer
//! ```
//!
//! Source: this project; docs/algorithms/tide.md has the measurements. Where a constant says "prototype", they chose it.
//!
//! Kin. A window of rate times base RTT and a target: BBR, Vegas, FAST, PropRate, ExLL. Packets that do not depend on the rate, for
//! equal shares: Vegas, FAST. Two modes, by what the queue does: Copa, Nimbus. Drains: BBR's ProbeRTT. A target from the variation
//! of the delay: in spirit C2TCP and Sprout. That a quantile of the RTT's swing within a base RTT sets the target is what we have
//! not found elsewhere; no thorough search was made.
//!
//! A tick ends at its time where the driver has timers, as the simulator and QUIC do, and with the first acknowledgement after it
//! where it has none, as the kernel. Ticks that went by without an acknowledgement count as such.
//!
//! | file | concept |
//! |---|---|
//! | `base_rtt` | the RTT of an empty queue, and the drains that show it |
//! | `delivery` | the delivery rate, over four ticks and over sixteen |
//! | `queue` | queueing delay, swing, and the target |
//! | `loss` | what lost packets change |
//! | `window` | from all these to the window |
//! | `rivals` | whether others fill the queue |
//! | `sawtooth` | whether it rises and falls, as flows that answer losses make it |
//! | `competition` | the window against them |
//! | `settings` | the knob and the constants |
//!
//! **Differences from the prototype.**
//! - Numbers are integers, so that every machine decides the same, and the kernel, too: a time is in microseconds, a window in units
//!   of 2^-16 packets, a rate in units of 2^-32 packets a microsecond, which are 2.8 bit/s of packets of 1500 bytes.
//! - A round that begins with an acknowledgement without an RTT sample counts, too.
//! - The swing is that of four whole ticks. In the prototype rounding decided whether a fifth one counted.
//! - The mean of short and long rate counts where the queue is above 1.5 targets, not where it is above one, and packets are paced
//!   at 1.5 times what the window asks for instead of 1.25 times: so that two flows converge at high rates.
//! - The window holds what one acknowledgement tells of as well. A receiver that acknowledges every 16th packet stalled the flow.
//! - A millisecond's worth leaves at once, up to four packets, instead of four.
//! - An application that had nothing to send within the last second has at least the restart window: the rate of its last packets
//!   says nothing of the path, and what has piled up in a pause of the link waited in the sender for some RTTs.
//! - Where packets are lost they leave less fast, down to what the window asks for: a queue without room has none for what comes
//!   too fast.
//! - The queue may hold the extra packets of eight flows before the flow competes, and not its own alone, unless the queue rises and
//!   falls. Several flows on a slow link competed with each other.
//! - Competition does not end where the queue is empty for a moment. A flow that came after CUBIC then left it the link.
//! - A pause of the link makes no drain due, and a tick that a long RTT set ends sooner when the RTT falls. After an outage the flow slept
//!   for as long as that had been.
//! - A drain lasts for a round and shows losses as well, and a flow that was silent or limited by its application doubts its base RTT. A
//!   path that became longer meanwhile was used to a tenth for 20 s, and one that lost 5 % at 200 ms to a thirtieth.
//! - The flow's own extra packets are no rival, however long they take. On 200 kbit/s it competed with itself.
//! - A queue above the target takes nothing off the window but by the delivery rate; against a rival the window grows by a share in
//!   an RTT, and not by CUBIC's function; and jitter makes a floor of the target (docs/evidence/tide/law.md).
//! - A path that becomes longer is distinguished from a rival: nobody yields. The prototype's window grew by half per RTT for a second and more,
//!   and on an unlimited queue the p95 of the queueing delay was 3 s.

mod base_rtt;
mod competition;
mod delivery;
mod loss;
mod queue;
mod rivals;
mod sawtooth;
mod settings;
pub mod step;
mod window;

pub use settings::Config;

use crate::number::product;
use crate::step::mirror;
use crate::{BytesPerSecond, Instant, Micros, Packets, Q16};
use base_rtt::{BaseRtt, DRAIN_TO, Shown};
use delivery::{Delivery, TICKS_PER_BASE_RTT};
use loss::LossResponse;
use queue::Queue;
use rivals::{Rivals, Round};
use window::{LONG_PAUSE, State, min_window};

/// Prototype: a tick is no shorter.
const MIN_TICK: Micros = Micros(500);
/// Prototype: the queue is empty below this share of the target: a half, as a shift.
const EMPTY: u32 = 1;
/// So many ticks without an acknowledgement are caught up with: as many as the longer rate has.
const MOST_MISSED: u32 = 16;
/// So often [`Tide::end_tick`] ends a tick before an acknowledgement, at most.
pub const MOST_TICKS: u32 = MOST_MISSED + 1;
/// Prototype: packets that the pacing rate has beyond a multiple of the window's.
const PACING_PACKETS: u64 = 4;
/// Bits behind the point of a window.
pub(crate) const WINDOW_BITS: u32 = 16;
/// Bits behind the point of a rate in packets a microsecond.
const RATE_BITS: u32 = 32;

mirror! {
    /// What an acknowledgement tells.
    #[derive(Default)]
    #[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
    pub struct Event as tide_event {
        /// When it came.
        pub now as now_us: Instant,
        /// The RTT sample; zero for none.
        pub rtt as rtt_us: Micros,
        /// Packets delivered since the flow began, these included: rounds are counted by them. Wraps.
        pub delivered: Packets,
        /// The same when the newest of these packets left.
        pub delivered_at_send: Packets,
        /// What this acknowledgement delivers, in packets of full size.
        pub acked: Packets,
        /// Not zero: the application had nothing to send when the newest packet left.
        pub app_limited: u32,
        /// Zero.
        pub reserved: u32,
    }
}

/// What the sender may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// What may be in flight, in units of 2^-16 packets.
    pub window: u64,
    /// The pacing rate.
    pub pacing: BytesPerSecond,
}

impl Limits {
    /// Whole packets that may be in flight.
    #[inline(always)]
    pub const fn cwnd(self) -> Packets {
        let packets = self.window >> WINDOW_BITS;
        Packets(if packets > u32::MAX as u64 { u32::MAX } else { packets as u32 })
    }

    /// Bytes that may be in flight, in packets of this size.
    #[inline(always)]
    pub const fn bytes(self, packet_bytes: u32) -> u64 {
        product(self.window, packet_bytes) >> WINDOW_BITS
    }
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
    /// When the last tick ended; zero before the first RTT sample.
    ticked_at: Instant,
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
        ticked_at: Instant(0),
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
        if event.rtt != Micros::ZERO {
            self.end_silence(event);
            self.base_rtt.add(event.now, event.rtt, config.delay, self.loss.is_there());
            self.queue.add(event.rtt);
            if self.ticked_at == Instant(0) {
                self.ticked_at = event.now;
                self.delivery = Delivery::since(Instant(event.now.0.saturating_sub(event.rtt.0 as u64)));
            }
        }
        self.app_limited = event.app_limited;
        self.largest_ack = self.largest_ack.max(event.acked);
        self.loss.on_delivered(event.acked);
        self.delivered = Packets(self.delivered.0.wrapping_add(event.acked.0));
        self.rivals.on_ack(event);
        let newest = event.delivered_at_send.0.wrapping_sub(self.round_ends_at.0);
        if newest < 1 << 31 || (self.base_rtt.is_due(config) && !self.rivals.competes()) {
            self.round_ends_at = event.delivered;
            self.end_round(config, event.now);
        }
    }

    /// Packets were declared lost; with them an episode of recovery begins, or not.
    #[inline(always)]
    pub fn on_loss(&mut self, lost: Packets, new_episode: bool) {
        self.loss.on_lost(lost);
        if new_episode {
            self.rivals.on_loss();
        }
    }

    /// After a silence the path may be another one. What left in it, after the application had nothing to send, found an empty queue, and
    /// the flow knows as little as a new one; anything else may have waited for the link.
    #[inline(always)]
    fn end_silence(&mut self, event: &Event) {
        if self.window == 0 || self.rate != 0 {
            return;
        }
        let silence = self.base_rtt.silent_for(event.now);
        if self.app_limited != 0 && event.rtt < silence {
            self.base_rtt.learn(Micros::MAX);
        } else if silence > LONG_PAUSE {
            self.base_rtt.doubt();
        }
    }

    #[inline(always)]
    fn end_round(&mut self, config: &Config, now: Instant) {
        self.largest_ack_before = self.largest_ack;
        self.largest_ack = Packets(0);
        let seen = self.base_rtt.seen_in_round();
        let round = Round {
            now,
            min_rtt: seen.unwrap_or(Micros::ZERO),
            base_rtt: self.base_rtt.get(),
            target: self.queue.target(config),
            window: self.window,
            rate: self.rate,
            app_limited: self.app_limited != 0,
        };
        // Losses while others fill the queue say nothing about the path.
        let is_empty = round.queueing() <= Micros(round.target.0 >> EMPTY);
        let delivered = (self.loss.delivered() as u64) << WINDOW_BITS;
        let is_small = round.app_limited && delivered <= self.window >> DRAIN_TO;
        if self.loss.end_round(config, self.base_rtt.is_drained(), is_empty) {
            self.base_rtt.believe();
        }
        if seen.is_some()
            && self.base_rtt.is_settled()
            && let Some(base_rtt) = self.rivals.end_round(config, &round)
        {
            self.base_rtt.learn(base_rtt);
        }
        self.rivals.keep(self.window);
        let shown = Shown {
            app_limited: round.app_limited,
            is_small,
            competes: self.rivals.competes(),
            is_full: self.loss.is_full(),
            is_long: round.queueing() > round.longest_alone(config),
        };
        self.base_rtt.end_round(config, shown);
    }

    /// Rounded up: what leaves in a burst is back within the ticks of a base RTT.
    #[inline(always)]
    fn tick_length(&self) -> Micros {
        Micros(self.base_rtt.get().0.div_ceil(TICKS_PER_BASE_RTT)).max(MIN_TICK)
    }

    /// When the next tick ends, which is sooner once the base RTT turns out to be shorter; none before the first RTT sample.
    #[inline(always)]
    pub fn next_tick(&self) -> Option<Instant> {
        if self.ticked_at == Instant(0) { None } else { Some(self.ticked_at.after(self.tick_length())) }
    }

    /// Ends all ticks that are over: an acknowledgement at the end of a tick belongs to it.
    pub fn end_ticks(&mut self, config: &Config, present: Instant) {
        (0..MOST_TICKS).take_while(|_| self.end_tick(config, present)).for_each(drop);
    }

    /// Ends the next tick, if it is over; false where none is. Each call is one turn of [`end_ticks`](Self::end_ticks), which the
    /// kernel's verifier would follow turn by turn.
    #[inline(always)]
    pub fn end_tick(&mut self, config: &Config, present: Instant) -> bool {
        let Some(next_tick) = self.next_tick().filter(|&next| next < present) else { return false };
        let tick = self.tick_length();
        // Of a long silence only the last ticks count.
        let passed = present.since(next_tick).0.checked_div(tick.0).unwrap_or(0);
        let skipped = Micros(passed.saturating_sub(MOST_MISSED).saturating_mul(tick.0));
        let now = next_tick.after(skipped);
        self.ticked_at = now;
        let rates = self.delivery.on_tick(now, self.delivered);
        let base_rtt = self.base_rtt.get();
        self.queue.on_tick(config, base_rtt);
        let (queueing, target) = (self.queue.delay(), self.queue.target(config));
        if self.app_limited != 0 {
            self.app_limited_at = now;
        }
        if self.app_limited != 0 || queueing > Micros(target.0 >> EMPTY) || self.loss.is_full() {
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
            empty_for: since(self.filled_at, now),
            app_limited_before: since(self.app_limited_at, now),
            share: self.loss.share(),
            aggregated: Packets(self.largest_ack.max(self.largest_ack_before).0.saturating_sub(1)),
        };
        let window = state.window(config);
        // What an application does not use says nothing of the path.
        let keeps = self.app_limited != 0 && queueing < target;
        self.window = if keeps { window.max(self.window) } else { window };
        true
    }

    /// The window, and the pacing rate for packets of this size; none before the first tick.
    #[inline(always)]
    pub fn limits(&self, config: &Config, packet_bytes: u32) -> Option<Limits> {
        if self.window == 0 {
            return None;
        }
        let base_rtt = self.base_rtt.get();
        let window = self.window.max(self.rivals.window());
        let drained = self.base_rtt.leaves(window_of(self.rate, base_rtt));
        let window = drained.max(min_window()).min(window);
        // Where packets are lost, the queue has no room for those that come too fast: a share of that haste is left.
        let share = self.loss.share();
        let faster = Q16::ONE.plus(config.pacing.minus(Q16::ONE).times(share));
        let paced = faster.of(window).saturating_add(share.of(PACING_PACKETS << WINDOW_BITS));
        let rtt = base_rtt.plus(part(share, self.queue.target(config)));
        let bytes = product(paced, packet_bytes) >> WINDOW_BITS;
        let pacing = product(bytes, 1_000_000).checked_div(rtt.0 as u64).unwrap_or(u64::MAX);
        Some(Limits { window, pacing: BytesPerSecond(pacing.max(1)) })
    }

    /// What the queue shall be.
    #[inline(always)]
    pub fn target(&self, config: &Config) -> Micros {
        self.queue.target(config)
    }

    /// A quantile of largest less smallest RTT within a base RTT.
    #[inline(always)]
    pub fn swing(&self) -> Micros {
        self.queue.swing()
    }

    /// The RTT of an empty queue; longer than any before the first sample.
    #[inline(always)]
    pub fn base_rtt(&self) -> Micros {
        self.base_rtt.get()
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

/// A share of a time.
#[inline(always)]
fn part(share: Q16, of: Micros) -> Micros {
    let micros = share.of(of.0 as u64);
    Micros(if micros > u32::MAX as u64 { u32::MAX } else { micros as u32 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tick_ends_sooner_once_the_base_rtt_is_shorter() {
        // A flow that began with an outage once waited a quarter of it for its first tick.
        let mut tide = Tide::START;
        let mut acknowledge = |now, rtt| {
            let event = Event { now: Instant(now), rtt: Micros(rtt), acked: Packets(1), ..Event::default() };
            tide.on_ack(&Config::DEFAULT, &event);
            tide.next_tick()
        };
        assert_eq!(acknowledge(20_000_000, 20_000_000), Some(Instant(25_000_000)));
        assert_eq!(acknowledge(20_040_000, 40_000), Some(Instant(20_010_000)));
    }
}

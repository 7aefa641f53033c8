//! Tide: the window follows the delivery rate, and the queue is as long as the link is unsteady.
//!
//! 1. A tick is a quarter of the base RTT. Each measures the delivery rate, the queueing delay, and the RTT's swing: a
//!    quantile of the largest less the smallest sample within a base RTT, which no decision of the sender affects.
//! 2. The target of the queueing delay is the parameter `delay` plus a share of the swing; at least 1.25 swings.
//! 3. The window is the rate times base RTT and target, plus two packets, and more while the queue stays empty. Pacing
//!    is a little faster than that. Frames that waited while the link paused leave at once, up to the restart window.
//! 4. Where the queue has not been empty for 10 s, or sooner in doubt, the flow holds back for a round: a drain. The
//!    next round shows the path without the flow's own queue: its RTT and losses. An application that sends little
//!    causes the same at no cost.
//! 5. Lost packets reduce the part of the window beyond the base RTT, unless a drain has shown them to be random. A
//!    queue far above the target for many rounds is another flow's, or the path has become longer: the flow competes,
//!    with a window that only losses reduce, and checks whether any flow yields.
//!
//! ```text
//!       no nearly empty queue for 10 s, or doubt       24 rounds (3 soon after) of a queue far above the target
//!  drain <---------------------------------- alone ------------------------------------------------------------> competing
//!        ---------------------------------->       <------------------------------------------------------------
//!                  after a round                     after 4 s, to look; or nobody yields, and the path has
//!                                                    become longer
//! ```
//!
//! Source: this project; docs/algorithms/tide.md has the measurements, which chose the constants marked "prototype".
//!
//! Related work. A window of rate times base RTT and a target: BBR, Vegas, FAST, PropRate, ExLL. Packets independent of
//! the rate, for equal shares: Vegas, FAST. Two modes, chosen by the queue: Copa, Nimbus. Drains: BBR's ProbeRTT. A
//! target from the variation of the delay: in spirit C2TCP and Sprout. We found no other target from a quantile of the
//! RTT's swing within a base RTT; no thorough search was made.
//!
//! A tick ends on time where the driver has timers (simulator, QUIC), and otherwise with the first acknowledgement
//! after it (kernel). Ticks that pass without an acknowledgement also count.
//!
//! | file | concept |
//! |---|---|
//! | `base_rtt` | the RTT of an empty queue, and the drains that show it |
//! | `delivery` | the delivery rate, over four ticks and over sixteen |
//! | `queue` | queueing delay, swing, and the target |
//! | `loss` | the answer to lost packets |
//! | `window` | the window from all these |
//! | `rivals` | detection of other flows in the queue |
//! | `sawtooth` | detection of a queue that rises and falls, as flows that answer losses make it |
//! | `competition` | the window against them |
//! | `settings` | the parameter and the constants |
//!
//! **Differences from the prototype.**
//! - Numbers are integers, so that every machine and the kernel decide the same: times in microseconds, windows in
//!   units of 2^-16 packets, rates in units of 2^-32 packets per microsecond, 2.8 bit/s for packets of 1500 bytes.
//! - A round also counts where it begins with an acknowledgement without an RTT sample.
//! - The swing covers four whole ticks. In the prototype rounding decided whether a fifth one counted.
//! - The mean of short and long rate counts where the queue is above 1.5 targets instead of one, and packets are paced
//!   at 1.5 times the window's rate instead of 1.25 times, so that two flows converge at high rates.
//! - The window also holds the packets of an acknowledgement. A receiver that acknowledges every 16th stalled it.
//! - A burst is a millisecond's worth of packets, up to four, instead of four.
//! - Within a second after the application had nothing to send, the window is at least the restart window: the rate of
//!   its last packets says nothing about the path, and data from a pause of the link waited in the sender.
//! - Where packets are lost, pacing is slower, down to the window's rate: a full queue has no room for faster packets.
//! - Before the flow competes, the queue may hold the extra packets of eight flows instead of only its own, unless the
//!   queue rises and falls. Several flows on a slow link competed with each other.
//! - Competition does not end where the queue is empty for a moment. A flow after CUBIC then left it the link.
//! - A pause of the link makes no drain due, and a tick that a long RTT set ends sooner when the RTT falls. After an
//!   outage the flow slept for as long as the outage.
//! - A drain lasts for a round and also shows losses; after silence or application limits the flow doubts its base RTT.
//!   A path that had become longer was used to a tenth for 20 s, and one with 5 % loss at 200 ms to a thirtieth.
//! - The flow's own extra packets are no rival, however long they take. On 200 kbit/s it competed with itself.
//! - A queue above the target reduces the window only through the delivery rate; against a rival the window grows by a
//!   share per RTT instead of CUBIC's function; jitter sets a floor of the target (docs/evidence/tide/law.md).
//! - A queue that steps up needs eight rounds instead of 24. When a path of 40 ms became one of 120 ms, utilisation was
//!   0.06 for 3 s.
//! - A longer path is distinguished from a rival: no flow yields. The prototype's window grew by half per RTT for a
//!   second and more, and on an unlimited queue the p95 of the queueing delay was 3 s.

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
use rivals::{Rivals, Round, Tick};
use window::{LONG_PAUSE, State, min_window};

/// Prototype: the shortest tick.
const MIN_TICK: Micros = Micros(500);
/// Prototype: the share of the target below which the queue is empty: a half, as a shift.
const EMPTY: u32 = 1;
/// The most missed ticks that are made up for: as many as the longer rate has.
const MOST_MISSED: u32 = 16;
/// The most ticks that [`Tide::end_tick`] ends before an acknowledgement.
pub const MOST_TICKS: u32 = MOST_MISSED + 1;
/// Prototype: packets in the pacing rate beyond a multiple of the window.
const PACING_PACKETS: u64 = 4;
/// Number of fractional bits of a window.
pub(crate) const WINDOW_BITS: u32 = 16;
/// Number of fractional bits of a rate in packets per microsecond.
const RATE_BITS: u32 = 32;

mirror! {
    /// An acknowledgement of new data.
    #[derive(Default)]
    #[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
    pub struct Event as tide_event {
        /// The time of arrival.
        pub now as now_us: Instant,
        /// The RTT sample; zero without one.
        pub rtt as rtt_us: Micros,
        /// Packets delivered since the flow began, including these; they delimit rounds. Wraps.
        pub delivered: Packets,
        /// The value of `delivered` when the newest of these packets was sent.
        pub delivered_at_send: Packets,
        /// Packets of full size that this acknowledgement delivers.
        pub acked: Packets,
        /// Not zero: the application had nothing to send when the newest packet was sent.
        pub app_limited: u32,
        /// Padding, zero.
        pub reserved: u32,
    }
}

/// The sender's limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The data that may be in flight, in units of 2^-16 packets.
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
    /// The window of a flow that is alone and does not drain; zero before the first tick.
    window: u64,
    rate: u64,
    /// The end of the last tick; zero before the first RTT sample.
    ticked_at: Instant,
    /// The last time that the queue was not empty, or the application had nothing to send; zero if never.
    filled_at: Instant,
    /// The last time that the application had nothing to send; zero if never.
    app_limited_at: Instant,
    queue: Queue,
    loss: LossResponse,
    /// The largest acknowledgement of this round and of the last one, in packets.
    largest_ack: Packets,
    largest_ack_before: Packets,
    delivered: Packets,
    round_ends_at: Packets,
    app_limited: u32,
    reserved: u32,
}

impl Tide {
    /// The state of a new flow.
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

    /// Takes an acknowledgement, after all ticks that were over have been [ended](Self::end_tick).
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

    /// Takes the number of packets declared lost; `new_episode` where an episode of recovery begins with them.
    #[inline(always)]
    pub fn on_loss(&mut self, lost: Packets, new_episode: bool) {
        self.loss.on_lost(lost);
        if new_episode {
            self.rivals.on_loss();
        }
    }

    /// Handles the end of a silence: the path may have changed. A packet sent in it, after the application had nothing
    /// to send, met an empty queue, and the flow knows as little as a new one; any other may have waited for the link.
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

    /// The length of a tick, rounded up so that a burst is acknowledged within the ticks of a base RTT.
    #[inline(always)]
    fn tick_length(&self) -> Micros {
        Micros(self.base_rtt.get().0.div_ceil(TICKS_PER_BASE_RTT)).max(MIN_TICK)
    }

    /// The end of the next tick, earlier once the base RTT proves to be shorter; `None` before the first RTT sample.
    #[inline(always)]
    pub fn next_tick(&self) -> Option<Instant> {
        if self.ticked_at == Instant(0) { None } else { Some(self.ticked_at.after(self.tick_length())) }
    }

    /// Ends all ticks that are over. An acknowledgement at the end of a tick belongs to it.
    pub fn end_ticks(&mut self, config: &Config, present: Instant) {
        (0..MOST_TICKS).take_while(|_| self.end_tick(config, present)).for_each(drop);
    }

    /// Ends the next tick if it is over; returns false otherwise. Each call is one turn of
    /// [`end_ticks`](Self::end_ticks), which the kernel's verifier would follow turn by turn.
    #[inline(always)]
    pub fn end_tick(&mut self, config: &Config, present: Instant) -> bool {
        let Some(next_tick) = self.next_tick().filter(|&next| next < present) else { return false };
        let tick = self.tick_length();
        // Only the last ticks of a long silence count.
        let passed = present.since(next_tick).0.checked_div(tick.0).unwrap_or(0);
        let skipped = Micros(passed.saturating_sub(MOST_MISSED).saturating_mul(tick.0));
        let now = next_tick.after(skipped);
        self.ticked_at = now;
        let rates = self.delivery.on_tick(now, self.delivered);
        let base_rtt = self.base_rtt.get();
        let longest = self.queue.longest();
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
        self.rivals.on_queue(config, Tick { now, queueing, longest, target });
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
        // An unused window says nothing about the path.
        let keeps = self.app_limited != 0 && queueing < target;
        self.window = if keeps { window.max(self.window) } else { window };
        true
    }

    /// The window, and the pacing rate for packets of this size; `None` before the first tick.
    #[inline(always)]
    pub fn limits(&self, config: &Config, packet_bytes: u32) -> Option<Limits> {
        if self.window == 0 {
            return None;
        }
        let base_rtt = self.base_rtt.get();
        let window = self.window.max(self.rivals.window());
        let drained = self.base_rtt.leaves(window_of(self.rate, base_rtt));
        let window = drained.max(min_window()).min(window);
        // Where packets are lost, the queue has no room for faster packets: only a share of the extra pace is left.
        let share = self.loss.share();
        let faster = Q16::ONE.plus(config.pacing.minus(Q16::ONE).times(share));
        let paced = faster.of(window).saturating_add(share.of(PACING_PACKETS << WINDOW_BITS));
        let rtt = base_rtt.plus(part(share, self.queue.target(config)));
        let bytes = product(paced, packet_bytes) >> WINDOW_BITS;
        let pacing = product(bytes, 1_000_000).checked_div(rtt.0 as u64).unwrap_or(u64::MAX);
        Some(Limits { window, pacing: BytesPerSecond(pacing.max(1)) })
    }

    /// The target of the queueing delay.
    #[inline(always)]
    pub fn target(&self, config: &Config) -> Micros {
        self.queue.target(config)
    }

    /// The swing: a quantile of the largest less the smallest RTT within a base RTT.
    #[inline(always)]
    pub fn swing(&self) -> Micros {
        self.queue.swing()
    }

    /// The RTT of an empty queue; [`Micros::MAX`] before the first sample.
    #[inline(always)]
    pub fn base_rtt(&self) -> Micros {
        self.base_rtt.get()
    }

    /// The delivery rate behind the window, in packets per 2^32 microseconds.
    #[inline(always)]
    pub const fn rate(&self) -> u64 {
        self.rate
    }

    /// True while another flow fills the queue, as far as this one knows.
    #[inline(always)]
    pub const fn competes(&self) -> bool {
        self.rivals.competes()
    }
}

/// The time since an instant; `None` where the instant is zero.
#[inline(always)]
fn since(then: Instant, now: Instant) -> Option<Micros> {
    if then == Instant(0) { None } else { Some(now.since(then)) }
}

/// The data that a rate delivers in a time, in units of 2^-16 packets.
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

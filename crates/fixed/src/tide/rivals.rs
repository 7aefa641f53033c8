//! Detection of other flows that fill the queue, and the decision to compete with them.
//!
//! Alone, the flow holds the queue at its target. A queue far above it for many rounds, although the window follows the
//! target, is another flow's, or the path has become longer. So the flow competes, and its window grows: a rival
//! yields, which shows in the rate, and a path does not. Where no flow yields, the smallest RTT of those rounds is the
//! new base RTT. Against a rival, the flow pauses from time to time to see whether it is still there.
//!
//! A queue that rises within a tick by more than flows of this scheme make, above its longest before, and then stays as it
//! is, needs only eight rounds: a handover to a longer path does that.
//!
//! Flows of this scheme do not answer each other so. Each keeps a few packets in the queue above the target, which take
//! long on a slow link: the queue may hold those of several flows, unless it rises and falls as others make it.

use super::competition::Competition;
use super::sawtooth::{FORGOTTEN_AFTER, Sawtooth};
use super::settings::Config;
use super::{Event, RATE_BITS, WINDOW_BITS, part};
use crate::number::product;
use crate::{Instant, Micros, Q16};

/// Prototype: the smallest margin above the target beyond which a queue is another flow's; normally that is the target.
const MIN_MARGIN: Micros = Micros(5_000);
/// Prototype: the largest addition to that margin for the extra packets of other flows of this scheme.
const MAX_OTHERS_MARGIN: Micros = Micros(50_000);
/// Prototype: rounds with a longer queue that one with a shorter queue takes back.
const ROUNDS_BACK: u32 = 4;
/// Prototype: rounds that suffice where a rival was there shortly before.
const ROUNDS_AGAIN: u32 = 3;
/// Rounds that suffice after a step. With 6, a second of jitter on Wi-Fi passes for a longer path (decision 0021).
const STEP_ROUNDS: u32 = 8;
/// Time for which the flow competes before it looks. With 1, 4 and 16 s it reaches its share in 37, 41 and 43 of 54
/// cells of docs/evidence/tide/rivals.md; after a rival has gone, the flow's own queue lasts for the same time.
const LOOK_EVERY: Micros = Micros(4_000_000);
/// Reciprocal of the growth below which a rate has stayed, a twentieth: the flow had nine tenths of the link then.
const RATE_STAYS: u64 = 20;
/// Rounds in a row without growth of the rate that show a longer path, measured with paths that become 30 or 80 ms
/// longer. With three, the rate's own rise hides it.
const ROUNDS_WITHOUT: u32 = 2;
/// Prototype: the largest rate halves in 20 s. It loses 0.035 of itself per second: per microsecond, in units of 2^-32.
const PEAK_DECAY: u32 = 150;

/// Knowledge about a rival, and the competition with it.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
pub(super) struct Rivals {
    /// The present competition, or the paused one.
    competition: Competition,
    sawtooth: Sawtooth,
    /// Windows at the end of the last rounds, the newest first.
    windows: [u64; 8],
    /// The largest recent rate, which gives the time that extra packets take.
    peak_rate: u64,
    /// The window with which a competition would begin; zero without a hint of a rival.
    window_before: u64,
    /// The rate of the last round; zero before the first.
    last_rate: u64,
    /// The last time that the flow paused to look; zero if never.
    looked_at: Instant,
    /// The start of the competition; zero outside one.
    competes_since: Instant,
    /// The smallest RTT of the rounds with a longer queue.
    min_above: Micros,
    rounds_above: u32,
    rounds_without: u32,
    /// Not zero: the flow has stopped to look, and a rival may still be there.
    has_looked: u32,
    /// Not zero: a competition pauses.
    paused: u32,
    /// The least queueing delay that a step has led to; zero without one, or where it has gone.
    stepped_to: Micros,
}

/// The flow at the end of a round.
#[derive(Debug, Clone, Copy)]
pub(super) struct Round {
    pub(super) now: Instant,
    /// The smallest RTT of the round.
    pub(super) min_rtt: Micros,
    pub(super) base_rtt: Micros,
    pub(super) target: Micros,
    pub(super) window: u64,
    pub(super) rate: u64,
    pub(super) app_limited: bool,
}

/// The queue at the end of a tick.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tick {
    pub(super) now: Instant,
    pub(super) queueing: Micros,
    /// The longest queueing delay before.
    pub(super) longest: Micros,
    pub(super) target: Micros,
}

impl Round {
    /// The smallest queueing delay of the round.
    #[inline(always)]
    pub(super) fn queueing(&self) -> Micros {
        Micros(self.min_rtt.0.saturating_sub(self.base_rtt.0))
    }

    /// The longest queue of a flow that is alone, without its extra packets.
    #[inline(always)]
    pub(super) fn longest_alone(&self, config: &Config) -> Micros {
        longest_alone(config, self.target)
    }
}

/// The longest queue of a flow that is alone, without its extra packets.
#[inline(always)]
fn longest_alone(config: &Config, target: Micros) -> Micros {
    target.plus(part(config.rival_margin, target.max(MIN_MARGIN)))
}

impl Rivals {
    pub(super) const START: Self = Self {
        competition: Competition::NONE,
        sawtooth: Sawtooth::START,
        windows: [0; 8],
        peak_rate: 0,
        window_before: 0,
        last_rate: 0,
        looked_at: Instant(0),
        competes_since: Instant(0),
        min_above: Micros::MAX,
        rounds_above: 0,
        rounds_without: 0,
        has_looked: 0,
        paused: 0,
        stepped_to: Micros::ZERO,
    };

    #[inline(always)]
    pub(super) const fn competes(&self) -> bool {
        self.competes_since.0 != 0
    }

    /// The window of the competition; zero outside one.
    #[inline(always)]
    pub(super) fn window(&self) -> u64 {
        if self.competes() { self.competition.window() } else { 0 }
    }

    #[inline(always)]
    pub(super) fn on_ack(&mut self, event: &Event) {
        if self.competes() {
            self.competition.on_ack(event.acked);
        }
    }

    #[inline(always)]
    pub(super) fn on_loss(&mut self) {
        if self.competes() {
            self.competition.on_loss();
        }
    }

    /// Takes the sending rate of a tick, and the tick's length.
    #[inline(always)]
    pub(super) fn on_tick(&mut self, rate: u64, tick: Micros) {
        let decay = product(product(self.peak_rate, tick.0), PEAK_DECAY) >> 32;
        self.peak_rate = rate.max(self.peak_rate.saturating_sub(decay));
    }

    /// Takes the queueing delay of a tick, and the longest one before it. A step is a rise beyond that by a queue that flows
    /// of this scheme do not explain.
    #[inline(always)]
    pub(super) fn on_queue(&mut self, config: &Config, tick: Tick) {
        if tick.queueing < self.stepped_to {
            self.stepped_to = Micros::ZERO;
        } else if self.stepped_to == Micros::ZERO {
            let step = tick.longest.plus(self.longest_of_ones_own(config, tick.now, tick.target));
            self.stepped_to = if tick.queueing > step { step } else { Micros::ZERO };
        }
    }

    /// Ends a round; returns the new base RTT where the queue turns out to be a longer path.
    #[inline(always)]
    pub(super) fn end_round(&mut self, config: &Config, round: &Round) -> Option<Micros> {
        if !config.competes {
            return None;
        }
        let lengths = [round.target, round.longest_alone(config)];
        self.sawtooth.end_round(round.now, round.queueing(), lengths, config.sawtooth_rounds);
        if !self.competes() {
            self.watch(config, round);
        } else if self.nobody_yields(round.rate) {
            self.forget();
            return Some(self.min_above);
        } else {
            self.look(round);
        }
        None
    }

    /// Stores the window at the end of a round.
    #[inline(always)]
    pub(super) fn keep(&mut self, window: u64) {
        let [a, b, c, d, e, f, g, _] = self.windows;
        self.windows = [window, a, b, c, d, e, f, g];
    }

    /// True where no flow yields. With a window larger by half, a share `s` of the link becomes `1.5 s / (1 + 0.5 s)`.
    /// Where the rate stays, the flow has all of the link: the queue is the path's own delay, or the flow's.
    #[inline(always)]
    fn nobody_yields(&mut self, rate: u64) -> bool {
        let grown = self.last_rate.saturating_add(self.last_rate / RATE_STAYS);
        let stays = self.competition.is_lossless() && rate < grown;
        self.rounds_without = if stays { self.rounds_without.saturating_add(1) } else { 0 };
        self.last_rate = rate;
        self.rounds_without >= ROUNDS_WITHOUT
    }

    /// Pauses from time to time, to see whether the queue goes. A queue that is empty once shows nothing: a rival has
    /// then lost packets, and will be back.
    #[inline(always)]
    fn look(&mut self, round: &Round) {
        if round.now.since(self.competes_since) <= LOOK_EVERY {
            return;
        }
        self.competes_since = Instant(0);
        self.paused = 1;
        self.looked_at = round.now;
        self.has_looked = 1;
        self.rounds_above = 0;
        self.window_before = self.competition.window();
    }

    #[inline(always)]
    fn watch(&mut self, config: &Config, round: &Round) {
        let is_above = round.queueing() > self.longest_of_ones_own(config, round.now, round.target);
        if is_above && !round.app_limited {
            if self.rounds_above == 0 {
                self.min_above = round.min_rtt;
                let [a, b, c, d, e, f, g, h] = self.windows;
                let most = a.max(b).max(c.max(d)).max(e.max(f).max(g.max(h)));
                self.window_before = self.window_before.max(most);
            }
            // A queue that falls or grows after a step is the link's, whose rate has fallen.
            if round.min_rtt.0.abs_diff(self.min_above.0) > config.delay.0 {
                self.stepped_to = Micros::ZERO;
            }
            self.min_above = self.min_above.min(round.min_rtt);
            self.rounds_above = self.rounds_above.saturating_add(1);
        } else {
            self.rounds_above = self.rounds_above.saturating_sub(ROUNDS_BACK);
        }
        if self.rounds_above == 0 && !is_above {
            self.window_before = 0;
            if self.looked_at == Instant(0) || round.now.since(self.looked_at) > FORGOTTEN_AFTER {
                self.forget();
            }
        }
        let enough = if self.has_looked != 0 {
            ROUNDS_AGAIN
        } else if self.stepped_to != Micros::ZERO {
            STEP_ROUNDS
        } else {
            config.rival_rounds
        };
        if self.rounds_above >= enough {
            self.rounds_above = 0;
            self.compete(round);
        }
    }

    /// Records that there is no rival.
    #[inline(always)]
    fn forget(&mut self) {
        self.competes_since = Instant(0);
        self.paused = 0;
        self.has_looked = 0;
        self.window_before = 0;
    }

    #[inline(always)]
    fn compete(&mut self, round: &Round) {
        self.competition = if self.paused != 0 {
            self.competition.resumed(round.window)
        } else {
            Competition::from_window(self.window_before.max(round.window))
        };
        self.paused = 0;
        (self.last_rate, self.rounds_without) = (0, 0);
        self.competes_since = round.now;
    }

    /// The longest queue that flows of this scheme explain.
    #[inline(always)]
    fn longest_of_ones_own(&self, config: &Config, now: Instant, target: Micros) -> Micros {
        let flows = if self.sawtooth.is_there(now) { Q16::ONE } else { config.flows };
        let extra = config.extra_packets.0.max(0) as u64;
        let own = self.time_of(extra);
        let others = self.time_of(flows.minus(Q16::ONE).of(extra)).min(MAX_OTHERS_MARGIN);
        longest_alone(config, target).plus(own).plus(others)
    }

    /// The time that packets, in units of 2^-16, take at the largest rate.
    #[inline(always)]
    fn time_of(&self, packets: u64) -> Micros {
        let micros = product(packets, 1 << (RATE_BITS - WINDOW_BITS)).checked_div(self.peak_rate);
        Micros(micros.unwrap_or(u64::MAX).min(u32::MAX as u64) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u32 = 1_000;
    const TARGET: Micros = Micros(5 * MS);

    /// A flow at 120 Mbit/s, where the extra packets of eight flows take 1.6 ms, whose longest queue was 6 ms.
    struct Flow {
        rivals: Rivals,
        now: Instant,
        longest: Micros,
    }

    impl Flow {
        fn new() -> Self {
            let rivals = Rivals { peak_rate: 42_949_673, ..Rivals::START };
            Self { rivals, now: Instant(1), longest: Micros(6 * MS) }
        }

        /// Passes a round with this queue; returns whether the flow competes then.
        fn sees(&mut self, queueing: Micros) -> bool {
            self.now = self.now.after(Micros(60 * MS));
            let tick = Tick { now: self.now, queueing, longest: self.longest, target: TARGET };
            self.rivals.on_queue(&Config::DEFAULT, tick);
            self.longest = self.longest.max(queueing);
            let round = Round {
                now: self.now,
                min_rtt: Micros(20 * MS).plus(queueing),
                base_rtt: Micros(20 * MS),
                target: TARGET,
                window: 1,
                rate: 1,
                app_limited: false,
            };
            self.rivals.end_round(&Config::DEFAULT, &round);
            self.rivals.competes()
        }

        /// The round of these, in ms, from which the flow competes.
        fn competes_from(queues_ms: impl IntoIterator<Item = u32>) -> Option<usize> {
            let mut flow = Self::new();
            queues_ms.into_iter().position(|queue| flow.sees(Micros(queue * MS)))
        }
    }

    #[test]
    fn a_queue_that_steps_up_and_stays_is_competed_for_after_8_rounds() {
        assert_eq!(Flow::competes_from([6, 43, 41].into_iter().chain([40; 10])), Some(8));
        // Less than a step: 6 ms, the target, its margin, and the extra packets.
        assert_eq!(Flow::competes_from([6].into_iter().chain([17; 40])), Some(24));
    }

    #[test]
    fn a_queue_that_steps_up_and_goes_or_moves_is_competed_for_after_24_rounds() {
        // A pause of the link, whose queue is served afterwards.
        assert_eq!(Flow::competes_from([6, 80, 60, 40, 5, 6]), None);
        // The link has become slower: the queue falls with the window.
        assert_eq!(Flow::competes_from([6, 80].into_iter().chain([40; 40])), Some(24));
    }

    #[test]
    fn the_largest_rate_halves_in_twenty_seconds_however_small_it_is() {
        // 20 kbit/s, 1 Mbit/s and 5 Gbit/s with packets of 1500 bytes, and ticks of 40 ms plus a packet. Below 1.3
        // Mbit/s the rate once never fell.
        for (rate, tick) in [(7_158, 160_000), (357_914, 13_000), (1_789_569_707, 10_000)] {
            let mut rivals = Rivals { peak_rate: rate, ..Rivals::START };
            (0..20_000_000 / tick).for_each(|_| rivals.on_tick(0, Micros(tick)));
            let left = rivals.peak_rate as f64 / rate as f64;
            assert!((0.49..0.53).contains(&left), "{left} of {rate}");
        }
    }
}

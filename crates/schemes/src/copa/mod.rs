//! Copa: the window moves towards the rate that keeps `1/delta` packets in the queue.
//!
//! 1. The queueing delay `d_q` is the standing RTT (smallest of the last half smoothed RTT) less the minimum RTT (10 s).
//! 2. Each ACK compares the target rate `1/(delta d_q)` with the rate `cwnd / standing RTT`, and moves the window by
//!    `v/(delta cwnd)` packets up or down. Packets leave at twice the rate, so that the window is the limit.
//! 3. The velocity `v` is 1, and doubles each round after the window has moved one way for three of them.
//! 4. So the queue is empty once in five round trips. Where it is not, others fill it: the flow competes, and `1/delta`
//!    grows by one per round and halves at a loss.
//! 5. Slow start doubles the window every round until the rate exceeds its target.
//!
//! ```text
//!              rate > target                no nearly empty queue for 5 RTTs
//!  slow start ---------------> default mode ---------------------------------> competitive mode
//!                              delta fixed  <---------------------------------  AIMD on 1/delta
//!                                              a nearly empty queue
//! ```
//!
//! Source: Arun and Balakrishnan, Copa, NSDI 2018. Profile `mvfst`: facebook/mvfst, `Copa.cpp`, in 2023.
//!
//! **Differences from the paper.**
//! - Nearly empty is also a queueing delay of less than the time between two packets of the flow, which sees the queue only
//!   through these: the RTT over the data in flight as the packet left. By the paper's rule alone (`mode=literal`) several
//!   flows take each other for competitors on a slow link, and fill the buffer (docs/algorithms/copa.md).
//! - A flow that competes goes back to the default mode if `1/delta` has doubled without a loss and 5 % more was not delivered:
//!   no other flow fills the queue. With more than a bandwidth-delay product of its own queued the swing of a single flow dies
//!   out, the queue never empties, and by the paper's rule it would compete with itself permanently.
//! - The velocity goes back to 1 as soon as an ACK asks for the other direction (mvfst), and not only at the end of the
//!   round: a velocity of 64 would move the window for up to a round the wrong way.
//! - The window at most doubles or halves in a round (`v <= delta cwnd`, as in the authors' program genericCC). The profile
//!   `mvfst` has no such bound.
//! - A window that the application does not use does not grow (RFC 9002, section 7.8). Without a queue the target is infinite,
//!   and so would be the window of such a flow.
//! - Persistent congestion leaves two packets, as in mvfst; the paper says nothing of time-outs. Neither has the default
//!   mode any other answer to loss, nor to marks.
//! - The minima are those of Nichols' filter (as in mvfst), which keeps three values: a minimum may be forgotten up to a
//!   window early in favour of a later one, never late.

mod competition;
mod settings;
#[cfg(test)]
mod tests;

use cellcc_control::{
    Ack, Context, Controller, Event, Limits, Loss, Observer, SchemeInfo, ShownValue, filters::RecentMin,
};
use cellcc_units::{Bytes, Rate, Span, Time};
use competition::{Competition, Look};
use settings::{Delay, MIN_WINDOW_PACKETS, Profile, Settings};

/// Paper, section 2.1; mvfst `kMinRTTWindowLength`.
const MIN_RTT_WINDOW: Span = Span::from_secs(10);
/// Paper, section 2.1: packets leave at so many times the window per standing RTT.
const PACING_GAIN: f64 = 2.0;
/// mvfst `kDefaultMaxCwndInMss`: the largest window of its profile, in packets. Its `Copa.cpp` of 2023 does not apply it, newer
/// ones do.
const MVFST_MAX_WINDOW_PACKETS: u64 = 2000;

/// The values that it exposes.
const SHOWS: [ShownValue; 7] = [
    ShownValue::number("delta", "1/delta packets wait in the queue"),
    ShownValue::number("velocity", "the step of the window, which doubles while it moves one way"),
    ShownValue::switch("competing", "the competitive mode"),
    ShownValue::switch("slow_start", "slow start"),
    ShownValue::number("d_q_ms", "queueing delay: standing RTT less minimum RTT"),
    ShownValue::number("min_rtt_ms", "the smallest RTT of ten seconds"),
    ShownValue::number("standing_rtt_ms", "the smallest RTT of the last half smoothed RTT"),
];

pub(super) fn scheme() -> SchemeInfo {
    SchemeInfo::new(
        "copa",
        "moves to the rate that keeps 1/delta packets in the queue; competes where others fill it",
        "Arun and Balakrishnan, NSDI 2018",
        |arguments, context| Box::new(Copa::new(Settings::read(arguments), context)),
    )
    .parameters(settings::parameters())
    .presets(settings::presets())
    .shows(&SHOWS)
    .over_udp()
}

struct Copa {
    settings: Settings,
    packet_size: Bytes,
    /// In bytes, with the fraction that one ACK adds.
    window: f64,
    pacing_rate: Option<Rate>,
    slow_start: SlowStart,
    min_rtt: RecentMin<Span>,
    standing_rtt: RecentMin<Span>,
    queueing_delay: Span,
    velocity: Velocity,
    competition: Competition,
}

/// The state of slow start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SlowStart {
    /// It is. The profile `mvfst` doubles the window in one step; this is when it last did.
    On {
        doubled_at: Option<Time>,
    },
    Over,
}

impl Copa {
    fn new(settings: Settings, context: &Context) -> Self {
        Self {
            settings,
            packet_size: context.packet,
            window: context.initial_window.as_f64(),
            pacing_rate: None,
            slow_start: SlowStart::On { doubled_at: None },
            min_rtt: RecentMin::default(),
            standing_rtt: RecentMin::default(),
            queueing_delay: Span::ZERO,
            velocity: Velocity::default(),
            competition: Competition::new(settings.mode, settings.delta),
        }
    }

    /// Takes the RTT sample; returns the standing RTT.
    fn measure(&mut self, ack: &Ack<'_>, sample: Span) -> Span {
        let smoothed = ack.rtt.smoothed();
        let min = self.min_rtt.add(ack.now, sample, MIN_RTT_WINDOW);
        let standing = self.standing_rtt.add(ack.now, sample, self.settings.standing_window(smoothed));
        self.queueing_delay = match self.settings.delay {
            Delay::Standing => standing.saturating_sub(min),
            Delay::Latest => sample.saturating_sub(min),
        };
        self.competition.on_rtt(ack, &Look::new(ack, sample, min, self.queueing_delay));
        standing
    }

    /// Paper, section 2.1, step 3, without its quotients: `cwnd / standing <= 1 / (delta d_q)`.
    fn wants_more(&self, standing: Span) -> bool {
        let packets = self.window / self.packet_size.as_f64();
        packets * self.competition.delta() * self.queueing_delay.as_secs_f64() <= standing.as_secs_f64()
    }

    fn double_in_slow_start(&mut self, ack: &Ack<'_>, doubled_at: Option<Time>) {
        match self.settings.profile {
            Profile::Paper if ack.cwnd_limited => self.window += ack.bytes.as_f64(),
            Profile::Mvfst => match doubled_at {
                Some(at) if ack.now.since(at) <= ack.rtt.smoothed() => {}
                at => {
                    if at.is_some() && ack.cwnd_limited {
                        self.window *= 2.0;
                    }
                    self.slow_start = SlowStart::On { doubled_at: Some(ack.now) };
                }
            },
            Profile::Paper => {}
        }
    }

    /// Paper, section 2.1, step 3: by `v/(delta cwnd)` packets for each one acknowledged.
    fn move_window(&mut self, ack: &Ack<'_>, direction: Direction) {
        let packet = self.packet_size.as_f64();
        let packets = self.window / packet;
        let velocity = self.velocity.towards(direction, ack.now, self.window);
        let velocity = match self.settings.profile {
            Profile::Paper => velocity.min((self.competition.delta() * packets).max(1.0)),
            Profile::Mvfst => velocity,
        };
        let step = ack.bytes.as_f64() * velocity / (self.competition.delta() * packets);
        match direction {
            Direction::Up if ack.cwnd_limited => self.window += step,
            Direction::Up => {}
            Direction::Down => self.window = (self.window - step).max(self.min_window()),
        }
    }

    fn min_window(&self) -> f64 {
        (self.packet_size * MIN_WINDOW_PACKETS).as_f64()
    }

    fn max_window(&self) -> f64 {
        match self.settings.profile {
            Profile::Paper => f64::INFINITY,
            Profile::Mvfst => (self.packet_size * MVFST_MAX_WINDOW_PACKETS).as_f64(),
        }
    }

    fn pace(&mut self, rtt: Span) {
        let rate = Rate::from_transfer(Bytes::new((PACING_GAIN * self.window) as u64), rtt);
        self.pacing_rate = Some(rate.max(Rate::from_bytes_per_sec(1)));
    }
}

impl Controller for Copa {
    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.packet_size = ack.packet_size;
        let Some(sample) = ack.rtt_sample else { return };
        let standing = self.measure(ack, sample);
        let more = self.wants_more(standing);
        match self.slow_start {
            SlowStart::On { doubled_at } if more => self.double_in_slow_start(ack, doubled_at),
            _ => {
                self.slow_start = SlowStart::Over;
                if self.settings.is_round_over(ack, self.velocity.compared_at()) {
                    self.velocity.compare(ack.now, self.window, self.settings.rounds_before_doubling());
                }
                self.move_window(ack, if more { Direction::Up } else { Direction::Down });
            }
        }
        self.window = self.window.min(self.max_window());
        self.pace(match self.settings.profile {
            Profile::Paper => standing,
            Profile::Mvfst => ack.rtt.smoothed(),
        });
    }

    fn on_loss(&mut self, loss: &Loss<'_>) {
        self.packet_size = loss.packet_size;
        if loss.new_episode {
            self.competition.on_loss();
        }
        if loss.persistent {
            self.window = self.min_window();
        }
    }

    fn on_event(&mut self, _now: Time, _event: Event) {}

    fn limits(&self) -> Limits {
        let window = Bytes::new(self.window as u64);
        match self.pacing_rate {
            Some(rate) => Limits::paced(window, rate, self.packet_size),
            None => Limits::window_only(window),
        }
    }

    fn observe(&self, observer: &mut dyn Observer) {
        observer.value("delta", "", self.competition.delta());
        observer.value("velocity", "", self.velocity.get());
        observer.switch("competing", self.competition.is_on());
        observer.switch("slow_start", self.slow_start != SlowStart::Over);
        observer.value("d_q", "ms", self.queueing_delay.as_millis_f64());
        if let (Some(min), Some(standing)) = (self.min_rtt.min(), self.standing_rtt.min()) {
            observer.value("min_rtt", "ms", min.as_millis_f64());
            observer.value("standing_rtt", "ms", standing.as_millis_f64());
        }
    }
}

// The velocity of the window: it rises the longer the window moves one way.

/// Keeps the numbers finite; a window that grows by a million packets a round is on no path.
const MAX_VELOCITY: f64 = (1_u64 << 20) as f64;

/// Direction in which the window moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Up,
    Down,
}

/// The velocity (paper, section 2.1, step 4).
#[derive(Debug)]
struct Velocity {
    velocity: f64,
    /// None before the first comparison.
    direction: Option<Direction>,
    /// Rounds with the same direction as the one before.
    same: u32,
    /// The time of the last comparison of the window, and its value then.
    compared: Option<(Time, f64)>,
}

impl Default for Velocity {
    fn default() -> Self {
        Self { velocity: 1.0, direction: None, same: 0, compared: None }
    }
}

impl Velocity {
    fn get(&self) -> f64 {
        self.velocity
    }

    /// Beginning of the current round.
    fn compared_at(&self) -> Option<Time> {
        self.compared.map(|(at, _)| at)
    }

    /// A round is over. It doubles once the direction was the same as in the round before for `rounds_before_doubling` rounds.
    fn compare(&mut self, now: Time, window: f64, rounds_before_doubling: u32) {
        let Some((_, before)) = self.compared.replace((now, window)) else { return };
        let direction = if window > before { Direction::Up } else { Direction::Down };
        if self.direction != Some(direction) {
            self.turn(direction);
            return;
        }
        self.same = self.same.saturating_add(1);
        if self.same >= rounds_before_doubling {
            self.velocity = (self.velocity * 2.0).min(MAX_VELOCITY);
        }
    }

    /// The velocity for a step in `direction`: velocity of the other direction does not count, and the round restarts.
    fn towards(&mut self, direction: Direction, now: Time, window: f64) -> f64 {
        if self.velocity > 1.0 && self.direction != Some(direction) {
            self.turn(direction);
            self.compared = Some((now, window));
        }
        self.velocity
    }

    fn turn(&mut self, direction: Direction) {
        self.direction = Some(direction);
        self.velocity = 1.0;
        self.same = 0;
    }
}

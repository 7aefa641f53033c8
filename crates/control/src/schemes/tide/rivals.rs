//! Whether others fill the queue, and when the flow answers in kind.
//!
//! Alone, the flow holds the queue at its target. A queue that stands far above it for many rounds, although the window is as
//! small as the target asks for, is somebody else's, or the path has become longer. So the flow competes, and its window grows: a
//! rival yields, which shows in the rate, and a path does not. Where nobody yields, the smallest RTT of those rounds is the new base
//! RTT. Against a rival the flow stops from time to time to look whether it is still there, less often each time that it was.
//!
//! Flows of this kind do not answer each other so. Each has a few packets in the queue beside the target, which on a slow link take
//! long: the queue may hold those of several flows, unless it rises and falls as only others make it.

use super::competition::Competition;
use super::sawtooth::{FORGOTTEN_AFTER, Sawtooth};
use super::settings::Settings;
use cellcc_units::{Bytes, Span, Time};

/// Prototype: a queue is another's where it is longer than the target by the target, or by this where that is more.
const MIN_MARGIN: Span = Span::from_millis(5);
/// Prototype: and by the time that the extra packets of some flows take, but never by more than this.
const MAX_PACKETS_MARGIN: Span = Span::from_millis(50);
/// Prototype: a round with a shorter queue takes back so many with a longer one.
const ROUNDS_BACK: u32 = 4;
/// Prototype: so many rounds are enough where a rival was there shortly before.
const ROUNDS_AGAIN: u32 = 3;
/// Prototype: the first look comes after a second, the next ones after two, four, eight and sixteen.
const MAX_DOUBLINGS: u32 = 4;
/// A rate that grows by less has stayed: of a window that grows by half, the flow had nine tenths of the link before.
const RATE_STAYS: f64 = 1.05;
/// Measured with a path that becomes 30 or 80 ms longer: so many rounds in a row without an answer of the rate show that nobody
/// yields. With three the rate's own rise hides it (docs/algorithms/tide.md).
const ROUNDS_WITHOUT: u32 = 2;
/// Prototype: rounds in which the largest window is looked for from which competition begins.
const WINDOWS: usize = 8;
/// Prototype: the largest rate halves in 20 s; this is the share of it that goes in a second.
const PEAK_DECAY_PER_SECOND: f64 = 0.035;

/// What is known of a rival, and the competition with it.
#[derive(Debug, Clone)]
pub(super) struct Rivals {
    round_min: Option<Span>,
    /// The largest rate of late, in bytes per second: two packets take that long.
    peak_rate: f64,
    /// Windows at the end of the last rounds.
    windows: [f64; WINDOWS],
    rounds_above: u32,
    sawtooth: Sawtooth,
    /// The window to compete with, should it come to that; zero where nothing hints at a rival.
    window_before: f64,
    /// How often in a row the flow has stopped to look.
    looks: u32,
    /// When it last did.
    looked_at: Option<Time>,
    paused: Option<Competition>,
    /// The smallest RTT of the rounds with a longer queue.
    min_above: Span,
    response: Response,
    /// The competition, and since when.
    competing: Option<(Competition, Time)>,
}

/// How the rate answers a window that grows by half in each round.
#[derive(Debug, Clone, Default)]
struct Response {
    /// Of the last round, in bytes per second; zero before the first.
    rate: f64,
    rounds_without: u32,
}

impl Response {
    /// A flow that has a share `s` of the link has `1.5 s / (1 + 0.5 s)` of it with a window that is larger by half. Where the rate
    /// stays, it has all of it: the queue is the path's own delay, or the flow's.
    fn nobody_yields(&mut self, grows: bool, rate: f64) -> bool {
        let stays = grows && rate < RATE_STAYS * self.rate;
        self.rounds_without = if stays { self.rounds_without + 1 } else { 0 };
        self.rate = rate;
        self.rounds_without >= ROUNDS_WITHOUT
    }
}

/// The flow at the end of a round.
#[derive(Debug, Clone, Copy)]
pub(super) struct Round {
    pub(super) now: Time,
    pub(super) base_rtt: Span,
    pub(super) target: Span,
    pub(super) window: f64,
    pub(super) rate: f64,
    pub(super) app_limited: bool,
    pub(super) packet: Bytes,
    /// RTTs of this round may show a drain.
    pub(super) is_settled: bool,
}

impl Round {
    /// The longest queue of a flow that is alone, but for its extra packets.
    fn longest_alone(&self, settings: &Settings) -> Span {
        self.target + self.target.max(MIN_MARGIN).mul_f64(settings.rival_margin)
    }
}

impl Rivals {
    pub(super) fn new() -> Self {
        Self {
            round_min: None,
            peak_rate: 0.0,
            windows: [0.0; WINDOWS],
            rounds_above: 0,
            sawtooth: Sawtooth::default(),
            window_before: 0.0,
            looks: 0,
            looked_at: None,
            paused: None,
            min_above: Span::MAX,
            response: Response::default(),
            competing: None,
        }
    }

    /// The competition, while there is one.
    pub(super) fn competition(&self) -> Option<&Competition> {
        self.competing.as_ref().map(|(competition, _)| competition)
    }

    pub(super) fn competition_mut(&mut self) -> Option<&mut Competition> {
        self.competing.as_mut().map(|(competition, _)| competition)
    }

    pub(super) fn add(&mut self, sample: Span) {
        self.round_min = Some(self.round_min.map_or(sample, |min| min.min(sample)));
    }

    /// The flow sends at `rate`, in bytes per second, and has for a tick of so long.
    pub(super) fn on_tick(&mut self, rate: f64, tick: Span) {
        self.peak_rate = rate.max(self.peak_rate * (1.0 - PEAK_DECAY_PER_SECOND * tick.as_secs_f64()));
    }

    /// Returns the base RTT where the queue turns out to be a longer path.
    pub(super) fn end_round(&mut self, round: &Round, settings: &Settings) -> Option<Span> {
        let min = self.round_min.take();
        let mut longer = None;
        if let Some(min) = min.filter(|_| round.is_settled && settings.competes) {
            let queueing = min.saturating_sub(round.base_rtt);
            let (target, long) = (round.target, round.longest_alone(settings));
            self.sawtooth.end_round(round.now, queueing, target, long, settings.sawtooth_rounds);
            match self.competing {
                Some((competition, since)) => {
                    let grows = competition.is_lossless();
                    if self.response.nobody_yields(grows, round.rate) {
                        self.forget();
                        longer = Some(self.min_above);
                    } else {
                        self.look(competition, since, round);
                    }
                }
                None => self.watch(min, queueing, round, settings),
            }
        }
        self.windows.rotate_left(1);
        self.windows[WINDOWS - 1] = round.window;
        longer
    }

    /// Stops to compete from time to time, to look whether the queue goes. That it is empty once shows nothing: a rival has then
    /// lost packets, and will be back.
    fn look(&mut self, competition: Competition, since: Time, round: &Round) {
        let time_to_look = Span::from_secs(1 << self.looks.min(MAX_DOUBLINGS));
        if round.now.since(since) <= time_to_look {
            return;
        }
        self.competing = None;
        self.paused = Some(competition);
        self.looked_at = Some(round.now);
        self.looks = self.looks.saturating_add(1);
        self.rounds_above = 0;
        self.window_before = competition.window();
    }

    fn watch(&mut self, min: Span, queueing: Span, round: &Round, settings: &Settings) {
        let is_above = queueing > self.longest_of_ones_own(round, settings);
        if is_above && !round.app_limited {
            if self.rounds_above == 0 {
                self.min_above = min;
                self.window_before =
                    self.windows.iter().fold(self.window_before, |most, &window| most.max(window));
            }
            self.min_above = self.min_above.min(min);
            self.rounds_above += 1;
        } else {
            self.rounds_above = self.rounds_above.saturating_sub(ROUNDS_BACK);
        }
        if self.rounds_above == 0 && !is_above {
            self.window_before = 0.0;
            if self.looked_at.is_none_or(|at| round.now.since(at) > FORGOTTEN_AFTER) {
                self.forget();
            }
        }
        let enough = if self.looks > 0 { ROUNDS_AGAIN } else { settings.rival_rounds };
        if self.rounds_above >= enough {
            self.rounds_above = 0;
            self.compete(round);
        }
    }

    /// There is no rival.
    fn forget(&mut self) {
        self.competing = None;
        self.paused = None;
        self.looks = 0;
        self.window_before = 0.0;
    }

    fn compete(&mut self, round: &Round) {
        let paused = self.paused.take().zip(self.looked_at);
        let competition = match paused {
            Some((competition, at)) => competition.resumed(round.now.since(at), round.window),
            None => Competition::from_window(self.window_before.max(round.window)),
        };
        self.response = Response::default();
        self.competing = Some((competition, round.now));
    }

    /// A longer queue is not that of flows of this kind.
    fn longest_of_ones_own(&self, round: &Round, settings: &Settings) -> Span {
        let flows = if self.sawtooth.is_there(round.now) { 1.0 } else { settings.flows };
        let packets = flows * settings.extra_packets * round.packet.as_f64();
        let packets = Span::from_secs_f64(packets / self.peak_rate.max(1.0)).min(MAX_PACKETS_MARGIN);
        round.longest_alone(settings) + packets
    }
}

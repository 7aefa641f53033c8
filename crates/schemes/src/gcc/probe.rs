//! Probes: short bursts above the target, with padding where the encoder has too little, whose arrivals measure the link.

use super::idle::Idle;
use cellcc_units::{Bytes, Rate, Span, Time};
use std::collections::VecDeque;

/// Constants of `ProbeController` (libwebrtc): the first probes as multiples of the start, then the step while a probe found more
/// than this share of its rate, within this time.
const FIRST: [f64; 2] = [3.0, 6.0];
const STEP: f64 = 2.0;
const FURTHER: f64 = 0.7;
const LONGEST_WAIT: Span = Span::from_secs(1);
/// The highest probe, as a multiple of the encoder's highest rate; and of the target while losses hold it back.
const MOST: f64 = 2.0;
const MOST_WITH_LOSS: f64 = 1.5;
/// A probe in an application-limited region: how often, and the multiple of the target.
const IDLE_PROBES: Span = Span::from_secs(5);
const IDLE_SCALE: f64 = 2.0;
/// A probe after the target has dropped below `LARGE_DROP` of itself: at this share of the target before, within this time, where
/// the application-limited region ended no longer ago than that, and not if it would find less than the target.
const LARGE_DROP: f64 = 0.66;
const AFTER_DROP: f64 = 0.85;
const LONGEST_AFTER_DROP: Span = Span::from_secs(5);
const LONGEST_AFTER_IDLE: Span = Span::from_secs(3);
const UNCERTAINTY: f64 = 0.05;
/// A probe lasts this long, and has so many packets (libwebrtc's `ProbeControllerConfig`).
const DURATION: Span = Span::from_millis(15);
const PACKETS: u64 = 5;
/// Constants of `ProbeBitrateEstimator` (libwebrtc): the share of a probe that must have arrived, the longest probe, the largest
/// ratio of arriving to leaving that is believed, the ratio below which the link is full, and the share of it that is used.
const ARRIVED: f64 = 0.8;
const LONGEST: Span = Span::from_secs(1);
const BELIEVED: f64 = 2.0;
const NOT_FULL: f64 = 0.9;
const USED: f64 = 0.95;

/// How far probes may go beyond the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Allowed {
    All,
    /// The target rises again after losses.
    Little,
    /// The queue grows, or packets are lost.
    None,
}

/// Decides on probes, sends them, and measures by their arrivals. Rates are in bit/s.
#[derive(Debug)]
pub(super) struct Prober {
    probes: bool,
    /// None before the first packet.
    state: Option<State>,
    most: f64,
    target: f64,
    began: Time,
    /// Rates of probes that have not begun.
    waiting: VecDeque<f64>,
    /// The last one may not be complete.
    sent: VecDeque<Probe>,
    found: Option<f64>,
    idle: Idle,
    drop: Option<Drop>,
    after_drop: Option<Time>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum State {
    Complete,
    /// A target above this continues the search.
    Waiting(f64),
}

/// The last large drop of the target.
#[derive(Debug, Clone, Copy)]
struct Drop {
    at: Time,
    before: f64,
}

impl Prober {
    /// `probes`: without them it detects the application-limited region alone.
    pub(super) fn new(start: f64, probes: bool, most_media: Option<Rate>) -> Self {
        Self {
            probes,
            state: None,
            most: most_media.map_or(f64::INFINITY, |most| MOST * super::bits(most)),
            target: start,
            began: Time::ZERO,
            waiting: VecDeque::new(),
            sent: VecDeque::new(),
            found: None,
            idle: Idle::default(),
            drop: None,
            after_drop: None,
        }
    }

    /// The rate of the probe that is to leave now, and how many of its bytes have not left.
    pub(super) fn leaving(&self) -> Option<(Rate, Bytes)> {
        let (rate, left) = match self.sent.back().filter(|probe| !probe.is_complete()) {
            Some(probe) => (probe.rate, probe.left()),
            None => self.waiting.front().map(|rate| (*rate, least_bytes(*rate)))?,
        };
        Some((Rate::from_bytes_per_sec((rate / 8.0) as u64), left.max(Bytes::new(1))))
    }

    pub(super) fn is_idle(&self) -> bool {
        self.idle.since.is_some()
    }

    pub(super) fn on_sent(&mut self, now: Time, number: u64, bytes: Bytes) {
        self.idle.on_sent(now, bytes, self.target);
        if self.state.is_none() {
            self.begin(now, &FIRST.map(|scale| scale * self.target), true, Allowed::All);
        }
        if self.sent.back().is_none_or(Probe::is_complete)
            && let Some(rate) = self.waiting.pop_front()
        {
            self.sent.push_back(Probe::new(rate, number));
        }
        if let Some(probe) = self.sent.back_mut().filter(|probe| !probe.is_complete()) {
            probe.packets += 1;
            probe.bytes += bytes;
        }
    }

    pub(super) fn on_arrival(&mut self, number: u64, sent_at: Time, arrived_at: Time, bytes: Bytes) {
        while self.sent.front().is_some_and(|probe| probe.is_older(arrived_at)) {
            self.sent.pop_front();
        }
        let probe = self.sent.iter_mut().find(|probe| probe.has(number));
        self.found = probe.and_then(|probe| probe.on_arrival(sent_at, arrived_at, bytes)).or(self.found);
    }

    /// The rate that probes have found since the last call.
    pub(super) fn take_found(&mut self) -> Option<f64> {
        self.found.take()
    }

    /// The target after a report. `recovered`: the queue has drained after an over-use.
    pub(super) fn on_target(&mut self, now: Time, target: f64, allowed: Allowed, recovered: bool) {
        if target < LARGE_DROP * self.target {
            self.drop = Some(Drop { at: now, before: self.target });
        }
        self.target = target;
        if matches!(self.state, Some(State::Waiting(further)) if target > further) {
            self.begin(now, &[STEP * target], true, allowed);
        }
        if recovered {
            self.on_recovered(now, allowed);
        }
        if matches!(self.state, Some(State::Waiting(_))) && now.since(self.began) > LONGEST_WAIT {
            self.state = Some(State::Complete);
        }
        let due = self.idle.since.map(|since| since.max(self.began) + IDLE_PROBES);
        if self.state == Some(State::Complete) && due.is_some_and(|due| due <= now) {
            self.begin(now, &[IDLE_SCALE * target], true, allowed);
        }
    }

    fn on_recovered(&mut self, now: Time, allowed: Allowed) {
        let was_idle = self.idle.ended.is_some_and(|ended| now.since(ended) < LONGEST_AFTER_IDLE);
        let again = self.after_drop.is_none_or(|last| now.since(last) > IDLE_PROBES);
        let Some(drop) = self.drop.filter(|drop| now.since(drop.at) < LONGEST_AFTER_DROP) else { return };
        let rate = AFTER_DROP * drop.before;
        let is_useful = (1.0 - UNCERTAINTY) * rate > self.target;
        if (self.is_idle() || was_idle) && again && is_useful && self.state == Some(State::Complete) {
            self.after_drop = Some(now);
            self.begin(now, &[rate], false, allowed);
        }
    }

    fn begin(&mut self, now: Time, rates: &[f64], mut further: bool, allowed: Allowed) {
        let most = match allowed {
            _ if !self.probes => return,
            Allowed::All => self.most,
            Allowed::Little => self.most.min(MOST_WITH_LOSS * self.target),
            Allowed::None => return,
        };
        further &= rates.iter().all(|rate| *rate < most);
        let rates = rates.iter().map(|rate| rate.min(most));
        self.state = Some(match rates.clone().next_back() {
            Some(last) if further => State::Waiting(FURTHER * last),
            _ => State::Complete,
        });
        self.waiting.extend(rates);
        self.began = now;
    }
}

/// A probe: consecutive packets.
#[derive(Debug)]
struct Probe {
    rate: f64,
    first: u64,
    packets: u64,
    bytes: Bytes,
    arrived: Option<Arrived>,
}

/// Packets of a probe that have arrived.
#[derive(Debug, Clone, Copy)]
struct Arrived {
    packets: u64,
    bytes: Bytes,
    sent: (Time, Time),
    last_sent_bytes: Bytes,
    arrived: (Time, Time),
    first_arrived_bytes: Bytes,
}

fn least_bytes(rate: f64) -> Bytes {
    Bytes::new((rate / 8.0 * DURATION.as_secs_f64()) as u64)
}

impl Probe {
    fn new(rate: f64, first: u64) -> Self {
        Self { rate, first, packets: 0, bytes: Bytes::ZERO, arrived: None }
    }

    fn left(&self) -> Bytes {
        least_bytes(self.rate).saturating_sub(self.bytes)
    }

    fn is_complete(&self) -> bool {
        self.packets >= PACKETS && self.left().is_zero()
    }

    fn has(&self, number: u64) -> bool {
        (self.first..self.first + self.packets).contains(&number)
    }

    fn is_older(&self, now: Time) -> bool {
        self.is_complete() && self.arrived.is_some_and(|arrived| now.since(arrived.arrived.1) > LONGEST)
    }

    /// Gives the rate of the link, or at least that of the probe, once enough has arrived.
    fn on_arrival(&mut self, sent_at: Time, arrived_at: Time, bytes: Bytes) -> Option<f64> {
        let arrived = self.arrived.get_or_insert(Arrived {
            packets: 0,
            bytes: Bytes::ZERO,
            sent: (sent_at, sent_at),
            last_sent_bytes: bytes,
            arrived: (arrived_at, arrived_at),
            first_arrived_bytes: bytes,
        });
        arrived.packets += 1;
        arrived.bytes += bytes;
        arrived.sent.0 = arrived.sent.0.min(sent_at);
        if sent_at > arrived.sent.1 {
            (arrived.sent.1, arrived.last_sent_bytes) = (sent_at, bytes);
        }
        if arrived_at < arrived.arrived.0 {
            (arrived.arrived.0, arrived.first_arrived_bytes) = (arrived_at, bytes);
        }
        arrived.arrived.1 = arrived.arrived.1.max(arrived_at);
        let is_enough = arrived.packets >= (PACKETS as f64 * ARRIVED) as u64
            && arrived.bytes.as_f64() >= ARRIVED * least_bytes(self.rate).as_f64();
        if is_enough { arrived.rate() } else { None }
    }
}

impl Arrived {
    fn rate(&self) -> Option<f64> {
        let rate = |bytes: Bytes, (first, last): (Time, Time)| {
            let took = last.since(first);
            let is_valid = !took.is_zero() && took <= LONGEST;
            is_valid.then(|| bytes.as_f64() * 8.0 / took.as_secs_f64())
        };
        // The last packet takes its time after it has left, the first one before it arrives.
        let leaves = rate(self.bytes.saturating_sub(self.last_sent_bytes), self.sent)?;
        let arrives = rate(self.bytes.saturating_sub(self.first_arrived_bytes), self.arrived)?;
        if arrives > BELIEVED * leaves {
            return None;
        }
        Some(if arrives < NOT_FULL * leaves { USED * arrives } else { leaves.min(arrives) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKET: Bytes = Bytes::new(1200);

    fn at(micros: u64) -> Time {
        Time::from_nanos((1_000_000 + micros) * 1000)
    }

    fn prober(most_mbit: Option<f64>) -> Prober {
        let mut prober = Prober::new(300e3, true, most_mbit.map(Rate::from_mbit_per_sec));
        prober.on_sent(at(0), 0, PACKET);
        prober
    }

    /// Rates of all probes in kbit/s, each of which finds its rate, but at most that of the link.
    fn probes(mut prober: Prober, link: f64) -> Vec<u64> {
        let (mut now, mut number, mut rates) = (0, 1, Vec::new());
        for _ in 0..20 {
            while let Some((rate, _)) = prober.leaving() {
                rates.push(rate.as_bytes_per_sec() * 8 / 1000);
                let target = (rate.as_bytes_per_sec() as f64 * 8.0).min(link);
                while prober.leaving().is_some_and(|(still, _)| still == rate) {
                    prober.on_sent(at(now), number, PACKET);
                    number += 1;
                }
                prober.target = target;
            }
            now += 100_000;
            prober.on_target(at(now), prober.target, Allowed::All, false);
        }
        rates
    }

    #[test]
    fn probes_begin_at_three_and_six_times_the_start_and_double_until_one_finds_less_than_07_of_its_rate() {
        assert_eq!(probes(prober(None), 10e6), [900, 1800, 3600, 7200, 14_400]);
    }

    #[test]
    fn no_probe_is_faster_than_twice_the_fastest_the_encoder_can_be() {
        assert_eq!(probes(prober(Some(2.0)), 10e6), [900, 1800, 3600, 4000]);
    }

    #[test]
    fn a_probe_that_arrives_as_it_left_finds_its_rate_and_a_slower_one_095_of_the_link() {
        let found = |apart_us: u64| {
            let mut probe = Probe::new(900e3, 0);
            (0..5)
                .filter_map(|packet| probe.on_arrival(at(packet * 10_000), at(packet * apart_us), PACKET))
                .last()
        };
        assert_eq!(found(10_000), Some(960e3));
        assert_eq!(found(9_000), Some(960e3), "it cannot arrive faster than it left");
        assert_eq!(found(12_000), Some(0.95 * 800e3));
        assert_eq!(found(4_000), None, "held on the way, and released at once");
    }

    #[test]
    fn a_probe_needs_four_packets_and_four_fifths_of_its_bytes() {
        let mut probe = Probe::new(900e3, 0);
        let found = [0, 1, 2, 3]
            .map(|packet| probe.on_arrival(at(packet * 10_000), at(packet * 10_000), PACKET).is_some());
        assert_eq!(found, [false, false, false, true]);
    }

    #[test]
    fn an_application_that_sends_a_fifth_of_the_target_is_probed_for_every_five_seconds() {
        let mut prober = prober(None);
        prober.waiting.clear();
        let (mut probed, mut number) = (Vec::new(), 1);
        for tick in 0..1300 {
            let now = tick * 10_000;
            prober.on_sent(at(now), number, Bytes::new(75));
            number += 1;
            prober.on_target(at(now), 300e3, Allowed::All, false);
            if let Some((rate, _)) = prober.leaving().filter(|_| prober.waiting.len() == 1) {
                probed.push((tick / 100, rate.as_bytes_per_sec() * 8 / 1000));
                prober.waiting.clear();
            }
        }
        assert_eq!(probed, [(5, 600), (10, 600)]);
    }

    #[test]
    fn nothing_is_probed_while_the_queue_grows() {
        let mut prober = prober(None);
        prober.waiting.clear();
        prober.sent.clear();
        prober.on_target(at(100_000), 1.8e6, Allowed::None, false);
        assert_eq!(prober.leaving(), None);
        prober.on_target(at(200_000), 1.8e6, Allowed::Little, false);
        assert_eq!(prober.waiting, [2.7e6]);
    }
}

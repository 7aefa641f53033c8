//! Sprout: sends no more than the receiver forecasts to leave the queue within 100 ms, with 95 % certainty.
//!
//! 1. Every 20 ms the receiver updates the likelihood of each rate of the link from the arrivals: rates wander as in Brownian
//!    motion, arrivals are Poisson's, and the rate zero is an outage that lasts.
//! 2. It forecasts the arrivals by the end of each of the next eight ticks, as a lower bound with 95 % certainty.
//! 3. The sender estimates the queue: the data sent after the newest packet that has arrived, minus the forecast's drain since.
//! 4. It sends the forecast's drain within five ticks, minus the queue.
//! 5. A packet every 50 ms keeps the forecasts coming. The last packet of a flight says that nothing follows it for so long.
//!
//! ```text
//!   sender                                   receiver, every 20 ms
//!   queue = sent after the newest   <-----   forecast: 8 amounts, newest packet
//!     | each 20 ms: queue -= the tick's amount
//!     v
//!   send amount(tick + 5) - amount(tick) - queue   ----->  data, "silent for 50 ms"
//! ```
//!
//! Source: Winstein, Sivaraman, Balakrishnan: Stochastic Forecasts Achieve High Throughput and Low Delay over Cellular Networks,
//! NSDI 2013; the authors' program (keithw/sprout) for the constants. `forecast=ewma` is the paper's Sprout-EWMA.
//!
//! **Differences from the paper.**
//! - *The grid of rates ends at `max_rate`*, and its unit grows with it. The authors' grid ends at 1000 packets a second, so that
//!   Sprout cannot use more than about 12 Mbit/s: that is the default.
//! - *Data sent before the newest packet that has arrived wait no longer*: they have come or are lost. The authors' receiver waits
//!   10 ms for packets out of order.
//! - *Forecasts go with the first acknowledgement after a tick*, and not with data of the other direction.
//!   The arrivals of a tick are rounded to whole units, and to at least one, as there. So a link with less than a twentieth of
//!   `max_rate` is taken for one with that.
//! - *Packets are full*: the authors send the rest of the amount as a smaller one, and an empty one as a heartbeat. So the
//!   estimate of the queue leaves heartbeats out. With them a flow on a constant link never begins: the forecast of a few
//!   packets is used up by those that ask for it.
//! - *An application without data cannot announce its silence*: no packet leaves that could. The receiver takes it for the link's.
//! - *`profile=code` drains the queue by the whole amount up to each tick*, as the authors' `update_queue_estimate` does, where the
//!   paper drains it by the tick's own (section 3.5). The first tick after a forecast is the same in both: it sends more only where
//!   a forecast is late or lost.

mod model;
mod receiver;
#[cfg(test)]
mod tests;

use cellcc_control::{
    Ack, Arguments, Context, Controller, Event, Feedback, Limits, Loss, Observer, Parameter, SchemeInfo,
    Sent, ShownValue, Tag, Verdict, kind,
};
use cellcc_units::{Bytes, Rate, Span, Time};
use model::{Forecast, Model, TICKS, encode_silence};
use receiver::{Forecaster, SproutReceiver, TICK};
use std::collections::VecDeque;

/// Sent data leave the queue within this many ticks: 100 ms (paper, section 3.5; `TARGET_DELAY_TICKS`).
const TARGET_TICKS: usize = 5;
/// Without anything else to send, a packet leaves so often (`fallback_interval`).
const HEARTBEAT: Span = Span::from_millis(50);

const MAX_RATE: Parameter<kind::Rate> = Parameter::new(
    "max_rate",
    kind::Rate,
    Rate::from_bytes_per_sec(1_500_000),
    "the highest rate that the model knows; a link beyond it is not filled",
    "Winstein et al. 2013, section 3.1: 1000 packets a second, here of 1500 bytes",
);

const FORECAST: Parameter<kind::Choice<Method>> = Parameter::new(
    "forecast",
    kind::Choice(&[("cautious", Method::Cautious), ("ewma", Method::Ewma)]),
    Method::Cautious,
    "by the model of the link with 95 % certainty, or that the mean rate so far goes on (Sprout-EWMA)",
    "Winstein et al. 2013, sections 3 and 5.3; gain 1/8",
);

const PROFILE: Parameter<kind::Choice<Drain>> = Parameter::new(
    "profile",
    kind::Choice(&[("paper", Drain::OfTick), ("code", Drain::UpToTick)]),
    Drain::OfTick,
    "what a tick takes off the queue's estimate: its own amount, or as in the authors' program all up to it",
    "Winstein et al. 2013, section 3.5; sproutconn.cc of its authors",
);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Method {
    Cautious,
    Ewma,
}

/// The reduction of the queue's estimate by a tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Drain {
    OfTick,
    UpToTick,
}

/// The values that it exposes.
const SHOWS: [ShownValue; 3] = [
    ShownValue::number("queue_pkt", "what the sender thinks is in the queue"),
    ShownValue::number("forecast_pkt", "what the forecast says will leave the queue in time"),
    ShownValue::number("rate_mbit_s", "the link's rate, as the receiver estimates it"),
];

pub(super) fn scheme() -> SchemeInfo {
    SchemeInfo::new(
        "sprout",
        "sends what the receiver forecasts to leave the queue within 100 ms, with 95 % certainty",
        "Winstein, Sivaraman, Balakrishnan, NSDI 2013; its authors' program",
        |arguments, context| Box::new(Sprout::new(context, arguments.get(&PROFILE))),
    )
    .parameters(vec![MAX_RATE.into(), FORECAST.into(), PROFILE.into()])
    .shows(&SHOWS)
    .over_udp()
    .with_receiver(|arguments: &Arguments, _| {
        let forecaster = match arguments.get(&FORECAST) {
            Method::Cautious => Forecaster::Cautious(Model::new()),
            Method::Ewma => Forecaster::Average(0.0),
        };
        Some(Box::new(SproutReceiver::new(forecaster, arguments.get(&MAX_RATE))))
    })
    .needs_packet_signals()
}

struct Sprout {
    packet_size: Bytes,
    drain: Drain,
    forecast: Option<Held>,
    /// The estimate of the data in the queue or on their way.
    queue: Bytes,
    /// The data sent after the newest packet that the receiver has reported, oldest first.
    outstanding: VecDeque<Outstanding>,
    next_number: u64,
    inflight: Bytes,
    heartbeat_at: Time,
    /// A packet leaves whatever the forecast says.
    heartbeat_is_due: bool,
}

/// A packet that may be on its way.
#[derive(Debug, Clone, Copy)]
struct Outstanding {
    number: u64,
    /// Its addition to the queue; nothing for a heartbeat.
    in_queue: Bytes,
}

/// A forecast, and how much of it has passed.
#[derive(Debug, Clone, Copy)]
struct Held {
    sequence: u32,
    amounts: [Bytes; TICKS],
    since: Time,
    /// The last one never passes.
    tick: usize,
}

impl Held {
    fn next_tick_at(&self) -> Option<Time> {
        (self.tick + 1 < TICKS).then(|| self.since + TICK * (self.tick as u64 + 1))
    }

    /// The forecast's drain in the next five ticks.
    fn drained_in_time(&self) -> Bytes {
        let by = (self.tick + TARGET_TICKS).min(TICKS - 1);
        self.amounts[by].saturating_sub(self.amounts[self.tick])
    }
}

impl Sprout {
    fn new(context: &Context, drain: Drain) -> Self {
        Self {
            packet_size: context.packet,
            drain,
            forecast: None,
            queue: Bytes::ZERO,
            outstanding: VecDeque::new(),
            next_number: 0,
            inflight: Bytes::ZERO,
            heartbeat_at: Time::ZERO,
            heartbeat_is_due: true,
        }
    }

    /// Ticks that are over by now drain the queue.
    fn advance(&mut self, now: Time) {
        while let Some(held) = &mut self.forecast
            && held.next_tick_at().is_some_and(|at| at <= now)
        {
            let up_to = held.amounts[held.tick];
            let before = held.tick.checked_sub(1).map_or(Bytes::ZERO, |tick| held.amounts[tick]);
            held.tick += 1;
            self.queue = self.queue.saturating_sub(match self.drain {
                Drain::OfTick => up_to.saturating_sub(before),
                Drain::UpToTick => up_to,
            });
        }
        self.heartbeat_is_due |= self.heartbeat_at <= now;
    }

    /// The forecast's allowance now.
    fn forecast_allows(&self) -> Bytes {
        let drained = self.forecast.map_or(Bytes::ZERO, |held| held.drained_in_time());
        drained.saturating_sub(self.queue)
    }

    /// The data that may leave now.
    fn allowance(&self) -> Bytes {
        let allowed = self.forecast_allows();
        if self.heartbeat_is_due { allowed.max(self.packet_size) } else { allowed }
    }
}

impl Controller for Sprout {
    fn on_sent(&mut self, sent: &Sent) -> Tag {
        self.packet_size = sent.packet_size;
        self.inflight = sent.inflight;
        self.advance(sent.now);
        let is_heartbeat = self.heartbeat_is_due && self.forecast_allows() < sent.bytes;
        let in_queue = if is_heartbeat { Bytes::ZERO } else { sent.bytes };
        self.queue += in_queue;
        self.outstanding.push_back(Outstanding { number: sent.number, in_queue });
        self.next_number = sent.number + 1;
        self.heartbeat_is_due = false;
        self.heartbeat_at = sent.now + HEARTBEAT;
        Tag::default()
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.packet_size = ack.packet_size;
        self.inflight = ack.inflight;
        self.advance(ack.now);
    }

    fn on_loss(&mut self, loss: &Loss<'_>) {
        self.inflight = loss.inflight;
        self.advance(loss.now);
    }

    fn on_event(&mut self, now: Time, event: Event) {
        if let Event::Forgotten(packet) = event {
            self.inflight = self.inflight.saturating_sub(packet.bytes);
        }
        self.advance(now);
    }

    fn on_feedback(&mut self, now: Time, feedback: &Feedback, _sent: Bytes) -> Verdict {
        let Some(Forecast { sequence, newest, amounts }) = Forecast::decode(feedback) else {
            return Verdict::Malformed;
        };
        let is_older =
            |held: Held| sequence == held.sequence || sequence.wrapping_sub(held.sequence) > u32::MAX / 2;
        if self.forecast.is_some_and(is_older) {
            return Verdict::Stale;
        }
        if newest >= self.next_number || !amounts.is_sorted() {
            return Verdict::Untrue;
        }
        self.forecast = Some(Held { sequence, amounts, since: now, tick: 0 });
        while self.outstanding.front().is_some_and(|packet| packet.number <= newest) {
            self.outstanding.pop_front();
        }
        self.queue = self.outstanding.iter().map(|packet| packet.in_queue).sum();
        self.advance(now);
        Verdict::Taken
    }

    fn next_timer(&self) -> Option<Time> {
        let tick = self.forecast.and_then(|held| held.next_tick_at());
        let heartbeat = (!self.heartbeat_is_due).then_some(self.heartbeat_at);
        [tick, heartbeat].into_iter().flatten().min()
    }

    fn on_timer(&mut self, now: Time) {
        self.advance(now);
    }

    fn limits(&self) -> Limits {
        let allowance = self.allowance();
        let ends_flight = allowance < self.packet_size * 2;
        Limits::window_only(self.inflight + allowance.max(self.packet_size))
            .with_budget(allowance)
            .with_signal(if ends_flight { encode_silence(HEARTBEAT) } else { None })
    }

    fn observe(&self, observer: &mut dyn Observer) {
        observer.value("queue", "pkt", self.queue.in_packets(self.packet_size));
        if let Some(held) = self.forecast {
            observer.value("forecast", "pkt", held.drained_in_time().in_packets(self.packet_size));
        }
    }
}

//! Sprout's receiver: watches the arrivals of each tick, and forecasts the next.

use super::model::{Forecast, Model, TICK_S, TICKS, decode_silence};
use cellcc_control::{Arrival, Feedback, Observer, ReceiverComponent, Signal, Verdict};
use cellcc_units::{Bytes, Rate, Span, Time};

/// The length of a tick (paper, section 3.2).
pub(super) const TICK: Span = Span::from_millis(20);
/// Weight of a tick in the moving average of Sprout-EWMA.
const EWMA_GAIN: f64 = 0.125;
/// After so many ticks of silence nothing more is learnt from it: ten seconds, ten times the mean of an outage.
const MOST_TICKS_AT_ONCE: u64 = 500;

/// The receiver's method of forecasting.
#[derive(Debug, Clone)]
pub(super) enum Forecaster {
    /// By the model of the link: arrivals with 95 % certainty.
    Cautious(Model),
    /// Sprout-EWMA: the mean rate so far goes on, in bytes per tick.
    Average(f64),
}

pub(super) struct SproutReceiver {
    forecaster: Forecaster,
    /// Bytes of the model's unit.
    unit: f64,
    /// Beginning of the present tick; none before the first packet.
    tick_began: Option<Time>,
    /// Until then the sender is silent because it has nothing to send.
    silent_until: Time,
    /// Time for which the sender is silent after the packet that arrives now.
    announced: Span,
    arrived_at: Time,
    in_this_tick: Bytes,
    /// The newest packet.
    newest: u64,
    /// The forecast is newer than the last one sent.
    has_news: bool,
    sequence: u32,
}

impl SproutReceiver {
    pub(super) fn new(forecaster: Forecaster, max_rate: Rate) -> Self {
        Self {
            forecaster,
            unit: max_rate.as_bytes_per_sec() as f64 / super::model::MAX_RATE,
            tick_began: None,
            silent_until: Time::ZERO,
            announced: Span::ZERO,
            arrived_at: Time::ZERO,
            in_this_tick: Bytes::ZERO,
            newest: 0,
            has_news: false,
            sequence: 0,
        }
    }

    /// Ends all ticks that are over.
    fn advance(&mut self, now: Time) {
        let Some(mut began) = self.tick_began else { return };
        let mut ticks = 0;
        while began + TICK < now {
            if ticks < MOST_TICKS_AT_ONCE {
                self.end_tick(began);
            }
            ticks += 1;
            began += TICK;
        }
        self.has_news |= ticks > 0;
        self.tick_began = Some(began);
    }

    fn end_tick(&mut self, began: Time) {
        let arrived = std::mem::take(&mut self.in_this_tick);
        // Silence that was announced says nothing of the link.
        let tells = began >= self.silent_until || arrived > Bytes::ZERO;
        match &mut self.forecaster {
            Forecaster::Cautious(model) => {
                model.evolve();
                if tells {
                    let units = (arrived.as_f64() / self.unit + 0.5) as u32;
                    model.observe(if arrived.is_zero() { 0 } else { units.max(1) });
                }
            }
            Forecaster::Average(average) if tells => *average += EWMA_GAIN * (arrived.as_f64() - *average),
            Forecaster::Average(_) => {}
        }
    }

    fn amounts(&self) -> [Bytes; TICKS] {
        match &self.forecaster {
            Forecaster::Cautious(model) => {
                model.forecast().map(|units| Bytes::new((f64::from(units) * self.unit) as u64))
            }
            Forecaster::Average(average) => {
                std::array::from_fn(|tick| Bytes::new((average * (tick + 1) as f64) as u64))
            }
        }
    }
}

impl ReceiverComponent for SproutReceiver {
    fn on_signal(&mut self, signal: &Signal) -> Verdict {
        match decode_silence(signal) {
            None => Verdict::Malformed,
            Some(silence) => {
                self.announced = silence;
                Verdict::Taken
            }
        }
    }

    fn on_packet(&mut self, arrival: &Arrival) {
        self.tick_began.get_or_insert(arrival.now);
        self.advance(arrival.now);
        self.arrived_at = arrival.now;
        self.in_this_tick += arrival.bytes;
        self.newest = self.newest.max(arrival.number);
        let began = self.tick_began.unwrap_or(arrival.now);
        self.silent_until = self.silent_until.max(began + std::mem::take(&mut self.announced));
    }

    /// At the end of each tick, until the last forecast that a packet gave rise to has run out.
    fn next_timer(&self) -> Option<Time> {
        let ends = self.tick_began? + TICK + Span::from_nanos(1);
        (ends <= self.arrived_at + TICK * TICKS as u64).then_some(ends)
    }

    fn on_timer(&mut self, now: Time) {
        self.advance(now);
    }

    fn has_urgent_feedback(&self, _now: Time) -> bool {
        self.has_news
    }

    fn feedback(&mut self, now: Time) -> Option<Feedback> {
        self.advance(now);
        if !std::mem::take(&mut self.has_news) {
            return None;
        }
        self.sequence = self.sequence.wrapping_add(1);
        Forecast { sequence: self.sequence, newest: self.newest, amounts: self.amounts() }.encode()
    }

    fn observe(&self, observer: &mut dyn Observer) {
        let rate = match &self.forecaster {
            Forecaster::Cautious(model) => model.mean_rate() * self.unit,
            Forecaster::Average(average) => average / TICK_S,
        };
        observer.value("rate", "mbit_s", rate * 8e-6);
    }
}

//! A growth law as a scheme by itself: the window is the law's, and nothing is paced.

use cellcc_control::{
    Ack, Arguments, Controller, Event, Limits, Loss, Observer, Parameter,
    growth::{Growth, HystartMode},
    kind,
};
use cellcc_units::Time;

/// A scheme that is its growth law.
#[derive(Debug, Clone)]
pub struct LossBased<G> {
    law: G,
}

impl<G: Growth + Clone> LossBased<G> {
    /// The scheme of `law`.
    pub fn new(law: G) -> Self {
        Self { law }
    }
}

impl<G: Growth + Clone> Controller for LossBased<G> {
    fn hears_departures(&self) -> bool {
        false
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.law.on_ack(ack);
    }

    fn on_loss(&mut self, loss: &Loss<'_>) {
        self.law.on_loss(loss);
    }

    fn on_event(&mut self, now: Time, event: Event) {
        self.law.on_event(now, event);
    }

    fn limits(&self) -> Limits {
        Limits::window_only(self.law.window())
    }

    fn observe(&self, observer: &mut dyn Observer) {
        self.law.observe(observer);
    }
}

/// The switch that both loss-based schemes have.
pub(super) const HYSTART: Parameter<kind::Switch> = Parameter::new(
    "hystart",
    kind::Switch,
    false,
    "HyStart++: the initial slow start ends when the RTT rises",
    "RFC 9406; optional to RFC 5681 and RFC 9438 (section 4.10), hence off",
);

pub(super) fn hystart_mode(arguments: &Arguments) -> HystartMode {
    if arguments.get(&HYSTART) { HystartMode::On } else { HystartMode::Off }
}

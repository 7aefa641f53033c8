//! Reminis as the kernel runs it: the Guardian of `cellcc_fixed` over a law of window growth.

use super::settings::Settings;
use crate::contract::{Ack, Context, Controller, Event, Limits, Loss, Observer, Sent, Tag};
use crate::growth::Growth;
use crate::kernel_view::{KernelView, millis, real, time, with_window};
use cellcc_fixed::Micros;
use cellcc_fixed::reminis::{Config, DEFAULT_MULTIPLE, Reminis};
use cellcc_units::{Bytes, Time};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

pub(super) struct FixedReminis {
    config: Config,
    packet_size: Bytes,
    law: Box<dyn Growth>,
    view: KernelView,
    core: Reminis,
    rng: Pcg64Mcg,
    /// An interval ends at its end; otherwise with the next acknowledgement, as in the kernel.
    timer: bool,
}

impl FixedReminis {
    pub(super) fn new(settings: &Settings, config: Config, context: &Context) -> Self {
        let mut law = settings.aimd(context);
        if !settings.slow_start {
            law.set_ssthresh(context.initial_window);
        }
        Self {
            config,
            packet_size: context.packet,
            law,
            view: KernelView::default(),
            core: Reminis::START,
            rng: Pcg64Mcg::seed_from_u64(context.seed),
            timer: settings.timer,
        }
    }
}

impl Controller for FixedReminis {
    fn on_sent(&mut self, _sent: &Sent) -> Tag {
        self.view.tag()
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.packet_size = ack.packet_size;
        let seen = self.view.ack(ack);
        let (core, config, random) = (&mut self.core, &self.config, self.rng.random());
        with_window(self.law.as_mut(), self.packet_size, |window| core.on_ack(config, &seen, window, random));
        self.law.on_ack(ack);
        with_window(self.law.as_mut(), self.packet_size, |window| core.after_law(window));
    }

    fn on_loss(&mut self, loss: &Loss<'_>) {
        self.packet_size = loss.packet_size;
        self.view.on_loss();
        let core = &mut self.core;
        with_window(self.law.as_mut(), self.packet_size, |window| core.before_law(window));
        self.law.on_loss(loss);
        with_window(self.law.as_mut(), self.packet_size, |window| core.after_law(window));
    }

    fn on_event(&mut self, now: Time, event: Event) {
        self.law.on_event(now, event);
    }

    fn next_timer(&self) -> Option<Time> {
        if self.timer { self.core.interval_ends_at().map(time) } else { None }
    }

    fn on_timer(&mut self, now: Time) {
        if self.core.interval_ends_at().is_none_or(|end| time(end) > now) {
            return;
        }
        let (core, config, delivered) = (&mut self.core, &self.config, self.view.delivered());
        let random = self.rng.random();
        with_window(self.law.as_mut(), self.packet_size, |window| {
            core.on_interval_end(config, delivered, window, random);
            core.after_law(window);
        });
    }

    fn limits(&self) -> Limits {
        Limits::window_only(self.law.window())
    }

    fn observe(&self, observer: &mut dyn Observer) {
        let target = self.core.target();
        if target != Micros::ZERO {
            observer.value("dtt", "ms", millis(target));
        }
        if self.core.is_target_raised() {
            observer.note(&format!(
                "reminis: DTT is not above the minimum RTT; raised to {} x minimum RTT = {} ms",
                real(DEFAULT_MULTIPLE),
                millis(target)
            ));
        }
        observer.value("mu", "", real(self.core.mu()));
        if self.core.zone() as u8 > 0 {
            observer.value("zone", "", f64::from(self.core.zone() as u8));
        }
        self.law.observe(observer);
    }
}

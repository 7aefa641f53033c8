//! Tide in the kernel's integers ([`cellcc_fixed::tide`]) beside Tide in real numbers: a million acknowledgements of paths that change at
//! random, of which the real numbers decide how much is sent.
//!
//! They are those of many flows, each on a path of its own. Where the two once round a base RTT differently, their ticks begin at different
//! moments from then on, and count other acknowledgements.

use super::Tide;
use super::settings::{Settings, scheme};
use crate::Registry;
use crate::contract::{Ack, Context, Controller, Limits, Loss, Observer};
use crate::info::SchemeInfo;
use crate::kernel_view::{instant, micros};
use crate::parameter::Arguments;
use crate::testing::{CONTEXT, Path};
use cellcc_fixed::tide::{Config, Event, Tide as Core};
use cellcc_fixed::{Micros, Packets};
use cellcc_units::{Bytes, Rate, Span, Time};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::sync::Arc;

/// In microseconds: 1 to 94 Mbit/s.
/// Those of which each packet takes whole nanoseconds.
const PACKET_TIMES: [u64; 12] = [128, 160, 200, 320, 400, 640, 800, 1_000, 2_000, 4_000, 5_000, 12_500];
const FLOWS: u64 = 50;
const ACKNOWLEDGEMENTS: f64 = 20_000.0;

/// Both, told the same.
struct Both {
    real: Tide,
    core: Core,
    /// The last acknowledgement, which the core has not heard of yet, since the two are compared when it has; and the limits after it.
    last: Option<(Event, Limits)>,
    steps: u64,
    /// Steps in which the integers' window, or pacing rate, is off by more than three packets and a hundredth: an acknowledgement at the end
    /// of a tick counts in one tick or in the next, a window holds up to twice what the rate delivers in a base RTT, and the
    /// integers' is rounded down.
    windows_off: u64,
    rates_off: u64,
    /// Steps in which only one of them competes, and in which both do.
    modes_off: u64,
    competes: u64,
}

impl Both {
    fn new(settings: Settings) -> Self {
        Self {
            real: Tide::new(settings, &CONTEXT),
            core: Core::START,
            last: None,
            steps: 0,
            windows_off: 0,
            rates_off: 0,
            modes_off: 0,
            competes: 0,
        }
    }

    /// Tells the core of the last acknowledgement, and compares what follows.
    fn compare(&mut self) {
        let Some((event, real)) = self.last.take() else { return };
        while self.core.end_tick(&Config::DEFAULT, event.now) {}
        self.core.on_ack(&Config::DEFAULT, &event);
        let Some(core) = self.core.limits(&Config::DEFAULT, CONTEXT.packet.get() as u32) else { return };
        self.steps += 1;
        let window = real.window.in_packets(CONTEXT.packet);
        let off = |core: f64, real: f64, slack: f64| u64::from((core - real).abs() > slack + 0.01 * real);
        self.windows_off += off(f64::from(core.cwnd.0), window, 3.0);
        let rate = |rate: Rate| rate.as_bytes_per_sec() as f64;
        let slack = 3.0 * CONTEXT.packet.as_f64() / self.real.base_rtt.get().as_secs_f64();
        let pacing = (core.pacing.map_or(0.0, |rate| rate.0 as f64), real.pacing_rate.map_or(0.0, rate));
        self.rates_off += off(pacing.0, pacing.1, slack);
        let competes = self.real.rivals.competition().is_some();
        self.modes_off += u64::from(competes != self.core.competes());
        self.competes += u64::from(competes && self.core.competes());
    }
}

fn count(bytes: Bytes) -> Packets {
    Packets((bytes.get() / CONTEXT.packet.get()) as u32)
}

impl Controller for Both {
    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.compare();
        self.real.on_ack(ack);
        let Some(newest) = ack.packets.last() else { return };
        let event = Event {
            now: instant(ack.now),
            rtt: ack.rtt_sample.map_or(Micros::ZERO, micros),
            smoothed_rtt: micros(ack.rtt.smoothed()),
            delivered: count(ack.delivered),
            delivered_at_send: count(newest.delivered),
            acked: count(ack.bytes),
            app_limited: u32::from(newest.app_limited),
        };
        self.last = Some((event, self.real.limits()));
    }

    fn on_loss(&mut self, loss: &Loss<'_>) {
        self.compare();
        self.real.on_loss(loss);
        self.core.on_loss(instant(loss.now), count(loss.bytes), loss.new_episode);
    }

    fn next_timer(&self) -> Option<Time> {
        self.real.next_timer()
    }

    fn on_timer(&mut self, now: Time) {
        self.compare();
        self.real.on_timer(now);
    }

    fn limits(&self) -> Limits {
        self.real.limits()
    }

    fn observe(&self, observer: &mut dyn Observer) {
        for (name, count) in [
            ("steps", self.steps),
            ("windows_off", self.windows_off),
            ("rates_off", self.rates_off),
            ("modes_off", self.modes_off),
            ("competes", self.competes),
        ] {
            observer.value(name, "", count as f64);
        }
    }
}

/// One flow: its steps, in how many of them windows, pacing rates and modes are apart, and in how many both compete.
fn run(registry: &Registry, seed: u64) -> [f64; 5] {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut draw = |from: u64, to: u64| from + random.next_u64() % (to - from);
    let both = registry.parse("tide").expect("registered");
    let mut path = Path::of(&both, Rate::from_mbit_per_sec(12.0), Span::from_millis(40)).with_queue(400);
    while path.shows("steps").expect("shown") < ACKNOWLEDGEMENTS {
        // Packets take whole multiples of 4 us, and so do RTTs: then ticks of the two begin at the same microsecond.
        let packet_time = PACKET_TIMES[draw(0, PACKET_TIMES.len() as u64) as usize];
        path.set_rate(Rate::from_bytes_per_sec(CONTEXT.packet.get() * 1_000_000 / packet_time));
        if draw(0, 10) == 0 {
            path.set_rtt(Span::from_millis(draw(10, 120)));
        }
        if draw(0, 4) == 0 {
            path.drop_next(draw(1, 20));
        }
        path.run_for(Span::from_millis(draw(100, 5_000)));
        // An application that sends little, and never nothing for so long that the integers leave ticks out.
        if draw(0, 10) == 0 {
            for _ in 0..draw(10, 200) {
                path.set_app_packets(draw(1, 8));
                path.run_for(Span::from_millis(draw(1, 15)));
            }
            path.set_app_packets(u64::MAX);
        }
    }
    ["steps", "windows_off", "rates_off", "modes_off", "competes"]
        .map(|name| path.shows(name).expect("shown"))
}

#[test]
fn a_million_decisions_in_integers_are_those_in_real_numbers() {
    let build = |arguments: &Arguments, _: &Context| Box::new(Both::new(Settings::read(arguments))) as Box<_>;
    let registry = Registry::new([SchemeInfo { build: Arc::new(build), ..scheme() }]);
    let mut sum = [0.0; 5];
    for flow in 1..=FLOWS {
        sum.iter_mut().zip(run(&registry, flow)).for_each(|(sum, count)| *sum += count);
    }
    let [windows_off, rates_off, modes_off, competes] = [1, 2, 3, 4].map(|count| sum[count] / sum[0]);
    assert!(competes > 0.05, "competition is tried, too: {competes}");
    assert!(modes_off < 0.001, "{modes_off}");
    assert!(windows_off < 0.001 && rates_off < 0.001, "{windows_off} {rates_off}");
}

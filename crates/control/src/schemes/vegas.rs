//! Vegas: as many packets in the queue as it takes to notice it, and no more.
//!
//! 1. The smallest RTT ever seen (`base_rtt`) is that of an empty queue.
//! 2. Once per RTT, `diff = cwnd (rtt - base_rtt) / base_rtt`: the packets that wait in the queue.
//! 3. Fewer than `alpha`: one packet more in flight. More than `beta`: one less. Between them: nothing changes.
//! 4. Slow start doubles per RTT until `diff` exceeds `gamma`.
//! 5. Loss is answered as Reno does, and the RTTs of a recovery are not measured.
//!
//! ```text
//!              diff > gamma                        diff < alpha: +1
//!  slow start --------------> congestion avoidance diff > beta:  -1
//!        \                      |            ^
//!         \ loss           loss |            | recovery left; one whole round
//!          v                    v            | is measured before the next step
//!         recovery (Reno: half the window) --+
//! ```
//!
//! Source: Brakmo and Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global Internet", IEEE JSAC 13(8),
//! 1995; Linux tcp_vegas.c, which the papers compared with.
//!
//! Differences from the paper: as in Linux, `diff` is divided by `base_rtt` and not by `rtt` (the paper's; larger by
//! `rtt / base_rtt`), `rtt` is the smallest of the round and not its mean, slow start doubles every RTT and not every
//! second one and ends at one packet (`gamma`), a round with fewer than three samples is Reno's, there is no
//! fine-grained retransmission timer (loss detection is the driver's), and idling forgets `base_rtt`.
//! Differences from Linux: `diff` keeps its fraction, so that "more than 4" begins at 4 and not at 5, and a window that
//! is not used does not grow.

use crate::contract::{Ack, Context, Controller, Event, Limits, Loss, Observer};
use crate::growth::{Growth, NewReno};
use crate::info::{Needs, SchemeInfo};
use crate::kind;
use crate::parameter::Parameter;
use cellcc_units::{Bytes, Span, Time};
use std::sync::Arc;

/// Linux: with fewer RTT samples in a round, all may come from delayed ACKs.
const MIN_SAMPLES: u32 = 3;
/// Linux: the smallest window that Vegas steps down to, in packets.
const MIN_WINDOW_PACKETS: u64 = 2;

const ALPHA: Parameter<kind::Packets> = Parameter::new(
    "alpha",
    kind::Packets(1, 100_000),
    2,
    "below so many packets in the queue the window grows",
    "Linux tcp_vegas.c",
);

const BETA: Parameter<kind::Packets> = Parameter::new(
    "beta",
    kind::Packets(1, 100_000),
    4,
    "above so many packets in the queue the window shrinks; not below alpha",
    "Linux tcp_vegas.c",
);

const GAMMA: Parameter<kind::Packets> = Parameter::new(
    "gamma",
    kind::Packets(1, 100_000),
    1,
    "slow start ends above so many packets in the queue",
    "Linux tcp_vegas.c",
);

pub(super) fn scheme() -> SchemeInfo {
    SchemeInfo {
        name: "vegas".into(),
        summary: "keeps two to four packets in the queue, judged by the RTT".into(),
        source: "Brakmo and Peterson, IEEE JSAC 13(8), 1995; Linux tcp_vegas.c".into(),
        parameters: vec![ALPHA.into(), BETA.into(), GAMMA.into()],
        presets: Vec::new(),
        needs: Needs::NOTHING,
        build: Arc::new(|arguments, context| {
            let [alpha, beta, gamma] = [ALPHA, BETA, GAMMA].map(|threshold| arguments.get(&threshold) as f64);
            Box::new(Vegas::new(context, Thresholds { alpha, beta: beta.max(alpha), gamma }))
        }),
    }
}

/// The thresholds of `diff`, in packets.
#[derive(Debug, Clone, Copy)]
pub struct Thresholds {
    /// The window grows below.
    pub alpha: f64,
    /// The window shrinks above.
    pub beta: f64,
    /// Slow start ends above.
    pub gamma: f64,
}

/// The Vegas controller.
#[derive(Debug, Clone)]
pub struct Vegas {
    packet_size: Bytes,
    thresholds: Thresholds,
    reno: NewReno,
    base_rtt: Option<Span>,
    round: Round,
    diff: Option<f64>,
}

/// The RTTs of the running round.
#[derive(Debug, Clone, Default)]
struct Round {
    min: Option<Span>,
    samples: u32,
    /// The round began in the middle, after recovery or idling: it decides nothing.
    partial: bool,
}

impl Vegas {
    /// Vegas at the beginning of a flow.
    pub fn new(context: &Context, thresholds: Thresholds) -> Self {
        Self {
            packet_size: context.packet,
            thresholds,
            reno: NewReno::new(context),
            base_rtt: None,
            round: Round::default(),
            diff: None,
        }
    }

    fn measure_anew(&mut self) {
        self.round = Round { partial: true, ..Round::default() };
    }

    /// The step of a round whose RTT was `rtt`.
    fn step(&mut self, ack: &Ack<'_>, base_rtt: Span, rtt: Span) {
        let window = self.reno.window();
        let (base, rtt) = (base_rtt.as_secs_f64(), rtt.as_secs_f64());
        let diff = window.in_packets(self.packet_size) * (rtt - base) / base;
        self.diff = Some(diff);
        let Thresholds { alpha, beta, gamma } = self.thresholds;
        if self.reno.in_slow_start() {
            if diff > gamma {
                self.shrink_to(window.mul_f64(base / rtt) + self.packet_size);
            } else {
                self.reno.on_ack(ack);
            }
        } else if diff > beta {
            self.shrink_to(window.saturating_sub(self.packet_size));
        } else if diff < alpha && ack.cwnd_limited {
            self.reno.set_window(window + self.packet_size);
        }
        // Linux tcp_current_ssthresh: a restart after idling may slow-start up to three quarters.
        let window = self.reno.window();
        self.reno.set_ssthresh(self.reno.ssthresh().max(window.mul_f64(0.75)));
    }

    /// Lowers the window, and ssthresh with it: otherwise slow start would take it back up.
    fn shrink_to(&mut self, window: Bytes) {
        let window = window.min(self.reno.window()).max(self.packet_size * MIN_WINDOW_PACKETS);
        self.reno.set_window(window);
        self.reno.set_ssthresh(self.reno.ssthresh().min(window));
    }
}

impl Controller for Vegas {
    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.packet_size = ack.packet_size;
        if let Some(sample) = ack.rtt_sample {
            self.base_rtt = Some(self.base_rtt.map_or(sample, |base| base.min(sample)));
            self.round.min = Some(self.round.min.map_or(sample, |min| min.min(sample)));
            self.round.samples = self.round.samples.saturating_add(1);
        }
        if ack.in_recovery {
            return;
        }
        if !ack.round_start {
            if self.reno.in_slow_start() {
                self.reno.on_ack(ack);
            }
            return;
        }
        let round = core::mem::take(&mut self.round);
        match (self.base_rtt, round.min) {
            (Some(base), Some(rtt)) if round.samples >= MIN_SAMPLES && !round.partial => {
                self.step(ack, base, rtt);
            }
            _ => self.reno.on_ack(ack),
        }
    }

    fn on_loss(&mut self, loss: &Loss<'_>) {
        self.reno.on_loss(loss);
    }

    fn on_event(&mut self, now: Time, event: Event) {
        self.reno.on_event(now, event);
        match event {
            Event::RecoveryLeft | Event::SpuriousLoss => self.measure_anew(),
            Event::IdleRestart => {
                self.base_rtt = None;
                self.measure_anew();
            }
            Event::CongestionMarked | Event::AppLimited | Event::Forgotten(_) => {}
        }
    }

    fn limits(&self) -> Limits {
        Limits::window_only(self.reno.window())
    }

    fn observe(&self, observer: &mut dyn Observer) {
        self.reno.observe(observer);
        if let Some(base) = self.base_rtt {
            observer.value("base_rtt", "ms", base.as_millis_f64());
        }
        if let Some(diff) = self.diff {
            observer.value("diff", "pkt", diff);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::Path;
    use cellcc_units::{Rate, Span};

    /// 100 packets per RTT.
    fn path() -> Path {
        Path::new("vegas", Rate::from_mbit_per_sec(12.0), Span::from_millis(99))
    }

    #[test]
    fn two_to_four_packets_wait_in_the_queue() {
        let mut path = path();
        // Slow start overshoots, since it doubles per RTT and hears of the queue an RTT late; then one packet per RTT.
        path.run_for(Span::from_secs(90));
        for _ in 0..20 {
            path.run_for(Span::from_millis(73));
            let waiting = path.inflight() - 100.0;
            assert!((2.0..=4.0).contains(&waiting), "{waiting} packets more than the path holds");
        }
    }

    #[test]
    fn a_queue_ends_slow_start_without_a_loss() {
        let mut path = path();
        path.run_until(|path| path.shows("ssthresh").is_some());
        let left_at = path.window();
        assert!((100.0..400.0).contains(&left_at), "{left_at}");
        path.run_for(Span::from_secs(10));
        assert!(path.window() < left_at - 20.0, "one packet less per RTT from then on");
    }

    #[test]
    fn a_loss_is_answered_as_reno_does() {
        let mut path = path();
        path.run_for(Span::from_secs(90));
        let window = path.window();
        path.drop_next(1);
        path.run_until(|path| path.window() < window - 10.0);
        assert!((path.window() - window / 2.0).abs() <= 1.0);
        path.run_for(Span::from_secs(30));
        assert!((102.0..=104.0).contains(&path.inflight()));
    }
}

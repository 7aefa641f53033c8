//! Events and decisions as text, in the form of docs/algorithms/tide-spec.md.

use cellcc_fixed::tide::{Config, Event, Tide};
use cellcc_fixed::{Instant, Micros, Packets};
use std::fmt::Write;

/// An event of a flow.
#[derive(Debug, Clone, Copy)]
pub(super) enum Happens {
    Ack(Event),
    /// Packets lost, and whether an episode of recovery begins.
    Loss(u32, bool),
    Tick(Instant),
}

/// Window and pacing rate; none before the first decision.
pub(super) type Decision = Option<(u64, u64)>;

/// A flow with its events and decisions.
pub(super) struct Conversation {
    pub(super) events: Vec<(Happens, Decision)>,
    pub(super) core: Tide,
    config: Config,
    packet_bytes: u32,
    /// True once the flow has competed.
    pub(super) has_competed: bool,
}

impl Conversation {
    pub(super) fn new(delay_us: u32, packet_bytes: u32) -> Self {
        let config = Config::DEFAULT.with_delay(Micros(delay_us));
        Self { events: Vec::new(), core: Tide::START, config, packet_bytes, has_competed: false }
    }

    pub(super) fn decision(&self) -> Decision {
        self.core.limits(&self.config, self.packet_bytes).map(|limits| (limits.window, limits.pacing.0))
    }

    pub(super) fn add(&mut self, happens: Happens) {
        match happens {
            Happens::Ack(event) => {
                self.core.end_ticks(&self.config, event.now);
                self.core.on_ack(&self.config, &event);
            }
            Happens::Loss(lost, new_episode) => self.core.on_loss(Packets(lost), new_episode),
            Happens::Tick(now) => self.core.end_ticks(&self.config, now.after(Micros(1))),
        }
        self.has_competed |= self.core.competes();
        self.events.push((happens, self.decision()));
    }

    /// Lets today's core decide the same events.
    pub(super) fn decided_again(&self) -> Self {
        let mut again = Self::new(self.config.delay.0, self.packet_bytes);
        self.events.iter().for_each(|(happens, _)| again.add(*happens));
        again
    }

    pub(super) fn text(&self, about: &str) -> String {
        let mut text =
            format!("# Tide: {about}.\ndelay {}\npacket {}\n", self.config.delay.0, self.packet_bytes);
        let mut before = None;
        for (happens, decision) in &self.events {
            text += &match happens {
                Happens::Ack(ack) => format!(
                    "ack {} {} {} {} {} {}",
                    ack.now.0,
                    ack.rtt.0,
                    ack.delivered.0,
                    ack.delivered_at_send.0,
                    ack.acked.0,
                    ack.app_limited
                ),
                Happens::Loss(lost, new_episode) => format!("loss {lost} {}", u32::from(*new_episode)),
                Happens::Tick(now) => format!("tick {}", now.0),
            };
            if before != Some(decision) {
                text += " > ";
                match decision {
                    Some((window, pacing)) => write!(text, "{window} {pacing}").unwrap(),
                    None => text.push('-'),
                }
            }
            text.push('\n');
            before = Some(decision);
        }
        text
    }

    pub(super) fn read(text: &str) -> Self {
        let mut read = Self::new(Config::DEFAULT.delay.0, 1500);
        let mut decision = None;
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let (event, decided) = line.split_once(" > ").unwrap_or((line, ""));
            let (kind, numbers) = event.split_once(' ').expect("a word and numbers");
            let numbers: Vec<u64> = numbers.split(' ').map(|word| word.parse().expect("a number")).collect();
            let small = |place: usize| numbers[place] as u32;
            decision = match decided.split_once(' ') {
                Some((window, pacing)) => Some((window.parse().unwrap(), pacing.parse().unwrap())),
                None => decision,
            };
            let happens = match kind {
                "delay" => {
                    read.config = Config::DEFAULT.with_delay(Micros(small(0)));
                    continue;
                }
                "packet" => {
                    read.packet_bytes = small(0);
                    continue;
                }
                "ack" => Happens::Ack(Event {
                    now: Instant(numbers[0]),
                    rtt: Micros(small(1)),
                    delivered: Packets(small(2)),
                    delivered_at_send: Packets(small(3)),
                    acked: Packets(small(4)),
                    app_limited: small(5),
                    reserved: 0,
                }),
                "loss" => Happens::Loss(small(0), numbers[1] != 0),
                "tick" => Happens::Tick(Instant(numbers[0])),
                _ => panic!("{line}"),
            };
            read.events.push((happens, decision));
        }
        read
    }
}

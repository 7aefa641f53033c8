//! Tide: the window of the delivery rate, and a queue as long as the link is unsteady.
//!
//! Its mechanism, its state diagram, its kin, and the differences from the prototype: [`cellcc_fixed::tide`], which also runs
//! in the kernel. This file supplies the input of the kernel's TCP, and the differences: a timer for the ticks, and a restart
//! after a pause in which QUIC, unlike TCP, has declared nothing lost.

mod settings;
#[cfg(test)]
mod tests;

pub(super) use settings::{IN_KERNEL, scheme};

use crate::kernel_view::{KernelView, instant, millis, time};
use cellcc_control::{Ack, Context, Controller, Limits, Loss, Observer, Sent, Tag};
use cellcc_fixed::tide::{Config, Event, Tide as Core};
use cellcc_fixed::{Instant, Micros, Packets};
use cellcc_units::{Bytes, Rate, Span, Time};

/// Linux paces by a millisecond's worth of data (`tcp_tso_autosize`).
const QUANTUM: Span = Span::from_millis(1);
/// Prototype: and by no more packets than this.
const MAX_QUANTUM_PACKETS: u64 = 4;
/// RFC 9002, section 7.2: the smallest window, in packets.
const RESTART_PACKETS: u64 = 2;

struct Tide {
    config: Config,
    initial_window: Bytes,
    packet_size: Bytes,
    view: KernelView,
    acked: FullPackets,
    lost: FullPackets,
    core: Core,
    /// The limit of data in flight after a pause, until the next tick.
    restart_window: Bytes,
}

/// Bytes as packets of full size: a short packet is a part of one, which the next one may complete.
#[derive(Default)]
struct FullPackets {
    rest: Bytes,
}

impl FullPackets {
    fn add(&mut self, bytes: Bytes, packet_size: Bytes) -> Packets {
        let (all, size) = ((self.rest + bytes).get(), packet_size.get().max(1));
        self.rest = Bytes::new(all % size);
        Packets(u32::try_from(all / size).unwrap_or(u32::MAX))
    }
}

impl Tide {
    fn new(config: Config, context: &Context) -> Self {
        Self {
            config,
            initial_window: context.initial_window,
            packet_size: context.packet,
            view: KernelView::default(),
            acked: FullPackets::default(),
            lost: FullPackets::default(),
            core: Core::START,
            restart_window: Bytes::ZERO,
        }
    }

    fn end_ticks(&mut self, present: Instant) {
        if self.core.next_tick().is_some_and(|tick| tick < present) {
            self.core.end_ticks(&self.config, present);
            self.restart_window = Bytes::ZERO;
        }
    }

    /// Data that leave at once: a millisecond's worth, so that a slow link gets single packets.
    fn send_quantum(&self, pacing_rate: Rate) -> Bytes {
        let packet = self.packet_size;
        pacing_rate.bytes_in(QUANTUM).max(packet).min(packet * MAX_QUANTUM_PACKETS)
    }
}

impl Controller for Tide {
    fn departures_change_limits(&self) -> bool {
        false
    }

    fn on_sent(&mut self, _sent: &Sent) -> Tag {
        self.view.tag()
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.packet_size = ack.packet_size;
        let seen = self.view.ack(ack);
        self.end_ticks(seen.now);
        // After such a pause the data in flight may be lost, and QUIC learns that from a later packet, or from a probe after a
        // time-out that the pause has made as long as itself. So two packets leave, whatever is in flight.
        if self.core.rate() == 0 {
            self.restart_window = ack.inflight + ack.packet_size * RESTART_PACKETS;
        }
        let event = Event {
            now: seen.now,
            rtt: seen.rtt,
            delivered: seen.delivered,
            delivered_at_send: seen.delivered_at_send,
            acked: self.acked.add(ack.bytes, ack.packet_size),
            app_limited: ack.packets.last().is_some_and(|packet| packet.app_limited).into(),
            reserved: 0,
        };
        self.core.on_ack(&self.config, &event);
    }

    fn on_loss(&mut self, loss: &Loss<'_>) {
        let lost = self.lost.add(loss.bytes, loss.packet_size);
        self.core.on_loss(lost, loss.new_episode);
    }

    fn next_timer(&self) -> Option<Time> {
        self.core.next_tick().map(time)
    }

    fn on_timer(&mut self, now: Time) {
        // The tick that ends now is over.
        self.end_ticks(instant(now).after(Micros(1)));
    }

    fn limits(&self) -> Limits {
        let packet = u32::try_from(self.packet_size.get()).unwrap_or(u32::MAX);
        let Some(limits) = self.core.limits(&self.config, packet) else {
            return Limits::window_only(self.initial_window);
        };
        let pacing_rate = Rate::from_bytes_per_sec(limits.pacing.0);
        let window = Bytes::new(limits.bytes(packet)).max(self.restart_window);
        Limits::paced(window, pacing_rate, self.send_quantum(pacing_rate))
    }

    fn observe(&self, observer: &mut dyn Observer) {
        observer.switch("competing", self.core.competes());
        if self.limits().pacing_rate.is_none() {
            return;
        }
        let packets_per_us = self.core.rate() as f64 / (1_u64 << 32) as f64;
        observer.value("rate", "mbit_s", packets_per_us * self.packet_size.as_f64() * 8.0);
        observer.value("target", "ms", millis(self.core.target(&self.config)));
        observer.value("swing", "ms", millis(self.core.swing()));
        observer.value("base_rtt", "ms", millis(self.core.base_rtt()));
    }
}

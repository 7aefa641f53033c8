//! The kernel TCP's view of a flow for a core of `cellcc_fixed`: packets and microseconds.

use cellcc_control::{Ack, Tag, growth::Growth, kind::TimeOrMultiple};
use cellcc_fixed::{Instant, Micros, Packets, Q16, Window};
use cellcc_units::{Bytes, Ratio, Span, Time};

/// Counts as the kernel counts.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct KernelView {
    delivered: u32,
    lost: bool,
}

impl KernelView {
    /// A packet leaves: the tag that [`ack`](Self::ack) wants back.
    pub(crate) fn tag(&self) -> Tag {
        self.delivered.into()
    }

    /// Packets delivered so far, as the acknowledgements have it.
    pub(crate) fn delivered(&self) -> Packets {
        Packets(self.delivered)
    }

    pub(crate) fn on_loss(&mut self) {
        self.lost = true;
    }

    /// The acknowledgement as the kernel has it; every packet carries its tag.
    pub(crate) fn ack(&mut self, ack: &Ack<'_>) -> cellcc_fixed::Ack {
        self.delivered = self.delivered.wrapping_add(ack.packets.len() as u32);
        cellcc_fixed::Ack {
            now: instant(ack.now),
            rtt: ack.rtt_sample.map_or(Micros::ZERO, |sample| micros(sample).max(Micros(1))),
            delivered: Packets(self.delivered),
            delivered_at_send: Packets(ack.packets.last().map_or(self.delivered, |newest| newest.tag as u32)),
            cwnd_limited: ack.cwnd_limited,
            lost: std::mem::take(&mut self.lost),
        }
    }
}

/// Whole microseconds, rounded down.
pub(crate) fn instant(time: Time) -> Instant {
    Instant(time.as_nanos() / 1000)
}

/// Whole microseconds, rounded down; 71 minutes at most.
pub(crate) fn micros(span: Span) -> Micros {
    Micros(u32::try_from(span.as_nanos() / 1000).unwrap_or(u32::MAX))
}

/// Whole microseconds, rounded up.
pub(crate) fn micros_up(span: Span) -> Micros {
    micros(span + Span::from_nanos(999))
}

/// The point in time on the contract's clock.
pub(crate) fn time(instant: Instant) -> Time {
    Time::from_nanos(instant.0.saturating_mul(1000))
}

/// The nearest number of the cores; their range is -32768 to 32768.
pub(crate) fn q16(value: f64) -> Q16 {
    Q16((value * f64::from(Q16::ONE.0)).round() as i32)
}

/// In milliseconds.
pub(crate) fn millis(micros: Micros) -> f64 {
    f64::from(micros.0) / 1e3
}

/// As a float.
pub(crate) fn real(number: Q16) -> f64 {
    f64::from(number.0) / f64::from(Q16::ONE.0)
}

/// A target as the registry has it: a time, or a multiple of the minimum RTT.
pub(crate) fn target(time: Micros, multiple: Q16) -> TimeOrMultiple {
    match time {
        Micros::ZERO => TimeOrMultiple::Multiple(Ratio::new(real(multiple))),
        Micros(micros) => TimeOrMultiple::Time(Span::from_micros(micros.into())),
    }
}

/// Whole packets of this size, rounded down.
pub(crate) fn packets(bytes: Bytes, packet: Bytes) -> Packets {
    Packets(u32::try_from(bytes.get() / packet.get().max(1)).unwrap_or(u32::MAX))
}

/// The law's window in whole packets, as `decide` may change it: written back where it did.
pub(crate) fn with_window<R>(
    law: &mut dyn Growth,
    packet: Bytes,
    decide: impl FnOnce(&mut Window) -> R,
) -> R {
    let ssthresh = packets(law.ssthresh(), packet).min(Packets::INFINITE_SSTHRESH);
    let before = Window { cwnd: packets(law.window(), packet), ssthresh };
    let mut after = before;
    let result = decide(&mut after);
    if after.cwnd != before.cwnd {
        law.set_window(packet * u64::from(after.cwnd.0));
    }
    if after.ssthresh != before.ssthresh {
        law.set_ssthresh(packet * u64::from(after.ssthresh.0));
    }
    result
}

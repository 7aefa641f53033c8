//! What the kernel's TCP would tell a core of `cellcc_fixed`: packets and microseconds.

use crate::contract::{Ack, Tag};
use crate::growth::Growth;
use cellcc_fixed::{Instant, Micros, Packets, Window};
use cellcc_units::{Bytes, Span, Time};

/// Counts as the kernel counts.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct KernelView {
    delivered: u32,
    lost: bool,
}

impl KernelView {
    /// A packet leaves: the tag that [`ack`](Self::ack) wants back.
    pub(crate) fn on_sent(&self) -> Tag {
        self.delivered.into()
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

/// The law's window in whole packets, changed by `decide`, and written back where that changed it.
pub(crate) fn with_window(law: &mut dyn Growth, packet: Bytes, decide: impl FnOnce(&mut Window)) {
    let packets = |bytes: Bytes| u32::try_from(bytes.get() / packet.get().max(1)).unwrap_or(u32::MAX);
    let ssthresh = packets(law.ssthresh()).min(Packets::INFINITE_SSTHRESH.0);
    let before = Window { cwnd: Packets(packets(law.window())), ssthresh: Packets(ssthresh) };
    let mut after = before;
    decide(&mut after);
    if after.cwnd != before.cwnd {
        law.set_window(packet * u64::from(after.cwnd.0));
    }
    if after.ssthresh != before.ssthresh {
        law.set_ssthresh(packet * u64::from(after.ssthresh.0));
    }
}

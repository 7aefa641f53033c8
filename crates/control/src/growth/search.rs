//! SEARCH: slow start that ends when more data is sent than arrives.
//!
//! 1. Bins of 0.35 of the first RTT count the bytes sent and the bytes delivered.
//! 2. At the end of each bin, the bytes delivered in the last ten bins are compared with the bytes sent in ten bins that ended an RTT
//!    before: as long as the path has room, they are the same bytes.
//! 3. Slow start ends when a quarter (0.26) of them has not arrived.
//! 4. A bin without an acknowledgement repeats the one before it; after more than ten of them the count begins again.
//! 5. An RTT of 15 bins or more, five times the first, is too long to look back, and decides nothing.
//!
//! Source: draft-chung-ccwg-search-09, "SEARCH -- a New Slow Start Algorithm for TCP and QUIC".
//!
//! Differences from the draft: bytes sent are those delivered and in flight, which leaves out losses, and a loss ends slow start
//! anyway. The fraction of a bin that an RTT is longer than whole bins reaches back in time (the draft's formula reaches forward).
//! The optional step back of the window is not there.

use crate::contract::Ack;
use cellcc_units::{Span, Time};
use std::collections::VecDeque;

/// Draft, section "Parameters": the window is 3.5 first RTTs long, and has ten bins.
const BINS_PER_WINDOW: usize = 10;
const BIN_PER_RTT: (u64, u64) = (35, 100);
/// Draft, section "Parameters": bins before the window, for looking an RTT back (`EXTRA_BINS`).
const EXTRA_BINS: usize = 15;
/// Draft, section "Parameters": the missing share that ends slow start (`THRESH`).
const THRESHOLD: f64 = 0.26;

/// The bins of a flow.
#[derive(Debug, Clone, Default)]
pub(super) struct Search {
    bin: Span,
    bin_ends_at: Time,
    /// Oldest first.
    counts: VecDeque<Count>,
}

/// The bytes since the beginning of the flow.
#[derive(Debug, Clone, Copy)]
struct Count {
    sent: u64,
    delivered: u64,
}

impl Search {
    /// An acknowledgement in slow start: true where it ends it.
    pub(super) fn leaves(&mut self, ack: &Ack<'_>) -> bool {
        let Some(rtt) = ack.rtt_sample else { return false };
        let count = Count { sent: (ack.delivered + ack.inflight).get(), delivered: ack.delivered.get() };
        let passed = match self.counts.is_empty() {
            true => usize::MAX,
            false if ack.now < self.bin_ends_at => return false,
            false => (ack.now.since(self.bin_ends_at).as_nanos() / self.bin.as_nanos()) as usize + 1,
        };
        if passed > BINS_PER_WINDOW {
            let bin = rtt * BIN_PER_RTT.0 / BIN_PER_RTT.1;
            *self = Self { bin, bin_ends_at: ack.now + bin, counts: VecDeque::from([count]) };
            return false;
        }
        self.bin_ends_at += self.bin * passed as u64;
        self.counts.extend(self.counts.back().copied().into_iter().cycle().take(passed - 1));
        self.counts.push_back(count);
        // The oldest is that before the window that lies furthest back.
        let kept = BINS_PER_WINDOW + EXTRA_BINS + 1;
        self.counts.drain(..self.counts.len().saturating_sub(kept));
        self.missing(rtt).is_some_and(|share| share >= THRESHOLD)
    }

    /// The share of the bytes sent an RTT ago that has not arrived; `None` where the bins do not reach so far back.
    fn missing(&self, rtt: Span) -> Option<f64> {
        let (rtt, bin) = (rtt.as_nanos(), self.bin.as_nanos());
        let (newest, back) = (self.counts.len() - 1, (rtt / bin) as usize);
        let then = newest.checked_sub(back).filter(|then| back < EXTRA_BINS && *then > BINS_PER_WINDOW)?;
        let in_window = |bytes: fn(&Count) -> u64, end: usize| {
            (bytes(&self.counts[end]) - bytes(&self.counts[end - BINS_PER_WINDOW])) as f64
        };
        let fraction = (rtt % bin) as f64 / bin as f64;
        let sent = |end| in_window(|count| count.sent, end);
        let sent = sent(then) * (1.0 - fraction) + sent(then - 1) * fraction;
        (sent > 0.0).then(|| 1.0 - in_window(|count| count.delivered, newest) / sent)
    }
}

//! Laws of window growth: how a window grows on acknowledgements and shrinks on loss. They are schemes by
//! themselves, and parts of others: Reminis' AIMD block, NACubic.

mod cubic;
mod hystart;
mod new_reno;
mod search;

use crate::contract::{Ack, Event, Loss};
use crate::observer::Observer;
use crate::observer::ShownValue;
use cellcc_units::{Bytes, Time};

pub use cubic::{Cubic, CubicVariant};
pub use hystart::SlowStart;
pub use new_reno::NewReno;

/// The values that the laws expose: NewReno the first, CUBIC all.
pub const SHOWS: [ShownValue; 4] = [
    ShownValue::number("ssthresh_pkt", "slow-start threshold"),
    ShownValue::number("w_max_pkt", "W_max: the window that the cubic curve returns to"),
    ShownValue::number("k_s", "K: the time from a cut until the curve is at W_max"),
    ShownValue::number("w_est_pkt", "W_est: the window that Reno would have"),
];

/// A window that grows and shrinks, and that its owner may overwrite.
pub trait Growth: Send {
    /// The congestion window.
    fn window(&self) -> Bytes;
    /// Overwrites the window, with one packet at least; ssthresh stays.
    fn set_window(&mut self, window: Bytes);
    /// The slow-start threshold; [`Bytes::MAX`] before the first loss.
    fn ssthresh(&self) -> Bytes;
    /// Overwrites the slow-start threshold; the window stays.
    fn set_ssthresh(&mut self, ssthresh: Bytes);
    /// Grows on acknowledgements.
    fn on_ack(&mut self, ack: &Ack<'_>);
    /// Shrinks on loss, once per recovery episode.
    fn on_loss(&mut self, loss: &Loss<'_>);
    /// Undoes a spurious cut, restarts after idling.
    fn on_event(&mut self, now: Time, event: Event);
    /// Names the values inside.
    fn observe(&self, _observer: &mut dyn Observer) {}

    /// Growth doubles per round: the window is below the slow-start threshold.
    fn in_slow_start(&self) -> bool {
        self.window() < self.ssthresh()
    }
}

/// Shows ssthresh in packets, once there is one.
fn observe_ssthresh(ssthresh: Bytes, packet: Bytes, observer: &mut dyn Observer) {
    if ssthresh != Bytes::MAX {
        observer.value("ssthresh", "pkt", ssthresh.in_packets(packet));
    }
}

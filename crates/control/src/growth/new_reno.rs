//! NewReno: the window grows by one packet per RTT and halves at a loss.
//!
//! 1. Slow start: the window grows by every byte acknowledged, which doubles it per RTT, up to ssthresh.
//! 2. Congestion avoidance: one packet for every window's worth of bytes acknowledged.
//! 3. The first loss of a recovery episode halves window and ssthresh; further losses of the episode change nothing.
//! 4. Persistent congestion leaves two packets and starts again with slow start.
//! 5. A loss that turns out spurious restores the window.
//!
//! ```text
//!               window = ssthresh
//!  slow start -------------------> congestion avoidance
//!    ^   \                             |        ^
//!    |    \ loss                  loss |        | a packet sent after
//!    |     v                           v        | the loss arrives
//!    +------------------------------- recovery -+
//!       persistent congestion, idle
//! ```
//!
//! Source: RFC 5681 (slow start, congestion avoidance), RFC 6582 (one cut per episode), RFC 3465 (byte counting),
//! RFC 9002 section 7 (recovery by packet numbers, persistent congestion, no growth of an unused window).
//!
//! Differences from the RFCs: the cut halves the window (RFC 9002, Linux) and not the bytes in flight (RFC 5681); the
//! two differ only while the window is not used, and then it does not grow either. No window inflation by duplicate
//! ACKs: every driver here knows what is in flight (as SACK and QUIC do). Slow start takes whatever one ACK acknowledges
//! (RFC 9002), where RFC 5681 stops at one packet and RFC 3465 at two.

use super::hystart::{Hystart, SlowStart};
use super::{Growth, observe_ssthresh};
use crate::contract::{Ack, Context, Event, Loss};
use crate::observer::Observer;
use cellcc_units::{Bytes, Time};

/// RFC 9002, section 7.2: the smallest window, in packets.
pub(super) const MIN_WINDOW_PACKETS: u64 = 2;
/// RFC 5681, section 3.1: a loss leaves this share of the window.
const BETA: f64 = 0.5;

/// The growth law of Reno.
#[derive(Debug, Clone)]
pub struct NewReno {
    packet_size: Bytes,
    initial_window: Bytes,
    hystart: Hystart,
    state: State,
    /// The state that a spurious loss restores.
    saved: Option<State>,
}

#[derive(Debug, Clone)]
struct State {
    window: Bytes,
    ssthresh: Bytes,
    /// Bytes acknowledged towards the next packet of growth.
    acked: Bytes,
}

impl NewReno {
    /// The law at the beginning of a flow, with the slow start of RFC 5681.
    pub fn new(context: &Context) -> Self {
        Self::with_hystart(context, SlowStart::UntilLoss)
    }

    /// Builds it with a choice of slow start.
    pub fn with_hystart(context: &Context, hystart: SlowStart) -> Self {
        Self {
            packet_size: context.packet,
            initial_window: context.initial_window,
            hystart: Hystart::new(hystart),
            state: State { window: context.initial_window, ssthresh: Bytes::MAX, acked: Bytes::ZERO },
            saved: None,
        }
    }

    fn min_window(&self) -> Bytes {
        self.packet_size * MIN_WINDOW_PACKETS
    }

    fn cut(&mut self) {
        let window = self.state.window.mul_f64(BETA).max(self.min_window());
        self.state = State { window, ssthresh: window, acked: Bytes::ZERO };
    }

    /// Grows towards ssthresh; returns the bytes acknowledged beyond it.
    fn slow_start(&mut self, ack: &Ack<'_>) -> Bytes {
        let initial = self.state.ssthresh == Bytes::MAX;
        let step = self.hystart.on_ack(ack, initial, self.state.window);
        let growth = step.growth.min(self.state.ssthresh - self.state.window);
        self.state.window += growth;
        if step.leave {
            self.state.ssthresh = self.state.window;
        }
        step.growth - growth
    }

    fn congestion_avoidance(&mut self, acked: Bytes) {
        let state = &mut self.state;
        state.acked += acked;
        if state.acked >= state.window {
            state.acked -= state.window;
            state.window += self.packet_size;
        }
        // Only a window that was cut from outside can be smaller than the data acknowledged by one ACK.
        state.acked = state.acked.min(state.window);
    }
}

impl Growth for NewReno {
    fn window(&self) -> Bytes {
        self.state.window
    }

    fn set_window(&mut self, window: Bytes) {
        self.state.window = window.max(self.packet_size);
        self.state.acked = self.state.acked.min(self.state.window);
    }

    fn ssthresh(&self) -> Bytes {
        self.state.ssthresh
    }

    fn set_ssthresh(&mut self, ssthresh: Bytes) {
        self.state.ssthresh = ssthresh;
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.packet_size = ack.packet_size;
        if ack.in_recovery || !ack.cwnd_limited {
            return;
        }
        let left = if self.in_slow_start() { self.slow_start(ack) } else { ack.bytes };
        if !self.in_slow_start() {
            self.congestion_avoidance(left);
        }
    }

    fn on_loss(&mut self, loss: &Loss<'_>) {
        self.packet_size = loss.packet_size;
        if loss.new_episode {
            self.saved = Some(self.state.clone());
            self.cut();
        }
        if loss.persistent {
            self.state.window = self.min_window();
        }
    }

    fn on_event(&mut self, _now: Time, event: Event) {
        match event {
            Event::SpuriousLoss => {
                if let Some(saved) = self.saved.take() {
                    let window = self.state.window.max(saved.window);
                    self.state = State { window, ..saved };
                }
            }
            // RFC 5681, section 4.1: the restart window. Slow start leads back to ssthresh.
            Event::IdleRestart => self.set_window(self.state.window.min(self.initial_window)),
            // A mark is never spurious.
            Event::CongestionMarked => {
                self.cut();
                self.saved = None;
            }
            Event::RecoveryLeft | Event::AppLimited | Event::Forgotten(_) => {}
        }
    }

    fn observe(&self, observer: &mut dyn Observer) {
        observe_ssthresh(self.state.ssthresh, self.packet_size, observer);
    }
}

//! CUBIC: the window follows a cubic function of the time since the last loss.
//!
//! 1. A loss at window `W_max` reduces it to 70 %.
//! 2. Then the window runs along `W(t) = C (t - K)^3 + W_max`: fast at first, flat around `W_max`, which it meets after
//!    `K` seconds, fast again beyond. Growth depends on time and hardly on the RTT.
//! 3. Where Reno would be faster (short RTTs, small windows) the window follows Reno's (`W_est`).
//! 4. A loss below the last `W_max` means that others want room: `W_max` is set lower still (fast convergence).
//! 5. Time in which the application did not use the window does not count.
//!
//! ```text
//!               window = ssthresh           t < K: concave, towards W_max
//!  slow start -------------------> congestion avoidance (an epoch)
//!    ^   \                             |        ^       t > K: convex, away from it
//!    |    \ loss                  loss |        | a packet sent after
//!    |     v                           v        | the loss arrives
//!    +------------------------------- recovery -+
//!       persistent congestion, idle
//! ```
//!
//! Source: RFC 9438; the names are its names.
//!
//! Differences from the RFC: the cut takes 70 % of the window and not of the bytes in flight (which section 4.6 allows
//! where the window does not grow unused, as here). A mark (ECN-CE) cuts as a loss does.
//! Persistent congestion (RFC 9002) stands where the RFC says timeout, and leaves two packets instead of one. A window written
//! from outside ([`Growth::set_window`]) leaves the epoch alone, as in Linux, where a plugin that writes snd_cwnd does not tell
//! CUBIC; only `W_est` comes down with it, since otherwise the next ACK would undo the write.
//!
//! [`CubicVariant::Linux`] has two of Linux's own differences (tcp_cubic.c), which decide at windows of a few packets: `W_est`
//! grows by alpha for ever (`bictcp_update` knows no `cwnd_prior`), and a cut leaves whole packets, rounded down
//! (`cubictcp_recalc_ssthresh`).

use super::hystart::{Hystart, SlowStart};
use super::new_reno::MIN_WINDOW_PACKETS;
use super::{Growth, observe_ssthresh};
use crate::contract::{Ack, Context, Event, Loss};
use crate::observer::Observer;
use cellcc_units::{Bytes, Span, Time};

/// RFC 9438, section 5.1: how aggressive the cubic function is, in packets per second cubed.
const C: f64 = 0.4;
/// RFC 9438, section 4.6: a loss leaves this share of the window.
const BETA: f64 = 0.7;
/// RFC 9438, section 4.3: Reno's growth per RTT, in packets, that with this beta reaches Reno's throughput.
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);
/// RFC 9438, section 4.4: the window grows by half per RTT at most.
const MAX_TARGET: f64 = 1.5;
/// Linux: `bictcp_update`, the packets acknowledged per packet of growth until a loss tells where to stop, at most.
const LINUX_ACKED_PER_GROWTH: f64 = 20.0;
const SECONDS_PER_NANOSECOND: f64 = 1e-9;

/// Whose CUBIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CubicVariant {
    /// RFC 9438.
    #[default]
    Rfc9438,
    /// Linux: slower above the window of the last loss, and a cut leaves whole packets.
    Linux,
}

/// The growth law of CUBIC.
#[derive(Debug, Clone)]
pub struct Cubic {
    packet_size: Bytes,
    initial_window: Bytes,
    variant: CubicVariant,
    hystart: Hystart,
    state: State,
    /// The window of the state, in bytes: read several times between changes.
    window: Bytes,
    /// The state that a spurious loss restores (RFC 9438, section 4.9).
    saved: Option<State>,
}

/// Windows are in packets with a fraction, as in the RFC's formulas.
#[derive(Debug, Clone)]
struct State {
    window: f64,
    ssthresh: Bytes,
    /// Unknown until a loss tells it, and after persistent congestion.
    w_max: Option<f64>,
    /// The window before the last cut.
    cwnd_prior: f64,
    epoch: Option<Epoch>,
}

/// A stage of congestion avoidance.
#[derive(Debug, Clone)]
struct Epoch {
    start: Time,
    /// Seconds from the start until the window is back at `w_max`.
    k: f64,
    w_max: f64,
    w_est: f64,
    last_ack: Time,
    /// Since when the window has not been used; that time will not count.
    unused_since: Option<Time>,
}

impl Cubic {
    /// The constant that scales the curve (RFC 9438, section 5.1), in packets per second cubed.
    pub const C: f64 = C;
    /// The share of the window that stays after a loss (RFC 9438, section 4.6).
    pub const BETA: f64 = BETA;
    /// The growth of the window that Reno would have (RFC 9438, section 4.3), in packets per RTT.
    pub const ALPHA: f64 = ALPHA;

    /// The law at the beginning of a flow.
    pub fn new(context: &Context, hystart: SlowStart) -> Self {
        let window = context.initial_window.in_packets(context.packet);
        Self {
            packet_size: context.packet,
            initial_window: context.initial_window,
            variant: CubicVariant::default(),
            hystart: Hystart::new(hystart),
            state: State { window, ssthresh: Bytes::MAX, w_max: None, cwnd_prior: window, epoch: None },
            window: context.initial_window,
            saved: None,
        }
    }

    /// Uses another variant of the law.
    #[must_use]
    pub fn with_variant(self, variant: CubicVariant) -> Self {
        Self { variant, ..self }
    }

    /// The state's window in bytes.
    fn in_bytes(&self) -> Bytes {
        // Half up, without the call that f64::round is on older processors.
        Bytes::new((self.state.window * self.packet_size.as_f64() + 0.5) as u64)
    }

    /// Called after each change of the state's window. Gives it in bytes.
    fn note_window(&mut self) -> Bytes {
        self.window = self.in_bytes();
        self.window
    }

    /// Grows towards ssthresh; returns the bytes acknowledged beyond it. Cold, so that congestion avoidance, where flows spend
    /// their time, pays nothing for it.
    #[cold]
    fn slow_start(&mut self, ack: &Ack<'_>) -> Bytes {
        let step = self.hystart.on_ack(ack, self.state.ssthresh == Bytes::MAX, self.window);
        let growth = step.growth.min(self.state.ssthresh - self.window);
        self.state.window = (self.window + growth).in_packets(self.packet_size);
        let window = self.note_window();
        if step.leave {
            self.state.ssthresh = window;
        }
        step.growth - growth
    }

    fn congestion_avoidance(&mut self, now: Time, srtt: Span, acked: f64) {
        let state = &mut self.state;
        let window = state.window;
        let epoch = state.epoch.get_or_insert_with(|| {
            if state.w_max.is_none() {
                // RFC 9438, section 4.10: slow start that ended without a loss.
                state.cwnd_prior = window;
            }
            Epoch::begin(now, window, state.w_max)
        });
        if let Some(since) = epoch.unused_since.take() {
            epoch.start += now.since(since);
        }
        epoch.last_ack = now;

        let is_renos = self.variant == CubicVariant::Linux || epoch.w_est < state.cwnd_prior;
        let alpha = if is_renos { ALPHA } else { 1.0 };
        let share = acked / window;
        epoch.w_est += alpha * share;
        // Products, not quotients: this runs for every ACK, and a division takes ten times as long.
        let t = now.since(epoch.start).as_nanos() as f64 * SECONDS_PER_NANOSECOND;
        let ahead = t + srtt.as_nanos() as f64 * SECONDS_PER_NANOSECOND;
        state.window = if epoch.w_cubic(t) < epoch.w_est {
            epoch.w_est.max(window)
        } else {
            let target = epoch.w_cubic(ahead).clamp(window, MAX_TARGET * window);
            window + (target - window) * share
        };
        if state.w_max.is_none() && self.hystart.is_linux() {
            state.window = state.window.max(window + acked / LINUX_ACKED_PER_GROWTH);
        }
        self.note_window();
    }

    /// The window was not used, and does not grow.
    #[cold]
    fn note_unused(&mut self, ack: &Ack<'_>) {
        if self.in_slow_start() && self.hystart.ends_unused(ack, self.window) {
            self.state.ssthresh = self.window;
        }
        if let Some(epoch) = &mut self.state.epoch {
            epoch.unused_since.get_or_insert(ack.now);
        }
    }

    /// Counts in packets of this size. The windows keep their value in bytes; with another size than before the curve restarts.
    fn count_in(&mut self, packet_size: Bytes) {
        if packet_size == self.packet_size {
            return;
        }
        let factor = self.packet_size.in_packets(packet_size);
        self.packet_size = packet_size;
        for state in std::iter::once(&mut self.state).chain(&mut self.saved) {
            state.window *= factor;
            state.cwnd_prior *= factor;
            state.w_max = state.w_max.map(|w_max| w_max * factor);
            state.epoch = None;
        }
        self.note_window();
    }

    /// RFC 9438, sections 4.6 and 4.7.
    fn cut(&mut self) {
        let state = &mut self.state;
        let whole = |packets: f64| match self.variant {
            CubicVariant::Rfc9438 => packets,
            CubicVariant::Linux => packets.floor(),
        };
        let cwnd = whole(state.window);
        let w_max = match state.w_max {
            // Fast convergence.
            Some(w_max) if cwnd < w_max => cwnd * (1.0 + BETA) / 2.0,
            _ => cwnd,
        };
        let window = whole(cwnd * BETA).max(MIN_WINDOW_PACKETS as f64);
        *state =
            State { window, ssthresh: state.ssthresh, w_max: Some(w_max), cwnd_prior: cwnd, epoch: None };
        self.state.ssthresh = self.note_window();
    }
}

impl Epoch {
    fn begin(now: Time, window: f64, w_max: Option<f64>) -> Self {
        let (w_max, k) = match w_max {
            Some(w_max) if w_max > window => (w_max, libm::cbrt((w_max - window) / C)),
            _ => (window, 0.0),
        };
        Self { start: now, k, w_max, w_est: window, last_ack: now, unused_since: None }
    }

    /// The window `t` seconds into the epoch (RFC 9438, equation 1).
    fn w_cubic(&self, t: f64) -> f64 {
        let from_k = t - self.k;
        C * from_k * from_k * from_k + self.w_max
    }
}

impl Growth for Cubic {
    fn window(&self) -> Bytes {
        debug_assert_eq!(self.window, self.in_bytes(), "a change of the window was not noted");
        self.window
    }

    fn set_window(&mut self, window: Bytes) {
        let packets = window.max(self.packet_size).in_packets(self.packet_size);
        self.state.window = packets;
        if let Some(epoch) = &mut self.state.epoch {
            epoch.w_est = epoch.w_est.min(packets);
        }
        self.note_window();
    }

    fn ssthresh(&self) -> Bytes {
        self.state.ssthresh
    }

    fn set_ssthresh(&mut self, ssthresh: Bytes) {
        self.state.ssthresh = ssthresh;
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.count_in(ack.packet_size);
        if ack.in_recovery {
            return;
        }
        if !ack.cwnd_limited {
            self.note_unused(ack);
            return;
        }
        let mut left = ack.bytes;
        if self.in_slow_start() {
            self.state.epoch = None;
            left = self.slow_start(ack);
            if self.in_slow_start() {
                return;
            }
        }
        let acked = if left == self.packet_size { 1.0 } else { left.in_packets(self.packet_size) };
        self.congestion_avoidance(ack.now, ack.rtt.smoothed(), acked);
    }

    fn on_loss(&mut self, loss: &Loss<'_>) {
        self.count_in(loss.packet_size);
        if loss.new_episode {
            self.saved = Some(self.state.clone());
            self.cut();
        }
        if loss.persistent {
            // RFC 9438, section 4.8: the next epoch begins flat, at its own window.
            self.state.window = MIN_WINDOW_PACKETS as f64;
            self.state.w_max = None;
            self.state.epoch = None;
            self.hystart.on_timeout();
            self.note_window();
        }
    }

    fn on_event(&mut self, _now: Time, event: Event) {
        match event {
            Event::SpuriousLoss => {
                if let Some(saved) = self.saved.take() {
                    let window = self.state.window.max(saved.window);
                    self.state = State { window, ..saved };
                    self.note_window();
                }
            }
            Event::IdleRestart => {
                if let Some(epoch) = &mut self.state.epoch {
                    epoch.unused_since.get_or_insert(epoch.last_ack);
                }
                // RFC 5681, section 4.1: the restart window.
                let restart = self.initial_window.in_packets(self.packet_size);
                self.state.window = self.state.window.min(restart);
                self.note_window();
            }
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
        if let Some(w_max) = self.state.w_max {
            observer.value("w_max", "pkt", w_max);
        }
        if let Some(epoch) = &self.state.epoch {
            observer.value("k", "s", epoch.k);
            observer.value("w_est", "pkt", epoch.w_est);
        }
    }
}

//! Westwood+: after a loss the window is the path's capacity without a queue, from the rate at which data arrives.
//!
//! 1. Once per RTT, at most every 50 ms, the packets acknowledged meanwhile give a bandwidth sample.
//! 2. Two low-pass filters in a row, each of which keeps seven eighths, turn the samples into the bandwidth estimate.
//! 3. A loss sets ssthresh to estimate times minimum RTT, and lowers the window to it.
//! 4. A time-out sets ssthresh in the same way, and the next RTT sample begins a new minimum.
//! 5. All growth is Reno's.
//!
//! Source: Mascolo et al., TCP Westwood, MobiCom 2001; Grieco and Mascolo, ACM CCR 34(2), 2004 (Westwood+: one sample per
//! RTT). Profile `Linux`: `tcp_westwood.c`.
//!
//! Differences from the papers: the filter has Linux's fixed weights, where the 2001 paper computes them from the time
//! between samples, and a sample spans at least 50 ms, as in Linux. A loss before the first sample leaves Reno's half:
//! there is no estimate, and Linux's two packets in its place are an accident. The profile `Linux` halves the window at
//! the loss, as Reno does, and applies the estimate when recovery ends.
//! Difference from Linux: the estimate is in units of 2^-32 packets per microsecond, not in whole bytes per tick.

use crate::draw::{Digest, Draw};
use crate::number::product;
use crate::path::AckEvent;
use crate::step::{Layout, Step, exports, mirror};
use crate::{Ack, Instant, Micros, Packets, Window};

/// Linux `TCP_WESTWOOD_RTT_MIN`: the shortest span of a bandwidth sample.
const MIN_SAMPLE_SPAN: Micros = Micros(50_000);
/// Linux `tcp_westwood_bw_rttmin`; RFC 9002, section 7.2: the smallest window.
const MIN_WINDOW: Packets = Packets(2);
/// Number of fractional bits of a bandwidth.
const BITS: u32 = 32;

/// The moment at which the estimate sets the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Profile {
    /// At the loss.
    #[default]
    Paper,
    /// When the recovery from it ends.
    Linux,
}

/// The state of one flow: 40 bytes.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
pub struct Westwood {
    /// The first filter's value and the second's, in packets per 2^32 microseconds; zero before the first sample.
    filtered: u64,
    estimate: u64,
    /// The start of the present sample.
    sample_began: Instant,
    /// Packets delivered at that time.
    delivered_then: Packets,
    /// The previous RTT sample; zero before the first, which begins a bandwidth sample.
    rtt: Micros,
    /// [`Micros::MAX`] before the first sample, and after a time-out until the next one.
    min_rtt: Micros,
    reserved: u32,
}

impl Westwood {
    /// The state of a new flow.
    pub const START: Self = Self {
        filtered: 0,
        estimate: 0,
        sample_began: Instant(0),
        delivered_then: Packets(0),
        rtt: Micros::ZERO,
        min_rtt: Micros::MAX,
        reserved: 0,
    };

    /// Takes an acknowledgement, also in recovery.
    #[inline(always)]
    pub fn on_ack(&mut self, ack: &Ack) {
        let is_first = self.rtt == Micros::ZERO;
        if ack.rtt != Micros::ZERO {
            self.rtt = ack.rtt;
            self.min_rtt = self.min_rtt.min(ack.rtt);
        }
        let span = ack.now.since(self.sample_began);
        if is_first {
            // The packets of this acknowledgement were sent before the sample begins.
            self.begin_sample(ack);
        } else if span > self.rtt.max(MIN_SAMPLE_SPAN) {
            self.add_sample(ack.delivered.0.wrapping_sub(self.delivered_then.0), span);
            self.begin_sample(ack);
        }
    }

    #[inline(always)]
    fn begin_sample(&mut self, ack: &Ack) {
        self.sample_began = ack.now;
        self.delivered_then = ack.delivered;
    }

    /// Adds `packets` acknowledged in `span`, which is above 50 ms: the rate is below 2^49, and seven times it fits.
    #[inline(always)]
    fn add_sample(&mut self, packets: u32, span: Micros) {
        let sample = ((packets as u64) << BITS).checked_div(span.0 as u64).unwrap_or(0);
        if self.estimate == 0 {
            (self.filtered, self.estimate) = (sample, sample);
            return;
        }
        // Linux `westwood_do_filter`.
        self.filtered = (7 * self.filtered + sample) >> 3;
        self.estimate = (7 * self.estimate + self.filtered) >> 3;
    }

    /// Handles the start of an episode (loss or mark), after Reno has cut a window of `before` to `window`.
    #[inline(always)]
    pub fn on_cut(&self, profile: Profile, before: Packets, window: &mut Window) {
        if profile == Profile::Paper
            && let Some(estimated) = self.estimated_window()
        {
            *window = Window { cwnd: estimated.min(before), ssthresh: estimated };
        }
    }

    /// Handles the end of recovery.
    #[inline(always)]
    pub fn on_recovered(&self, profile: Profile, window: &mut Window) {
        if profile == Profile::Linux
            && let Some(estimated) = self.estimated_window()
        {
            *window = Window { cwnd: estimated, ssthresh: estimated };
        }
    }

    /// Handles a time-out: slow start leads back to the estimate, and the path may have changed.
    #[inline(always)]
    pub fn on_timeout(&mut self, window: &mut Window) {
        if let Some(estimated) = self.estimated_window() {
            window.ssthresh = estimated;
        }
        self.min_rtt = Micros::MAX;
    }

    /// The path's capacity without a queue, in whole packets; `None` before both estimates.
    #[inline(always)]
    pub fn estimated_window(&self) -> Option<Packets> {
        if self.estimate == 0 || self.min_rtt == Micros::MAX {
            return None;
        }
        Some(Packets((product(self.estimate, self.min_rtt.0) >> BITS) as u32).max(MIN_WINDOW))
    }

    /// The bandwidth estimate in packets per 2^32 microseconds; `None` before the first sample.
    #[inline(always)]
    pub const fn bandwidth(&self) -> Option<u64> {
        if self.estimate == 0 { None } else { Some(self.estimate) }
    }
}

mirror! {
    /// The settings, as stored in a map.
    #[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
    pub struct WestwoodSettings as westwood_settings {
        /// The moment at which the estimate sets the window. 0: the loss; otherwise the end of recovery, as in Linux.
        pub profile: u32,
    }
}

impl From<Profile> for WestwoodSettings {
    fn from(profile: Profile) -> Self {
        Self { profile: profile as u32 }
    }
}

impl WestwoodSettings {
    /// Converts to the core's profile.
    #[inline(always)]
    pub fn profile(&self) -> Profile {
        if self.profile == Profile::Paper as u32 { Profile::Paper } else { Profile::Linux }
    }
}

/// The step is an acknowledgement, also in recovery.
pub const SAMPLE: u32 = 0;
/// The step is a loss or a mark, after which Reno has cut the window.
pub const CUT: u32 = 1;
/// The step is the end of recovery.
pub const RECOVERED: u32 = 2;
/// The step is a time-out.
pub const TIMED_OUT: u32 = 3;

mirror! {
    /// An event and the decision after it.
    #[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
    pub struct WestwoodStep as westwood_step {
        /// The flow's state.
        pub state: Westwood,
        /// The acknowledgement; unused in other steps.
        pub event: AckEvent,
        /// The window; after the run, the decision.
        pub window: Window,
        /// The flow's settings.
        pub settings: WestwoodSettings,
        /// The kind of step: one of the four above.
        pub kind: u32,
        /// The window before Reno cut it.
        pub before: u32,
        /// Padding, zero.
        pub reserved: u32,
    }
}

exports!(WestwoodStep, Westwood: westwood_start, westwood_run, westwood_begin, westwood_try);

impl Step for WestwoodStep {
    const FIRST: Self = Self {
        state: Westwood::START,
        event: AckEvent::NONE,
        window: Window::FIRST,
        settings: WestwoodSettings { profile: 0 },
        kind: SAMPLE,
        before: 0,
        reserved: 0,
    };
    const LAYOUTS: &'static [Layout] = &[Self::LAYOUT, WestwoodSettings::LAYOUT];

    #[inline(always)]
    fn run(&mut self) {
        let WestwoodStep { state, event, window, settings, kind, before, .. } = self;
        let profile = settings.profile();
        match *kind {
            CUT => state.on_cut(profile, Packets(*before), window),
            RECOVERED => state.on_recovered(profile, window),
            TIMED_OUT => state.on_timeout(window),
            _ => state.on_ack(&event.ack()),
        }
    }

    #[inline(always)]
    fn draw(&mut self, draw: &mut Draw) {
        if draw.rarely(12) {
            self.state = Westwood::START;
            self.settings.profile = draw.bits(1);
        }
        self.event = draw.acknowledge(&self.event);
        self.kind = if draw.rarely(6) { CUT + draw.bits(1) } else { SAMPLE };
        if draw.rarely(10) {
            self.kind = TIMED_OUT;
        }
        self.before = draw.bits(10);
        draw.window(&mut self.window);
    }

    #[inline(always)]
    fn digest(&self, digest: &mut Digest) {
        digest.add(self.window.cwnd.0 as u64);
        digest.add(self.window.ssthresh.0 as u64);
        digest.add(self.state.bandwidth().unwrap_or(0));
    }
}

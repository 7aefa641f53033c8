//! Westwood+: what the path holds without a queue, by the rate at which data arrives, is the window after a loss.
//!
//! 1. Once per RTT, and not more often than every 50 ms, the packets acknowledged meanwhile give a bandwidth sample.
//! 2. Two low-pass filters in a row, which keep seven eighths each, make the bandwidth estimate of the samples.
//! 3. A loss sets ssthresh to estimate times minimum RTT, and the window to no more.
//! 4. A time-out sets ssthresh in the same way, and the next RTT sample begins a new minimum.
//! 5. All growth is Reno's affair.
//!
//! Source: Mascolo et al., TCP Westwood, MobiCom 2001; Grieco and Mascolo, ACM CCR 34(2), 2004 (Westwood+: one sample per
//! RTT). Profile `Linux`: `tcp_westwood.c`.
//!
//! Differences from the papers: the filter has the fixed weights of Linux, where the 2001 paper computes them from the time
//! between samples, and a sample spans 50 ms at least, as there. A loss before the first sample leaves Reno's half: there is no
//! estimate, and Linux' two packets in its place are an accident. The profile `Linux` halves the window at the loss, as
//! Reno, and sets the estimate when recovery ends.
//! Difference from Linux: the estimate counts packets in units of 2^-32 a microsecond, and not whole bytes per tick.

use crate::draw::{Digest, Draw};
use crate::number::product;
use crate::path::AckEvent;
use crate::step::{Layout, Step, exports, mirror};
use crate::{Ack, Instant, Micros, Packets, Window};

/// Linux `TCP_WESTWOOD_RTT_MIN`: the shortest time that a bandwidth sample spans.
const MIN_SAMPLE_SPAN: Micros = Micros(50_000);
/// Linux `tcp_westwood_bw_rttmin`; RFC 9002, section 7.2: the smallest window.
const MIN_WINDOW: Packets = Packets(2);
/// Bits behind the point of a bandwidth.
const BITS: u32 = 32;

/// When the estimate sets the window.
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
    /// When the present sample began.
    sample_began: Instant,
    /// What was delivered then.
    delivered_then: Packets,
    /// The RTT sample before; zero before the first, which begins a bandwidth sample.
    rtt: Micros,
    /// [`Micros::MAX`] before the first sample, and after a time-out until the next one.
    min_rtt: Micros,
    /// Zero.
    reserved: u32,
}

impl Westwood {
    /// A flow at its beginning.
    pub const START: Self = Self {
        filtered: 0,
        estimate: 0,
        sample_began: Instant(0),
        delivered_then: Packets(0),
        rtt: Micros::ZERO,
        min_rtt: Micros::MAX,
        reserved: 0,
    };

    /// An acknowledgement, in recovery too.
    #[inline(always)]
    pub fn on_ack(&mut self, ack: &Ack) {
        let is_first = self.rtt == Micros::ZERO;
        if ack.rtt != Micros::ZERO {
            self.rtt = ack.rtt;
            self.min_rtt = self.min_rtt.min(ack.rtt);
        }
        let span = ack.now.since(self.sample_began);
        if is_first {
            // What this acknowledgement covers was sent before the sample begins.
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

    /// So many packets were acknowledged in `span`, which is above 50 ms: the rate is below 2^49, and seven times it fits.
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

    /// A loss or a mark begins an episode, and Reno has cut a window of `before` to `window`.
    #[inline(always)]
    pub fn on_cut(&self, profile: Profile, before: Packets, window: &mut Window) {
        if profile == Profile::Paper
            && let Some(estimated) = self.estimated_window()
        {
            *window = Window { cwnd: estimated.min(before), ssthresh: estimated };
        }
    }

    /// The recovery from an episode is over.
    #[inline(always)]
    pub fn on_recovered(&self, profile: Profile, window: &mut Window) {
        if profile == Profile::Linux
            && let Some(estimated) = self.estimated_window()
        {
            *window = Window { cwnd: estimated, ssthresh: estimated };
        }
    }

    /// A time-out: slow start leads back to the estimate, and the path may be another.
    #[inline(always)]
    pub fn on_timeout(&mut self, window: &mut Window) {
        if let Some(estimated) = self.estimated_window() {
            window.ssthresh = estimated;
        }
        self.min_rtt = Micros::MAX;
    }

    /// What the path holds without a queue, in whole packets; none before both estimates.
    #[inline(always)]
    pub fn estimated_window(&self) -> Option<Packets> {
        if self.estimate == 0 || self.min_rtt == Micros::MAX {
            return None;
        }
        Some(Packets((product(self.estimate, self.min_rtt.0) >> BITS) as u32).max(MIN_WINDOW))
    }

    /// The bandwidth estimate in packets per 2^32 microseconds; none before the first sample.
    #[inline(always)]
    pub const fn bandwidth(&self) -> Option<u64> {
        if self.estimate == 0 { None } else { Some(self.estimate) }
    }
}

mirror! {
    /// What can be set, as a map holds it.
    #[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
    pub struct WestwoodSettings as westwood_settings {
        /// When the estimate sets the window. 0: at the loss; otherwise as in Linux, when recovery ends.
        pub profile: u32,
    }
}

impl From<Profile> for WestwoodSettings {
    fn from(profile: Profile) -> Self {
        Self { profile: profile as u32 }
    }
}

impl WestwoodSettings {
    /// The profile, as the core has it.
    #[inline(always)]
    pub fn profile(&self) -> Profile {
        if self.profile == Profile::Paper as u32 { Profile::Paper } else { Profile::Linux }
    }
}

/// The step is an acknowledgement, in recovery too.
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
        /// The acknowledgement; nothing for other steps.
        pub event: AckEvent,
        /// The window; then as it is decided.
        pub window: Window,
        /// What is set.
        pub settings: WestwoodSettings,
        /// One of the four above.
        pub kind: u32,
        /// The window before Reno cut it.
        pub before: u32,
        /// Zero.
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

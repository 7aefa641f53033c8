//! The AIMD block switched off (paper, section 5.2): a window that only its owner moves.

use cellcc_control::{Ack, Context, Event, Loss, growth::Growth};
use cellcc_units::{Bytes, Time};

/// A window that neither acknowledgements nor losses change.
pub(super) struct FixedAimd {
    window: Bytes,
    ssthresh: Bytes,
}

impl FixedAimd {
    pub(super) fn new(context: &Context) -> Self {
        Self { window: context.initial_window, ssthresh: Bytes::MAX }
    }
}

impl Growth for FixedAimd {
    fn window(&self) -> Bytes {
        self.window
    }
    fn set_window(&mut self, window: Bytes) {
        self.window = window;
    }
    fn ssthresh(&self) -> Bytes {
        self.ssthresh
    }
    fn set_ssthresh(&mut self, ssthresh: Bytes) {
        self.ssthresh = ssthresh;
    }
    fn on_ack(&mut self, _ack: &Ack<'_>) {}
    fn on_loss(&mut self, _loss: &Loss<'_>) {}
    fn on_event(&mut self, _now: Time, _event: Event) {}
}

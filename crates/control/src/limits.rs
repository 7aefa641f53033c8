//! A controller's limits for its sender: window, pacing, a budget, a signal, and the rate of an application.

use crate::message::Signal;
use cellcc_units::{Bytes, Rate};
use serde::{Deserialize, Serialize};

/// The limits of the sender.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Limits {
    /// The congestion window: bytes that may be in flight.
    pub window: Bytes,
    /// The rate at which packets may leave; `None` leaves them to the window alone.
    pub pacing_rate: Option<Rate>,
    /// The pacing burst: bytes that may leave at once. One packet may always leave.
    pub send_quantum: Bytes,
    /// Bytes that may leave until the controller says otherwise, whatever the window: Verus' share of an epoch, or a
    /// pause at zero. The controller counts down in [`on_sent`](crate::Controller::on_sent). `None` sets no such limit. Probes
    /// after a time-out ignore it.
    pub budget: Option<Bytes>,
    /// A signal on the next packet to the receiver-side component; [`Sent::signal`](crate::Sent::signal) shows that it has left.
    pub signal: Option<Signal>,
    /// For an adaptive application; `None` where the scheme does not say.
    pub media: Option<Media>,
}

/// The limits of an application that adapts its rate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Media {
    /// The rate that it should produce, headers included.
    pub rate: Rate,
    /// Bytes that leave at the pacing rate even where it has no data: as padding then, a probe of the path. The controller counts
    /// down in [`on_sent`](crate::Controller::on_sent). A driver that has no padding sends data alone.
    pub padding: Bytes,
}

impl Limits {
    /// A window without pacing.
    pub const fn window_only(window: Bytes) -> Self {
        Self { window, pacing_rate: None, send_quantum: Bytes::ZERO, budget: None, signal: None, media: None }
    }

    /// A window, and packets paced within it.
    pub const fn paced(window: Bytes, pacing_rate: Rate, send_quantum: Bytes) -> Self {
        Self { pacing_rate: Some(pacing_rate), send_quantum, ..Self::window_only(window) }
    }

    /// Limits with this budget.
    #[must_use]
    pub const fn with_budget(self, budget: Bytes) -> Self {
        Self { budget: Some(budget), ..self }
    }

    /// Limits with a signal, where there is one.
    #[must_use]
    pub const fn with_signal(self, signal: Option<Signal>) -> Self {
        Self { signal, ..self }
    }

    /// Limits with this rate for an adaptive application.
    #[must_use]
    pub const fn with_media_rate(self, media_rate: Rate) -> Self {
        self.with_media(media_rate, Bytes::ZERO)
    }

    /// Limits with this rate for an adaptive application, and so much of a probe.
    #[must_use]
    pub const fn with_media(self, rate: Rate, padding: Bytes) -> Self {
        Self { media: Some(Media { rate, padding }), ..self }
    }

    /// The rate that an adaptive application should produce, headers included.
    pub fn media_rate(&self) -> Option<Rate> {
        self.media.map(|media| media.rate)
    }

    /// Bytes of a probe that are to leave: [`Media::padding`].
    pub fn padding(&self) -> Bytes {
        self.media.map_or(Bytes::ZERO, |media| media.padding)
    }
}

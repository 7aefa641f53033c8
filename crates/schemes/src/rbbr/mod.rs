//! RBBR: BBR whose bandwidth is measured, and filtered, at the receiver.
//!
//! 1. The receiver samples the rate at which data arrives (10 ms), and an adaptive Kalman filter makes an estimate of it.
//! 2. The estimate goes back with the ACKs, and takes the place of BBR's largest delivery rate of ten rounds.
//! 3. In Startup, Drain and ProbeRTT, and where the application limits the flow, the sender tells the receiver to
//!    suspend the estimation; it does so before it cuts the window, so that the receiver never takes the cut for the path.
//! 4. Without feedback for four RTTs (and half a second) the sender goes by its own filter, as BBR does.
//! 5. Aggregated ACKs are not compensated for: the receiver's clock does not see them.
//!
//! ```text
//!   sender                                              receiver
//!   Startup, Drain    -- suspend ------------------->   no estimate yet; the sender goes by its own filter
//!   ProbeBW           -- run (or: raise only) ------>   sample, filter --+
//!                     <-- estimate on every ACK ------------------------+
//!   ProbeRTT          -- suspend, then the cut ----->   frozen: the estimate stays what it was
//!   app-limited       -- suspend ------------------->   frozen
//! ```
//!
//! Source: Haile, Grinnemo, Hurtig and Brunstrom, "RBBR: A Receiver-Driven BBR in QUIC for Low-Latency in Cellular
//! Networks", IEEE Access 2022.
//!
//! | file | concept |
//! |---|---|
//! | `receiver` | the receiver-side component |
//! | `sampling` | rate samples |
//! | `filter/` | one filter per file |
//! | `bias`, `burst` | compensation for small buffers, and for aggregation (the paper's future work) |
//! | `bandwidth` | which estimate the sender goes by |
//! | `announce` | the signal to the receiver |
//! | `wire` | both messages as bytes |
//! | `settings`, `scheme` | the parameters |
//!
//! Differences from the paper. The Kalman equations are put right; as printed their covariance grows without bound
//! (`filter=kalman-literal`). The sender is limited by its window and does not pace (`profile=paper`): the paper does not
//! say so, but its program's server did not pace unless asked to, and only so its delays come out; paced, the loop measures
//! its own rate and settles below the path's (`profile=paced`, which gates samples for it). What the paper leaves open is
//! ours and named where it is used: the sampling interval, the filter's first covariances, staleness, the bound on what a
//! receiver may claim, "before" in "before the window is cut". Drain stays suspended as Algorithm 2 has it.

mod announce;
mod bandwidth;
mod bias;
mod burst;
mod filter;
mod receiver;
mod sampling;
mod scheme;
mod settings;
mod wire;

pub(super) use scheme::scheme;
pub use wire::{Estimation, RateFeedback, RateSignal};

use super::bbr::{Bbr, Config, Phase};
use announce::Announcer;
use bandwidth::{Conditions, ReceiverBandwidth};
use cellcc_control::{Ack, Context, Controller, Event, Feedback, Limits, Loss, Observer, Sent, Tag, Verdict};
use cellcc_units::{Bytes, Span, Time};
use settings::SenderSettings;

/// An RTT this much above the minimum means that the path has a queue, and arrivals tell its rate (our measurement, see
/// docs/algorithms/rbbr.md; half of the paper's 10-ms trace interval).
const BACKLOGGED: Span = Span::from_millis(5);

/// RBBR's sender.
#[derive(Debug, Clone)]
struct Rbbr {
    bbr: Bbr<ReceiverBandwidth>,
    announcer: Announcer,
    packet_size: Bytes,
    gates_samples: bool,
    inflight: Bytes,
    app_limited: bool,
    /// The last RTT was close to the minimum.
    is_queue_short: bool,
}

impl Rbbr {
    fn new(context: &Context, settings: &SenderSettings) -> Self {
        let config = Config { aggregation: false, pacing: settings.paces, cwnd_gain: settings.cwnd_gain };
        Self {
            bbr: Bbr::new(context, config, ReceiverBandwidth::new(settings)),
            announcer: Announcer::new(),
            packet_size: context.packet,
            gates_samples: settings.gates_samples,
            inflight: Bytes::ZERO,
            app_limited: false,
            is_queue_short: false,
        }
    }

    fn announce(&mut self, now: Time) {
        let estimation = if self.bbr.phase() != Phase::ProbeBw || self.app_limited {
            Estimation::Suspend
        } else if self.gates_samples && self.is_queue_short {
            Estimation::RaiseOnly
        } else {
            Estimation::Run
        };
        self.announcer.set(now, estimation);
    }
}

impl Controller for Rbbr {
    fn on_sent(&mut self, sent: &Sent) -> Tag {
        self.packet_size = sent.packet_size;
        self.inflight = sent.inflight;
        self.app_limited = sent.app_limited;
        self.announcer.on_sent(sent.now, sent.signal);
        self.announce(sent.now);
        self.bbr.on_sent(sent)
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.packet_size = ack.packet_size;
        self.inflight = ack.inflight;
        let conditions = Conditions {
            now: ack.now,
            srtt: ack.rtt.smoothed(),
            min_rtt: self.bbr.min_rtt(),
            packet_size: ack.packet_size,
            is_estimated: matches!(self.bbr.phase(), Phase::ProbeBw | Phase::ProbeRtt),
        };
        self.bbr.bandwidth_mut().choose(&conditions);
        self.bbr.on_ack(ack);
        if let (Some(sample), Some(min_rtt)) = (ack.rtt_sample, self.bbr.min_rtt()) {
            self.is_queue_short = sample < min_rtt + BACKLOGGED;
        }
        self.announce(ack.now);
    }

    fn on_loss(&mut self, loss: &Loss<'_>) {
        self.inflight = loss.inflight;
        self.bbr.on_loss(loss);
    }

    fn on_event(&mut self, now: Time, event: Event) {
        self.app_limited |= event == Event::AppLimited;
        self.bbr.on_event(now, event);
        self.announce(now);
    }

    fn on_feedback(&mut self, now: Time, feedback: &Feedback, sent: Bytes) -> Verdict {
        match RateFeedback::decode(feedback) {
            Some(feedback) => self.bbr.bandwidth_mut().on_feedback(now, &feedback, sent),
            None => Verdict::Malformed,
        }
    }

    fn limits(&self) -> Limits {
        let limits = self.bbr.limits();
        // ProbeRTT's window is far below what is in flight: one packet more leaves first, with the announcement.
        let announces_first = self.bbr.phase() == Phase::ProbeRtt && self.announcer.has_to_tell();
        let window =
            if announces_first { limits.window.max(self.inflight + self.packet_size) } else { limits.window };
        Limits { window, signal: self.announcer.signal(), ..limits }
    }

    fn observe(&self, observer: &mut dyn Observer) {
        self.bbr.observe(observer);
        let receivers = self.bbr.bandwidth().is_the_receivers();
        observer.switch("uses_feedback", receivers);
    }
}

#[cfg(test)]
mod tests;

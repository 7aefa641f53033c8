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
//! | `mod` | the sender: its choice of the bandwidth estimate, and its signal to the receiver |
//! | `receiver` | the receiver-side component: rate samples, and the paper's future work for small buffers and aggregation |
//! | `filter/` | the filters |
//! | `wire` | both messages as bytes |
//! | `settings` | the parameters |
//!
//! Differences from the paper. The Kalman equations are put right; as printed their covariance grows without bound
//! (`filter=kalman-literal`). Samples of a short queue may only raise the estimate (`profile=paced`, the default): the loop
//! otherwise measures its own rate and settles below the path's (`profile=paper`, the text). The sender of `profile=tperf`
//! is limited by its window and does not pace: the paper does not say so, but its program's server paced only with a flag,
//! and only an unpaced sender reproduces the paper's delays. Choices of ours where the paper is silent are marked in the code:
//! the sampling interval, the filter's first covariances, staleness, the bound on a receiver's claims, "before" in "before the
//! window is cut", the sampler of the sender's own filter, the floor of Q and R. Drain stays suspended, as in Algorithm 2.
//!
//! In QUIC an estimate is no frame beside an ACK, since noq shows neither the departure of an ACK nor the packets that arrived:
//! it travels in a DATAGRAM frame every 10 ms (20 ms below 20 Mbit/s), whatever `feedback-every` says; samples come from byte
//! totals that are read every 2 ms; and losses are not seen, so that `bias` has no effect. `docs/decisions/0009` has the change of
//! noq that would mend it.

mod filter;
mod receiver;
mod settings;
#[cfg(test)]
mod tests;
mod wire;

use super::bbr::{Bbr, Config, Phase};
use crate::bbr::{BandwidthSource, MaxFilter};
use cellcc_control::{
    Ack, Context, Controller, Event, Feedback, Limits, Loss, Observer, RateSample, SchemeInfo, Sent,
    ShownValue, Signal, Tag, Verdict,
};
use cellcc_units::{Bytes, Rate, Span, Time};
use receiver::RbbrReceiver;
use settings::{ReceiverSettings, SenderSettings, parameters, presets};

pub use wire::{Estimation, RateFeedback, RateSignal};

// The name of RBBR, and how its sender and its receiver-side component are built.

/// Values that RBBR reports, besides BBR's.
const SHOWS: [ShownValue; 5] = [
    ShownValue::switch(
        "uses_feedback",
        "the bandwidth is what the receiver says, not what the sender measures",
    ),
    ShownValue::number("x_hat_mbit_s", "the receiver's filtered rate, which it feeds back"),
    ShownValue::number("sample_mbit_s", "the receiver's last sample of the rate"),
    ShownValue::number("gain", "the gain of the receiver's filter"),
    ShownValue::switch("frozen", "the receiver's estimation is suspended"),
];

pub(super) fn scheme() -> SchemeInfo {
    SchemeInfo::new(
        "rbbr",
        "RBBR: BBR with the bandwidth that the receiver measures and filters",
        "Haile, Grinnemo, Hurtig, Brunstrom: RBBR, IEEE Access 2022",
        |arguments, context| Box::new(Rbbr::new(context, &SenderSettings::read(arguments))),
    )
    .parameters(parameters())
    .presets(presets())
    .shows(&crate::bbr::SHOWS)
    .shows(&SHOWS)
    .with_receiver(|arguments, _| Some(Box::new(RbbrReceiver::new(&ReceiverSettings::read(arguments)))))
}

/// An RTT this much above the minimum means that the path has a queue, and arrivals tell its rate (our measurement, see
/// docs/algorithms/rbbr.md; half of the paper's 10-ms trace interval).
const BACKLOGGED: Span = Span::from_millis(5);

/// Users of the name must know until 1.0 that it stands for another sender.
const RENAMED: &str = "profile=paper paces, as the text of the paper has it; the unpaced sender that had this name is profile=tperf";

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
    is_paper: bool,
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
            is_paper: settings.is_paper,
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
        let mut limits = self.bbr.limits();
        // ProbeRTT's window is far below the data in flight: one more packet leaves first, with the announcement.
        let announces_first = self.bbr.phase() == Phase::ProbeRtt && self.announcer.has_to_tell();
        if announces_first {
            limits.window = limits.window.max(self.inflight + self.packet_size);
        }
        limits.with_signal(self.announcer.signal())
    }

    fn observe(&self, observer: &mut dyn Observer) {
        self.bbr.observe(observer);
        let receivers = self.bbr.bandwidth().is_the_receivers();
        observer.switch("uses_feedback", receivers);
        if self.is_paper {
            observer.note(RENAMED);
        }
    }
}

// The bandwidth that RBBR's sender uses: the receiver's estimate while it can be trusted, otherwise BBR's own filter.

/// Feedback older than this many RTTs is stale ...
const STALE_RTTS: u64 = 4;
/// ... unless it is younger than this: short RTTs do not outrun a delayed ACK (both our choice: feedback comes on every
/// ACK, so that this many in a row were lost or the receiver is silent).
const STALE_AFTER: Span = Span::from_millis(500);
/// Lower bound of the estimate, in packets per RTT: with less in flight the receiver could not see a rate that has
/// risen (half of BBR's smallest window; paper: not given).
const LEAST_PACKETS_PER_RTT: u64 = 2;
/// The window holds a burst of this time at the estimated rate at most, as BBR's own compensation (Linux
/// `bbr_extra_acked_max_us`).
const MOST_BURST: Span = Span::from_millis(100);

#[derive(Debug, Clone)]
struct Latest {
    at: Time,
    sequence: u64,
    rate: Option<Rate>,
    burst: Bytes,
}

/// State at an acknowledgement that decides between the receiver's estimate and the sender's own.
#[derive(Debug, Clone, Copy)]
struct Conditions {
    now: Time,
    srtt: Span,
    min_rtt: Option<Span>,
    /// Size of a full packet.
    packet_size: Bytes,
    /// BBR has left Startup and Drain, where the receiver does not estimate (paper, Algorithm 2).
    is_estimated: bool,
}

#[derive(Debug, Clone)]
struct ReceiverBandwidth {
    own: MaxFilter,
    /// Largest ratio of the receiver's estimate to the sender's own that the sender believes.
    bound: f64,
    /// The window holds the bursts that the receiver saw.
    holds_bursts: bool,
    latest: Option<Latest>,
    in_use: Option<Rate>,
    least: Rate,
}

impl ReceiverBandwidth {
    fn new(settings: &SenderSettings) -> Self {
        Self {
            own: MaxFilter::new(settings.sampler),
            bound: settings.bound,
            holds_bursts: settings.holds_bursts,
            latest: None,
            in_use: None,
            least: Rate::ZERO,
        }
    }

    /// Takes feedback unless a newer one came first, or it claims more than the `sent` bytes to have arrived: such a
    /// receiver is not believed in anything else.
    fn on_feedback(&mut self, now: Time, feedback: &RateFeedback, sent: Bytes) -> Verdict {
        let RateFeedback { sequence, rate, burst, received, .. } = *feedback;
        if self.latest.as_ref().is_some_and(|latest| sequence <= latest.sequence) {
            return Verdict::Stale;
        }
        if received > sent {
            return Verdict::Untrue;
        }
        self.latest = Some(Latest { at: now, sequence, rate, burst });
        Verdict::Taken
    }

    /// Decides which estimate counts until the next acknowledgement.
    fn choose(&mut self, conditions: &Conditions) {
        let Conditions { now, srtt, min_rtt, packet_size, is_estimated } = *conditions;
        let fresh_for = (srtt * STALE_RTTS).max(STALE_AFTER);
        let fresh = self.latest.as_ref().filter(|latest| now.since(latest.at) <= fresh_for);
        self.in_use = fresh.filter(|_| is_estimated).and_then(|latest| latest.rate);
        if let Some(min_rtt) = min_rtt {
            self.least = Rate::from_transfer(packet_size * LEAST_PACKETS_PER_RTT, min_rtt);
        }
    }

    /// True while the receiver's estimate is the one that counts.
    fn is_the_receivers(&self) -> bool {
        self.in_use.is_some()
    }
}

impl BandwidthSource for ReceiverBandwidth {
    fn on_sample(&mut self, ack: &Ack<'_>, sample: &RateSample, self_limited: bool) {
        self.own.on_sample(ack, sample, self_limited);
    }

    /// A receiver that claims more than it gets gains the bound, and no more.
    fn estimate(&self) -> Rate {
        let own = self.own.estimate();
        self.in_use.map_or(own, |rate| rate.max(self.least).min(own.mul_f64(self.bound)))
    }

    /// The burst that the receiver saw, bounded since it too is only a claim.
    fn headroom(&self) -> Bytes {
        match &self.latest {
            Some(latest) if self.holds_bursts && self.is_the_receivers() => {
                latest.burst.min(self.estimate().bytes_in(MOST_BURST))
            }
            _ => Bytes::ZERO,
        }
    }
}

// Tells the receiver whether the sender limits itself. The signal rides on data packets: at once where it changes, and
// again every 20 ms, since packets are lost.

/// A signal that was lost is made good within this time, less than an RTT of a cellular path (our choice).
const REPEAT: Span = Span::from_millis(20);

#[derive(Debug, Clone)]
struct Announcer {
    signal: RateSignal,
    /// `signal` as bytes.
    message: Signal,
    now: Time,
    reported_at: Option<Time>,
}

impl Announcer {
    /// The first packet says that the flow limits itself.
    fn new() -> Self {
        let signal = RateSignal { estimation: Estimation::Suspend, epoch: 0 };
        Self { signal, message: signal.encode(), now: Time::ZERO, reported_at: None }
    }

    /// Sets the mode that the receiver is to use from now on.
    fn set(&mut self, now: Time, estimation: Estimation) {
        self.now = now;
        if estimation != self.signal.estimation {
            self.signal = RateSignal { estimation, epoch: self.signal.epoch.wrapping_add(1) };
            self.message = self.signal.encode();
            self.reported_at = None;
        }
    }

    /// The signal that the next packet is to carry; none where none is due.
    fn signal(&self) -> Option<Signal> {
        let is_due = self.reported_at.is_none_or(|reported_at| self.now.since(reported_at) >= REPEAT);
        is_due.then_some(self.message)
    }

    /// A packet left with this signal.
    fn on_sent(&mut self, now: Time, signal: Option<Signal>) {
        self.now = now;
        if signal == Some(self.message) {
            self.reported_at = Some(now);
        }
    }

    /// The receiver estimates, and does not know yet that it is not to.
    fn has_to_tell(&self) -> bool {
        self.reported_at.is_none() && self.signal.estimation == Estimation::Suspend
    }
}

//! The bandwidth that RBBR's sender goes by: the receiver's estimate where there is one to be trusted, else BBR's own
//! filter.

use super::settings::SenderSettings;
use super::wire::RateFeedback;
use crate::bbr::{BandwidthSource, MaxFilter};
use cellcc_control::{Ack, RateSample, Sampler, Verdict};
use cellcc_units::{Bytes, Rate, Span, Time};

/// Feedback older than so many RTTs is stale ...
const STALE_RTTS: u64 = 4;
/// ... unless it is younger than this: short RTTs do not outrun a delayed ACK (both our choice: feedback comes on every
/// ACK, so that this many in a row were lost or the receiver is silent).
const STALE_AFTER: Span = Span::from_millis(500);
/// The estimate is never below so many packets per RTT: with less in flight the receiver could not see a rate that
/// has risen (half of BBR's smallest window; paper: not given).
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

/// What an acknowledgement changes in which estimate counts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Conditions {
    pub(super) now: Time,
    pub(super) srtt: Span,
    pub(super) min_rtt: Option<Span>,
    /// Of a full packet.
    pub(super) packet_size: Bytes,
    /// BBR has left Startup and Drain, where the receiver does not estimate (paper, Algorithm 2).
    pub(super) is_estimated: bool,
}

#[derive(Debug, Clone)]
pub(super) struct ReceiverBandwidth {
    own: MaxFilter,
    /// How far above its own filter the sender believes the receiver.
    bound: f64,
    /// The window holds the bursts that the receiver saw.
    holds_bursts: bool,
    latest: Option<Latest>,
    in_use: Option<Rate>,
    least: Rate,
}

impl ReceiverBandwidth {
    pub(super) fn new(settings: &SenderSettings) -> Self {
        Self {
            own: MaxFilter::new(Sampler::Min),
            bound: settings.bound,
            holds_bursts: settings.holds_bursts,
            latest: None,
            in_use: None,
            least: Rate::ZERO,
        }
    }

    /// Takes feedback unless a newer one came first, or it claims more than the `sent` bytes to have arrived: such a
    /// receiver is not believed in anything else.
    pub(super) fn on_feedback(&mut self, now: Time, feedback: &RateFeedback, sent: Bytes) -> Verdict {
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
    pub(super) fn choose(&mut self, conditions: &Conditions) {
        let Conditions { now, srtt, min_rtt, packet_size, is_estimated } = *conditions;
        let fresh_for = (srtt * STALE_RTTS).max(STALE_AFTER);
        let fresh = self.latest.as_ref().filter(|latest| now.since(latest.at) <= fresh_for);
        self.in_use = fresh.filter(|_| is_estimated).and_then(|latest| latest.rate);
        if let Some(min_rtt) = min_rtt {
            self.least = Rate::from_transfer(packet_size * LEAST_PACKETS_PER_RTT, min_rtt);
        }
    }

    /// True while the receiver's estimate is the one that counts.
    pub(super) fn is_the_receivers(&self) -> bool {
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

//! Sender and receiver below the congestion control: packet sizes, acknowledgements, loss detection.

use crate::{AckFrequency, AckPolicy, ReceiveOffload};
use cellcc_control::SchemeInfo;
use cellcc_units::{Bytes, FirstWindow, Span};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::str::FromStr;

/// Settings of sender and receiver below the congestion control.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Endpoint {
    /// Payload of a full packet.
    pub mss: Bytes,
    /// Headers of every packet, data or acknowledgement, as the link counts them (IPv4 20, TCP 20, timestamps 12).
    pub header: Bytes,
    /// Packets received per acknowledgement; where `acks` is given, it decides.
    pub ack_every: u32,
    /// The longest an acknowledgement waits for more packets, where `ack_every` is above one.
    pub max_ack_delay: Span,
    /// The receiver's acknowledgement policy; none: QUIC's way, with `ack_every` and `max_ack_delay`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acks: Option<AckPolicy>,
    /// The simulator's receivers: which packets arrive as one; none: each by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offload: Option<ReceiveOffload>,
    /// The simulator's receivers also acknowledge packets that were lost.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub conceals_loss: bool,
    /// First window of the flows that have none of their own; none: RFC 6928's ten packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_window: Option<FirstWindow>,
    /// The sender's loss detection.
    #[serde(skip_serializing_if = "LossDetection::is_default")]
    pub recovery: LossDetection,
    /// Schemes that were programs over UDP ([`SchemeInfo::over_udp`]) have no TCP below them, whatever the keys above say.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub over_udp: bool,
    /// Width of the bins of time series.
    pub series_bin: Span,
    /// Real sockets through the emulator: packets that left as one and are due together arrive as one, as at receivers with
    /// offload (GRO, LRO), which acknowledge them as one. In virtual time packets arrive one by one.
    #[serde(skip_serializing_if = "Clone::clone")]
    pub receive_offload: bool,
}

/// Loss detection of a sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LossDetection {
    /// QUIC's way: three packets or an eighth of the RTT later than others (RFC 9002).
    #[default]
    Quic,
    /// TCP's way: RACK-TLP, with its reordering window, retransmission time-outs and F-RTO (RFC 8985).
    Rack,
}

impl Default for Endpoint {
    /// Ethernet's 1500 bytes with TCP timestamps; every packet acknowledged.
    fn default() -> Self {
        Self {
            mss: Bytes::new(1448),
            header: Bytes::new(52),
            ack_every: 1,
            max_ack_delay: Span::from_millis(25),
            acks: None,
            offload: None,
            conceals_loss: false,
            initial_window: None,
            recovery: LossDetection::default(),
            over_udp: false,
            series_bin: Span::from_millis(100),
            receive_offload: true,
        }
    }
}

impl LossDetection {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl FromStr for LossDetection {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "quic" => Ok(Self::Quic),
            "rack" => Ok(Self::Rack),
            _ => Err(format!(
                "`{}` is not a way to detect loss; write quic or rack",
                text.chars().take(60).collect::<String>()
            )),
        }
    }
}

impl Endpoint {
    /// A full packet as the link counts it.
    pub fn packet(&self) -> Bytes {
        self.mss + self.header
    }

    /// The endpoint below a scheme: where `over_udp`, one that was a program over UDP has every packet acknowledged by itself, and
    /// its losses found QUIC's way.
    pub fn below(&self, scheme: &SchemeInfo) -> Cow<'_, Self> {
        if !(self.over_udp && scheme.over_udp) {
            return Cow::Borrowed(self);
        }
        let acks = Some(AckPolicy::EVERY_PACKET);
        Cow::Owned(Self { acks, offload: None, recovery: LossDetection::Quic, ..self.clone() })
    }

    /// The frequency that a sender requests from a QUIC receiver: the default if the policy is TCP's, which QUIC drivers refuse.
    pub fn ack_frequency(&self) -> AckFrequency {
        match self.ack_policy() {
            AckPolicy::Quic(asked) => asked,
            AckPolicy::Delayed(_) => AckFrequency::DEFAULT,
        }
    }

    /// The receiver's acknowledgement policy.
    pub fn ack_policy(&self) -> AckPolicy {
        self.acks.unwrap_or(AckPolicy::Quic(AckFrequency {
            threshold: self.ack_every.saturating_sub(1),
            max_ack_delay: self.max_ack_delay,
            reordering: AckFrequency::DEFAULT.reordering,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_scheme_over_udp_has_no_tcp_below_it_and_only_where_the_key_says_so() {
        let tcp = Endpoint {
            acks: Some("delayed".parse().unwrap()),
            offload: Some("gro".parse().unwrap()),
            recovery: LossDetection::Rack,
            initial_window: Some(FirstWindow::Packets(3)),
            ..Endpoint::default()
        };
        let keyed = Endpoint { over_udp: true, ..tcp.clone() };
        let kernels = SchemeInfo::of_transport("kernels", "", "");
        let program = SchemeInfo::of_transport("program", "", "").over_udp();
        for (endpoint, scheme) in [(&tcp, &kernels), (&tcp, &program), (&keyed, &kernels)] {
            assert_eq!(*endpoint.below(scheme), *endpoint, "{} with {}", scheme.name, endpoint.over_udp);
        }
        let below = keyed.below(&program);
        assert_eq!(below.ack_policy().to_string(), "every-packet");
        let not_tcps =
            Endpoint { acks: below.acks, offload: None, recovery: LossDetection::Quic, ..keyed.clone() };
        assert_eq!(*below, not_tcps, "all else stays");
    }
}

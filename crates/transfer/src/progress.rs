//! Reports of a running transfer.

use cellcc_units::{Bytes, Rate, Span};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// Progress of a client's transfer.
#[derive(Debug, Clone)]
pub enum Progress<'a> {
    /// The server has accepted, and all connections are there.
    Started(&'a Started),
    /// An interval has ended.
    Interval(&'a Interval),
}

/// The agreement of the two sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Started {
    /// The server's address.
    pub server: SocketAddr,
    /// The peer's software.
    pub software: String,
    /// The congestion control of the sender, in its canonical form.
    pub scheme: String,
    /// Data connections.
    pub connections: u16,
    /// Streams in each of them.
    pub streams: u16,
}

/// What happened in an interval, over all data connections.
#[derive(Debug, Clone, PartialEq)]
pub struct Interval {
    /// The beginning of the interval, since the start.
    pub from: Span,
    /// The end of the interval, since the start.
    pub to: Span,
    /// Data that applications received in it.
    pub received: Bytes,
    /// Each data connection at its end.
    pub flows: Vec<FlowSample>,
    /// Packets lost in it.
    pub lost_packets: u64,
}

impl Interval {
    /// The bytes received by applications, per time.
    pub fn goodput(&self) -> Rate {
        Rate::from_transfer(self.received, Span::from_nanos(self.to.as_nanos() - self.from.as_nanos()))
    }

    /// The senders' samples that there are.
    pub fn senders(&self) -> impl Iterator<Item = &SenderSample> {
        self.flows.iter().filter_map(|flow| flow.sender.as_ref())
    }

    /// The mean of the connections' RTTs, in ms.
    pub fn rtt_ms(&self) -> Option<f64> {
        let samples: Vec<f64> = self.senders().filter_map(|sender| sender.rtt_ms).collect();
        (!samples.is_empty()).then(|| samples.iter().sum::<f64>() / samples.len() as f64)
    }

    /// The sum of the windows.
    pub fn window(&self) -> Bytes {
        self.senders().map(|sender| sender.window).sum()
    }

    /// The sum of the data in flight.
    pub fn inflight(&self) -> Bytes {
        self.senders().map(|sender| sender.inflight).sum()
    }

    /// The sum of the pacing rates in Mbit/s; none if a scheme does not pace.
    pub fn pacing_rate_mbit_s(&self) -> Option<f64> {
        let rates: Option<Vec<f64>> =
            self.senders().map(|sender| Some(sender.pacing_rate?.as_mbit_per_sec())).collect();
        rates.filter(|rates| !rates.is_empty()).map(|rates| rates.iter().sum())
    }
}

/// A data connection at one moment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowSample {
    /// Data that its application has received so far; zero at the sender.
    pub received: Bytes,
    /// The sample of the sender.
    pub sender: Option<SenderSample>,
}

/// A sender at one moment. Amounts of data count whole packets on the link.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SenderSample {
    /// Data acknowledged so far.
    pub delivered: Bytes,
    /// Data in flight.
    pub inflight: Bytes,
    /// The scheme's window.
    pub window: Bytes,
    /// The scheme's pacing rate.
    pub pacing_rate: Option<Rate>,
    /// The mean of the RTT samples since the last sample, or else the smoothed RTT.
    pub rtt_ms: Option<f64>,
    /// The smallest RTT so far.
    pub min_rtt_ms: Option<f64>,
    /// Packets sent so far.
    pub sent_packets: u64,
    /// Packets declared lost so far.
    pub lost_packets: u64,
    /// The scheme's internal values by name, with units.
    pub internals: BTreeMap<String, f64>,
}

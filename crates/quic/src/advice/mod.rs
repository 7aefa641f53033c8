//! Network advice for real connections: sources of reports about the peer's bottleneck, and the task that passes them to the
//! scheme.
//!
//! | to find | look in |
//! |---|---|
//! | the interface of a source | [`AdviceSource`] |
//! | a timetable of reports (a trace, a file of the NATCP authors), played in real time | [`Replay`] |
//! | who has sources for all peers: a network-assistance service | [`AdviceService`] |
//! | 64-byte records that arrive at a UDP socket of this machine | [`AdviceSocket`] |
//! | the peers about which records are wanted, for those who receive records in another way | [`PeerTable`] |

mod follow;
mod replay;
mod socket;
mod table;

pub use follow::{AdviceTask, follow};
pub use replay::Replay;
pub use socket::{AdviceSocket, BindError, DatagramCounts};
pub use table::{NotPassedOn, PeerAdvice, PeerTable, octets};

use cellcc_assist::Advice;
use std::net::IpAddr;
use std::pin::Pin;

/// The future that [`AdviceSource::next`] returns.
pub type NextAdvice<'a> = Pin<Box<dyn Future<Output = Option<Advice>> + Send + 'a>>;

/// A source of reports about the bottleneck of one peer.
///
/// The sender asks for the next report as soon as it has passed one on. Implement it with
/// `fn next(&mut self) -> NextAdvice<'_> { Box::pin(async move { ... }) }`.
pub trait AdviceSource: Send {
    /// The next report, with its present age. `None` after the last one: the scheme then falls back after its feedback
    /// time-out.
    ///
    /// Cancel-safe: no report is lost if the future is dropped before it is ready.
    fn next(&mut self) -> NextAdvice<'_>;
}

impl AdviceSource for Box<dyn AdviceSource> {
    fn next(&mut self) -> NextAdvice<'_> {
        (**self).next()
    }
}

/// The owner of sources of reports about all peers.
pub trait AdviceService: std::fmt::Debug + Send + Sync {
    /// Reports about the bottleneck towards this peer. Several connections to one peer may each have a source.
    fn for_peer(&self, peer: IpAddr) -> Box<dyn AdviceSource>;
}

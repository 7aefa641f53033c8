//! Network advice for real connections: who knows the next report about the peer's bottleneck, and how it gets to the
//! scheme.
//!
//! | to find | look in |
//! |---|---|
//! | what a network-assistance service has to offer to be used | [`AdviceSource`] |
//! | reports at times that are known beforehand (a trace, a file of the NATCP authors), waited for | [`Replay`] |
//! | 64-byte records that arrive at a UDP socket of this machine | [`AdviceSocket`] |

mod follow;
mod records;
mod replay;
mod socket;

pub use follow::{Following, follow};
pub use replay::Replay;
pub use socket::{AdviceSocket, BindError, DatagramCounts, SocketAdvice};

use cellcc_assist::Advice;
use std::pin::Pin;

/// What [`AdviceSource::next`] returns.
pub type NextAdvice<'a> = Pin<Box<dyn Future<Output = Option<Advice>> + Send + 'a>>;

/// Someone who knows about the bottleneck of one peer.
///
/// The sender asks again as soon as it has passed a report on. Implement it with
/// `fn next(&mut self) -> NextAdvice<'_> { Box::pin(async move { ... }) }`.
pub trait AdviceSource: Send {
    /// The next report, with its age at this moment; `None` where there will be none any more: the scheme then falls
    /// back after its feedback time-out.
    ///
    /// Cancel-safe: where the future is dropped before it is ready, no report is lost.
    fn next(&mut self) -> NextAdvice<'_>;
}

impl AdviceSource for Box<dyn AdviceSource> {
    fn next(&mut self) -> NextAdvice<'_> {
        (**self).next()
    }
}

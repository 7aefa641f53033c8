//! Network advice for real connections: who knows the next report about the peer's bottleneck, and how it gets to the
//! scheme.
//!
//! | to find | look in |
//! |---|---|
//! | what a network-assistance service has to offer to be used | [`AdviceSource`] |
//! | reports at times that are known beforehand, without a clock | [`Timetable`], and [`Replay`] to wait for them |
//! | reports made of a link's trace | [`TraceAdvice`] |
//! | the NATCP authors' files | [`FeedbackFile`] |
//! | 64-byte records that arrive at a UDP socket of this machine | [`AdviceSocket`] |

mod follow;
mod natcp_file;
mod records;
mod scenario;
mod socket;
mod timetable;
mod trace;

pub use follow::{Following, follow};
pub use natcp_file::{FeedbackError, FeedbackFile, FeedbackPath, FeedbackProblem};
pub(crate) use scenario::Reporter;
pub use socket::{AdviceSocket, BindError, DatagramCounts, SocketAdvice};
pub use timetable::{Replay, Timetable};
pub use trace::{TraceAdvice, TracePath};

use cellcc_control::{Advice, AdviceClass};
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

/// The estimator's word for it in the schemes' terms.
fn class(class: cellcc_assist::Class) -> AdviceClass {
    match class {
        cellcc_assist::Class::Backlogged => AdviceClass::Backlogged,
        cellcc_assist::Class::Partial => AdviceClass::Partial,
        cellcc_assist::Class::Idle => AdviceClass::Idle,
    }
}

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

mod socket;
mod table;

use crate::clock::Clock;
use crate::handle::{DrivenFlow, MayLeave, Monitor};
use crate::service::send_buffer;
use cellcc_assist::Timetable;
use cellcc_control::Advice;
use cellcc_units::Time;
use std::net::IpAddr;
use std::pin::Pin;
use std::time::{Duration, Instant};
use tokio::task::AbortHandle;

pub use socket::{AdviceSocket, BindError, DatagramCounts};
pub use table::{NotPassedOn, PeerAdvice, PeerTable, octets};

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

// Passes the reports of a source to a connection's scheme.

/// The task that passes reports on. Dropping it ends the task; the scheme then falls back after its feedback time-out.
#[derive(Debug)]
pub struct AdviceTask(AbortHandle);

impl Drop for AdviceTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Passes every report of `source` to the connection's scheme, until either of them ends.
///
/// # Panics
/// Outside of a tokio runtime.
pub fn follow(
    connection: &noq::Connection,
    scheme: &Monitor,
    mut source: impl AdviceSource + 'static,
) -> AdviceTask {
    // Hold only a weak reference, so feedback never keeps a connection alive.
    let (weak, mut closed) = (connection.weak_handle(), connection.on_closed());
    let flow = DrivenFlow::viewed_by(scheme);
    let task = tokio::spawn(async move {
        loop {
            let advice = tokio::select! {
                _ = &mut closed => return,
                advice = source.next() => advice,
            };
            let Some(advice) = advice else { return };
            if flow.on_advice(Instant::now(), &advice) == MayLeave::More {
                let Some(connection) = weak.upgrade() else { return };
                connection.set_send_window(send_buffer(&flow).get());
            }
        }
    });
    AdviceTask(task.abort_handle())
}

// A timetable of reports in real time.

/// A timetable in real time.
#[derive(Debug, Clone)]
pub struct Replay<T> {
    timetable: T,
    clock: Clock,
}

impl<T: Timetable> Replay<T> {
    /// Time zero of the timetable is `epoch`: the start of the link's trace or of the connection.
    pub fn new(timetable: T, epoch: Instant) -> Self {
        Self { timetable, clock: Clock::new(epoch) }
    }
}

impl<T: Timetable> AdviceSource for Replay<T> {
    fn next(&mut self) -> NextAdvice<'_> {
        Box::pin(async move {
            loop {
                let wake = self.timetable.next_wake();
                if wake == Time::NEVER {
                    return None;
                }
                // A time beyond the clock's range never comes.
                let at = self.clock.epoch().checked_add(Duration::from_nanos(wake.as_nanos()))?;
                tokio::time::sleep_until(at.into()).await;
                if let Some(advice) = self.timetable.poll(self.clock.now()) {
                    return Some(advice);
                }
            }
        })
    }
}

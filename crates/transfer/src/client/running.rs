//! The client's transfer while data move.

use crate::client::RESPONSE_TIMEOUT;
use crate::files::IncomingFile;
use crate::progress::{FlowSample, Interval, Progress};
use crate::protocol::{Message, Report};
use crate::session::{Control, Event, Session};
use crate::{Direction, Payload, Request, TransferError};
use cellcc_units::{Bytes, Span};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::MissedTickBehavior;

/// Longest wait of an interrupted transfer for the server's report.
const INTERRUPTED_TIMEOUT: Duration = Duration::from_secs(2);
/// After this many intervals without a report from the server, the client makes one from its own knowledge.
const SILENT_INTERVALS: u32 = 2;

/// A transfer that runs.
pub(crate) struct Running {
    pub(crate) session: Session,
    pub(crate) request: Request,
    pub(crate) incoming: Option<IncomingFile>,
    pub(crate) last: Last,
    pub(crate) intervals: Vec<Interval>,
}

/// The end of the last interval.
#[derive(Default)]
pub(crate) struct Last {
    at: Span,
    received: Bytes,
    lost_packets: u64,
    remote: Vec<FlowSample>,
}

impl Running {
    /// Runs to the end. Returns the sent and received amounts, and a flag for the user's interrupt.
    pub(crate) async fn run(
        &mut self,
        stop: &mut watch::Receiver<bool>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(Report, Report, bool), TransferError> {
        let interval = Duration::from_nanos(self.request.interval.as_nanos());
        let mut ticks = tokio::time::interval(interval * SILENT_INTERVALS);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        ticks.reset();
        let mut own = None;
        let mut gives_up_at = None;
        let mut is_interrupted = false;
        loop {
            let given_up = async {
                match gives_up_at {
                    Some(at) => tokio::time::sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            let event = tokio::select! {
                event = self.session.next(&mut ticks) => event?,
                () = given_up => {
                    return Err(TransferError::Lost("the server does not confirm the end".into()));
                }
                _ = stop.wait_for(|stop| *stop), if !is_interrupted => {
                    is_interrupted = true;
                    if matches!(self.request.payload, Payload::File { .. }) {
                        return Err(TransferError::Interrupted);
                    }
                    self.session.stop();
                    self.session.control.write(&Message::Stop).await?;
                    gives_up_at = Some(tokio::time::Instant::now() + INTERRUPTED_TIMEOUT);
                    continue;
                }
            };
            match event {
                Event::Tick => {
                    let at = self.session.elapsed();
                    let remote = self.last.remote.clone();
                    self.interval(at, remote, progress);
                }
                Event::Message(Message::Interval { at, flows }) => {
                    let at =
                        if self.request.direction == Direction::Get { self.session.elapsed() } else { at };
                    self.interval(at, flows, progress);
                    ticks.reset();
                }
                Event::Finished => {
                    let report = self.session.report();
                    self.session.control.write(&Message::Ended(report.clone())).await?;
                    own = Some(report);
                    gives_up_at = Some(tokio::time::Instant::now() + RESPONSE_TIMEOUT);
                }
                Event::Message(Message::Ended(remote)) => {
                    let (sent, received) = match (self.request.direction, own.take()) {
                        (Direction::Get, _) => (remote.clone(), self.end_of_get(&remote).await?),
                        (Direction::Put, Some(own)) => (own, remote.clone()),
                        (Direction::Put, None) => return Err(TransferError::Protocol("an early end".into())),
                    };
                    let flows = remote.flows.into_iter().map(|flow| flow.sample).collect();
                    self.interval(received.active, flows, progress);
                    return Ok((sent, received, is_interrupted));
                }
                Event::Message(other) => return Err(Control::unexpected(&other)),
            }
        }
    }

    /// The server has sent everything: receives the rest on its way, and reports to the server.
    async fn end_of_get(&mut self, sent: &Report) -> Result<Report, TransferError> {
        self.session.receive_rest(sent, &self.request.payload).await?;
        if let Some(file) = self.incoming.take() {
            file.complete()?;
        }
        let report = self.session.report();
        self.session.control.write(&Message::Ended(report.clone())).await?;
        Ok(report)
    }

    /// Ends an interval at `at`. `remote`: the server's samples.
    fn interval(&mut self, at: Span, remote: Vec<FlowSample>, progress: &mut dyn FnMut(Progress)) {
        // A last interval below a tenth of the others is left out, unless it is the only one.
        let is_short = at < self.last.at + self.request.interval / 10 && !self.intervals.is_empty();
        if is_short || remote.len() > self.session.flows.len() {
            return;
        }
        let own = self.session.sample();
        let (senders, receivers) = match self.request.direction {
            Direction::Get => (&remote, &own),
            Direction::Put => (&own, &remote),
        };
        let flows: Vec<FlowSample> = (0..own.len())
            .map(|index| FlowSample {
                received: receivers.get(index).map_or(Bytes::ZERO, |flow| flow.received),
                sender: senders.get(index).and_then(|flow| flow.sender.clone()),
            })
            .collect();
        let received: Bytes = flows.iter().map(|flow| flow.received).sum();
        let lost: u64 = flows.iter().filter_map(|flow| flow.sender.as_ref()).map(|it| it.lost_packets).sum();
        let interval = Interval {
            from: self.last.at,
            to: at,
            received: received.saturating_sub(self.last.received),
            flows,
            lost_packets: lost.saturating_sub(self.last.lost_packets),
        };
        self.last = Last { at, received, lost_packets: lost.max(self.last.lost_packets), remote };
        progress(Progress::Interval(&interval));
        self.intervals.push(interval);
    }
}

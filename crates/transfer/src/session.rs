//! One side of a running transfer: the control stream and the data connections. A transfer ends in this order: the sender
//! reports that it has finished, then the receiver reports that it has everything.

use crate::files::SharedFile;
use crate::flow::Flow;
use crate::protocol::{self, MAX_FIRST_MESSAGE, MAX_MESSAGE, Message, Report};
use crate::receiving::{PeerClock, Receiving};
use crate::sending::Sending;
use crate::{CloseCode, FlowSample, Payload, TransferError};
use cellcc_units::Span;
use noq::{Connection, RecvStream, SendStream};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::{Interval, timeout};

/// Messages of the other side that may wait to be processed.
const MESSAGE_QUEUE: usize = 16;
/// Longest wait of the receiver for data on their way, after the sender has finished.
const LAST_DATA_TIMEOUT: Duration = Duration::from_secs(5);
/// The interval at which the receiver checks for them.
const POLL_INTERVAL: Duration = Duration::from_millis(2);
/// Longest wait from the end of the control stream to the close of its connection: an RTT, or more if the close is lost.
const CLOSE_REASON_TIMEOUT: Duration = Duration::from_secs(2);
/// Longest reason for closing, in bytes: it must fit into one packet of the smallest size (RFC 9000, section 14).
const MAX_REASON: usize = 900;

/// The control connection.
#[derive(Debug)]
pub(crate) struct Control {
    pub(crate) connection: Connection,
    pub(crate) peer: &'static str,
    send: SendStream,
    inbox: mpsc::Receiver<Result<Message, TransferError>>,
    reader: AbortHandle,
}

impl Control {
    pub(crate) fn new(
        connection: Connection,
        (send, mut receive): (SendStream, RecvStream),
        peer: &'static str,
    ) -> Self {
        let (messages, inbox) = mpsc::channel(MESSAGE_QUEUE);
        let closing = connection.clone();
        let reader = tokio::spawn(async move {
            let mut longest = MAX_FIRST_MESSAGE;
            loop {
                let message = match protocol::read(&mut receive, longest, peer).await {
                    Ok(Some(message)) => Ok(message),
                    Ok(None) => Err(close_reason(&closing, peer).await),
                    Err(error) => Err(error),
                };
                longest = MAX_MESSAGE;
                let is_last = message.is_err();
                if messages.send(message).await.is_err() || is_last {
                    return;
                }
            }
        });
        Self { connection, peer, send, inbox, reader: reader.abort_handle() }
    }

    /// The next message.
    pub(crate) async fn read(&mut self) -> Result<Message, TransferError> {
        match self.inbox.recv().await {
            Some(message) => message,
            None => Err(TransferError::Lost("the control stream has ended".into())),
        }
    }

    pub(crate) async fn write(&mut self, message: &Message) -> Result<(), TransferError> {
        protocol::write(&mut self.send, message, self.peer).await
    }

    /// The error for a message that does not belong here.
    pub(crate) fn unexpected(message: &Message) -> TransferError {
        let text = serde_json::to_string(message).unwrap_or_default();
        let name: String = text.chars().filter(|c| c.is_ascii_alphabetic() || *c == '-').take(16).collect();
        TransferError::Protocol(format!("an unexpected message, {name}..."))
    }
}

/// The peer's reason for ending the control stream; the close of the connection brings it.
async fn close_reason(connection: &Connection, peer: &'static str) -> TransferError {
    match timeout(CLOSE_REASON_TIMEOUT, connection.closed()).await {
        Ok(reason) => TransferError::of(reason, peer),
        Err(_) => TransferError::Protocol(format!("the {peer} ended the control stream without a reason")),
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

/// Closes a connection with a reason.
pub(crate) fn close(connection: &Connection, code: CloseCode, reason: &str) {
    let bytes = reason.as_bytes();
    connection.close(code.code(), &bytes[..bytes.len().min(MAX_REASON)]);
}

/// One side of a running transfer. Dropping it stops the data.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) control: Control,
    pub(crate) flows: Vec<Flow>,
    pub(crate) started_at: Instant,
    work: Work,
    ends_at: Option<Instant>,
    active: Option<Span>,
    /// The size of a file that is received.
    expected: Option<u64>,
}

#[derive(Debug)]
enum Work {
    Sending(Sending),
    Receiving(Receiving),
    Finished,
}

/// The task of one side.
pub(crate) struct Task<'a> {
    pub(crate) payload: &'a Payload,
    pub(crate) is_sender: bool,
    pub(crate) streams: u16,
    pub(crate) file: Option<&'a SharedFile>,
    pub(crate) clock: PeerClock,
}

/// What happened.
#[derive(Debug)]
pub(crate) enum Event {
    /// The other side sent a message.
    Message(Message),
    /// This side has sent everything.
    Finished,
    /// The time for a report has come.
    Tick,
}

impl Session {
    /// Starts to move data.
    pub(crate) fn start(control: Control, flows: Vec<Flow>, task: &Task) -> Self {
        let Task { payload, streams, file, clock, .. } = *task;
        let peer = control.peer;
        let started_at = Instant::now();
        let bytes = file.map(SharedFile::bytes).or(payload.bytes().map(|bytes| bytes.get()));
        let work = if task.is_sender {
            Work::Sending(Sending::start(&flows, (payload, bytes), streams, file, (clock.epoch, peer)))
        } else {
            Work::Receiving(Receiving::start(&flows, payload, file, clock, peer))
        };
        let time = payload.time().filter(|_| task.is_sender);
        let ends_at = time.map(|time| started_at + Duration::from_nanos(time.as_nanos()));
        let expected = file.filter(|_| !task.is_sender).map(SharedFile::bytes);
        Self { control, flows, started_at, work, ends_at, active: None, expected }
    }

    /// Time since the start, or from the start to the end.
    pub(crate) fn elapsed(&self) -> Span {
        self.active.unwrap_or(Span::from_nanos(self.started_at.elapsed().as_nanos() as u64))
    }

    /// Ends sending, as at the end of the transfer's time.
    pub(crate) fn stop(&self) {
        if let Work::Sending(sending) = &self.work {
            sending.stop();
        }
    }

    /// Waits for the next event. Cancel-safe.
    pub(crate) async fn next(&mut self, ticks: &mut Interval) -> Result<Event, TransferError> {
        loop {
            let over = async {
                match self.ends_at {
                    Some(at) => tokio::time::sleep_until(at.into()).await,
                    None => std::future::pending().await,
                }
            };
            let work = async {
                match &mut self.work {
                    Work::Sending(sending) => sending.finished().await,
                    Work::Receiving(receiving) => Err(receiving.failed().await),
                    Work::Finished => std::future::pending().await,
                }
            };
            tokio::select! {
                message = self.control.read() => return message.map(Event::Message),
                _ = ticks.tick() => return Ok(Event::Tick),
                result = work => {
                    result?;
                    self.active = Some(self.elapsed());
                    self.work = Work::Finished;
                    return Ok(Event::Finished);
                }
                () = over => {
                    self.ends_at = None;
                    self.stop();
                }
            }
        }
    }

    /// The sender has finished and sent this: waits for the rest on its way.
    pub(crate) async fn receive_rest(
        &mut self,
        sent: &Report,
        payload: &Payload,
    ) -> Result<(), TransferError> {
        let Work::Receiving(receiving) = &mut self.work else {
            return Err(TransferError::Protocol("both sides send".into()));
        };
        let deadline = Instant::now() + LAST_DATA_TIMEOUT;
        let is_complete = |flows: &[Flow]| {
            let mut pairs = flows.iter().zip(&sent.flows);
            pairs.all(|(flow, sent)| flow.counters.streams.load(Ordering::Relaxed) >= sent.streams)
        };
        while !is_complete(&self.flows) {
            if Instant::now() > deadline {
                if payload.time().is_some() {
                    break;
                }
                return Err(TransferError::Lost("not all that was sent has arrived".into()));
            }
            tokio::select! {
                error = receiving.failed() => return Err(error),
                () = tokio::time::sleep(POLL_INTERVAL) => {}
            }
        }
        let received: u64 =
            self.flows.iter().map(|flow| flow.counters.received.load(Ordering::Relaxed)).sum();
        if let Some(expected) = self.expected.filter(|expected| *expected != received) {
            return Err(TransferError::Lost(format!(
                "{received} of the file's {expected} bytes have arrived"
            )));
        }
        self.active = Some(self.elapsed());
        self.work = Work::Finished;
        Ok(())
    }

    /// A sample of each flow.
    pub(crate) fn sample(&mut self) -> Vec<FlowSample> {
        self.flows.iter_mut().for_each(Flow::collect);
        self.flows.iter().map(Flow::sample).collect()
    }

    /// The final report.
    pub(crate) fn report(&mut self) -> Report {
        self.flows.iter_mut().for_each(Flow::collect);
        Report { active: self.elapsed(), flows: self.flows.iter().map(Flow::report).collect() }
    }

    /// Closes all connections with a reason.
    pub(crate) fn close(&self, code: CloseCode, reason: &str) {
        self.flows.iter().for_each(|flow| close(&flow.connection, code, reason));
        close(&self.control.connection, code, reason);
    }
}

//! The near end: asks for a recording, takes part in it, and returns the result.

use crate::clock;
use crate::error::RecordError;
use crate::flow::{End, Flow};
use crate::recording::{Beginning, Recording, Sources};
use crate::socket::Socket;
use crate::wire::{Message, Refusal, Report, Request, Stopped, Why};
use cellcc_units::{Bytes, Rate, Span, Time};
use serde::Serialize;
use std::hash::{BuildHasher, RandomState};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};

/// What to record.
#[derive(Debug, Clone, Copy)]
pub struct RecordSettings {
    /// The far end, where [`crate::serve`] runs.
    pub server: SocketAddr,
    /// The request to it.
    pub request: Request,
}

/// The progress of a recording.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    /// Since it was accepted.
    pub elapsed: Span,
    /// How long the queue has been there, so that arrivals count; `None` before.
    pub recorded: Option<Span>,
    /// Rate of the latest interval in both directions, headers included.
    pub rate: Rate,
    /// The latest round-trip time.
    pub rtt: Option<Span>,
    /// Bytes sent and received here, headers included.
    pub bytes: Bytes,
}

/// Why a recording ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// The requested duration is over.
    Duration,
    /// The cap on bytes is reached.
    Bytes,
    /// `stop` was set.
    Interrupted,
    /// The far end's own limit.
    FarEnd,
    /// Nothing came from the far end for 30 s.
    Silence,
}

/// The result of a recording.
#[derive(Debug)]
pub struct Recorded {
    /// From the far end; `None` where it was not requested, or too few packets arrived.
    pub down: Option<Recording>,
    /// To the far end; `None` likewise.
    pub up: Option<Recording>,
    /// Why it ended.
    pub ended: Ended,
    /// Bytes used, in both directions and with headers.
    pub bytes: Bytes,
    /// Arrivals at the far end that are missing from `up`, because their reports were lost. Where the far end did not
    /// give its count, only the arrivals that are known of count.
    pub reports_missing: u64,
}

const HELLO_INTERVAL: Span = Span::from_millis(250);
const ANSWER_TIMEOUT: Span = Span::from_secs(5);
/// Without a datagram for this long the recording ends. Real links have outages of 10 s and more.
const SILENCE_TIMEOUT: Span = Span::from_secs(30);
/// A path without a queue by then will not get one: the recording begins anyway.
const WARM_UP: Span = Span::from_secs(10);
const POLL_INTERVAL: Span = Span::from_millis(100);
const PROGRESS_INTERVAL: Span = Span::from_millis(200);
const RETRY_INTERVAL: Span = Span::from_millis(200);

/// Records until the time or the data is used up, or `stop` is set. Returns the recording up to then.
///
/// # Errors
/// Where the far end does not answer or refuses, or the socket fails.
pub fn record(
    settings: &RecordSettings,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(&Progress),
) -> Result<Recorded, RecordError> {
    let mut socket = Socket::connect(settings.server)?;
    let session = shake_hands(&mut socket, settings, stop)?;
    let mut near = NearEnd::new(socket, session, settings);
    let ended = near.run(stop, progress)?;
    near.drain()?;
    near.stop_far_end()?;
    near.fetch_missing()?;
    Ok(near.recorded(ended))
}

fn shake_hands(
    socket: &mut Socket,
    settings: &RecordSettings,
    stop: &AtomicBool,
) -> Result<u64, RecordError> {
    let begun = clock::now();
    let nonce = RandomState::new().hash_one(begun.as_nanos());
    let request = settings.request;
    let (mut cookie, mut next_hello, mut session, mut refused) = (0, Time::ZERO, None, false);
    loop {
        let now = clock::now();
        if now.since(begun) > ANSWER_TIMEOUT || stop.load(Ordering::Relaxed) {
            return Err(RecordError::NoAnswer(settings.server));
        }
        if now >= next_hello {
            let hello = Message::Hello { nonce, cookie, request }.encode();
            socket.send(&hello, hello.len(), None)?;
            next_hello = now + HELLO_INTERVAL;
        }
        socket.wait(Span::from_millis(50));
        socket.receive(|datagram| match Message::decode(datagram.bytes) {
            Some(Message::Challenge { nonce: of, cookie: new }) if of == nonce && new != cookie => {
                (cookie, next_hello) = (new, Time::ZERO);
            }
            Some(Message::Accepted { nonce: of, session: id }) if of == nonce => session = Some(id),
            Some(Message::Refused { nonce: of, reason: Refusal::Busy }) if of == nonce => refused = true,
            _ => {}
        })?;
        if let Some(session) = session {
            return Ok(session);
        }
        if refused {
            return Err(RecordError::Busy(settings.server));
        }
    }
}

struct NearEnd {
    socket: Socket,
    flow: Flow,
    request: Request,
    begun: Time,
    /// State of each recorded direction.
    down: Option<Beginning>,
    up: Option<Beginning>,
    /// How many arrivals here the search for the beginning has seen.
    seen: usize,
    recorded_since: Option<Time>,
    /// When to tell the far end again that it may begin.
    next_ready: Time,
    far_end: Option<Stopped>,
    reports_missing: u64,
}

impl NearEnd {
    fn new(socket: Socket, session: u64, settings: &RecordSettings) -> Self {
        let (now, request) = (clock::now(), settings.request);
        let beginning = Beginning::new(request.queue_delay.lower());
        Self {
            flow: Flow::new(End::Near, session, request, settings.server, now),
            socket,
            request,
            begun: now,
            down: request.directions.down().then(|| beginning.clone()),
            up: request.directions.up().then_some(beginning),
            seen: 0,
            recorded_since: None,
            next_ready: now,
            far_end: None,
            reports_missing: 0,
        }
    }

    fn run(&mut self, stop: &AtomicBool, progress: &mut dyn FnMut(&Progress)) -> Result<Ended, RecordError> {
        let (mut shown_at, mut shown_bytes) = (self.begun, Bytes::ZERO);
        loop {
            self.step()?;
            let now = clock::now();
            if now.since(shown_at) >= PROGRESS_INTERVAL {
                let bytes = self.flow.bytes();
                progress(&Progress {
                    elapsed: now.since(self.begun),
                    recorded: self.recorded_for(now),
                    rate: Rate::from_transfer(bytes.saturating_sub(shown_bytes), now.since(shown_at)),
                    rtt: self.flow.last_rtt,
                    bytes,
                });
                (shown_at, shown_bytes) = (now, bytes);
            }
            let far_end = self.far_end.map(|stopped| stopped.why);
            let ended = [
                (stop.load(Ordering::Relaxed), Ended::Interrupted),
                (self.recorded_for(now).is_some_and(|span| span > self.request.duration), Ended::Duration),
                (self.flow.exhausted(), Ended::Bytes),
                (far_end == Some(Why::Bytes), Ended::Bytes),
                (far_end == Some(Why::Duration), Ended::Duration),
                (far_end == Some(Why::OwnLimit), Ended::FarEnd),
                (now.since(self.flow.last_received) > SILENCE_TIMEOUT, Ended::Silence),
            ];
            if let Some((_, ended)) = ended.into_iter().find(|(true_now, _)| *true_now) {
                return Ok(ended);
            }
        }
    }

    /// How long all directions have been recorded, on this end's clock.
    fn recorded_for(&self, now: Time) -> Option<Span> {
        self.recorded_since.map(|since| now.since(since))
    }

    fn look_for_beginning(&mut self, now: Time) {
        let log = self.flow.arrivals.log();
        if let Some(down) = &mut self.down {
            log[self.seen..].iter().for_each(|arrival| down.push(arrival));
        }
        self.seen = log.len();
        let there = [&self.down, &self.up].into_iter().flatten().all(|beginning| beginning.at().is_some());
        if self.recorded_since.is_none() && (there || now.since(self.begun) > WARM_UP) {
            self.recorded_since = Some(now);
        }
    }

    /// Sends due packets and takes in arrivals.
    fn step(&mut self) -> Result<(), RecordError> {
        let now = clock::now();
        if self.down.is_some() && self.flow.arrivals.log().is_empty() && now >= self.next_ready {
            let ready = Message::Report(self.flow.session(), Report { first: 0, arrivals: Vec::new() });
            self.flow.send(&mut self.socket, &ready)?;
            self.next_ready = now + HELLO_INTERVAL;
        }
        if !self.flow.transmit(&mut self.socket, now)? {
            self.socket.wait(self.flow.next_wake().since(now).min(POLL_INTERVAL));
        }
        let (flow, far_end, up) = (&mut self.flow, &mut self.far_end, &mut self.up);
        let now = clock::now();
        self.socket.receive(|datagram| {
            let length = datagram.bytes.len();
            match Message::decode(datagram.bytes) {
                Some(Message::Probe(session, probe)) if session == flow.session() => {
                    flow.on_received(now, length);
                    flow.on_probe(datagram.arrived, probe);
                }
                Some(Message::Report(session, report)) if session == flow.session() => {
                    flow.on_received(now, length);
                    flow.on_report(now, &report);
                    if let Some(up) = up {
                        up.push_report(&report);
                    }
                }
                Some(Message::Stopped(session, stopped)) if session == flow.session() => {
                    flow.on_received(now, length);
                    *far_end = Some(stopped);
                }
                _ => {}
            }
        })?;
        self.look_for_beginning(now);
        Ok(())
    }

    /// Records the packets that are still in the queue, as long as new reports of them come. Other packets from the
    /// far end do not extend the wait: the last packets, or the reports of them, may be lost.
    fn drain(&mut self) -> Result<(), RecordError> {
        self.flow.sends = false;
        let longest = self.request.queue_delay.upper() + Span::from_secs(1);
        let in_flight = |flow: &Flow| flow.sender.as_ref().map_or(0, |sender| sender.in_flight());
        let (mut left, mut changed) = (in_flight(&self.flow), clock::now());
        while left > 0 && self.far_end.is_none() && clock::now().since(changed) < longest {
            self.step()?;
            let now_left = in_flight(&self.flow);
            if now_left != left {
                (left, changed) = (now_left, clock::now());
            }
        }
        Ok(())
    }

    /// Without an answer, the far end's last message still holds.
    fn stop_far_end(&mut self) -> Result<(), RecordError> {
        let said_before = self.far_end.take();
        let stop = Message::Stop { session: self.flow.session() };
        self.ask(&stop, |near| near.far_end.is_some())?;
        self.far_end = self.far_end.or(said_before);
        Ok(())
    }

    fn fetch_missing(&mut self) -> Result<(), RecordError> {
        let arrivals = match self.far_end {
            Some(stopped) if self.request.directions.up() => stopped.arrivals,
            _ => self.flow.peer_log.known(),
        };
        // A far end that did not answer the stop is not asked again.
        while let Some(first) = self.flow.peer_log.missing(arrivals).filter(|_| self.far_end.is_some()) {
            let fetch = Message::Fetch { session: self.flow.session(), first };
            self.ask(&fetch, |near| near.flow.peer_log.missing(arrivals) != Some(first))?;
            if self.flow.peer_log.missing(arrivals) == Some(first) {
                break;
            }
        }
        let there = self.flow.peer_log.arrivals().len() as u64;
        self.reports_missing = arrivals.saturating_sub(there);
        Ok(())
    }

    /// Repeats `message` until it is answered, at most for [`ANSWER_TIMEOUT`].
    fn ask(&mut self, message: &Message, answered: impl Fn(&Self) -> bool) -> Result<(), RecordError> {
        let begun = clock::now();
        let mut next = begun;
        while !answered(self) && clock::now().since(begun) < ANSWER_TIMEOUT {
            if clock::now() >= next {
                self.flow.send(&mut self.socket, message)?;
                next = clock::now() + RETRY_INTERVAL;
            }
            self.step()?;
        }
        Ok(())
    }

    fn recorded(self, ended: Ended) -> Recorded {
        let far_log = self.flow.peer_log.arrivals();
        let recording = |log, rtts, overflows| {
            Recording::new(Sources {
                log,
                enough: self.request.queue_delay.lower(),
                packet: self.request.packet,
                length: self.request.duration,
                rtts,
                overflows,
            })
        };
        let here = u64::from(self.socket.overflows());
        let there = self.far_end.map_or(0, |stopped| stopped.overflowed);
        Recorded {
            down: recording(self.flow.arrivals.log(), &self.flow.peer_rtts, here),
            up: recording(&far_log, &self.flow.own_rtts, there),
            ended,
            bytes: self.flow.bytes(),
            reports_missing: self.reports_missing,
        }
    }
}

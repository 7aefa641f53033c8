//! The far end: takes part in the recordings that others ask for.

use crate::clock;
use crate::error::RecordError;
use crate::flow::{End, Flow};
use crate::socket::Socket;
use crate::wire::{Message, Refusal, Request, Stopped, Why};
use cellcc_units::{Bytes, Span, Time};
use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};

/// The limits of the far end.
#[derive(Debug, Clone, Copy)]
pub struct ServeSettings {
    /// Where it listens.
    pub address: SocketAddr,
    /// The most recordings at once.
    pub max_recordings: usize,
    /// The longest recording.
    pub max_duration: Span,
    /// The most bytes of a recording, in both directions and with headers; as many again for reports that are fetched.
    pub max_bytes: Bytes,
}

/// An event at the far end.
#[derive(Debug, Clone, Copy)]
pub enum ServerEvent {
    /// It listens.
    Listening(SocketAddr),
    /// A recording began.
    Began(SocketAddr),
    /// A recording ended, after so many bytes.
    Ended(SocketAddr, Bytes),
    /// A recording was refused because others are going on.
    Refused(SocketAddr),
    /// It stopped listening. Datagrams that belonged to no recording were ignored.
    Closed {
        /// The number of these datagrams.
        ignored: u64,
    },
}

const POLL_INTERVAL: Span = Span::from_millis(100);
/// Without a datagram for this long a recording ends. Outages of real links can be long; until then at most one packet per
/// second is sent.
const IDLE_TIMEOUT: Span = Span::from_secs(60);
/// How long the near end can fetch lost reports after the end, from its last datagram on.
const LINGER_TIME: Span = Span::from_secs(10);
/// The duration starts when a queue has formed; the near end waits up to 10 s for that.
const WARM_UP: Span = Span::from_secs(15);
const STOPPED_INTERVAL: Span = Span::from_millis(500);
/// Reports for one fetch: at most 19 kB, and only to a proven address.
const REPORTS_PER_FETCH: u64 = 16;

/// Serves until `stop` is set. An unproven address gets only answers that are no longer than its datagram.
///
/// # Errors
/// Where it cannot listen, or the socket fails.
pub fn serve(
    settings: &ServeSettings,
    stop: &AtomicBool,
    on_event: &mut dyn FnMut(ServerEvent),
) -> Result<(), RecordError> {
    let mut socket = Socket::bind(settings.address)?;
    on_event(ServerEvent::Listening(socket.local_address().unwrap_or(settings.address)));
    let mut far = FarEnd {
        settings: *settings,
        secret: RandomState::new(),
        recordings: BTreeMap::new(),
        answers: Vec::new(),
        ignored: 0,
    };
    let mut busy = false;
    while !stop.load(Ordering::Relaxed) {
        if !busy {
            socket.wait(far.next_wake().since(clock::now()).min(POLL_INTERVAL));
        }
        let now = clock::now();
        let overflows = u64::from(socket.overflows());
        socket.receive(|datagram| {
            far.on_datagram(now, overflows, datagram.from, datagram.arrived, datagram.bytes, on_event);
        })?;
        for (to, answer) in far.answers.drain(..) {
            let bytes = answer.encode();
            socket.send(&bytes, bytes.len(), Some(to))?;
        }
        busy = far.step(&mut socket, clock::now(), on_event);
    }
    on_event(ServerEvent::Closed { ignored: far.ignored });
    Ok(())
}

struct FarEnd {
    settings: ServeSettings,
    /// Makes cookies that no other host can make, so that the far end keeps no state for an unproven address.
    secret: RandomState,
    recordings: BTreeMap<SocketAddr, FarRecording>,
    answers: Vec<(SocketAddr, Message)>,
    ignored: u64,
}

struct FarRecording {
    flow: Flow,
    nonce: u64,
    /// True for bytes and for time if the near end gets its full request.
    allows_all: (bool, bool),
    deadline: Time,
    /// Overflows of the socket when the recording began. Those of other recordings since then count for this one too.
    overflows_before: u64,
    overflows: u64,
    ended: Option<Time>,
    next_stopped: Time,
    /// Bytes of the reports that were fetched, and how many may be.
    fetched: Bytes,
    max_fetched: Bytes,
}

impl FarRecording {
    fn stopped(&self, why: Why) -> Message {
        let stopped = Stopped {
            sent: self.flow.sender.as_ref().map_or(0, |sender| sender.sent()),
            arrivals: self.flow.arrivals.log().len() as u64,
            overflowed: self.overflows - self.overflows_before,
            why,
        };
        Message::Stopped(self.flow.session(), stopped)
    }

    /// The used-up limit.
    fn limit(&self, now: Time) -> Option<Why> {
        let or_own = |allows_all: bool, why| if allows_all { why } else { Why::OwnLimit };
        let (bytes, duration) = self.allows_all;
        if self.flow.exhausted() {
            return Some(or_own(bytes, Why::Bytes));
        }
        (now >= self.deadline).then(|| or_own(duration, Why::Duration))
    }

    fn end(&mut self, now: Time) -> bool {
        let new = self.ended.is_none();
        if new {
            self.flow.sends = false;
            self.ended = Some(now);
        }
        new
    }
}

impl FarEnd {
    fn on_datagram(
        &mut self,
        now: Time,
        overflows: u64,
        from: SocketAddr,
        arrived: Time,
        datagram: &[u8],
        on_event: &mut dyn FnMut(ServerEvent),
    ) {
        let message = Message::decode(datagram);
        if let Some(Message::Hello { nonce, cookie, request }) = message {
            return self.on_hello(now, overflows, from, (nonce, cookie, request), on_event);
        }
        let recording = self.recordings.get_mut(&from);
        let (Some(recording), Some(message)) = (recording, message) else {
            self.ignored += 1;
            return;
        };
        recording.overflows = overflows;
        let going_on = recording.ended.is_none();
        let (flow, length) = (&mut recording.flow, datagram.len());
        let ours = flow.session();
        match message {
            Message::Probe(session, probe) if session == ours => {
                flow.on_received(now, length);
                // A packet after the end was in flight: the near end knows the count already.
                if going_on {
                    flow.on_probe(arrived, probe);
                }
            }
            Message::Report(session, report) if session == ours => {
                flow.on_received(now, length);
                flow.sends = going_on;
                flow.on_report(now, &report);
            }
            Message::Fetch { session, first } if session == ours => {
                flow.on_received(now, length);
                let mut next = first;
                for _ in 0..REPORTS_PER_FETCH {
                    let Some(report) = flow.arrivals.report(next) else { break };
                    next += report.arrivals.len() as u64;
                    let answer = Message::Report(session, report);
                    recording.fetched += Bytes::new(answer.encode().len() as u64);
                    if recording.fetched > recording.max_fetched {
                        break;
                    }
                    self.answers.push((from, answer));
                }
            }
            Message::Stop { session } if session == ours => {
                flow.on_received(now, length);
                if recording.end(now) {
                    on_event(ServerEvent::Ended(from, recording.flow.bytes()));
                }
                self.answers.push((from, recording.stopped(Why::Asked)));
            }
            _ => self.ignored += 1,
        }
    }

    fn on_hello(
        &mut self,
        now: Time,
        overflows: u64,
        from: SocketAddr,
        (nonce, cookie, mut request): (u64, u64, Request),
        on_event: &mut dyn FnMut(ServerEvent),
    ) {
        // The cookie is never 0, which is that of a first hello.
        let right = self.secret.hash_one((from, nonce)) | 1;
        if cookie != right {
            self.answers.push((from, Message::Challenge { nonce, cookie: right }));
            return;
        }
        if let Some(going_on) = self.recordings.get(&from).filter(|recording| recording.nonce == nonce) {
            // Our answer was lost.
            self.answers.push((from, Message::Accepted { nonce, session: going_on.flow.session() }));
            return;
        }
        let others =
            self.recordings.iter().filter(|(peer, recording)| **peer != from && recording.ended.is_none());
        if others.count() >= self.settings.max_recordings {
            on_event(ServerEvent::Refused(from));
            self.answers.push((from, Message::Refused { nonce, reason: Refusal::Busy }));
            return;
        }
        let asked = request;
        request.max_bytes = request.max_bytes.min(self.settings.max_bytes);
        request.duration = request.duration.min(self.settings.max_duration);
        let session = self.secret.hash_one((from, nonce, now.as_nanos()));
        let mut flow = Flow::new(End::Far, session, request, from, now);
        // The near end ignores packets before it knows its session.
        flow.sends = false;
        let recording = FarRecording {
            flow,
            nonce,
            allows_all: (request.max_bytes == asked.max_bytes, request.duration == asked.duration),
            deadline: now + request.duration + WARM_UP,
            overflows_before: overflows,
            overflows,
            ended: None,
            next_stopped: now,
            fetched: Bytes::ZERO,
            max_fetched: self.settings.max_bytes,
        };
        self.forget_ended();
        self.recordings.insert(from, recording);
        self.answers.push((from, Message::Accepted { nonce, session }));
        on_event(ServerEvent::Began(from));
    }

    /// Keeps as many recordings that have ended as may go on: their near ends could hold any number by fetching.
    fn forget_ended(&mut self) {
        let mut ended: Vec<_> =
            self.recordings.iter().filter_map(|(peer, recording)| Some((recording.ended?, *peer))).collect();
        ended.sort_unstable();
        let surplus = ended.len().saturating_sub(self.settings.max_recordings);
        ended.iter().take(surplus).for_each(|(_, peer)| drop(self.recordings.remove(peer)));
    }

    /// Sends due packets and ends finished recordings; true if more are due at once.
    fn step(&mut self, socket: &mut Socket, now: Time, on_event: &mut dyn FnMut(ServerEvent)) -> bool {
        let mut busy = false;
        self.recordings.retain(|peer, recording| {
            // An address that cannot be reached any more, or takes no such packets, ends only its own recording.
            let Ok(more) = recording.flow.transmit(socket, now) else {
                if recording.end(now) {
                    on_event(ServerEvent::Ended(*peer, recording.flow.bytes()));
                }
                return false;
            };
            busy |= more;
            if let Some(why) = recording.limit(now) {
                if recording.end(now) {
                    on_event(ServerEvent::Ended(*peer, recording.flow.bytes()));
                }
                if now >= recording.next_stopped {
                    recording.next_stopped = now + STOPPED_INTERVAL;
                    let message = recording.stopped(why);
                    let _ = recording.flow.send(socket, &message);
                }
            }
            let silent = now.since(recording.flow.last_received);
            if silent > IDLE_TIMEOUT && recording.end(now) {
                on_event(ServerEvent::Ended(*peer, recording.flow.bytes()));
            }
            recording.ended.is_none() || silent <= LINGER_TIME
        });
        busy
    }

    fn next_wake(&self) -> Time {
        self.recordings.values().map(|recording| recording.flow.next_wake()).fold(Time::NEVER, Time::min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::QueueDelay;
    use crate::wire::{Directions, Probe};

    const NOW: Time = Time::from_nanos(1_000_000_000);

    fn far_end(max_recordings: usize, max_bytes: u64) -> FarEnd {
        let settings = ServeSettings {
            address: address(1),
            max_recordings,
            max_duration: Span::from_secs(60),
            max_bytes: Bytes::new(max_bytes),
        };
        let secret = RandomState::new();
        FarEnd { settings, secret, recordings: BTreeMap::new(), answers: Vec::new(), ignored: 0 }
    }

    fn address(port: u16) -> SocketAddr {
        ([127, 0, 0, 1], port).into()
    }

    fn take(far: &mut FarEnd, port: u16, message: &Message) -> Vec<Message> {
        far.on_datagram(NOW, 0, address(port), NOW, &message.encode(), &mut |_| ());
        far.answers.drain(..).map(|(_, answer)| answer).collect()
    }

    /// Its session, where it was accepted.
    fn begin(far: &mut FarEnd, port: u16) -> Option<u64> {
        let request = Request {
            directions: Directions::Up,
            packet: Bytes::new(1500),
            queue_delay: QueueDelay::DEFAULT,
            max_bytes: Bytes::new(1_000_000),
            duration: Span::from_secs(60),
        };
        let [Message::Challenge { cookie, .. }] =
            take(far, port, &Message::Hello { nonce: 1, cookie: 0, request })[..]
        else {
            panic!("no challenge")
        };
        match take(far, port, &Message::Hello { nonce: 1, cookie, request })[..] {
            [Message::Accepted { session, .. }] => Some(session),
            _ => None,
        }
    }

    /// Ended ones did not count, and a near end could keep any number of them by going on to send.
    #[test]
    fn recordings_that_ended_are_no_more_than_those_that_may_go_on() {
        let mut far = far_end(3, 1_000_000);
        for port in 100..200 {
            let session = begin(&mut far, port).expect("one at a time");
            take(&mut far, port, &Message::Stop { session });
        }
        assert_eq!(far.recordings.len(), 4);
        assert!(far.recordings.contains_key(&address(199)), "the last may fetch its reports");
        let going_on: Vec<_> = (300..306).map(|port| begin(&mut far, port).is_some()).collect();
        assert_eq!(going_on, [true, true, true, false, false, false]);
    }

    #[test]
    fn reports_that_are_fetched_again_and_again_have_a_bound() {
        let mut far = far_end(1, 20_000);
        let session = begin(&mut far, 100).expect("a session");
        for number in 0..200 {
            let probe = Probe { number, sent: NOW, rtt_micros: 0 };
            take(&mut far, 100, &Message::Probe(session, probe));
        }
        let fetched = (0..1000).map(|_| take(&mut far, 100, &Message::Fetch { session, first: 0 }));
        let bytes: usize = fetched.flatten().map(|report| report.encode().len()).sum();
        assert!((10_000..=20_000).contains(&bytes), "{bytes}");
    }
}

//! The datagrams between the two ends. Numbers are big-endian; reports hold variable-length differences.
//!
//! Each begins with `cct1` and a byte that says its kind:
//!
//! | kind | content |
//! |---|---|
//! | 1 hello | nonce, cookie (0 at first), [`Request`]; longer than each answer to it |
//! | 2 challenge | nonce, cookie: say hello again with it, which proves that the address is yours |
//! | 3 accepted | nonce, session |
//! | 4 refused | nonce, [`Refusal`] |
//! | 5 probe | session, number, when it was sent, the sender's last RTT in microseconds; filled up to the packet size |
//! | 6 report | session, index of the first arrival, count, and of each arrival number, arrival and sending time; one without
//! arrivals says that the far end may begin |
//! | 7 fetch | session, index of an arrival: report again from there |
//! | 8 stop | session: send nothing more |
//! | 9 stopped | session, how many packets were sent, how many arrived, how many the socket had no room for, end of the data or
//! not |

#[cfg(test)]
mod tests;

use crate::window::QueueDelay;
use cellcc_units::{Bytes, Span, Time};

const MAGIC: &[u8; 4] = b"cct1";
/// The longest report in bytes, its header included: passes every path of today.
const MAX_REPORT_BYTES: usize = 1200;
const REPORT_HEADER: usize = 5 + 8 + 8 + 2;
/// Three differences of at most 10 bytes each; ordinary ones take 7 in all.
const MAX_ARRIVAL_BYTES: usize = 30;
/// The most arrivals in a report, so that the longest still fits.
pub const MAX_REPORTED: usize = (MAX_REPORT_BYTES - REPORT_HEADER) / MAX_ARRIVAL_BYTES;
/// Bytes of a probe before the filling.
pub const PROBE_HEADER: usize = 5 + 8 + 8 + 8 + 4;

/// Which directions are recorded, as seen by the near end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Directions {
    /// From the far end to the near end.
    Down,
    /// From the near end to the far end.
    Up,
    /// Both at once.
    Both,
}

impl Directions {
    /// True where the far end sends.
    pub fn down(self) -> bool {
        self != Self::Up
    }

    /// True where the near end sends.
    pub fn up(self) -> bool {
        self != Self::Down
    }
}

/// The near end's request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// The directions to record.
    pub directions: Directions,
    /// Size of a packet, IP header included.
    pub packet: Bytes,
    /// How long packets are to wait at the bottleneck.
    pub queue_delay: QueueDelay,
    /// After how many bytes, of both directions and with IP headers, to stop.
    pub max_bytes: Bytes,
    /// After how long to stop.
    pub duration: Span,
}

/// Packets of 200 to 9000 bytes: with less the headers are most of it, and more passes no ordinary path.
pub const PACKET_SIZES: std::ops::RangeInclusive<Bytes> = Bytes::new(200)..=Bytes::new(9000);

/// Why the far end does not record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// As many recordings as it allows are going on.
    Busy,
}

/// A packet that fills the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Probe {
    /// Counted from 0.
    pub number: u64,
    /// When it was sent, on the sender's clock.
    pub sent: Time,
    /// The sender's last RTT in microseconds; 0 where it has none yet.
    pub rtt_micros: u32,
}

/// A packet that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// Counted by the sender from 0.
    pub number: u64,
    /// When it was sent, on the sender's clock.
    pub sent: Time,
    /// When it arrived, on the receiver's clock.
    pub arrived: Time,
}

impl Arrival {
    /// The one-way delay in nanoseconds plus the unknown offset between the two clocks: only differences are
    /// meaningful.
    pub fn delay(&self) -> i64 {
        // The difference of two u64 as an i64: right wherever the clocks are less than 292 years apart.
        self.arrived.as_nanos().wrapping_sub(self.sent.as_nanos()) as i64
    }
}

/// Packets that arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// How many arrived before these.
    pub first: u64,
    /// In order of arrival.
    pub arrivals: Vec<Arrival>,
}

/// The far end's counts at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stopped {
    /// Packets it sent.
    pub sent: u64,
    /// Packets that arrived there.
    pub arrivals: u64,
    /// Packets its socket had no room for.
    pub overflowed: u64,
    /// Why it stopped.
    pub why: Why,
}

/// Why the far end sends nothing more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// The near end has asked it to stop.
    Asked,
    /// It allows less than the request, and that is used up.
    OwnLimit,
    /// The requested number of bytes has passed. It also counts those that it has sent and that were lost.
    Bytes,
    /// The requested time is over.
    Duration,
}

impl Why {
    /// By their numbers on the wire.
    const ALL: [Self; 4] = [Self::Asked, Self::OwnLimit, Self::Bytes, Self::Duration];
}

/// A datagram.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// May I record?
    Hello {
        /// Number of this attempt.
        nonce: u64,
        /// From the challenge.
        cookie: u64,
        /// The request.
        request: Request,
    },
    /// Is this address yours?
    Challenge {
        /// Number of the hello.
        nonce: u64,
        /// To be sent back.
        cookie: u64,
    },
    /// It begins.
    Accepted {
        /// Number of the hello.
        nonce: u64,
        /// Names the recording in everything that follows.
        session: u64,
    },
    /// It does not.
    Refused {
        /// Number of the hello.
        nonce: u64,
        /// Why.
        reason: Refusal,
    },
    /// A packet that fills the queue.
    Probe(u64, Probe),
    /// The arrivals.
    Report(u64, Report),
    /// Report again.
    Fetch {
        /// The recording.
        session: u64,
        /// How many arrivals come before those that are wanted.
        first: u64,
    },
    /// Send nothing more.
    Stop {
        /// The recording.
        session: u64,
    },
    /// Nothing more is sent.
    Stopped(u64, Stopped),
}

impl Message {
    /// Its bytes; a probe without the filling.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        match self {
            Self::Hello { nonce, cookie, request } => {
                out.push(1);
                put(&mut out, &[*nonce, *cookie]);
                encode_request(request, &mut out);
            }
            Self::Challenge { nonce, cookie } => tagged(&mut out, 2, &[*nonce, *cookie]),
            Self::Accepted { nonce, session } => tagged(&mut out, 3, &[*nonce, *session]),
            Self::Refused { nonce, reason: Refusal::Busy } => {
                tagged(&mut out, 4, &[*nonce]);
                out.push(0);
            }
            Self::Probe(session, probe) => {
                tagged(&mut out, 5, &[*session, probe.number, probe.sent.as_nanos()]);
                out.extend(probe.rtt_micros.to_be_bytes());
            }
            Self::Report(session, report) => {
                tagged(&mut out, 6, &[*session, report.first]);
                encode_arrivals(&report.arrivals, &mut out);
            }
            Self::Fetch { session, first } => tagged(&mut out, 7, &[*session, *first]),
            Self::Stop { session } => tagged(&mut out, 8, &[*session]),
            Self::Stopped(session, stopped) => {
                tagged(&mut out, 9, &[*session, stopped.sent, stopped.arrivals, stopped.overflowed]);
                out.push(stopped.why as u8);
            }
        }
        out
    }

    /// The message in a datagram; `None` where it is not one.
    pub fn decode(datagram: &[u8]) -> Option<Self> {
        let mut input = Reader(datagram.strip_prefix(MAGIC)?);
        let message = match input.byte()? {
            1 => {
                let (nonce, cookie) = (input.u64()?, input.u64()?);
                Self::Hello { nonce, cookie, request: decode_request(&mut input)? }
            }
            2 => Self::Challenge { nonce: input.u64()?, cookie: input.u64()? },
            3 => Self::Accepted { nonce: input.u64()?, session: input.u64()? },
            4 => {
                let nonce = input.u64()?;
                (input.byte()? == 0).then_some(Self::Refused { nonce, reason: Refusal::Busy })?
            }
            5 => {
                let (session, number, sent) = (input.u64()?, input.u64()?, Time::from_nanos(input.u64()?));
                let probe = Probe { number, sent, rtt_micros: u32::from_be_bytes(input.array()?) };
                return Some(Self::Probe(session, probe)); // The rest is filling.
            }
            6 => {
                let (session, first) = (input.u64()?, input.u64()?);
                Self::Report(session, Report { first, arrivals: decode_arrivals(&mut input)? })
            }
            7 => Self::Fetch { session: input.u64()?, first: input.u64()? },
            8 => Self::Stop { session: input.u64()? },
            9 => {
                let (session, sent, arrivals) = (input.u64()?, input.u64()?, input.u64()?);
                let (overflowed, why) = (input.u64()?, *Why::ALL.get(usize::from(input.byte()?))?);
                Self::Stopped(session, Stopped { sent, arrivals, overflowed, why })
            }
            _ => return None,
        };
        input.0.is_empty().then_some(message)
    }
}

fn tagged(out: &mut Vec<u8>, kind: u8, numbers: &[u64]) {
    out.push(kind);
    put(out, numbers);
}

fn put(out: &mut Vec<u8>, numbers: &[u64]) {
    numbers.iter().for_each(|number| out.extend(number.to_be_bytes()));
}

fn encode_request(request: &Request, out: &mut Vec<u8>) {
    out.push(match request.directions {
        Directions::Down => 1,
        Directions::Up => 2,
        Directions::Both => 3,
    });
    let delays = request.queue_delay;
    put(out, &[request.packet.get(), delays.lower().as_nanos(), delays.upper().as_nanos()]);
    put(out, &[request.max_bytes.get(), request.duration.as_nanos()]);
}

fn decode_request(input: &mut Reader<'_>) -> Option<Request> {
    let directions = match input.byte()? {
        1 => Directions::Down,
        2 => Directions::Up,
        3 => Directions::Both,
        _ => return None,
    };
    let packet = Some(Bytes::new(input.u64()?)).filter(|size| PACKET_SIZES.contains(size))?;
    let queue_delay = QueueDelay::new(Span::from_nanos(input.u64()?), Span::from_nanos(input.u64()?))?;
    let (max_bytes, duration) = (Bytes::new(input.u64()?), Span::from_nanos(input.u64()?));
    Some(Request { directions, packet, queue_delay, max_bytes, duration })
}

/// The count, then of each arrival the differences to the one before.
fn encode_arrivals(arrivals: &[Arrival], out: &mut Vec<u8>) {
    let arrivals = &arrivals[..arrivals.len().min(MAX_REPORTED)];
    out.extend((arrivals.len() as u16).to_be_bytes());
    let mut before = [0; 3];
    for arrival in arrivals {
        let now = [arrival.number, arrival.arrived.as_nanos(), arrival.sent.as_nanos()];
        for (now, before) in now.into_iter().zip(before) {
            let difference = now.wrapping_sub(before) as i64;
            // Zigzag: small differences of either sign become small numbers.
            put_variable(((difference << 1) ^ (difference >> 63)) as u64, out);
        }
        before = now;
    }
}

fn decode_arrivals(input: &mut Reader<'_>) -> Option<Vec<Arrival>> {
    let count = usize::from(u16::from_be_bytes(input.array()?));
    if count > MAX_REPORTED {
        return None;
    }
    let mut before = [0u64; 3];
    let mut arrivals = Vec::with_capacity(count);
    for _ in 0..count {
        for value in &mut before {
            let zigzag = input.variable()?;
            *value = value.wrapping_add((zigzag >> 1) ^ (zigzag & 1).wrapping_neg());
        }
        let [number, arrived, sent] = before;
        arrivals.push(Arrival { number, arrived: Time::from_nanos(arrived), sent: Time::from_nanos(sent) });
    }
    Some(arrivals)
}

// Numbers in datagrams.

/// Seven bits a byte, the lowest first; the highest bit says that more follows.
fn put_variable(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// The rest of a datagram; `None` where it ends too early.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*head)
    }

    fn byte(&mut self) -> Option<u8> {
        self.array().map(|[byte]| byte)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_be_bytes)
    }

    fn variable(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }
}

//! The first part of the minimum RTT, measured: high-priority UDP echoes between NetAssist and the base station's host (NATCP
//! paper, section 2.2.1).
//!
//! An echo is 24 bytes: 8 for its kind, and 16 at random, which prove that an answer's sender has seen the request.
//! The answer is as long as the request, and nothing answers an answer: an echo host amplifies nothing, and two of them do not
//! keep each other busy.

mod prober;

use cellcc_units::{Span, Time};
use socket2::SockRef;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::SocketAddr;
use tokio::net::UdpSocket;

pub use prober::{ProbeCounts, Prober};

const REQUEST: &[u8; 8] = b"cellcc?1";
const ANSWER: &[u8; 8] = b"cellcc!1";
const ECHO_BYTES: usize = 24;
/// Expedited Forwarding: DSCP 46 (RFC 3246) in the upper six bits of the field.
const EXPEDITED_FORWARDING: u32 = 46 << 2;
/// The minimum is that of this time (BBR's window of the minimum RTT; the specification's for the prober).
const WINDOW: Span = Span::from_secs(10);
/// An echo that takes longer is lost. Paths within a country take a hundredth of it.
const ECHO_TIMEOUT: Span = Span::from_secs(2);

/// The random bytes that an answer must repeat.
type Nonce = [u8; 16];

fn request(nonce: &Nonce) -> [u8; ECHO_BYTES] {
    echo(REQUEST, nonce)
}

fn echo(kind: &[u8; 8], nonce: &Nonce) -> [u8; ECHO_BYTES] {
    let mut bytes = [0; ECHO_BYTES];
    bytes[..8].copy_from_slice(kind);
    bytes[8..].copy_from_slice(nonce);
    bytes
}

/// The nonce of an echo of this kind; `None` where the bytes are no such echo.
fn nonce_of(kind: &[u8; 8], bytes: &[u8]) -> Option<Nonce> {
    bytes.strip_prefix(kind)?.try_into().ok()
}

/// A socket whose packets routers serve first, where they heed the mark.
async fn marked_socket(address: SocketAddr) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind(address).await?;
    match address {
        SocketAddr::V4(_) => SockRef::from(&socket).set_tos_v4(EXPEDITED_FORWARDING)?,
        SocketAddr::V6(_) => SockRef::from(&socket).set_tclass_v6(EXPEDITED_FORWARDING)?,
    }
    Ok(socket)
}

/// The echoes to one host. Pure.
#[derive(Debug, Default)]
struct Echoes {
    /// Those that are on their way, and when they left.
    outstanding: BTreeMap<Nonce, Time>,
    /// Round trips of the window, each shorter than all that came later: the first is the minimum.
    minima: VecDeque<(Time, Span)>,
    sent: u64,
    answered: u64,
    lost: u64,
    forged: u64,
}

impl Echoes {
    fn send(&mut self, now: Time, nonce: Nonce) -> [u8; ECHO_BYTES] {
        let before = self.outstanding.len();
        self.outstanding.retain(|_, sent_at| now.since(*sent_at) <= ECHO_TIMEOUT);
        self.lost += (before - self.outstanding.len()) as u64;
        self.outstanding.insert(nonce, now);
        self.sent += 1;
        request(&nonce)
    }

    fn receive(&mut self, now: Time, bytes: &[u8]) {
        let sent_at = nonce_of(ANSWER, bytes).and_then(|nonce| self.outstanding.remove(&nonce));
        let Some(sent_at) = sent_at else {
            self.forged += 1;
            return;
        };
        self.answered += 1;
        let rtt = now.since(sent_at);
        while self.minima.back().is_some_and(|(_, longer)| *longer >= rtt) {
            self.minima.pop_back();
        }
        self.minima.push_back((now, rtt));
    }

    /// The shortest round trip of the window; `None` where no echo came back in it.
    fn minimum(&self, now: Time) -> Option<Span> {
        self.minima.iter().find(|(at, _)| now.since(*at) <= WINDOW).map(|(_, rtt)| *rtt)
    }

    /// Forgets echoes older than the window.
    fn forget(&mut self, now: Time) {
        while self.minima.front().is_some_and(|(at, _)| now.since(*at) > WINDOW) {
            self.minima.pop_front();
        }
    }
}

// The base station's host: answers echoes.

/// The host that answers echoes.
#[derive(Debug)]
pub struct EchoHost {
    socket: UdpSocket,
}

impl EchoHost {
    /// Receives at this address.
    ///
    /// # Errors
    /// The system refuses it.
    pub async fn bind(address: SocketAddr) -> io::Result<Self> {
        Ok(Self { socket: marked_socket(address).await? })
    }

    /// Where it receives.
    ///
    /// # Errors
    /// The system does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Answers until it is dropped. Other datagrams are ignored.
    pub async fn run(self) {
        // One byte more shows what is too long.
        let mut buffer = [0; ECHO_BYTES + 1];
        loop {
            // An error belongs to a packet before: its receiver is gone.
            let Ok((length, from)) = self.socket.recv_from(&mut buffer).await else { continue };
            if let Some(nonce) = nonce_of(REQUEST, &buffer[..length]) {
                let _ = self.socket.send_to(&echo(ANSWER, &nonce), from).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    fn nonce(number: u64) -> Nonce {
        let mut nonce = [0; 16];
        nonce[..8].copy_from_slice(&number.to_le_bytes());
        nonce
    }

    /// An echo of this number that leaves and is answered.
    fn exchange(echoes: &mut Echoes, number: u64, sent: u64, answered: u64) {
        echoes.send(at(sent), nonce(number));
        echoes.receive(at(answered), &echo(ANSWER, &nonce(number)));
    }

    #[test]
    fn the_minimum_is_that_of_ten_seconds() {
        let mut echoes = Echoes::default();
        assert_eq!(echoes.minimum(at(0)), None);
        exchange(&mut echoes, 1, 0, 9);
        exchange(&mut echoes, 2, 4_000, 4_020);
        exchange(&mut echoes, 3, 5_000, 5_012);
        assert_eq!(echoes.minimum(at(9_000)), Some(Span::from_millis(9)));
        assert_eq!(echoes.minimum(at(10_010)), Some(Span::from_millis(12)), "the first is too old");
        assert_eq!(echoes.minimum(at(15_013)), None, "all are");
    }

    #[test]
    fn an_answer_counts_once_and_only_to_a_request() {
        let mut echoes = Echoes::default();
        exchange(&mut echoes, 1, 0, 9);
        for forged in
            [&echo(ANSWER, &nonce(1))[..], &echo(ANSWER, &nonce(7)), &request(&nonce(1)), b"", b"cellcc!1"]
        {
            echoes.receive(at(9), forged);
        }
        assert_eq!((echoes.answered, echoes.forged), (1, 5));
        assert_eq!(echoes.minimum(at(10)), Some(Span::from_millis(9)));
    }

    #[test]
    fn what_does_not_come_back_is_lost_and_kept_no_longer() {
        let mut echoes = Echoes::default();
        for number in 0..100 {
            echoes.send(at(100 * number), nonce(number));
        }
        assert_eq!((echoes.sent, echoes.lost), (100, 79));
        assert_eq!(echoes.outstanding.len(), 21);
        echoes.receive(at(9_901), &echo(ANSWER, &nonce(0)));
        assert_eq!(echoes.minimum(at(9_901)), None, "an answer after two seconds does not count");
    }

    proptest! {
        #[test]
        fn the_minimum_is_the_smallest_of_the_window(
            trips in prop::collection::vec((0u64..3_000, 0u64..1_500), 1..60),
            later in 0u64..12_000,
        ) {
            let mut echoes = Echoes::default();
            let (mut now, mut all) = (0, Vec::new());
            for (number, (wait, rtt)) in (0..).zip(trips) {
                now += wait;
                exchange(&mut echoes, number, now, now + rtt);
                now += rtt;
                echoes.forget(at(now));
                all.push((now, rtt));
            }
            now += later;
            let window = all.iter().filter(|(at, _)| now - at <= 10_000);
            let smallest = window.map(|(_, rtt)| Span::from_millis(*rtt)).min();
            prop_assert_eq!(echoes.minimum(at(now)), smallest);
            prop_assert!(echoes.minima.len() <= all.len());
        }
    }
}

//! One end of a running recording: its packets in both directions, and their bytes.

use crate::arrivals::Arrivals;
use crate::error::RecordError;
use crate::peer_log::PeerLog;
use crate::recording::Times;
use crate::socket::Socket;
use crate::window::Saturator;
use crate::wire::Arrival;
use crate::wire::{Directions, Message, PROBE_HEADER, Probe, Report, Request};
use cellcc_units::{Bytes, Span, Time};
use std::net::SocketAddr;

/// Bursts sent before the socket is read again.
const BURSTS: usize = 4;

pub(crate) struct Flow {
    session: u64,
    /// `None` where the socket is connected.
    peer: Option<SocketAddr>,
    /// IP and UDP headers.
    overhead: u64,
    request: Request,
    pub(crate) sender: Option<Saturator>,
    pub(crate) arrivals: Arrivals,
    pub(crate) peer_log: PeerLog,
    /// Round-trip times of the direction that this end sends.
    pub(crate) own_rtts: Times,
    /// Round-trip times of the other direction, as the peer says.
    pub(crate) peer_rtts: Times,
    pub(crate) last_rtt: Option<Span>,
    bytes: Bytes,
    /// The part of it that this end has sent.
    sent: Bytes,
    pub(crate) last_received: Time,
    pub(crate) sends: bool,
    keeps_peer_log: bool,
    burst: Vec<u8>,
}

/// Which end it is: the near end keeps the record of both directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Near,
    Far,
}

impl Flow {
    pub(crate) fn new(end: End, session: u64, request: Request, peer: SocketAddr, now: Time) -> Self {
        let sends = if end == End::Near { request.directions.up() } else { request.directions.down() };
        let ipv4 = match peer {
            SocketAddr::V4(_) => true,
            SocketAddr::V6(peer) => peer.ip().to_ipv4_mapped().is_some(),
        };
        Self {
            session,
            peer: (end == End::Far).then_some(peer),
            overhead: if ipv4 { 28 } else { 48 },
            request,
            sender: sends.then(|| Saturator::new(request.queue_delay, now)),
            arrivals: Arrivals::default(),
            peer_log: PeerLog::default(),
            own_rtts: Times::default(),
            peer_rtts: Times::default(),
            last_rtt: None,
            bytes: Bytes::ZERO,
            sent: Bytes::ZERO,
            last_received: now,
            sends: true,
            keeps_peer_log: end == End::Near,
            burst: Vec::new(),
        }
    }

    pub(crate) fn session(&self) -> u64 {
        self.session
    }

    /// Bytes sent and received here, with IP and UDP headers.
    pub(crate) fn bytes(&self) -> Bytes {
        self.bytes
    }

    /// True if one more packet would go beyond the cap.
    pub(crate) fn exhausted(&self) -> bool {
        let Request { directions, packet, max_bytes, .. } = self.request;
        // Where both ends send, neither knows what is in flight: each gets half.
        let half = directions == Directions::Both && (self.sent + packet) * 2 > max_bytes;
        half || self.bytes + packet > max_bytes
    }

    /// A datagram of this recording was received.
    pub(crate) fn on_received(&mut self, now: Time, datagram: usize) {
        self.last_received = now;
        self.count(datagram);
    }

    fn count(&mut self, datagram: usize) -> Bytes {
        let bytes = Bytes::new(datagram as u64 + self.overhead);
        self.bytes += bytes;
        bytes
    }

    pub(crate) fn on_probe(&mut self, arrived: Time, probe: Probe) {
        if probe.rtt_micros > 0 {
            let rtt = Span::from_micros(probe.rtt_micros.into());
            self.peer_rtts.push(rtt);
            self.last_rtt = Some(rtt);
        }
        self.arrivals.push(Arrival { number: probe.number, sent: probe.sent, arrived });
    }

    pub(crate) fn on_report(&mut self, now: Time, report: &Report) {
        let Some(sender) = &mut self.sender else { return };
        if !self.keeps_peer_log || self.peer_log.take(report, sender.sent()) {
            sender.on_report(now, &report.arrivals);
            if let Some(rtt) = sender.rtt() {
                self.own_rtts.push(rtt);
                self.last_rtt = Some(rtt);
            }
        }
    }

    pub(crate) fn send(&mut self, socket: &mut Socket, message: &Message) -> Result<(), RecordError> {
        let bytes = message.encode();
        let counted = self.count(bytes.len());
        self.sent += counted;
        socket.send(&bytes, bytes.len(), self.peer)
    }

    /// Sends due packets; true if more are due at once.
    pub(crate) fn transmit(&mut self, socket: &mut Socket, now: Time) -> Result<bool, RecordError> {
        while let Some(report) = self.arrivals.next_report(now) {
            self.send(socket, &Message::Report(self.session, report))?;
        }
        for _ in 0..BURSTS {
            if !self.burst(socket, now)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Sends as many probes as one system call takes; true where there may be more.
    fn burst(&mut self, socket: &mut Socket, now: Time) -> Result<bool, RecordError> {
        let size = self.request.packet.get().saturating_sub(self.overhead).max(PROBE_HEADER as u64) as usize;
        let most = Socket::segments_at_once(size);
        self.burst.clear();
        for _ in 0..most {
            if !self.sends || self.exhausted() {
                break;
            }
            let Some(sender) = &mut self.sender else { break };
            let Some(number) = sender.next_packet(now) else { break };
            let rtt = sender.rtt().map_or(0, |rtt| rtt.as_nanos() / 1000);
            let rtt_micros = u32::try_from(rtt).unwrap_or(u32::MAX);
            let begin = self.burst.len();
            self.burst.extend(Message::Probe(self.session, Probe { number, sent: now, rtt_micros }).encode());
            self.burst.resize(begin + size, 0);
            let counted = self.count(size);
            self.sent += counted;
        }
        if self.burst.is_empty() {
            return Ok(false);
        }
        let full = self.burst.len() == most * size;
        socket.send(&self.burst, size, self.peer)?;
        Ok(full)
    }

    /// When something is due, if no datagram comes before.
    pub(crate) fn next_wake(&self) -> Time {
        let sending = self.sender.as_ref().filter(|_| self.sends && !self.exhausted());
        self.arrivals.next_wake().min(sending.map_or(Time::NEVER, Saturator::next_wake))
    }
}

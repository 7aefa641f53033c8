//! One end of a connection: noq's endpoint and connection together, with datagrams in and out.

use super::settings::{RECEIVER, SENDER, Settings};
use super::tap::Factory;
use bytes::{Bytes as Buffer, BytesMut};
use cellcc_experiment::RunError;
use cellcc_link::Packet;
use cellcc_quic::ecn::EcnMap;
use cellcc_quic::{Clock, PacketSize};
use cellcc_units::{Bytes, Ecn, Time};
use noq_proto::{
    Connection, ConnectionError, ConnectionHandle, DatagramEvent, EcnCodepoint, Endpoint, Event, FourTuple,
};
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Instant;

/// One end of a connection.
pub(super) struct Peer {
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    remote: SocketAddr,
    clock: Clock,
    /// Room for a full packet, into which noq writes.
    room: Vec<u8>,
    payload: usize,
    /// When noq's next timer is due; as of the last [`read_timer`](Self::read_timer).
    timer: Option<Instant>,
    ecn: Arc<EcnMap>,
}

impl Peer {
    /// The end that sends data. It begins the connection at `now`.
    pub(super) fn sender(
        settings: &Settings,
        seed: u64,
        congestion: Factory,
        clock: Clock,
        now: Time,
    ) -> Result<Self, RunError> {
        let (endpoint, connection) = settings.sender(clock.instant(now), seed, congestion)?;
        Ok(Self::new(endpoint, Some(connection), RECEIVER, settings, clock))
    }

    /// The end that receives data.
    pub(super) fn receiver(settings: &Settings, seed: u64, clock: Clock) -> Result<Self, RunError> {
        Ok(Self::new(settings.receiver(seed)?, None, SENDER, settings, clock))
    }

    fn new(
        endpoint: Endpoint,
        connection: Option<(ConnectionHandle, Connection)>,
        remote: SocketAddr,
        settings: &Settings,
        clock: Clock,
    ) -> Self {
        let payload = settings.payload().into();
        Self {
            endpoint,
            connection,
            remote,
            clock,
            room: Vec::with_capacity(payload),
            payload,
            timer: None,
            ecn: Arc::default(),
        }
    }

    pub(super) fn connection(&mut self) -> Option<&mut Connection> {
        self.connection.as_mut().map(|(_, connection)| connection)
    }

    /// The codepoints between noq and the link.
    pub(super) fn ecn(&self) -> Arc<EcnMap> {
        Arc::clone(&self.ecn)
    }

    /// When to call [`on_time`](Self::on_time).
    pub(super) fn next_time(&self) -> Option<Instant> {
        self.timer
    }

    /// noq has had input, or a call for packets: its timers may have changed.
    pub(super) fn read_timer(&mut self) {
        self.timer = self.connection.as_ref().and_then(|(_, connection)| connection.poll_timeout());
    }

    /// True where noq's next timer is due, or it has none.
    pub(super) fn is_due(&self, now: Time) -> bool {
        let instant = self.clock.instant(now);
        self.timer.is_none_or(|due| due <= instant)
    }

    pub(super) fn on_time(&mut self, now: Time) {
        let instant = self.clock.instant(now);
        if self.timer.is_some_and(|due| due <= instant)
            && let Some((_, connection)) = &mut self.connection
        {
            connection.handle_timeout(instant);
        }
    }

    /// A datagram arrives.
    pub(super) fn on_datagram(&mut self, now: Time, datagram: Datagram) -> Result<(), RunError> {
        let path = FourTuple::new(self.remote, None);
        let now = self.clock.instant(now);
        // Responses to datagrams without a connection are not used.
        let mut response = Vec::new();
        let ecn = self.ecn.incoming(datagram.ecn, 1, datagram.payload.len());
        match self.endpoint.handle(now, path, ecn, datagram.payload, &mut response) {
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some((_, connection)) = &mut self.connection {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                let accepted = self.endpoint.accept(incoming, now, &mut response, None);
                let refused = |error: Box<noq_proto::AcceptError>| lost(&error.cause);
                self.connection = Some(accepted.map_err(refused)?);
            }
            Some(DatagramEvent::Response(_)) | None => {}
        }
        Ok(())
    }

    /// The connection's next event.
    pub(super) fn poll(&mut self) -> Result<Option<Event>, RunError> {
        let Some((handle, connection)) = &mut self.connection else { return Ok(None) };
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(event);
            }
        }
        match connection.poll() {
            Some(Event::ConnectionLost { reason }) => Err(lost(&reason)),
            event => Ok(event),
        }
    }

    /// The next datagram that leaves now.
    pub(super) fn poll_transmit(&mut self, now: Time) -> Option<Datagram> {
        let (_, connection) = self.connection.as_mut()?;
        let transmit =
            connection.poll_transmit(self.clock.instant(now), NonZeroUsize::MIN, &mut self.room)?;
        let bytes = Bytes::new(transmit.size as u64) + PacketSize::IPV4_HEADERS;
        let ecn = self.ecn.outgoing(transmit.ecn, transmit.size);
        Some(Datagram { bytes, ecn, payload: self.take_payload() })
    }

    /// noq's output. A full packet leaves with the room that it fills; a shorter one, an acknowledgement, is copied:
    /// thousands of them are under way.
    fn take_payload(&mut self) -> BytesMut {
        if self.room.len() < self.payload {
            let payload = BytesMut::from(self.room.as_slice());
            self.room.clear();
            return payload;
        }
        BytesMut::from(Buffer::from(std::mem::replace(&mut self.room, Vec::with_capacity(self.payload))))
    }
}

fn lost(reason: &ConnectionError) -> RunError {
    RunError(format!("the QUIC connection ended before the run: {reason}"))
}

// The packets on the links.

/// A UDP datagram on a link.
#[derive(Debug, Clone)]
pub struct Datagram {
    /// Size on the link, headers included.
    pub(super) bytes: Bytes,
    pub(super) ecn: Option<EcnCodepoint>,
    pub(super) payload: BytesMut,
}

impl Packet for Datagram {
    #[inline]
    fn size(&self) -> Bytes {
        self.bytes
    }

    fn ecn(&self) -> Ecn {
        match self.ecn {
            None => Ecn::NotEct,
            Some(EcnCodepoint::Ect0) => Ecn::Ect0,
            Some(EcnCodepoint::Ect1) => Ecn::Ect1,
            Some(EcnCodepoint::Ce) => Ecn::Ce,
        }
    }

    fn mark_congestion(&mut self) {
        self.ecn = Some(EcnCodepoint::Ce);
    }
}

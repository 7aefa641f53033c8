//! noq's protocol engine by itself: two ends that hand datagrams to each other, in virtual time and without I/O.
//!
//! The settings, the sizes, the window and the acknowledgements are those of `quic-virtual`, and so are the moments at which
//! datagrams arrive: a wire with the link's rate and delay is nothing but two queues. What `quic-virtual` does beside this
//! (queue disciplines, counters, metrics, series, schemes) is left out.

use crate::constant::ConstantWindow;
use crate::{PACKET, RATE, RTT, Sent, WINDOW_PACKETS};
use bytes::{Bytes, BytesMut};
use cellcc_experiment::{Endpoint as Policy, RunError};
use cellcc_quic::PacketSize;
use cellcc_quic_drivers::{Protection, RECEIVER, SENDER, Settings};
use noq_proto::congestion::ControllerFactory;
use noq_proto::{
    Connection, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, Endpoint, Event, FourTuple, StreamEvent,
    StreamId,
};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

static DATA: [u8; 1 << 16] = [0; 1 << 16];

/// Streams that take data in turns, because a stream's window is smaller than the flow's.
const STREAMS: usize = 64;

/// Runs for `duration` of virtual time.
pub(crate) fn run(duration: Duration) -> Result<Sent, RunError> {
    let settings = Settings::new(&Policy::default(), Protection::None)?;
    let began = Instant::now();
    let window = WINDOW_PACKETS * u64::from(settings.payload());
    let congestion: Arc<dyn ControllerFactory + Send + Sync> = Arc::new(ConstantWindow(window));
    let (endpoint, connection) = settings.sender(began, 1, congestion)?;
    let mut sender = End::new(endpoint, Some(connection), RECEIVER, &settings);
    let mut receiver = End::new(settings.receiver(1)?, None, SENDER, &settings);
    let (mut data, mut acks) = (Wire::new(began), Wire::new(began));
    let mut source = Source::default();
    let end = began + duration;
    let mut sent = Sent::default();
    let mut now = began;
    source.serve(&mut sender);
    sent.packets += sender.transmit(now, &mut data);
    while now < end {
        let next = [data.next(), acks.next(), sender.timer, receiver.timer].into_iter().flatten().min();
        let Some(next) = next else { break };
        now = next.max(now);
        if data.next() == Some(next) {
            receiver.arrive(now, &mut data);
            read(&mut receiver);
            sent.acks += receiver.transmit(now, &mut acks);
        } else if acks.next() == Some(next) {
            sender.arrive(now, &mut acks);
            source.serve(&mut sender);
            sent.packets += sender.transmit(now, &mut data);
        } else if sender.timer == Some(next) {
            sender.time_out(now);
            source.serve(&mut sender);
            sent.packets += sender.transmit(now, &mut data);
        } else {
            receiver.time_out(now);
            read(&mut receiver);
            sent.acks += receiver.transmit(now, &mut acks);
        }
    }
    Ok(sent)
}

struct Datagram {
    payload: BytesMut,
    ecn: Option<EcnCodepoint>,
}

/// One direction: a rate, a delay, and no bound on what waits.
struct Wire {
    free_at: Instant,
    under_way: VecDeque<(Instant, Datagram)>,
}

impl Wire {
    fn new(now: Instant) -> Self {
        Self { free_at: now, under_way: VecDeque::new() }
    }

    fn next(&self) -> Option<Instant> {
        self.under_way.front().map(|(arrival, _)| *arrival)
    }

    fn push(&mut self, now: Instant, datagram: Datagram) {
        let on_link = PacketSize::IPV4_HEADERS + cellcc_units::Bytes::new(datagram.payload.len() as u64);
        let service = RATE.time_for(on_link);
        self.free_at = self.free_at.max(now) + Duration::from_nanos(service.as_nanos());
        let arrival = self.free_at + Duration::from_nanos(RTT.as_nanos() / 2);
        self.under_way.push_back((arrival, datagram));
    }
}

struct End {
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    peer: SocketAddr,
    room: Vec<u8>,
    payload: usize,
    timer: Option<Instant>,
}

impl End {
    fn new(
        endpoint: Endpoint,
        connection: Option<(ConnectionHandle, Connection)>,
        peer: SocketAddr,
        settings: &Settings,
    ) -> Self {
        let payload = settings.payload().into();
        Self { endpoint, connection, peer, room: Vec::with_capacity(payload), payload, timer: None }
    }

    fn time_out(&mut self, now: Instant) {
        if let Some((_, connection)) = &mut self.connection {
            connection.handle_timeout(now);
        }
    }

    fn arrive(&mut self, now: Instant, wire: &mut Wire) {
        let Some((_, Datagram { payload, ecn })) = wire.under_way.pop_front() else { return };
        let mut response = Vec::new();
        let path = FourTuple::new(self.peer, None);
        match self.endpoint.handle(now, path, ecn, payload, &mut response) {
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some((_, connection)) = &mut self.connection {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                self.connection = self.endpoint.accept(incoming, now, &mut response, None).ok();
            }
            Some(DatagramEvent::Response(_)) | None => {}
        }
    }

    fn poll(&mut self) -> Option<(Event, &mut Connection)> {
        let (handle, connection) = self.connection.as_mut()?;
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(event);
            }
        }
        connection.poll().map(|event| (event, connection))
    }

    /// Sends what may leave. Returns how many datagrams that was.
    fn transmit(&mut self, now: Instant, wire: &mut Wire) -> u64 {
        let Some((_, connection)) = &mut self.connection else { return 0 };
        let mut count = 0;
        while let Some(transmit) = connection.poll_transmit(now, NonZeroUsize::MIN, &mut self.room) {
            let payload = if transmit.size < self.payload {
                let copy = BytesMut::from(self.room.as_slice());
                self.room.clear();
                copy
            } else {
                let full = std::mem::replace(&mut self.room, Vec::with_capacity(self.payload));
                BytesMut::from(Bytes::from(full))
            };
            wire.push(now, Datagram { payload, ecn: transmit.ecn });
            count += 1;
        }
        self.timer = connection.poll_timeout();
        count
    }
}

/// Endless data.
#[derive(Default)]
struct Source {
    streams: Vec<StreamId>,
    written: usize,
}

impl Source {
    /// Handles the sender's events, and writes where there is room again.
    fn serve(&mut self, end: &mut End) {
        while let Some((event, connection)) = end.poll() {
            match event {
                Event::Connected => {
                    let room = (WINDOW_PACKETS + 16) * PACKET.get();
                    connection.set_send_window(room);
                    self.streams.extend((0..STREAMS).filter_map(|_| connection.streams().open(Dir::Uni)));
                    self.write(connection);
                }
                Event::Stream(StreamEvent::Writable { .. }) => self.write(connection),
                _ => {}
            }
        }
    }

    fn write(&mut self, connection: &mut Connection) {
        loop {
            let row = self.written / DATA.len();
            let rest = DATA.len() - self.written % DATA.len();
            let mut chunk = [Bytes::from_static(&DATA[..rest])];
            let stream = self.streams[row % STREAMS];
            match connection.send_stream(stream).write_chunks(&mut chunk.as_mut_slice()) {
                Ok(written) => self.written += written,
                Err(_) => return,
            }
        }
    }
}

/// Reads whatever has arrived.
fn read(end: &mut End) {
    while let Some((event, connection)) = end.poll() {
        match event {
            Event::Stream(StreamEvent::Opened { dir: Dir::Uni }) => {
                while let Some(id) = connection.streams().accept(Dir::Uni) {
                    read_stream(connection, id);
                }
            }
            Event::Stream(StreamEvent::Readable { id }) => read_stream(connection, id),
            _ => {}
        }
    }
}

fn read_stream(connection: &mut Connection, id: StreamId) {
    let mut stream = connection.recv_stream(id);
    let Ok(mut chunks) = stream.read(true) else { return };
    while let Ok(Some(_)) = chunks.next(usize::MAX) {}
    let _ = chunks.finalize();
}

//! noq's protocol engine by itself: two ends that hand datagrams to each other, in virtual time and without I/O.
//!
//! The settings, the sizes, the streams and the acknowledgements are those of `quic-virtual`, and so are the moments at which
//! datagrams arrive: a wire with the link's rate, queue and delay is nothing but two queues. Other parts of `quic-virtual`
//! (queue disciplines, counters, metrics, series, schemes) are left out.

use bytes::{Bytes, BytesMut};
use cellcc_experiment::{Endpoint as Policy, RunError};
use cellcc_quic::PacketSize;
use cellcc_quic_drivers::{Protection, RECEIVER, SENDER, Settings};
use cellcc_units::{Rate, Span};
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

/// Bytes on a stream before the next one has its turn, as in `quic-virtual`: 64 segments that fill a packet.
const ROW: usize = 64 * 1430;
static DATA: [u8; ROW] = [0; ROW];

/// Streams that take data in turns, because a stream's window is smaller than the flow's.
const STREAMS: usize = 64;

/// noq's input.
pub(crate) struct Alone {
    pub(crate) rate: Rate,
    pub(crate) rtt: Span,
    /// Packets that may wait for the link, the one in service included.
    pub(crate) queue: usize,
    /// Bytes of data that noq takes ahead of the acknowledgements.
    pub(crate) send_window: fn(&Connection) -> u64,
    pub(crate) seed: u64,
    pub(crate) congestion: Arc<dyn ControllerFactory + Send + Sync>,
}

/// The packets that left the ends.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sent {
    pub(crate) packets: u64,
    pub(crate) acks: u64,
}

/// Runs for `duration` of virtual time.
pub(crate) fn run(alone: Alone, duration: Duration) -> Result<Sent, RunError> {
    let Alone { rate, rtt, queue, send_window, seed, congestion } = alone;
    let settings = Settings::new(&Policy::default(), Protection::None)?;
    let began = Instant::now();
    let (endpoint, connection) = settings.sender(began, seed, congestion)?;
    let mut sender = End::new(endpoint, Some(connection), RECEIVER, &settings);
    let mut receiver = End::new(settings.receiver(seed)?, None, SENDER, &settings);
    let delay = Duration::from_nanos(rtt.as_nanos() / 2);
    let mut data = Wire::new(began, Some(rate), queue, delay);
    let mut acks = Wire::new(began, None, usize::MAX, delay);
    let mut source = Source { send_window, last_window: 0, streams: Vec::new(), written: 0 };
    let end = began + duration;
    let mut sent = Sent::default();
    let mut now = began;
    source.serve(&mut sender);
    sent.packets += sender.transmit(now, &mut data);
    loop {
        let next = [data.next(), acks.next(), sender.timer, receiver.timer].into_iter().flatten().min();
        let Some(next) = next.filter(|next| *next < end) else { break };
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

/// The time of a packet on a link without a limit, whose rate is not infinite.
const NO_RATE: Span = Span::from_nanos(1);

/// One direction: a rate, a drop-tail queue, a delay.
struct Wire {
    rate: Option<Rate>,
    queue: usize,
    delay: Duration,
    free_at: Instant,
    under_way: VecDeque<(Instant, Datagram)>,
}

impl Wire {
    fn new(now: Instant, rate: Option<Rate>, queue: usize, delay: Duration) -> Self {
        Self { rate, queue, delay, free_at: now, under_way: VecDeque::new() }
    }

    fn next(&self) -> Option<Instant> {
        self.under_way.front().map(|(arrival, _)| *arrival)
    }

    fn push(&mut self, now: Instant, datagram: Datagram) {
        let waits = self.under_way.iter().rev().take_while(|(arrival, _)| *arrival > now + self.delay);
        if waits.count() >= self.queue {
            return;
        }
        let on_link = PacketSize::IPV4_HEADERS + cellcc_units::Bytes::new(datagram.payload.len() as u64);
        let service = self.rate.map_or(NO_RATE, |rate| rate.time_for(on_link));
        self.free_at = self.free_at.max(now) + Duration::from_nanos(service.as_nanos());
        self.under_way.push_back((self.free_at + self.delay, datagram));
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

    /// Sends allowed packets. Returns how many datagrams that was.
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
struct Source {
    send_window: fn(&Connection) -> u64,
    last_window: u64,
    streams: Vec<StreamId>,
    written: usize,
}

impl Source {
    /// Handles the sender's events, and writes where there is room again.
    fn serve(&mut self, end: &mut End) {
        let mut has_room = false;
        while let Some((event, connection)) = end.poll() {
            match event {
                Event::Connected => {
                    self.streams.extend((0..STREAMS).filter_map(|_| connection.streams().open(Dir::Uni)));
                    has_room = true;
                }
                Event::Stream(StreamEvent::Writable { .. }) => has_room = true,
                _ => {}
            }
        }
        let Some((_, connection)) = end.connection.as_mut().filter(|_| !self.streams.is_empty()) else {
            return;
        };
        let send_window = (self.send_window)(connection);
        if has_room || std::mem::replace(&mut self.last_window, send_window) != send_window {
            connection.set_send_window(send_window);
            self.write(connection);
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

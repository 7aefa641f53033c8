//! Forwards the packets of one direction: reads them from the devices at one end, passes them through the stages, and
//! writes them to the devices at the other end when they are due.

use super::arena::{Arena, MAX_PACKET, Slot};
use super::clock::Clock;
use super::flow_number::flow_number;
use super::pipeline::{Outcome, Pipeline};
use super::report::{DirectionReport, Measure};
use super::segment::Segment;
use super::super_packet::{self, Layout, VNET_HEADER};
use crate::device::Device;
use crate::error::EmuError;
use crate::log::LogSummary;
use crate::queue_counts::QueueReader;
use crate::tap::{SegmentView, Tap};
use crate::topology::{Directory, Topology};
use cellcc_link::{Delivery, Dropped, Packet as _};
use cellcc_units::{Bytes, Span, Time};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// The most packets that are read before the next release.
const READ_AT_ONCE: usize = 32;

/// The direction of packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    /// From the users to the outside.
    Up,
    /// From the outside to the users.
    Down,
}

/// Carries the packets of one direction.
pub(crate) struct Forwarder {
    pub(crate) direction: Direction,
    pub(crate) topology: Arc<Topology>,
    pub(crate) pipeline: Pipeline,
    pub(crate) clock: Clock,
    pub(crate) tap: Option<Box<dyn Tap>>,
    /// Reads the queues for others.
    pub(crate) queue_reader: Option<QueueReader>,
    /// Packets due within this of each other are released together.
    pub(crate) granularity: Span,
    /// True if packets that were sent as one are handed over as one.
    pub(crate) receive_offload: bool,
    /// Becomes readable when the emulation ends.
    pub(crate) stop: Arc<OwnedFd>,
}

/// The results of a forwarder when it stops.
pub(crate) struct ForwarderOutcome {
    pub(crate) report: DirectionReport,
    /// The result of each log.
    pub(crate) logs: Vec<Result<LogSummary, EmuError>>,
}

impl Forwarder {
    /// Carries packets until it is stopped.
    ///
    /// # Errors
    /// A device has vanished.
    pub(crate) fn run(self) -> io::Result<ForwarderOutcome> {
        super::be_punctual();
        let began = self.clock.now();
        let topology = self.topology;
        let outside: Vec<_> = topology.outsides.iter().map(|outside| &outside.device).collect();
        let users: Vec<_> = topology.users.iter().map(|user| &user.device).collect();
        let (inputs, outputs) =
            if self.direction == Direction::Up { (users, outside) } else { (outside, users) };
        // On the way up, a packet's user is the one that sent it.
        let is_shared = self.direction == Direction::Down && outputs.len() > 1;
        let directory = is_shared.then_some(&topology.directory);
        let dropped_before: u64 = inputs.iter().map(|device| device.dropped()).sum();
        let mut egress = Egress {
            arena: Arena::default(),
            measure: Measure::new(),
            pending: None,
            outputs,
            clock: self.clock,
            receive_offload: self.receive_offload,
            tap: self.tap,
        };
        let mut pipeline = self.pipeline;
        let mut queue_reader = self.queue_reader;
        let mut fds = vec![PollFd::new(&*self.stop, PollFlags::IN)];
        fds.extend(inputs.iter().map(|device| PollFd::from_borrowed_fd(device.fd(), PollFlags::IN)));
        loop {
            let mut more = false;
            for (user, input) in inputs.iter().enumerate() {
                more |= read(&mut egress, &mut pipeline, input, user, directory)?;
            }
            let now = egress.clock.now();
            pipeline.release(now, &mut |outcome| egress.take(outcome));
            egress.flush();
            if let Some(reader) = &mut queue_reader {
                reader.read(now, |user| pipeline.counters(now, user));
            }
            if more {
                continue;
            }
            let next_reading = queue_reader.as_ref().map_or(Time::NEVER, QueueReader::next);
            let wake = pipeline.next_wake(self.granularity).min(next_reading);
            let now = egress.clock.now();
            // While packets are due soon, arrivals are read with the next release: a wake-up for each would cost too
            // much.
            let awaited = if wake.since(now) <= self.granularity { 1 } else { fds.len() };
            wait(&mut fds[..awaited], now, wake)?;
            if !fds[0].revents().is_empty() {
                break;
            }
        }
        let device_drops = inputs.iter().map(|device| device.dropped()).sum::<u64>() - dropped_before;
        let cpu = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        let cpu = Duration::new(cpu.tv_sec as u64, cpu.tv_nsec as u32);
        let wall = Duration::from_nanos(self.clock.now().since(began).as_nanos());
        let report = egress.measure.report(device_drops, cpu, wall);
        Ok(ForwarderOutcome { report, logs: pipeline.finish(self.clock.now()) })
    }
}

/// Sleeps until something can be read, or until `wake`.
fn wait(fds: &mut [PollFd<'_>], now: Time, wake: Time) -> io::Result<()> {
    let nanos = wake.since(now).as_nanos();
    let timeout =
        Timespec { tv_sec: (nanos / 1_000_000_000) as i64, tv_nsec: (nanos % 1_000_000_000) as i64 };
    match poll(fds, (wake < Time::NEVER).then_some(&timeout)) {
        Err(rustix::io::Errno::INTR) | Ok(_) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Reads packets from a device, up to a limit; true where there may be more.
fn read(
    egress: &mut Egress<'_>,
    pipeline: &mut Pipeline,
    input: &Device,
    user: usize,
    directory: Option<&Directory>,
) -> io::Result<bool> {
    for _ in 0..READ_AT_ONCE {
        let Some(length) = input.receive(&mut egress.arena.room()[..MAX_PACKET])? else { return Ok(false) };
        if length <= VNET_HEADER {
            continue;
        }
        let now = egress.clock.now();
        let (vnet, packet) = split(&egress.arena.room()[..length]);
        let layout = Layout::read(vnet, packet);
        let user = directory.and_then(|directory| directory.user_of_packet(packet)).unwrap_or(user) as u16;
        let (flow, ecn) = (flow_number(packet), super_packet::ecn(packet));
        let segments = layout.segments();
        let slot = egress.arena.keep(length, layout);
        for index in 0..segments {
            let segment = Segment {
                slot,
                index: index as u16,
                user,
                flow,
                size: layout.size_of(index) as u32,
                ecn,
                queued_at: now,
                departed_at: now,
            };
            egress.tell(&segment, |tap, view| tap.arrived(now, view));
            pipeline.enqueue(now, segment, &mut |outcome| egress.take(outcome));
        }
    }
    Ok(true)
}

/// The packets in memory, and how they leave.
struct Egress<'a> {
    arena: Arena,
    measure: Measure,
    /// Segments of one super-packet that are due and not yet written.
    pending: Option<Chunk>,
    outputs: Vec<&'a Device>,
    clock: Clock,
    receive_offload: bool,
    tap: Option<Box<dyn Tap>>,
}

/// Consecutive segments of one super-packet.
struct Chunk {
    first: Segment,
    count: u16,
    bytes: u64,
    due: Time,
}

impl Egress<'_> {
    fn take(&mut self, outcome: Outcome) {
        match outcome {
            Ok(delivery) => self.deliver(&delivery),
            Err(Dropped { packet: segment, at, .. }) => {
                self.measure.dropped += 1;
                self.tell(&segment, |tap, view| tap.dropped(at, view));
                self.arena.release(segment.slot, 1);
            }
        }
    }

    fn deliver(&mut self, delivery: &Delivery<Segment>) {
        let segment = delivery.packet;
        if self.tap.is_some() {
            let Delivery { queued_at, departed_at, arrived_at, .. } = *delivery;
            let delivery = Delivery { packet: (), queued_at, departed_at, arrived_at };
            self.tell(&segment, |tap, view| tap.delivered(&delivery, view));
        }
        if self.receive_offload
            && let Some(chunk) = &mut self.pending
            && chunk.is_continued_by(&segment)
        {
            chunk.count += 1;
            chunk.bytes += u64::from(segment.size);
            return;
        }
        self.flush();
        let bytes = u64::from(segment.size);
        self.pending = Some(Chunk { first: segment, count: 1, bytes, due: delivery.arrived_at });
    }

    /// Writes the segments that are due.
    fn flush(&mut self) {
        let Some(chunk) = self.pending.take() else { return };
        let Segment { slot, user, .. } = chunk.first;
        let output = self.outputs[usize::from(user).min(self.outputs.len() - 1)];
        let (bytes, layout) = self.arena.packet(slot);
        if write(output, bytes, layout, &chunk).is_err() {
            self.measure.refused += u64::from(chunk.count);
        }
        let late = self.clock.now().since(chunk.due);
        self.measure.released(u64::from(chunk.count), chunk.bytes, late);
        self.arena.release(slot, usize::from(chunk.count));
    }

    fn tell(&mut self, segment: &Segment, tell: impl FnOnce(&mut dyn Tap, &SegmentView<'_>)) {
        let Some(tap) = &mut self.tap else { return };
        let view = view(&self.arena, segment.slot, usize::from(segment.index));
        tell(tap.as_mut(), &view);
    }
}

impl Chunk {
    fn is_continued_by(&self, segment: &Segment) -> bool {
        segment.slot == self.first.slot
            && segment.index == self.first.index + self.count
            && segment.ecn == self.first.ecn
    }
}

fn view(arena: &Arena, slot: Slot, index: usize) -> SegmentView<'_> {
    let (bytes, layout) = arena.packet(slot);
    let (_, packet) = split(bytes);
    let payload = layout.payload_of(index..index + 1);
    SegmentView {
        headers: &packet[..layout.headers],
        offset: payload.start as u32,
        payload: payload.len() as u32,
        bytes: Bytes::new(layout.size_of(index) as u64),
    }
}

/// The header that a device puts before each packet, and the packet.
fn split(bytes: &[u8]) -> (&[u8; VNET_HEADER], &[u8]) {
    bytes.split_first_chunk().unwrap_or((&[0; VNET_HEADER], &[]))
}

fn write(output: &Device, bytes: &[u8], layout: &Layout, chunk: &Chunk) -> io::Result<()> {
    let (vnet, packet) = split(bytes);
    let marked = chunk.first.is_marked();
    if usize::from(chunk.count) == layout.segments() {
        if !marked {
            return output.send(vnet, packet, &[]);
        }
        let mut headers = [0; super_packet::MAX_HEADERS];
        let length = packet.len().min(headers.len());
        headers[..length].copy_from_slice(&packet[..length]);
        super_packet::mark(&mut headers[..length]);
        return output.send(vnet, &headers[..length], &packet[length..]);
    }
    let first = usize::from(chunk.first.index);
    let range = first..first + usize::from(chunk.count);
    let payload = &packet[layout.headers..][layout.payload_of(range.clone())];
    let headers = super_packet::chunk_headers(vnet, packet, layout, range, marked);
    output.send(&headers.vnet, headers.ip(), payload)
}

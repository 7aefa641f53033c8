//! An application's segments, spread over streams.

use super::settings::STREAMS;
use bytes::Bytes as Buffer;
use cellcc_experiment::{Application, Endpoint as Policy, FlowSetup, Frames, Source};
use cellcc_units::{Bytes, Time};
use noq_proto::{Connection, Dir, StreamId};
use std::collections::{BTreeMap, VecDeque};

/// Consecutive segments on one stream, so that a packet holds data of one. A frame stays on one stream.
const SEGMENTS_IN_A_ROW: u64 = 64;

/// Most bytes in a full packet of noq besides a stream's data: short header (RFC 9000, section 17.3: 1 byte, 8 of
/// the connection's id, 4 of the packet number), tag (16), STREAM frame (section 19.8: type, id, offset, length: 13).
pub(super) const QUIC_HEADERS: Bytes = Bytes::new(1 + 8 + 4 + 16 + 13);

/// The content of data does not matter.
static DATA: [u8; 1 << 16] = [0; 1 << 16];

/// A flow's application, at both of its ends.
pub(super) struct Streams {
    application: Application,
    streams: Vec<Stream>,
    /// The segment that was written in part, and the rest of it.
    begun: Option<(u64, Bytes)>,
    /// Streams that were finished and acknowledged to the last byte.
    acknowledged: usize,
    is_finished: bool,
    completed_at: Option<Time>,
    frames: Option<Frames>,
    by_id: BTreeMap<StreamId, usize>,
}

struct Stream {
    id: StreamId,
    /// Segments that the receiver has not read completely, with the missing bytes of each.
    unread: VecDeque<(u64, Bytes)>,
}

impl Streams {
    /// The application of `setup` with segments that fit a packet of QUIC.
    pub(super) fn new(
        setup: &FlowSetup,
        policy: &Policy,
        headers: Bytes,
        (measured_from, run_end): (Time, Time),
    ) -> Self {
        let header = headers + QUIC_HEADERS;
        let policy = Policy { mss: policy.packet() - header, header, ..policy.clone() };
        Self {
            application: Application::new(setup, &policy, run_end),
            streams: Vec::new(),
            begun: None,
            acknowledged: 0,
            is_finished: false,
            completed_at: None,
            frames: match setup.source {
                Source::Frames { deadline, .. } => Some(Frames::new(deadline, measured_from)),
                _ => None,
            },
            by_id: BTreeMap::new(),
        }
    }

    pub(super) fn application(&self) -> &Application {
        &self.application
    }

    /// When the last byte of a sized source was acknowledged.
    pub(super) fn completed_at(&self) -> Option<Time> {
        self.completed_at
    }

    /// How many frames there were until `end`, and the share that missed its deadline.
    pub(super) fn frames(&self, end: Time) -> Option<(u64, f64)> {
        self.frames.as_ref().and_then(|frames| frames.outcome(&self.application, end))
    }

    /// When the application has more data, if it has none now.
    pub(super) fn next_time(&self, now: Time) -> Time {
        if self.begun.is_some() {
            return Time::NEVER; // It waits for room, not for the application.
        }
        let ready_at = self.application.ready_at(now);
        if ready_at > now { ready_at } else { Time::NEVER }
    }

    /// True where the application has had data since the last [`write`](Self::write).
    pub(super) fn has_new_data(&self, now: Time) -> bool {
        self.begun.is_none() && self.application.ready_at(now) <= now
    }

    /// Gives noq as much as it has room for.
    pub(super) fn write(&mut self, now: Time, connection: &mut Connection) {
        loop {
            let (segment, rest) = match self.begun.take() {
                Some(begun) => begun,
                None if self.application.ready_at(now) <= now => {
                    let segment = self.application.take(now);
                    (segment, self.application.payload(segment))
                }
                None => break,
            };
            let rest = self.write_segment(segment, rest, connection);
            if !rest.is_zero() {
                self.begun = Some((segment, rest));
                return;
            }
        }
        if matches!(self.application.source(), Source::Sized(_))
            && self.application.ready_at(now) == Time::NEVER
            && !std::mem::replace(&mut self.is_finished, true)
        {
            for stream in &self.streams {
                // An error means that the connection ended, which is reported elsewhere.
                let _ = connection.send_stream(stream.id).finish();
            }
        }
    }

    /// Writes the rest of a segment. Returns the bytes that did not fit.
    fn write_segment(&mut self, segment: u64, rest: Bytes, connection: &mut Connection) -> Bytes {
        let row = match self.application.frame_of(segment) {
            Some((frame, _)) => frame,
            None => segment / SEGMENTS_IN_A_ROW,
        };
        let index = (row % STREAMS) as usize;
        if index == self.streams.len() {
            let Some(id) = connection.streams().open(Dir::Uni) else { return rest };
            self.by_id.insert(id, index);
            self.streams.push(Stream { id, unread: VecDeque::new() });
        }
        let stream = &mut self.streams[index];
        let wanted = (rest.get() as usize).min(DATA.len());
        let mut chunks = [Buffer::from_static(&DATA[..wanted])];
        let written = connection.send_stream(stream.id).write_chunks(&mut chunks.as_mut_slice()).unwrap_or(0);
        if self.frames.is_some() && written > 0 {
            match stream.unread.back_mut().filter(|(last, _)| *last == segment) {
                Some((_, missing)) => *missing += Bytes::new(written as u64),
                None => stream.unread.push_back((segment, Bytes::new(written as u64))),
            }
        }
        rest.saturating_sub(Bytes::new(written as u64))
    }

    /// A stream was acknowledged to its end.
    pub(super) fn on_finished(&mut self, now: Time) {
        self.acknowledged += 1;
        if self.acknowledged == self.streams.len() {
            self.completed_at.get_or_insert(now);
        }
    }

    /// The receiver reads a stream's data.
    pub(super) fn read(&mut self, now: Time, id: StreamId, connection: &mut Connection) {
        let mut stream = connection.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else { return };
        let mut read = Bytes::ZERO;
        while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
            read += Bytes::new(chunk.bytes.len() as u64);
        }
        // Data that this lets noq send leave with the next poll.
        let _ = chunks.finalize();
        self.on_read(now, id, read);
    }

    fn on_read(&mut self, now: Time, id: StreamId, mut read: Bytes) {
        let (Some(frames), Some(&index)) = (&mut self.frames, self.by_id.get(&id)) else { return };
        let unread = &mut self.streams[index].unread;
        while let Some((segment, missing)) = unread.front_mut() {
            let part = read.min(*missing);
            *missing -= part;
            read -= part;
            // The segment is not yet written completely.
            let is_begun = self.begun.is_some_and(|(begun, _)| begun == *segment);
            if !missing.is_zero() || is_begun {
                return;
            }
            frames.on_segment(now, *segment, &self.application);
            unread.pop_front();
        }
    }
}

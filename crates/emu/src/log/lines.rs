//! The lines of a log, as text.

use super::{LogEvent, LogHeader};
use cellcc_link::Capacity;
use cellcc_units::{Bytes, Span, Time};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// Mahimahi's packets carry the header of its TUN device (`struct tun_pi`, 4 bytes) and its log counts it.
const TUN_HEADER: u64 = 4;
const NANOS_PER_MILLI: u64 = 1_000_000;

/// Writes the lines of one log into a buffer: events as they come, and between them the link's capacity.
pub(super) struct Lines {
    pub(super) text: Vec<u8>,
    number: itoa::Buffer,
    capacity: Arc<Capacity>,
    next_milli: u64,
    /// The capacity before `next_milli`, as Mahimahi counts.
    offered: u128,
}

impl Lines {
    pub(super) fn new(capacity: Arc<Capacity>) -> Self {
        Self { text: Vec::new(), number: itoa::Buffer::new(), capacity, next_milli: 0, offered: 0 }
    }

    /// The header of a log whose times count from `started_millis` after 1970.
    pub(super) fn header(&mut self, path: &Path, header: &LogHeader, started_millis: u128) {
        let LogHeader { link, trace, command_line, queue, config } = header;
        let mut line = |line: String| {
            // A line break within would end the header.
            self.text.extend(line.replace(['\n', '\r'], " ").bytes());
            self.text.push(b'\n');
        };
        line(format!("# mahimahi mm-link ({link}) [{trace}] > {}", path.display()));
        line(format!("# command line: {command_line}"));
        line(format!("# queue: {queue}"));
        line(format!("# init timestamp: {started_millis}"));
        line("# base timestamp: 0".into());
        if !config.is_empty() {
            line(format!("# mahimahi config: {config}"));
        }
    }

    /// Writes an event, after the lines of capacity up to its millisecond.
    pub(super) fn event(&mut self, event: LogEvent) {
        let milli = milli(event.at());
        self.offered_through(milli);
        self.number(milli);
        match event {
            LogEvent::Arrived { bytes, .. } => {
                self.text.extend_from_slice(b" + ");
                self.number(bytes.get() + TUN_HEADER);
            }
            LogEvent::Dropped { bytes, .. } => {
                self.text.extend_from_slice(b" d 1 ");
                self.number(bytes.get() + TUN_HEADER);
            }
            LogEvent::Departed { at, bytes, queued } => {
                self.text.extend_from_slice(b" - ");
                self.number(bytes.get() + TUN_HEADER);
                self.text.push(b' ');
                // Both times in whole milliseconds, so that their difference is the arrival's line.
                self.number(milli - self::milli(at - queued));
            }
        }
        self.text.push(b'\n');
    }

    /// Writes the link's capacity, through this millisecond.
    pub(super) fn offered_through(&mut self, milli: u64) {
        while self.next_milli <= milli {
            // From the beginning of the millisecond to just before the next: where an event's time is cut to.
            let end = Time::ZERO + Span::from_millis(self.next_milli + 1) - Span::from_nanos(1);
            let offered = as_mahimahi_counts(self.capacity.bytes_between(Time::ZERO, end));
            let bytes = u64::try_from(offered - self.offered).unwrap_or(u64::MAX);
            if bytes > 0 {
                self.number(self.next_milli);
                self.text.extend_from_slice(b" # ");
                self.number(bytes);
                self.text.push(b'\n');
            }
            self.offered = offered;
            self.next_milli += 1;
        }
    }

    /// The first millisecond whose capacity is not written yet.
    pub(super) fn next_milli(&self) -> u64 {
        self.next_milli
    }

    fn number(&mut self, number: u64) {
        self.text.extend_from_slice(self.number.format(number).as_bytes());
    }
}

pub(super) fn milli(time: Time) -> u64 {
    time.as_nanos() / NANOS_PER_MILLI
}

/// An opportunity of 1500 bytes counts 1504.
fn as_mahimahi_counts(bytes: Bytes) -> u128 {
    let opportunity = u128::from(Capacity::OPPORTUNITY.get());
    u128::from(bytes.get()) * (opportunity + u128::from(TUN_HEADER)) / opportunity
}

/// Writes the buffer to `out` and empties it; its memory is kept.
pub(super) fn write_out(text: &mut Vec<u8>, out: &mut dyn Write) -> std::io::Result<u64> {
    let written = out.write_all(text).and_then(|()| out.flush());
    let length = text.len() as u64;
    text.clear();
    written.map(|()| length)
}

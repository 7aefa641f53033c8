//! Logs of NR-Scope: one line per grant that a receiver near the phones received.

use crate::trace::{Problem, TraceError, number, shown};
use std::ops::RangeInclusive;

/// Which way a block goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Down,
    Up,
}

/// One grant to a phone.
#[derive(Debug, Clone)]
pub(super) struct Grant {
    /// The clock of the logger: as good as its machine.
    pub(super) clock_s: f64,
    pub(super) frame: u16,
    /// Within the frame.
    pub(super) slot: u8,
    pub(super) user: u32,
    pub(super) direction: Direction,
    pub(super) process: u8,
    pub(super) new_data: u8,
    pub(super) redundancy_version: u8,
}

/// Frames are counted up to this (3GPP TS 38.211, section 4.3.1), and last 10 ms.
pub(super) const FRAMES: i64 = 1024;
/// Slots of a frame at 15, 30, 60 and 120 kHz (section 4.3.2).
pub(super) const SLOTS_PER_FRAME: [u8; 4] = [10, 20, 40, 80];
/// A process is named by 5 bits at most (TS 38.212, section 7.3.1).
pub(super) const PROCESSES: usize = 32;
/// Seconds since 1970: up to the year 5138, which no clock shows and which slots in 64 bits hold.
const LATEST_S: f64 = 1e11;

const A_TIME: &str = "the logger's time: seconds since 1970, such as `1727547704.08`";
const A_FRAME: &str = "a system frame: 0 to 1023";
const A_SLOT: &str = "a slot of a frame: 0 to 79";
const A_USER: &str = "an RNTI: a whole number";
const A_FORMAT: &str = "a DCI format such as `0_1` (up) or `1_1` (down)";
const A_PROCESS: &str = "a HARQ process: 0 to 31";
const A_NEW_DATA: &str = "a new-data indicator: 0 or 1";
const A_VERSION: &str = "a redundancy version: 0 to 3";

/// The columns that count, by their positions; others are left alone.
struct Columns {
    clock: usize,
    frame: usize,
    slot: usize,
    user: usize,
    user_kind: usize,
    format: usize,
    process: usize,
    new_data: usize,
    redundancy_version: usize,
}

impl Columns {
    fn new(header: &csv::StringRecord) -> Result<Self, Problem> {
        let find = |name: &'static str| {
            let names = || shown(&header.iter().collect::<Vec<_>>().join(","));
            header.iter().position(|column| column == name).ok_or_else(|| Problem::NoColumn(name, names()))
        };
        Ok(Self {
            clock: find("timestamp")?,
            frame: find("system_frame_index")?,
            slot: find("slot_index")?,
            user: find("rnti")?,
            user_kind: find("rnti_type")?,
            format: find("dci_format")?,
            process: find("harq_id")?,
            new_data: find("new_data_indicator")?,
            redundancy_version: find("redundancy_version")?,
        })
    }

    /// The grant of a row; nothing where it is for no phone of its own: system information, paging, random access.
    fn grant(&self, row: &csv::StringRecord) -> Result<Option<Grant>, Problem> {
        let field = |index: usize| row.get(index).unwrap_or_default();
        if field(self.user_kind) != "C-RNTI" {
            return Ok(None);
        }
        let clock_s = number(field(self.clock), A_TIME)?;
        let not = |text, expected| Problem::NotANumber { text: shown(text), expected };
        if clock_s > LATEST_S {
            return Err(not(field(self.clock), A_TIME));
        }
        let direction = match field(self.format).split('_').next() {
            Some("0") => Direction::Up,
            Some("1") => Direction::Down,
            _ => return Err(not(field(self.format), A_FORMAT)),
        };
        let small = |index, range, expected| whole(field(index), range, expected);
        Ok(Some(Grant {
            clock_s,
            frame: small(self.frame, 0..=1023, A_FRAME)?,
            slot: small(self.slot, 0..=79, A_SLOT)? as u8,
            user: field(self.user).parse().map_err(|_| not(field(self.user), A_USER))?,
            direction,
            process: small(self.process, 0..=31, A_PROCESS)? as u8,
            new_data: small(self.new_data, 0..=1, A_NEW_DATA)? as u8,
            redundancy_version: small(self.redundancy_version, 0..=3, A_VERSION)? as u8,
        }))
    }
}

fn whole(text: &str, range: RangeInclusive<u16>, expected: &'static str) -> Result<u16, Problem> {
    let value = text.parse().ok().filter(|value| range.contains(value));
    value.ok_or_else(|| Problem::NotANumber { text: shown(text), expected })
}

/// The grants of a log whose header is at line `header_line`.
pub(super) fn parse(file: &str, text: &str, header_line: u64) -> Result<Vec<Grant>, TraceError> {
    let mut reader =
        csv::ReaderBuilder::new().comment(Some(b'#')).trim(csv::Trim::All).from_reader(text.as_bytes());
    let malformed = |cause: csv::Error| {
        let line = cause.position().map_or(header_line, csv::Position::line);
        TraceError::at(file, line, Problem::Rows(cause))
    };
    let columns = Columns::new(reader.headers().map_err(malformed)?)
        .map_err(|problem| TraceError::at(file, header_line, problem))?;
    let (mut grants, mut row) = (Vec::new(), csv::StringRecord::new());
    while reader.read_record(&mut row).map_err(malformed)? {
        let line = row.position().map_or(header_line, csv::Position::line);
        grants.extend(columns.grant(&row).map_err(|problem| TraceError::at(file, line, problem))?);
    }
    if grants.is_empty() {
        return Err(TraceError::whole(file, Problem::NoGrants));
    }
    Ok(grants)
}

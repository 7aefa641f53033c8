//! The base station (gNB) of OCUDU, and of srsRAN before it: JSON with what the scheduler has counted in each period.
//!
//! Sources: ocudu/ocudu at 9b0cfa6 (22 July 2026) and srsran/srsRAN_Project at 4bf1543 (16 February 2026), the JSON generators of
//! both; the documentation of both where it does not contradict them. Not tried: a live base station.
//!
//! Two traps, each with a test: `dl_brate` and `ul_brate` are bit/s, where the documentation says kbit/s;
//! `max_pdsch_distance` is in milliseconds, where the documentation says slots.

mod kinds;
mod report;
mod samples;

pub use kinds::{GnbAddress, GnbRecording, GnbUdp, GnbWebsocket};
pub use report::{CellReport, Malformed, Message, UeReport, parse};
pub use samples::{GnbReader, GnbSettings, message};

use super::{MessageReader, Reading};
use cellcc_units::Time;

impl MessageReader for GnbReader {
    fn read(&mut self, now: Time, bytes: &[u8]) -> Result<Reading, String> {
        GnbReader::read(self, now, bytes).map_err(|malformed| malformed.to_string())
    }

    fn forget(&mut self) {
        GnbReader::forget(self);
    }
}

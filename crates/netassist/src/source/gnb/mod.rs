//! The base station (gNB) of OCUDU, and of srsRAN before it: JSON with the scheduler's counts of each period.
//!
//! Sources: ocudu/ocudu at 9b0cfa6 (22 July 2026) and srsran/srsRAN_Project at 4bf1543 (16 February 2026), the JSON generators of
//! both; the documentation of both where it does not contradict them. Not tried: a live base station.
//!
//! Two traps, each with a test: `dl_brate` and `ul_brate` are bit/s, where the documentation says kbit/s;
//! `max_pdsch_distance` is in milliseconds, where the documentation says slots.

mod report;
mod samples;

use super::{MessageReader, Reading};
use crate::source::kind::{Services, SourceKind};
use crate::source::messages::read_messages;
use crate::source::plausible::fastest_cell;
use crate::source::{Recording, Source, UdpInput, WebSocketInput};
use cellcc_units::{Rate, Span, Time};
use serde::Deserialize;
use std::net::SocketAddr;
use std::path::PathBuf;

pub use report::{CellReport, Malformed, Message, UeReport, parse};
pub use samples::{GnbReader, GnbSettings, message};

impl MessageReader for GnbReader {
    fn read(&mut self, now: Time, bytes: &[u8]) -> Result<Reading, String> {
        GnbReader::read(self, now, bytes).map_err(|malformed| malformed.to_string())
    }

    fn forget(&mut self) {
        GnbReader::forget(self);
    }
}

// A base station's three kinds of sources: its WebSocket, its datagrams, and the recording of either.

/// A base station's WebSocket (OCUDU, srsRAN since July 2025).
#[derive(Debug, Clone, Deserialize)]
#[serde(transparent)]
pub struct GnbWebsocket(pub GnbAddress);

/// A base station's datagrams (srsRAN before July 2025).
#[derive(Debug, Clone, Deserialize)]
#[serde(transparent)]
pub struct GnbUdp(pub GnbAddress);

/// Where a base station's messages are.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GnbAddress {
    /// Where it listens, or where to receive its datagrams: on this machine's loopback.
    #[serde(deserialize_with = "crate::address::address")]
    pub address: SocketAddr,
    /// Between the servers' gateway and the base station, both ways. Not known where it is not given, unless the cell has echoes.
    pub network_rtt: Option<Span>,
    /// Slots a second in which a cell can send to users.
    #[serde(default = "default_slots")]
    pub downlink_slots_per_second: u32,
    /// The most that a cell carries: a user's rate above this is not believed.
    #[serde(default = "fastest_cell")]
    pub cell_rate: Rate,
    /// Add the messages to this file.
    pub record: Option<PathBuf>,
}

/// The recording of either.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GnbRecording {
    /// The file.
    pub file: PathBuf,
    /// As [`GnbAddress::network_rtt`].
    pub network_rtt: Option<Span>,
    /// As [`GnbAddress::downlink_slots_per_second`].
    #[serde(default = "default_slots")]
    pub downlink_slots_per_second: u32,
    /// As [`GnbAddress::cell_rate`].
    #[serde(default = "fastest_cell")]
    pub cell_rate: Rate,
}

/// 30 kHz subcarriers, 2000 slots a second (3GPP TS 38.211, table 4.3.2-1); a usual pattern of TDD gives seven in ten to the
/// downlink.
fn default_slots() -> u32 {
    1400
}

impl GnbAddress {
    fn reader(&self) -> GnbReader {
        let Self { downlink_slots_per_second, network_rtt, .. } = *self;
        GnbReader::new(GnbSettings { downlink_slots_per_second, network_rtt })
    }
}

impl SourceKind for GnbWebsocket {
    fn reads(&self) -> String {
        self.0.address.to_string()
    }

    fn file(&mut self) -> Option<&mut PathBuf> {
        self.0.record.as_mut()
    }

    async fn open(&self, services: &Services<'_>) -> Result<Box<dyn Source>, String> {
        let input = WebSocketInput::new(self.0.address, services.clock)?;
        Ok(read_messages(input, self.0.record.as_deref(), self.0.reader(), self.0.cell_rate))
    }
}

impl SourceKind for GnbUdp {
    fn reads(&self) -> String {
        self.0.address.to_string()
    }

    fn file(&mut self) -> Option<&mut PathBuf> {
        self.0.record.as_mut()
    }

    async fn open(&self, services: &Services<'_>) -> Result<Box<dyn Source>, String> {
        let input =
            UdpInput::bind(self.0.address, services.clock).await.map_err(|error| error.to_string())?;
        Ok(read_messages(input, self.0.record.as_deref(), self.0.reader(), self.0.cell_rate))
    }
}

impl SourceKind for GnbRecording {
    fn reads(&self) -> String {
        self.file.display().to_string()
    }

    fn file(&mut self) -> Option<&mut PathBuf> {
        Some(&mut self.file)
    }

    async fn open(&self, services: &Services<'_>) -> Result<Box<dyn Source>, String> {
        let input = Recording::open(&self.file, services.clock).map_err(|error| error.to_string())?;
        let Self { downlink_slots_per_second, network_rtt, cell_rate, .. } = *self;
        let reader = GnbReader::new(GnbSettings { downlink_slots_per_second, network_rtt });
        Ok(read_messages(input, None, reader, cell_rate))
    }
}

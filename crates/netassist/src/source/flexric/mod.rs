//! A base station of OpenAirInterface or another one with FlexRIC's agent: lines of JSON that an xApp sends of each indication of
//! the MAC, RLC and GTP service models. `examples/flexric-xapp` has such an xApp.
//!
//! Source: openaicellular/flexric at 1f04cc5 (December 2023), the structures of the service models. Not tried: a live base station
//! or RIC.

mod line;
mod samples;

use super::{MessageReader, Reading};
use crate::source::kind::{Services, SourceKind};
use crate::source::messages::read_messages;
use crate::source::plausible::fastest_cell;
use crate::source::{Source, UdpInput};
use cellcc_units::{Rate, Span, Time};
use serde::Deserialize;
use std::net::SocketAddr;
use std::path::PathBuf;

pub use line::{GtpTunnel, Line, MacUe, Malformed, RlcBearer, parse};
pub use samples::{FlexRicReader, FlexRicSettings, UserNames};

impl MessageReader for FlexRicReader {
    fn read(&mut self, now: Time, bytes: &[u8]) -> Result<Reading, String> {
        FlexRicReader::read(self, now, bytes).map_err(|malformed| malformed.to_string())
    }

    fn forget(&mut self) {
        FlexRicReader::forget(self);
    }
}

// The configuration of a FlexRIC source.

/// Datagrams of an xApp of FlexRIC's: a line of JSON each.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlexRic {
    /// Where to receive them, on this machine's loopback.
    #[serde(deserialize_with = "crate::address::address")]
    pub address: SocketAddr,
    /// The cell's physical cell identity.
    pub pci: u16,
    /// Resource blocks that the cell has for users in a second.
    pub resource_blocks_per_second: u64,
    /// Which field of a report identifies its user.
    #[serde(default)]
    pub names: UserNames,
    /// Between the servers' gateway and the base station, both ways, where it is known.
    pub network_rtt: Option<Span>,
    /// The most that a cell carries: a user's rate above this is not believed.
    #[serde(default = "fastest_cell")]
    pub cell_rate: Rate,
    /// Add the messages to this file.
    pub record: Option<PathBuf>,
}

impl SourceKind for FlexRic {
    fn reads(&self) -> String {
        self.address.to_string()
    }

    fn file(&mut self) -> Option<&mut PathBuf> {
        self.record.as_mut()
    }

    async fn open(&self, services: &Services<'_>) -> Result<Box<dyn Source>, String> {
        let input = UdpInput::bind(self.address, services.clock).await.map_err(|error| error.to_string())?;
        let Self { pci, resource_blocks_per_second, network_rtt, names, .. } = *self;
        let reader =
            FlexRicReader::new(FlexRicSettings { pci, resource_blocks_per_second, network_rtt, names });
        Ok(read_messages(input, self.record.as_deref(), reader, self.cell_rate))
    }
}

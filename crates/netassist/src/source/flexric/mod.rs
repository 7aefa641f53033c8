//! A base station of OpenAirInterface or another one with FlexRIC's agent: lines of JSON that an xApp sends of each indication of
//! the MAC, RLC and GTP service models. `examples/flexric-xapp` has such an xApp.
//!
//! Source: openaicellular/flexric at 1f04cc5 (December 2023), the structures of the service models. Not tried: a live base station
//! or RIC.

mod kind;
mod line;
mod samples;

pub use kind::FlexRic;
pub use line::{GtpTunnel, Line, MacUe, Malformed, RlcBearer, parse};
pub use samples::{FlexRicReader, FlexRicSettings, UserNames};

use super::{MessageReader, Reading};
use cellcc_units::Time;

impl MessageReader for FlexRicReader {
    fn read(&mut self, now: Time, bytes: &[u8]) -> Result<Reading, String> {
        FlexRicReader::read(self, now, bytes).map_err(|malformed| malformed.to_string())
    }

    fn forget(&mut self) {
        FlexRicReader::forget(self);
    }
}

//! Slow ceilings for network elements that write SCONE packets.

use crate::service::Ceiling;
use serde::Serialize;
use std::net::IpAddr;

/// The slow ceiling of a user's flows, as it is written.
#[derive(Debug, Serialize)]
pub(super) struct UserCeiling {
    /// Where the user's packets go.
    addresses: Vec<IpAddr>,
    /// The signal of draft-ietf-scone-protocol, 0 to 127; 127: unknown.
    signal: u8,
    /// What it says; `None`: unknown.
    kbit_per_s: Option<u64>,
}

impl From<Ceiling> for UserCeiling {
    fn from(Ceiling { addresses, signal }: Ceiling) -> Self {
        let kbit_per_s = signal.rate().map(|rate| rate.as_bytes_per_sec() / 125);
        Self { addresses, signal: signal.number(), kbit_per_s }
    }
}

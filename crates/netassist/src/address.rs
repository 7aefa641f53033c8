//! Addresses in the configuration.

use serde::{Deserialize, Deserializer, de};
use std::net::SocketAddr;

/// An IP address with its port. Names are for clients: one name may have several addresses.
pub(crate) fn address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SocketAddr, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.parse().map_err(|_| {
        de::Error::custom(format!("`{text}` is no address: write IP:PORT, such as 0.0.0.0:9465 or [::]:9465"))
    })
}

/// Reads an optional one.
pub(crate) fn optional<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<SocketAddr>, D::Error> {
    address(deserializer).map(Some)
}

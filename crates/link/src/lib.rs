//! Links of cellular networks: [`Capacity`] (a trace, or a rate), [`Link`] (loss, queue, service, delay), the traces
//! they are read from ([`trace`]) and their text form ([`CapacitySpec`]).
//!
//! Pure: time and seeds are arguments, and the same input gives the same output on every machine.

mod capacity;
mod cell;
mod codel;
mod cursor;
mod delay;
mod drop_tail;
mod flight;
mod forward;
mod jitter;
mod join;
mod link;
mod loss;
mod managed;
mod opportunities;
mod packet;
mod pie;
mod reordering;
mod schedule;
mod scheduler;
mod service;
mod shelf;
mod spec;
mod stats;
mod steps;
pub mod synthetic;
pub mod trace;
mod waiting;

pub use capacity::{Capacity, CapacityError};
pub use cell::Cell;
pub use cursor::Cursor;
pub use delay::Delay;
pub use forward::Forward;
pub use jitter::Jitter;
pub use join::Piece;
pub use link::{Link, LinkConfig};
pub use loss::{Loss, LossRate};
pub use packet::{Delivery, DropReason, Dropped, Packet, Poll};
pub use reordering::Reordering;
pub use schedule::StepsError;
pub use scheduler::Scheduler;
pub use service::Service;
pub use shelf::{Capacities, Shelf};
pub use spec::{CapacitySpec, Cut, Source, SpecError};
pub use stats::{BurstStats, CapacityStats, OUTAGE_BELOW_MBIT_S};

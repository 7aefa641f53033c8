//! Internal, exact version: any release may change this crate (docs/architecture.md, "Promised crates").
//!
//! Links of cellular networks.
//!
//! [`Capacity`] is a link's capacity: a trace, or a rate. [`trace`] reads it from a file, and [`CapacitySpec`] is
//! its text form. [`Link`] adds the stages of [`LinkConfig`]; [`Cell`] shares a base station among users;
//! [`ForwardPath`] is one of the two with a policer before it and reordering behind it.
//!
//! Pure: time and seeds are arguments, and the same input gives the same output on every machine.

mod aqm_link;
mod capacity;
mod cell;
mod delay;
mod drop_tail_link;
mod forward_path;
mod grain;
mod link;
mod packet;
mod queue;
mod scheduler;
mod share;
mod stages;
pub mod synthetic;
mod texture;
pub mod trace;
mod trace_cache;

pub use capacity::cut::Cut;
pub use capacity::join::Piece;
pub use capacity::schedule::{StepsError, format as format_steps, parse as parse_steps};
pub use capacity::service_clock::ServiceClock;
pub use capacity::spec::{CapacitySpec, Source, SpecError};
pub use capacity::stats::{BurstStats, CapacityStats, OUTAGE_BELOW_MBIT_S};
pub use capacity::{Capacity, CapacityError};
pub use cell::Cell;
pub use delay::Delay;
pub use delay::floor::{DelayFloor, FloorPoint};
pub use forward_path::{Bottleneck, ForwardPath, PathConfig};
pub use link::Link;
pub use packet::{Delivery, DropReason, Dropped, Packet, Poll};
pub use queue::*;
pub use scheduler::Scheduler;
pub use share::{Loss, ShareOverTime};
pub use stages::*;
pub use texture::{Radio, Texture, TextureError, Wander};
pub use trace_cache::{Capacities, TraceCache};

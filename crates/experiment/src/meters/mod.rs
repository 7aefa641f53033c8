//! Meters, which turn packets and samples into a Record's numbers.

mod bins;
pub(crate) mod curve;
pub(crate) mod distribution;
pub(crate) mod fairness;
pub(crate) mod frames;
pub(crate) mod levels;
pub(crate) mod measured;
pub(crate) mod meter;
pub(crate) mod series;
pub(crate) mod stored;
pub(crate) mod user_queues;

//! Commands on the results of a comparison.

pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod plot;
pub(crate) mod report;
pub(crate) mod slurm;

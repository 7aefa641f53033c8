//! Plans, and the runs that follow from them.

pub(crate) mod braces;
pub(crate) mod harm;
pub(crate) mod limit;
pub(crate) mod mix;
pub(crate) mod plan;
pub(crate) mod plan_file;
pub(crate) mod seeds;
pub(crate) mod vary;

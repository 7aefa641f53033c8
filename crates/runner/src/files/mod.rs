//! The folder of results: what it holds, who may write to it, and whether it is as it was written.

pub(crate) mod folder;
pub(crate) mod info;
pub(crate) mod inspection;
pub(crate) mod journal;
pub(crate) mod lock;
pub(crate) mod output;
pub(crate) mod results;
pub(crate) mod seal;

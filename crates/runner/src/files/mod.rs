//! The folder of results: its files, the lock of its only writer, and the check that it is as it was written.

pub(crate) mod folder;
pub(crate) mod info;
pub(crate) mod inspection;
pub(crate) mod journal;
pub(crate) mod lock;
pub(crate) mod output;
pub(crate) mod results;
pub(crate) mod seal;

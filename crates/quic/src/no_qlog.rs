//! Stands in the place of `qlog` in a build without that feature: no connection has a log, and noq prepares no entries.

use crate::sender::Sender;
use noq_proto::TransportConfig;
use std::time::Instant;

/// A folder for logs: this build has none.
#[derive(Debug, Clone)]
pub enum Directory {}

impl Directory {
    /// Does nothing, as there is no folder.
    pub fn install(&self, _: &mut TransportConfig) {
        match *self {}
    }
}

/// A connection's log, as above.
#[derive(Debug)]
pub(crate) enum Log {}

/// A scheme's part of it.
pub(crate) struct SchemeLog(Log);

impl SchemeLog {
    pub(crate) fn new(log: Log, _: &str) -> Self {
        Self(log)
    }

    pub(crate) fn record(&mut self, _: Instant, _: &Sender) {
        match self.0 {}
    }
}

/// No log belongs to the connection whose first controller is being built.
pub(crate) fn of_connection_being_made(_: Instant) -> Option<Log> {
    None
}

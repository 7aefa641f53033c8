//! The definition of a kind of source.

use super::Source;
use crate::clock::ServiceClock;
use crate::identity::{Identities, SourceName, UserIndex};
use cellcc_assist::PassiveCounters;
use cellcc_link::TraceCache;
use std::net::IpAddr;
use std::path::PathBuf;

/// A kind of source, with its table in the configuration.
pub(crate) trait SourceKind {
    /// Its input, for messages.
    fn reads(&self) -> String;

    /// The file that its table names, where it names one: relative to the configuration.
    fn file(&mut self) -> Option<&mut PathBuf> {
        None
    }

    /// Opens it, or says why it cannot.
    async fn open(&self, services: &Services<'_>) -> Result<Box<dyn Source>, String>;
}

/// The counters of an interface.
pub trait HostCounters: Send {
    /// The counts of a user, by its place in the list.
    ///
    /// # Errors The interface is gone, or its counters are.
    fn read(&self, user: usize) -> Result<PassiveCounters, String>;
}

/// Begins to count on an interface, for users with these addresses.
pub type OpenHostCounters = fn(&str, &[Vec<IpAddr>]) -> Result<Box<dyn HostCounters>, String>;

/// The resources for opening sources.
pub(crate) struct Services<'a> {
    pub(crate) identities: &'a Identities,
    pub(crate) clock: ServiceClock,
    /// The opener of an interface's counters, if there is one.
    pub(crate) host_counters: Option<OpenHostCounters>,
    /// Traces that were read already.
    pub(crate) traces: TraceCache,
}

impl Services<'_> {
    /// The user of this name in the table.
    pub(crate) fn user(&self, name: &str) -> Result<UserIndex, String> {
        let user = self.identities.by_source(&SourceName::Name(name.into()));
        user.ok_or_else(|| format!("it is about `{name}`, and no user has this name"))
    }
}

//! The service's end of a NATS broker, and the permissions that the broker needs.

mod permissions;
mod publisher;
mod registrations;

use crate::service::Publication;
use crate::transport::counts::ServerCounts;
use bytes::Bytes;
use cellcc_assist::AdviceRecord;
use cellcc_netassist_client::nats::subject::{self, CellName, SubjectToken};
use std::collections::HashMap;
use tokio::sync::mpsc;

pub use permissions::{BrokerClients, Contradiction, KnownServer, Permissions, UnknownName, permissions};
pub(super) use publisher::Publisher;
pub use publisher::PublisherSettings;

// Records on their way to the broker.

/// Records that wait for the broker: those of 16,000 users in one period.
const MAX_WAITING: usize = 1 << 14;
/// Subjects, and the records that go under them.
type Waiting = mpsc::Receiver<(String, Bytes)>;

/// Where records for the broker are put.
#[derive(Debug)]
pub(super) struct Outbox {
    waiting: mpsc::Sender<(String, Bytes)>,
    site: SubjectToken,
    cells: HashMap<u32, SubjectToken>,
    is_connected: bool,
}

impl Outbox {
    /// The publisher of a site, and its queue.
    fn new(site: SubjectToken, cells: &[CellName]) -> (Self, Waiting) {
        let (queue, waiting) = mpsc::channel(MAX_WAITING);
        let cells = cells.iter().map(|cell| (cell.pci, cell.name.clone())).collect();
        (Self { waiting: queue, site, cells, is_connected: false }, waiting)
    }

    fn set_connected(&mut self, is_connected: bool) {
        self.is_connected = is_connected;
    }

    /// Queues a record. Where there is no room, or no broker, it is dropped: a later one takes its place.
    pub(in crate::transport) fn publish(
        &self,
        publication: &Publication,
        record: &[u8; AdviceRecord::SIZE],
        counts: &mut ServerCounts,
    ) {
        let subject = match self.cells.get(&publication.cell) {
            Some(name) => subject::record(&self.site, name, &publication.record),
            None => subject::record(&self.site, &publication.cell, &publication.record),
        };
        let message = (subject, Bytes::copy_from_slice(record));
        if !self.is_connected || self.waiting.try_send(message).is_err() {
            counts.broker_records_dropped += 1;
        }
    }

    pub(in crate::transport) fn is_connected(&self) -> bool {
        self.is_connected
    }
}

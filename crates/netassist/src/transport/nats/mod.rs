//! The service's end of a NATS broker, and the permissions that the broker needs.

mod permissions;
mod publisher;
mod registrations;

use crate::service::Publication;
use crate::transport::counts::ServerCounts;
use cellcc_assist::AdviceRecord;
use cellcc_netassist_client::nats::Client;
use cellcc_netassist_client::nats::subject::{self, CellName, SubjectToken};
use std::collections::HashMap;

pub use permissions::{BrokerClients, Contradiction, KnownServer, Permissions, UnknownName, permissions};
pub(super) use publisher::Publisher;
pub use publisher::PublisherSettings;

/// Where records for the broker go.
#[derive(Debug)]
pub(super) struct Outbox {
    site: SubjectToken,
    cells: HashMap<u32, SubjectToken>,
    /// The connection with the broker, where there is one.
    broker: Option<Client>,
}

impl Outbox {
    fn new(site: SubjectToken, cells: &[CellName]) -> Self {
        let cells = cells.iter().map(|cell| (cell.pci, cell.name.clone())).collect();
        Self { site, cells, broker: None }
    }

    /// Hands over a record. Where there is no room, or no broker, it is dropped: a later one takes its place.
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
        match &self.broker {
            Some(broker) if broker.try_publish(&subject, record) => counts.broker_records += 1,
            _ => counts.broker_records_dropped += 1,
        }
    }

    pub(in crate::transport) fn is_connected(&self) -> bool {
        self.broker.is_some()
    }
}

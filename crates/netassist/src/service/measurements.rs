//! Requests about users from clients other than servers with QUIC or NATS: MEC applications, and network elements.

use super::Service;
use crate::identity::UserIndex;
use cellcc_assist::scone::Signal;
use cellcc_netassist_client::{PeerName, Role};
use cellcc_units::{Rate, Span};
use std::net::IpAddr;

/// The present measurement of a user.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Measurement {
    /// The requested address, or the user's first one.
    pub(crate) address: IpAddr,
    /// The cell that the user is in, as its source calls it.
    pub(crate) cell: u32,
    /// The service of the last period, if the source reports it.
    pub(crate) downlink: Option<Rate>,
    /// The rate from the user.
    pub(crate) uplink: Option<Rate>,
    /// How long packets to the user wait; `None` while its bandwidth is zero.
    pub(crate) wait: Option<Span>,
}

/// The slow ceiling of a user's flows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ceiling {
    /// Where the user's packets go.
    pub(crate) addresses: Vec<IpAddr>,
    /// The ceiling.
    pub(crate) signal: Signal,
}

impl Service {
    /// Measurements of the users that this client receives reports on, or, for an operator, of all. `wanted`: only users with
    /// one of these addresses; empty: all.
    pub(crate) fn measurements(&self, asker: &PeerName, wanted: &[IpAddr]) -> Vec<Measurement> {
        let may = |index: &UserIndex| asker.role() == Role::Operator || self.is_informed(asker, *index);
        let users = self.identities.all().filter(may);
        users.filter_map(|index| self.measurement(index, wanted)).collect()
    }

    fn measurement(&self, index: UserIndex, wanted: &[IpAddr]) -> Option<Measurement> {
        let user = &self.users[index.0];
        let record = user.last()?;
        let mut addresses = self.identities.addresses(index);
        let is_wanted = |address: &IpAddr| wanted.is_empty() || wanted.contains(&address.to_canonical());
        let served = user.served();
        Some(Measurement {
            address: addresses.find(is_wanted)?,
            cell: user.cell()?,
            downlink: served,
            uplink: served.map(|_| record.uplink),
            wait: (!record.downlink.is_zero()).then(|| record.downlink.time_for(record.backlog)),
        })
    }

    /// The slow ceilings of all users of whom something is known.
    pub(crate) fn ceilings(&self) -> Vec<Ceiling> {
        let known = self.identities.all().filter(|index| self.users[index.0].last().is_some());
        let ceiling = |index| Ceiling {
            addresses: self.identities.addresses(index).collect(),
            signal: self.users[index.0].ceiling(),
        };
        known.map(ceiling).collect()
    }
}

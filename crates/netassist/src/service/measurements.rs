//! What others than servers with QUIC or NATS ask about users: MEC applications, and network elements.

use super::Service;
use crate::identity::UserIndex;
use crate::source::mec::{AssociateId, CellUeInfo, Ecgi, Plmn};
use cellcc_netassist_client::{PeerName, Role};
use cellcc_units::Rate;
use serde::Serialize;
use std::net::IpAddr;

/// The slow ceiling of a user's flows, for a network element that writes SCONE packets.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ceiling {
    /// Where the user's packets go.
    pub addresses: Vec<IpAddr>,
    /// The signal of draft-ietf-scone-protocol, 0 to 127; 127: unknown.
    pub signal: u8,
    /// What it says; `None`: unknown.
    pub kbit_per_s: Option<u64>,
}

impl Service {
    /// Layer-2 measurements of the users about whom this client is told, or, for an operator, of all. `wanted`: only users with one
    /// of these addresses; empty: all.
    pub(crate) fn layer2(&self, asker: &PeerName, wanted: &[IpAddr], plmn: &Plmn) -> Vec<CellUeInfo> {
        let may = |index: &UserIndex| asker.role() == Role::Operator || self.is_told(asker, *index);
        let users = self.identities.all().filter(may);
        users.filter_map(|index| self.cell_ue_info(index, wanted, plmn)).collect()
    }

    fn cell_ue_info(&self, index: UserIndex, wanted: &[IpAddr], plmn: &Plmn) -> Option<CellUeInfo> {
        let record = self.users.last(index)?;
        let mut addresses = self.identities.addresses(index);
        let is_wanted = |address: &IpAddr| wanted.is_empty() || wanted.contains(&address.to_canonical());
        let address = addresses.find(is_wanted)?;
        let kbit = |rate: Rate| rate.as_bytes_per_sec() / 125;
        let served = self.users.served(index);
        let wait = (!record.downlink.is_zero()).then(|| record.downlink.time_for(record.backlog));
        Some(CellUeInfo {
            associate_id: AssociateId::of_address(address),
            ecgi: Ecgi { cell_id: format!("{:x}", self.users.cell(index)?), plmn: plmn.clone() },
            dl_nongbr_throughput: served.map(kbit),
            dl_gbr_throughput: None,
            ul_nongbr_throughput: served.map(|_| kbit(record.uplink)),
            ul_gbr_throughput: None,
            dl_nongbr_delay: wait.map(|wait| wait.as_nanos() / 1_000_000),
        })
    }

    /// The slow ceilings of all users of whom something is known.
    pub(crate) fn ceilings(&self) -> Vec<Ceiling> {
        let known = self.identities.all().filter(|index| self.users.last(*index).is_some());
        let ceiling = |index| {
            let signal = self.users.ceiling(index);
            Ceiling {
                addresses: self.identities.addresses(index).collect(),
                signal: signal.number(),
                kbit_per_s: signal.rate().map(|rate| rate.as_bytes_per_sec() / 125),
            }
        };
        known.map(ceiling).collect()
    }
}

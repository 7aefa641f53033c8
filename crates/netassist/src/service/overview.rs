//! An operator's view of all users at once.

use super::{Service, Subscription};
use crate::audit::Ground;
use crate::identity::UserIndex;
use cellcc_assist::AdviceRecord;
use cellcc_control::AdviceClass;
use cellcc_netassist_client::{PeerName, Role};
use cellcc_units::Time;
use serde::Serialize;
use std::cmp::Reverse;

/// All users, and who is informed about them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Overview {
    /// When it was so: milliseconds since 1970.
    pub unix_ms: u64,
    /// Users of the table, known or not.
    pub users: usize,
    /// Clients that are connected.
    pub clients: usize,
    /// Users about whom a server is informed.
    pub assisted: Group,
    /// The other users of whom something is known.
    pub unassisted: Group,
    /// Those users to whom most is served, in the order of the table.
    pub shown: Vec<UserOverview>,
}

/// Some users together.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Default)]
pub struct Group {
    /// How many.
    pub users: usize,
    /// Their service in the last period of each; `None` where no source tells.
    pub served_mbit_per_s: Option<f64>,
    /// Their queues at their base stations.
    pub queue_bytes: u64,
    /// The wait of a byte that arrives now, on average over them; `None` if no user has a rate.
    pub queueing_ms: Option<f64>,
}

/// One user.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UserOverview {
    /// The name in the table.
    pub user: String,
    /// The cell, as the source calls it.
    pub cell: u32,
    /// The bandwidth's origin in the servers' reports: `backlogged`, `partial`, `idle`; or `stale`: the source is late.
    pub class: &'static str,
    /// The service in the last period; `None` where the source does not tell.
    pub served_mbit_per_s: Option<f64>,
    /// The bandwidth that is reported to servers.
    pub reported_mbit_per_s: f64,
    /// The queue at the base station.
    pub queue_bytes: u64,
    /// How long a byte that arrives now waits; `None` where the bandwidth is zero and something waits.
    pub queueing_ms: Option<f64>,
    /// The minimum RTT; `None` where it is not known.
    pub min_rtt_ms: Option<f64>,
    /// Active flows.
    pub flows: u16,
    /// Cells that the user has been in.
    pub cells_seen: u64,
    /// How long ago the last measured period ended.
    pub age_ms: u64,
    /// The servers that are informed.
    pub informed: Vec<Informed>,
}

/// A server that is informed about a user.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Informed {
    /// Its name.
    pub server: String,
    /// Why it may be.
    pub because: Ground,
}

impl Service {
    /// All users as they are now, `most` of them by name.
    pub fn overview(&self, now: Time, most: usize) -> Overview {
        let known: Vec<_> =
            self.identities.all().filter_map(|index| Some((index, self.users[index.0].last()?))).collect();
        let (assisted, unassisted) =
            known.iter().partition::<Vec<_>, _>(|(index, _)| self.servers_of(*index).next().is_some());
        let mut shown = known;
        shown.sort_by_key(|(index, record)| Reverse(self.users[index.0].served().unwrap_or(record.downlink)));
        shown.truncate(most);
        shown.sort_by_key(|(index, _)| *index);
        Overview {
            unix_ms: now.as_nanos() / 1_000_000,
            users: self.identities.all().count(),
            clients: self.clients.len(),
            assisted: self.group(&assisted),
            unassisted: self.group(&unassisted),
            shown: shown.into_iter().map(|(index, record)| self.user_overview(now, index, record)).collect(),
        }
    }

    /// True if this server receives reports on this user.
    pub(super) fn is_informed(&self, server: &PeerName, index: UserIndex) -> bool {
        self.servers_of(index).any(|(name, _)| name == server)
    }

    fn servers_of(&self, index: UserIndex) -> impl Iterator<Item = (&PeerName, &Subscription)> {
        let subscriptions = self.subscriptions[index.0].iter();
        subscriptions
            .map(|(id, subscription)| (&self.clients[id].name, subscription))
            .filter(|(name, _)| name.role() == Role::Server)
    }

    fn group(&self, users: &[(UserIndex, &AdviceRecord)]) -> Group {
        let served: Vec<_> = users.iter().filter_map(|(index, _)| self.users[index.0].served()).collect();
        let waits: Vec<_> = users.iter().filter_map(|(_, record)| queueing_ms(record)).collect();
        Group {
            users: users.len(),
            served_mbit_per_s: (!served.is_empty())
                .then(|| served.iter().map(|rate| rate.as_mbit_per_sec()).sum()),
            queue_bytes: users.iter().map(|(_, record)| record.backlog.get()).sum(),
            queueing_ms: (!waits.is_empty()).then(|| waits.iter().sum::<f64>() / waits.len() as f64),
        }
    }

    fn user_overview(&self, now: Time, index: UserIndex, record: &AdviceRecord) -> UserOverview {
        let informed = self.servers_of(index);
        UserOverview {
            user: self.identities.user(index).name.clone(),
            cell: self.users[index.0].cell().unwrap_or_default(),
            class: match record.class {
                _ if record.stale => "stale",
                AdviceClass::Backlogged => "backlogged",
                AdviceClass::Partial => "partial",
                AdviceClass::Idle => "idle",
            },
            served_mbit_per_s: self.users[index.0].served().map(|rate| rate.as_mbit_per_sec()),
            reported_mbit_per_s: record.downlink.as_mbit_per_sec(),
            queue_bytes: record.backlog.get(),
            queueing_ms: queueing_ms(record),
            min_rtt_ms: record.min_rtt.map(|parts| parts.total().as_millis_f64()),
            flows: record.flows,
            cells_seen: u64::from(record.cell_epoch) + 1,
            age_ms: now.since(record.measured_until).as_nanos() / 1_000_000,
            informed: informed
                .map(|(name, subscription)| Informed {
                    server: name.name().to_owned(),
                    because: subscription.ground,
                })
                .collect(),
        }
    }
}

fn queueing_ms(record: &AdviceRecord) -> Option<f64> {
    match (record.backlog.is_zero(), record.downlink.is_zero()) {
        (true, _) => Some(0.0),
        (false, true) => None,
        (false, false) => Some(record.downlink.time_for(record.backlog).as_millis_f64()),
    }
}

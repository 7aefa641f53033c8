//! The core of the service: who is registered for whom, and which record goes to whom. Pure: time, samples and requests come
//! in, records and answers go out.

mod measurements;
mod overview;
mod registrations;
mod turns;

pub(crate) use measurements::{Ceiling, Measurement};
pub use overview::{Group, Informed, Overview, UserOverview};

use crate::audit::{AuditEntry, Event, Ground, Refused};
use crate::identity::{Identities, UserIndex};
use crate::limits::{MAX_CLIENTS, MAX_CLIENTS_OF_ONE_NAME, beginnings, client_requests, logged_refusals};
use crate::live_flows::LiveFlows;
use crate::sample::Sample;
use crate::sessions::Session;
use cellcc_assist::{AdviceRecord, UserModel};
use cellcc_netassist_client::protocol::{Answer, Request};
use cellcc_netassist_client::{Allowance, PeerName, Role};
use cellcc_units::{Span, Time};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;
use turns::Turns;

/// How often each user is looked at: the paper's period of reports (NATCP, section 2.2.1).
const PERIOD: Span = Span::from_millis(50);
/// How often it is asked whether the grounds of subscriptions still hold.
const REVIEW_INTERVAL: Span = Span::from_secs(1);

/// A client that is connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClientId(u64);

/// A user's signed consent, after its signature was verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consent {
    /// The user that signed.
    pub user: PeerName,
    /// Which server may be informed.
    pub server: PeerName,
    /// Until when, since 1970.
    pub until: Time,
}

/// The consent that came with a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Presented {
    /// None did.
    None,
    /// It is signed as it should be, and holds now.
    Signed(Consent),
    /// It is not.
    Forged,
}

/// The answer to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// Tell the client this.
    Answers(Vec<Answer>),
    /// It does not keep to the limits: end its connection.
    Disconnect,
}

/// A record, and who gets it.
#[derive(Debug, Clone, PartialEq)]
pub struct Publication {
    /// The record.
    pub record: AdviceRecord,
    /// The cell that the user is in, as its source calls it.
    pub cell: u32,
    /// Its receivers, of those that the service knows.
    pub to: Vec<ClientId>,
}

/// The work that is due by the clock.
#[derive(Debug, Default)]
pub struct Due {
    /// Records that say that a source is late.
    pub publications: Vec<Publication>,
    /// Subscriptions that have ended.
    pub answers: Vec<(ClientId, Answer)>,
}

/// Counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Samples that became records.
    pub samples: u64,
    /// Samples too early for a report.
    pub samples_too_early: u64,
    /// Samples of users that are not in the table.
    pub samples_unknown_user: u64,
    /// Requests that were granted.
    pub granted: u64,
    /// Requests that were refused.
    pub refused: u64,
    /// Handovers that were seen.
    pub handovers: u64,
    /// Times that a user's source was late.
    pub stale: u64,
}

#[derive(Debug)]
struct Client {
    name: PeerName,
    address: IpAddr,
    requests: Allowance,
    refused: u32,
    too_fast: u32,
    subscriptions: BTreeSet<UserIndex>,
}

/// How much one name may have written down: a client that connects again has no more.
#[derive(Debug)]
struct Written {
    beginnings: Allowance,
    refusals: Allowance,
}

#[derive(Debug, Clone, Copy)]
struct Subscription {
    /// The user's address for the client.
    user: IpAddr,
    flows: u16,
    ground: Ground,
    /// Since 1970.
    consent_until: Option<Time>,
}

/// The core of the service.
#[derive(Debug)]
pub struct Service {
    identities: Identities,
    users: Vec<UserModel>,
    live_flows: LiveFlows,
    clients: BTreeMap<ClientId, Client>,
    next_client: u64,
    /// The subscribers to each user.
    subscriptions: Vec<BTreeMap<ClientId, Subscription>>,
    /// The next users to check, and the times.
    turns: Turns,
    next_review: Time,
    /// By name: as many as have certificates.
    written: HashMap<PeerName, Written>,
    /// The audit events since they were taken last.
    audit: Vec<(PeerName, IpAddr, Event)>,
    counts: Counts,
}

impl Service {
    /// The service for these users.
    pub fn new(now: Time, identities: Identities, live_flows: LiveFlows) -> Self {
        Self {
            users: identities.all().map(|index| UserModel::new(identities.key(index).0)).collect(),
            subscriptions: identities.all().map(|_| BTreeMap::new()).collect(),
            turns: Turns::new(now, &identities, PERIOD),
            live_flows,
            clients: BTreeMap::new(),
            next_client: 0,
            next_review: now + REVIEW_INTERVAL,
            written: HashMap::new(),
            audit: Vec::new(),
            counts: Counts::default(),
            identities,
        }
    }

    /// A client has connected; `None` where there are too many, of this name or of all, or where it connects too often.
    pub fn connect(&mut self, now: Time, name: PeerName, address: IpAddr) -> Option<ClientId> {
        let of_this_name = self.clients.values().filter(|client| client.name == name).count();
        if self.clients.len() >= MAX_CLIENTS || of_this_name >= MAX_CLIENTS_OF_ONE_NAME {
            return None;
        }
        if !self.may_begin(now, &name) {
            return None;
        }
        let id = ClientId(self.next_client);
        self.next_client += 1;
        let client = Client {
            name,
            address,
            requests: client_requests(now),
            refused: 0,
            too_fast: 0,
            subscriptions: BTreeSet::new(),
        };
        self.clients.insert(id, client);
        self.audit(id, Event::Connected);
        Some(id)
    }

    /// A client has left.
    pub fn disconnect(&mut self, id: ClientId) {
        let Some(client) = self.clients.get(&id) else { return };
        let refused = client.refused;
        for &index in &client.subscriptions {
            self.subscriptions[index.0].remove(&id);
        }
        self.audit(id, Event::Disconnected { refused });
        self.clients.remove(&id);
    }

    /// A core has reported all its sessions.
    pub fn join(&mut self, sessions: &[Session]) {
        self.identities.join(sessions);
    }

    /// The state of connection tracking.
    pub fn see_flows(&mut self, now: Time, pairs: impl IntoIterator<Item = (IpAddr, IpAddr)>) {
        self.live_flows.see(now, pairs);
    }

    /// Answers a client's request.
    pub fn request(&mut self, now: Time, id: ClientId, request: &Request, consent: &Presented) -> Reply {
        let Some(client) = self.clients.get(&id) else { return Reply::Disconnect };
        if !client.requests.allows(now) {
            let user = match request {
                Request::Subscribe { user, .. } | Request::Unsubscribe { user } => Some(*user),
                Request::SubscribeAll | Request::Flows { .. } => None,
            };
            return self.refuse(now, id, user, Refused::TooFast);
        }
        match (request, client.name.role()) {
            (Request::Subscribe { user, flows, .. }, Role::Server) => {
                self.subscribe(now, id, *user, *flows, consent)
            }
            (Request::Unsubscribe { user }, Role::Server) => self.unsubscribe(id, *user),
            (Request::SubscribeAll, Role::Operator) => self.subscribe_all(now, id),
            (Request::Flows { active }, Role::User) => self.flows_reported(now, id, *active),
            (Request::Subscribe { user, .. } | Request::Unsubscribe { user }, _) => {
                self.refuse(now, id, Some(*user), Refused::Role)
            }
            _ => self.refuse(now, id, None, Refused::Role),
        }
    }

    /// The record that follows from a sample, and who gets it.
    pub fn sample(&mut self, sample: &Sample) -> Option<Publication> {
        let Some(index) = self.identities.by_source(&sample.user) else {
            self.counts.samples_unknown_user += 1;
            return None;
        };
        let subscriptions = &self.subscriptions[index.0];
        let flows = subscriptions.values().fold(0_u16, |sum, each| sum.saturating_add(each.flows));
        let user = &mut self.users[index.0];
        let Some(record) = user.take(sample.cell, sample.until, &sample.measured, flows) else {
            self.counts.samples_too_early += 1;
            return None;
        };
        self.counts.samples += 1;
        self.counts.handovers += u64::from(record.handover);
        Some(Publication { record, cell: sample.cell, to: subscriptions.keys().copied().collect() })
    }

    /// When [`poll`](Self::poll) has something to do.
    pub fn next_wake(&self) -> Time {
        self.turns.next_wake().min(self.next_review)
    }

    /// Does due work: users whose source is late, subscriptions whose ground is gone. `unix`: since 1970, for consents.
    pub fn poll(&mut self, now: Time, unix: Time) -> Due {
        let mut due = Due::default();
        while let Some(index) = self.turns.due(now) {
            let user = &mut self.users[index.0];
            if let Some((record, cell)) = user.stale(now).zip(user.cell()) {
                self.counts.stale += 1;
                let to = self.subscriptions[index.0].keys().copied().collect();
                due.publications.push(Publication { record, cell, to });
            }
        }
        if self.next_review <= now {
            self.next_review = now + REVIEW_INTERVAL;
            self.review(unix, &mut due.answers);
        }
        due
    }

    /// The events since the last call, as of `unix`, since 1970.
    pub fn take_audit(&mut self, unix: Time) -> impl Iterator<Item = AuditEntry> {
        let entries = std::mem::take(&mut self.audit).into_iter();
        entries.map(move |(client, address, event)| AuditEntry::new(unix, client, address, event))
    }

    /// True if this name may begin one more thing that the audit log must contain, which then counts as done.
    pub(crate) fn may_begin(&mut self, now: Time, name: &PeerName) -> bool {
        self.written(now, name).beginnings.allows(now)
    }

    /// The counts so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Clients that are connected.
    pub fn clients(&self) -> usize {
        self.clients.len()
    }

    /// Subscriptions that there are.
    pub fn subscriptions(&self) -> usize {
        self.subscriptions.iter().map(BTreeMap::len).sum()
    }

    /// Users of whom something is known.
    pub fn known_users(&self) -> usize {
        self.users.iter().filter(|user| user.last().is_some()).count()
    }

    /// The users of the table.
    pub fn identities(&self) -> &Identities {
        &self.identities
    }

    fn written(&mut self, now: Time, name: &PeerName) -> &Written {
        self.written
            .entry(name.clone())
            .or_insert_with(|| Written { beginnings: beginnings(now), refusals: logged_refusals(now) })
    }

    fn audit(&mut self, id: ClientId, event: Event) {
        let Some(client) = self.clients.get(&id) else { return };
        self.audit.push((client.name.clone(), client.address, event));
    }
}

#[cfg(test)]
mod tests;

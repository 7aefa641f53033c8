//! The core of the service: who is registered for whom, and which record goes to whom. Pure: time, samples and requests come
//! in, records and answers go out.

use crate::audit::{AuditEntry, EndReason, Event, Ground, Refused};
use crate::identity::{Identities, UserIndex};
use crate::limits::{Allowance, MAX_CLIENTS, MAX_SUBSCRIPTIONS, MAX_TOO_FAST};
use crate::live_flows::LiveFlows;
use crate::name::{PeerName, Role};
use crate::protocol::{Answer, Request};
use crate::sample::Sample;
use crate::users::Users;
use cellcc_assist::Record;
use cellcc_units::{Span, Time};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::net::IpAddr;

/// How often each user is looked at: the paper's period of reports (NATCP, section 2.2.1).
const PERIOD: Span = Span::from_millis(50);
/// How often it is asked whether the grounds of subscriptions still hold.
const REVIEW_INTERVAL: Span = Span::from_secs(1);

/// A client that is connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClientId(u64);

/// What a user has signed, after its signature was found right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consent {
    /// Who signed.
    pub user: PeerName,
    /// Which server may be told.
    pub server: PeerName,
    /// Until when, on the service's clock.
    pub until: Time,
}

/// The consent that came with a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Presented {
    /// None did.
    None,
    /// It is signed as it should be.
    Signed(Consent),
    /// It is not.
    Forged,
}

/// What a request comes to.
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
    pub record: Record,
    /// Its receivers.
    pub to: Vec<ClientId>,
}

/// What the clock brought about.
#[derive(Debug, Default)]
pub struct Due {
    /// Records that say that a source is late.
    pub publications: Vec<Publication>,
    /// Subscriptions that have ended.
    pub answers: Vec<(ClientId, Answer)>,
}

/// How many of what there were.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Samples that became records.
    pub samples: u64,
    /// Samples of which nothing can be told yet.
    pub samples_too_early: u64,
    /// Samples about nobody in the table.
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
    logged_refusals: Allowance,
    refused: u32,
    too_fast: u32,
    subscriptions: BTreeSet<UserIndex>,
}

#[derive(Debug, Clone, Copy)]
struct Subscription {
    /// The address by which the client knows the user.
    user: IpAddr,
    flows: u16,
    ground: Ground,
    consent_until: Option<Time>,
}

/// The core of the service.
#[derive(Debug)]
pub struct Service {
    identities: Identities,
    users: Users,
    live_flows: LiveFlows,
    clients: BTreeMap<ClientId, Client>,
    next_client: u64,
    /// Who is told about each user.
    subscriptions: Vec<BTreeMap<ClientId, Subscription>>,
    /// Who is looked at next, and when.
    turns: BinaryHeap<Reverse<(Time, UserIndex)>>,
    next_review: Time,
    audit: Vec<AuditEntry>,
    counts: Counts,
}

impl Service {
    /// The service for these users.
    pub fn new(now: Time, identities: Identities, live_flows: LiveFlows) -> Self {
        let turn = |index| Reverse((now + identities.key(index).offset_in(PERIOD), index));
        Self {
            users: Users::new(&identities),
            subscriptions: identities.all().map(|_| BTreeMap::new()).collect(),
            turns: identities.all().map(turn).collect(),
            live_flows,
            clients: BTreeMap::new(),
            next_client: 0,
            next_review: now + REVIEW_INTERVAL,
            audit: Vec::new(),
            counts: Counts::default(),
            identities,
        }
    }

    /// A client has connected; `None` where there are too many.
    pub fn connect(&mut self, now: Time, name: PeerName, address: IpAddr) -> Option<ClientId> {
        if self.clients.len() >= MAX_CLIENTS {
            return None;
        }
        let id = ClientId(self.next_client);
        self.next_client += 1;
        let client = Client {
            name,
            address,
            requests: Allowance::of_requests(now),
            logged_refusals: Allowance::of_logged_refusals(now),
            refused: 0,
            too_fast: 0,
            subscriptions: BTreeSet::new(),
        };
        self.clients.insert(id, client);
        self.audit(now, id, Event::Connected);
        Some(id)
    }

    /// A client has left.
    pub fn disconnect(&mut self, now: Time, id: ClientId) {
        let Some(client) = self.clients.get(&id) else { return };
        let refused = client.refused;
        for &index in &client.subscriptions {
            self.subscriptions[index.0].remove(&id);
        }
        self.audit(now, id, Event::Disconnected { refused });
        self.clients.remove(&id);
    }

    /// What connection tracking shows.
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
            (Request::Unsubscribe { user }, Role::Server) => self.unsubscribe(now, id, *user),
            (Request::SubscribeAll, Role::Operator) => self.subscribe_all(now, id),
            (Request::Flows { active }, Role::User) => self.flows_told(now, id, *active),
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
        let Some(record) = self.users.take(index, self.identities.key(index).0, sample, flows) else {
            self.counts.samples_too_early += 1;
            return None;
        };
        self.counts.samples += 1;
        self.counts.handovers += u64::from(record.handover);
        Some(Publication { record, to: subscriptions.keys().copied().collect() })
    }

    /// When [`poll`](Self::poll) has something to do.
    pub fn next_wake(&self) -> Time {
        let turn = self.turns.peek().map_or(Time::NEVER, |Reverse((at, _))| *at);
        turn.min(self.next_review)
    }

    /// Does what is due: users whose source is late, subscriptions whose ground is gone.
    pub fn poll(&mut self, now: Time) -> Due {
        let mut due = Due::default();
        while let Some(&Reverse((at, index))) = self.turns.peek()
            && at <= now
        {
            self.turns.pop();
            // Turns that were missed are left out.
            let missed = now.since(at).as_nanos() / PERIOD.as_nanos();
            self.turns.push(Reverse((at + PERIOD * (missed + 1), index)));
            if let Some(record) = self.users.stale(now, index) {
                self.counts.stale += 1;
                due.publications
                    .push(Publication { record, to: self.subscriptions[index.0].keys().copied().collect() });
            }
        }
        if self.next_review <= now {
            self.next_review = now + REVIEW_INTERVAL;
            self.review(now, &mut due.answers);
        }
        due
    }

    /// What has happened since the last call.
    pub fn take_audit(&mut self) -> Vec<AuditEntry> {
        std::mem::take(&mut self.audit)
    }

    /// What has been counted.
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
        self.identities.all().filter(|index| self.users.last(*index).is_some()).count()
    }

    /// The users of the table.
    pub fn identities(&self) -> &Identities {
        &self.identities
    }

    fn subscribe(&mut self, now: Time, id: ClientId, user: IpAddr, flows: u16, consent: &Presented) -> Reply {
        let Some(index) = self.identities.by_address(user) else {
            return self.refuse(now, id, Some(user), Refused::UnknownUser);
        };
        let known = self.subscriptions[index.0].get(&id).copied();
        let (ground, consent_until) = match (self.ground(now, id, index, consent), known) {
            (Ok(ground), _) => ground,
            (Err(_), Some(known)) => (known.ground, known.consent_until),
            (Err(refused), None) => return self.refuse(now, id, Some(user), refused),
        };
        if known.is_none() && self.clients[&id].subscriptions.len() >= MAX_SUBSCRIPTIONS {
            return self.refuse(now, id, Some(user), Refused::TooMany);
        }
        let subscription = Subscription { user, flows, ground, consent_until };
        self.begin(now, id, index, subscription)
    }

    fn ground(
        &self,
        now: Time,
        id: ClientId,
        index: UserIndex,
        consent: &Presented,
    ) -> Result<(Ground, Option<Time>), Refused> {
        let (client, user) = (&self.clients[&id], self.identities.user(index));
        match consent {
            Presented::Signed(consent) => {
                let is_for_us = consent.server == client.name && consent.until > now;
                let is_of_user = consent.user.role() == Role::User && consent.user.name() == user.name;
                if is_for_us && is_of_user {
                    Ok((Ground::Consent, Some(consent.until)))
                } else {
                    Err(Refused::WrongConsent)
                }
            }
            Presented::Forged => Err(Refused::WrongConsent),
            Presented::None if self.live_flows.has(now, client.address, &user.addresses) => {
                Ok((Ground::LiveFlow, None))
            }
            Presented::None => Err(Refused::NoGround),
        }
    }

    fn subscribe_all(&mut self, now: Time, id: ClientId) -> Reply {
        let mut answers = Vec::new();
        for index in self.identities.all().collect::<Vec<_>>() {
            let Some(&user) = self.identities.user(index).addresses.first() else { continue };
            let subscription = Subscription { user, flows: 0, ground: Ground::Operator, consent_until: None };
            if let Reply::Answers(granted) = self.begin(now, id, index, subscription) {
                answers.extend(granted);
            }
        }
        Reply::Answers(answers)
    }

    fn begin(&mut self, now: Time, id: ClientId, index: UserIndex, subscription: Subscription) -> Reply {
        let known = self.subscriptions[index.0].insert(id, subscription);
        if let Some(client) = self.clients.get_mut(&id) {
            client.subscriptions.insert(index);
        }
        self.counts.granted += 1;
        if known.is_none_or(|known| known.ground != subscription.ground) {
            let user = self.identities.user(index).name.clone();
            self.audit(now, id, Event::Subscribed { user, because: subscription.ground });
        }
        let key = self.identities.key(index).to_string();
        Reply::Answers(vec![Answer::Subscribed { user: subscription.user, key }])
    }

    fn unsubscribe(&mut self, now: Time, id: ClientId, user: IpAddr) -> Reply {
        let ended = self
            .identities
            .by_address(user)
            .and_then(|index| self.end(now, id, index, EndReason::Unsubscribed));
        Reply::Answers(ended.into_iter().collect())
    }

    fn flows_told(&mut self, now: Time, id: ClientId, active: u16) -> Reply {
        let name = crate::identity::SourceName::Name(self.clients[&id].name.name().to_owned());
        match self.identities.by_source(&name) {
            Some(index) => {
                self.users.on_flows_told(now, index, active);
                Reply::Answers(Vec::new())
            }
            None => self.refuse(now, id, None, Refused::UnknownUser),
        }
    }

    /// A client learns no more than that it has no right: not whether there is such a user.
    fn refuse(&mut self, now: Time, id: ClientId, user: Option<IpAddr>, refused: Refused) -> Reply {
        self.counts.refused += 1;
        let Some(client) = self.clients.get_mut(&id) else { return Reply::Disconnect };
        client.refused += 1;
        client.too_fast += u32::from(refused == Refused::TooFast);
        if client.too_fast >= MAX_TOO_FAST {
            return Reply::Disconnect;
        }
        // A flood of refusals does not become a flood of lines: that of the disconnection has the count.
        if let Some(address_asked) = user
            && client.logged_refusals.allows(now)
        {
            self.audit(now, id, Event::Refused { address_asked, reason: refused });
        }
        let (reason, retry_after_ms) = match refused {
            Refused::UnknownUser | Refused::NoGround => {
                ("no live flow between this server and this user, and no consent of the user", Some(1000))
            }
            Refused::WrongConsent => ("the consent is not this user's for this server, or has expired", None),
            Refused::Role => ("the certificate's role does not allow this", None),
            Refused::TooFast => ("more requests than are allowed: 5000 at once, 1000 a second", Some(1000)),
            Refused::TooMany => ("as many users as one client may have: 10000", None),
        };
        Reply::Answers(vec![Answer::Refused { user, reason: reason.into(), retry_after_ms }])
    }

    fn review(&mut self, now: Time, answers: &mut Vec<(ClientId, Answer)>) {
        let mut over = Vec::new();
        for (index, subscriptions) in self.identities.all().zip(&self.subscriptions) {
            for (&id, subscription) in subscriptions {
                let addresses = &self.identities.user(index).addresses;
                let reason = match subscription.ground {
                    Ground::Consent => {
                        let is_over = subscription.consent_until.is_some_and(|until| until <= now);
                        is_over.then_some(EndReason::ConsentExpired)
                    }
                    Ground::LiveFlow => {
                        let has = self.live_flows.has(now, self.clients[&id].address, addresses);
                        (!has).then_some(EndReason::FlowEnded)
                    }
                    Ground::Operator => None,
                };
                over.extend(reason.map(|reason| (id, index, reason)));
            }
        }
        for (id, index, reason) in over {
            answers.extend(self.end(now, id, index, reason).map(|answer| (id, answer)));
        }
    }

    fn end(&mut self, now: Time, id: ClientId, index: UserIndex, reason: EndReason) -> Option<Answer> {
        let subscription = self.subscriptions[index.0].remove(&id)?;
        if let Some(client) = self.clients.get_mut(&id) {
            client.subscriptions.remove(&index);
        }
        let user = self.identities.user(index).name.clone();
        self.audit(now, id, Event::Ended { user, reason });
        let reason = match reason {
            EndReason::Unsubscribed => "as asked",
            EndReason::FlowEnded => "there is no flow with this user any more",
            EndReason::ConsentExpired => "the user's consent has expired",
        };
        Some(Answer::Ended { user: subscription.user, reason: reason.into() })
    }

    fn audit(&mut self, now: Time, id: ClientId, event: Event) {
        let Some(client) = self.clients.get(&id) else { return };
        self.audit.push(AuditEntry {
            unix_ms: now.as_nanos() / 1_000_000,
            client: client.name.clone(),
            address: client.address,
            event,
        });
    }
}

#[cfg(test)]
mod tests;

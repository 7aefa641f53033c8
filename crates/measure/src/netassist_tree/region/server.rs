//! A server's end: its users, its requests, its rate limit.

use cellcc_netassist::client_requests;
use cellcc_netassist_client::protocol::RENEWED_EVERY;
use cellcc_netassist_client::{Allowance, Backoff, own_requests};
use cellcc_units::{Span, Time};
use std::collections::{HashMap, VecDeque};

/// The wait before a refused request is repeated: the service's time, doubled with each attempt, up to this often (the client's).
const RETRY_AFTER: Span = Span::from_secs(1);
const MAX_DOUBLINGS: u32 = 5;

/// One server.
pub(super) struct Server {
    /// Its users.
    pub(super) users: Vec<usize>,
    pub(super) backoff: Backoff,
    pub(super) connected_at: Time,
    connections: u64,
    is_connected: bool,
    requests: VecDeque<usize>,
    own: Allowance,
    /// The allowance at each service, by site.
    allowed: Vec<Allowance>,
    renewals: usize,
    refusals: HashMap<usize, Refusals>,
}

#[derive(Default)]
struct Refusals {
    count: u32,
    will_be_asked_again: bool,
}

impl Server {
    pub(super) fn new(sites: usize) -> Self {
        Self {
            users: Vec::new(),
            backoff: Backoff::default(),
            connected_at: Time::ZERO,
            connections: 0,
            is_connected: true,
            requests: VecDeque::new(),
            own: own_requests(Time::ZERO),
            allowed: (0..sites).map(|_| client_requests(Time::ZERO)).collect(),
            renewals: 0,
            refusals: HashMap::new(),
        }
    }

    /// Returns the number of the connection.
    pub(super) fn connect(&mut self, now: Time) -> u64 {
        self.is_connected = true;
        self.connected_at = now;
        self.connections += 1;
        self.requests = self.users.iter().copied().collect();
        self.own = own_requests(now);
        self.allowed.iter_mut().for_each(|allowed| *allowed = client_requests(now));
        self.backoff = Backoff::default();
        self.connections
    }

    pub(super) fn lose(&mut self) {
        self.is_connected = false;
        self.requests.clear();
    }

    /// Queues the next tenth; false where the connection is another one.
    pub(super) fn renew(&mut self, connection: u64) -> bool {
        if connection != self.connections || !self.is_connected {
            return false;
        }
        let turns = RENEWED_EVERY.as_secs() as usize;
        let turn = self.renewals % turns;
        self.renewals += 1;
        self.requests.extend(self.users.iter().copied().filter(|user| user % turns == turn));
        true
    }

    /// A request that may be made now.
    pub(super) fn next_request(&mut self, now: Time) -> Option<usize> {
        if !self.has_requests() || !self.own.allows(now) {
            return None;
        }
        self.requests.pop_front()
    }

    pub(super) fn has_requests(&self) -> bool {
        self.is_connected && !self.requests.is_empty()
    }

    /// True if a site's service does not refuse the request because there are too many.
    pub(super) fn is_allowed_at(&self, site: usize, now: Time) -> bool {
        self.allowed[site].allows(now)
    }

    pub(super) fn granted(&mut self, user: usize) {
        if let Some(refusals) = self.refusals.get_mut(&user) {
            refusals.count = 0;
        }
    }

    /// The wait before the user is requested again, unless a request is on its way.
    pub(super) fn refused(&mut self, user: usize) -> Option<Span> {
        let refusals = self.refusals.entry(user).or_default();
        if refusals.will_be_asked_again {
            return None;
        }
        let wait = RETRY_AFTER * 2_u64.pow(refusals.count.min(MAX_DOUBLINGS));
        refusals.count += 1;
        refusals.will_be_asked_again = true;
        Some(wait)
    }

    pub(super) fn ask_again(&mut self, user: usize) {
        let Some(refusals) = self.refusals.get_mut(&user) else { return };
        refusals.will_be_asked_again = false;
        if refusals.count > 0 && self.is_connected {
            self.requests.push_back(user);
        }
    }
}

//! One region in virtual time, with each user, server and request: a hub, sites with a leaf and a daemon each, servers.
//!
//! ```text
//! daemon --> leaf --> hub --> server      records
//! daemon <-- leaf <-- hub <-- server      requests; answers the other way
//! ```
//!
//! - Servers wait, pace themselves and renew as the real client does, by the same functions (`Backoff`, `Allowance`) and
//!   constants. A server that is connected again subscribes to its users of before at once.
//! - All machines of a region fail at once. The hub is back first, the sites within [`Plan::boot`] after it.
//! - A peer without power is noticed by pings that stay unanswered. A connection that is tried meanwhile ends after
//!   five seconds, or with one of TCP's repeated SYNs (after 1 s and 3 s: RFC 6298) if the hub is back by then.
//! - Connection tracking sees the users' flows at once. Nothing is lost on the way, and messages take [`HOP`] each.
//! - Records are not events: where each is made and passed on is computed from when paths and subscriptions began.

mod link;
mod server;

pub(crate) use link::{Flow, Link, PERIOD, Sizes};

use cellcc_netassist_client::protocol::PING_INTERVAL;
use cellcc_units::{Span, Time};
use link::{Links, count_records};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use server::Server;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// From one machine to the next, one way: within a region.
const HOP: Span = Span::from_millis(2);
/// How many pings stay unanswered before the connection counts as lost, as `async-nats` counts them, and the one that finds
/// that out; our own client is one of them faster.
const PINGS_UNTIL_LOST: u64 = 4;
/// When TCP repeats a SYN (RFC 6298: after 1 s, then twice that), within the client's five seconds.
const SYNS: [Span; 3] = [Span::ZERO, Span::from_secs(1), Span::from_secs(3)];
/// The client's longest wait for a connection.
const CONNECT_TIMEOUT: Span = Span::from_secs(5);
/// Three round trips of two hops: TCP, TLS 1.3, the broker's greeting.
const HANDSHAKE: Span = Span::from_millis(3 * 2 * 2);

/// The plan of a region, and its events.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Plan {
    pub(crate) sites: usize,
    pub(crate) users_per_site: usize,
    /// One of so many users has a flow, with one server.
    pub(crate) one_active_of: usize,
    pub(crate) servers: usize,
    /// True if servers draw their waits; else each waits for the longest.
    pub(crate) waits_are_drawn: bool,
    /// When the region is gone and is there again.
    pub(crate) outage: Option<(Time, Time)>,
    /// It has no power, so that nothing answers; else only the processes are gone, and the system refuses connections.
    pub(crate) is_silent: bool,
    /// How long after the hub the last site is back.
    pub(crate) boot: Span,
    pub(crate) until: Time,
    pub(crate) seed: u64,
}

/// A user with a flow.
#[derive(Debug, Clone, Copy)]
struct User {
    site: usize,
    server: usize,
    /// Within its period.
    offset: Span,
    /// Since when its subscription is at its site.
    subscribed_at: Option<Time>,
    /// When it was there before the outage.
    before: Option<(Time, Time)>,
}

/// The outcome.
#[derive(Debug, Clone)]
pub(crate) struct Outcome {
    pub(crate) links: Links,
    /// The time for each active user at which reports resume after the outage.
    pub(crate) whole_at: Vec<Option<Time>>,
    /// Records about users with a flow: made; those that reached the user's server; those that the leaf dropped, because there was
    /// no subscription yet.
    pub(crate) made: u64,
    pub(crate) delivered: Vec<u64>,
    pub(crate) without_subscription: u64,
    /// Users of each server.
    pub(crate) users_of: Vec<u64>,
    /// Requests that a service refused as too fast.
    pub(crate) too_fast: u64,
    /// When servers were connected again.
    pub(crate) connections: Vec<Time>,
}

impl Outcome {
    /// The most connections that came within so long.
    pub(crate) fn most_connections_within(&self, time: Span) -> usize {
        let mut connections = self.connections.clone();
        connections.sort_unstable();
        let within = |(index, first): (usize, &Time)| {
            connections[index..].iter().take_while(|connection| connection.since(*first) < time).count()
        };
        connections.iter().enumerate().map(within).max().unwrap_or_default()
    }
}

/// What happens next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// The region is gone, with all subscriptions.
    Fail,
    /// A server notices that its connection is gone.
    Noticed {
        server: usize,
    },
    /// A server begins an attempt.
    Attempt {
        server: usize,
    },
    Connected {
        server: usize,
    },
    /// A server makes the requests that it may make now.
    Ask {
        server: usize,
    },
    /// A tenth of a server's users is requested again, on this connection.
    Renew {
        server: usize,
        connection: u64,
    },
    /// A refused user is requested again, unless a site has granted it.
    AskAgain {
        user: usize,
    },
}

/// How often a client asks for a part again, and how often it looks whether one more request may be made (both are the client's).
const RENEWAL_INTERVAL: Span = Span::from_secs(1);
const LOOK_INTERVAL: Span = Span::from_millis(2);

/// Runs a region.
pub(crate) fn run(plan: &Plan) -> Outcome {
    let mut region = Region::new(plan);
    while let Some(Reverse((now, _, event))) = region.events.pop() {
        if now >= plan.until {
            break;
        }
        region.on_event(now, event);
    }
    region.finish()
}

struct Region<'a> {
    plan: &'a Plan,
    random: Pcg64,
    users: Vec<User>,
    servers: Vec<Server>,
    /// When each site's leaf is connected with the hub again.
    site_back_at: Vec<Time>,
    links: Links,
    events: BinaryHeap<Reverse<(Time, u64, Event)>>,
    scheduled: u64,
    too_fast: u64,
    connections: Vec<Time>,
}

impl<'a> Region<'a> {
    /// All clients are connected and subscribed, since time zero.
    fn new(plan: &'a Plan) -> Self {
        let mut random = Pcg64::seed_from_u64(plan.seed);
        let actives = plan.sites * plan.users_per_site / plan.one_active_of;
        let user = |index: usize, random: &mut Pcg64| User {
            site: index % plan.sites,
            server: random.random_range(0..plan.servers),
            offset: Span::from_nanos(random.random_range(0..link::PERIOD.as_nanos())),
            subscribed_at: Some(Time::ZERO),
            before: None,
        };
        let users: Vec<_> = (0..actives).map(|index| user(index, &mut random)).collect();
        let back = |random: &mut Pcg64| match plan.outage {
            Some((_, ends)) => {
                ends + Span::from_nanos(random.random_range(0..=plan.boot.as_nanos())) + HANDSHAKE
            }
            None => Time::ZERO,
        };
        let site_back_at = (0..plan.sites).map(|_| back(&mut random)).collect();
        let mut servers: Vec<_> = (0..plan.servers).map(|_| Server::new(plan.sites)).collect();
        users.iter().enumerate().for_each(|(index, user)| servers[user.server].users.push(index));
        let mut region = Self {
            links: Links::new(plan.sites.max(plan.servers), plan.until),
            plan,
            random,
            users,
            servers,
            site_back_at,
            events: BinaryHeap::new(),
            scheduled: 0,
            too_fast: 0,
            connections: Vec::new(),
        };
        for server in 0..plan.servers {
            let phase = region.drawn(Span::from_secs(1));
            region.schedule(Time::ZERO + phase, Event::Renew { server, connection: 0 });
            if let Some(at) = region.noticed_at() {
                region.schedule(at, Event::Noticed { server });
            }
        }
        if let Some((begins, _)) = plan.outage {
            region.schedule(begins, Event::Fail);
        }
        region
    }

    fn drawn(&mut self, below: Span) -> Span {
        Span::from_nanos(self.random.random_range(0..below.as_nanos()))
    }

    fn schedule(&mut self, at: Time, event: Event) {
        self.scheduled += 1;
        self.events.push(Reverse((at, self.scheduled, event)));
    }

    /// At once, or with the ping that is the fourth in vain, or finds the hub without memory of the connection.
    fn noticed_at(&mut self) -> Option<Time> {
        let (begins, ends) = self.plan.outage?;
        if !self.plan.is_silent {
            return Some(begins + HOP);
        }
        let interval = Span::from_nanos(PING_INTERVAL.as_nanos() as u64);
        let first = begins + self.drawn(interval);
        let pings = (0..PINGS_UNTIL_LOST).map(|ping| first + interval * ping);
        let mut pings =
            pings.skip_while(|ping| *ping < ends && *ping < first + interval * (PINGS_UNTIL_LOST - 1));
        pings.next()
    }

    fn end_subscriptions(&mut self, at: Time) {
        for user in &mut self.users {
            user.before = user.subscribed_at.take().map(|since| (since, at));
        }
    }

    fn is_down(&self, at: Time) -> bool {
        self.plan.outage.is_some_and(|(begins, ends)| (begins..ends).contains(&at))
    }

    fn on_event(&mut self, now: Time, event: Event) {
        match event {
            Event::Fail => self.end_subscriptions(now),
            Event::Noticed { server } => {
                self.servers[server].lose();
                self.wait_and_try(now, server);
            }
            Event::Attempt { server } => self.attempt(now, server),
            Event::Connected { server } => {
                self.connections.push(now);
                let connection = self.servers[server].connect(now);
                for user in self.servers[server].users.clone() {
                    self.subscribe(now, server, user);
                }
                self.schedule(now, Event::Ask { server });
                self.schedule(now + RENEWAL_INTERVAL, Event::Renew { server, connection });
            }
            Event::Ask { server } => self.ask(now, server),
            Event::Renew { server, connection } => {
                if self.servers[server].renew(connection) {
                    self.ask(now, server);
                    self.schedule(now + RENEWAL_INTERVAL, Event::Renew { server, connection });
                }
            }
            Event::AskAgain { user } => {
                let server = self.users[user].server;
                self.servers[server].ask_again(user);
                self.ask(now, server);
            }
        }
    }

    fn wait_and_try(&mut self, now: Time, server: usize) {
        let share = if self.plan.waits_are_drawn { self.random.random_range(0.0..=1.0) } else { 1.0 };
        let wait = self.servers[server].backoff.wait(share);
        self.schedule(now + Span::from_nanos(wait.as_nanos() as u64), Event::Attempt { server });
    }

    fn attempt(&mut self, now: Time, server: usize) {
        let syns = SYNS.map(|after| now + after);
        let answered = syns.into_iter().find(|syn| !self.is_down(*syn) || !self.plan.is_silent);
        match answered {
            Some(refused) if self.is_down(refused) => self.wait_and_try(now + HOP * 2, server),
            Some(syn) => self.schedule(syn + HANDSHAKE, Event::Connected { server }),
            None => self.wait_and_try(now + CONNECT_TIMEOUT, server),
        }
    }

    /// The requests that the server may make now, and their answers.
    fn ask(&mut self, now: Time, server: usize) {
        while let Some(user) = self.servers[server].next_request(now) {
            // A client that has not noticed yet that the connection is gone asks in vain.
            let since = self.servers[server].connected_at;
            let is_gone = self.plan.outage.is_some_and(|(begins, _)| since < begins && begins <= now);
            if !is_gone {
                self.request(now, server, user);
            }
        }
        if self.servers[server].has_requests() {
            self.schedule(now + LOOK_INTERVAL, Event::Ask { server });
        }
    }

    /// A request reaches all sites. One of them knows the user; the others refuse it.
    fn request(&mut self, now: Time, server: usize, user: usize) {
        self.links.add(Link::ServerToHub, server, now, Flow::Requests);
        let at_site = now + HOP * 2;
        let mut refusals = 0;
        for site in 0..self.plan.sites {
            if self.site_back_at[site] > at_site {
                continue;
            }
            self.links.add(Link::HubToLeaf, site, now + HOP, Flow::Requests);
            self.links.add(Link::LeafToDaemon, site, at_site, Flow::Requests);
            let is_granted = match self.servers[server].is_allowed_at(site, at_site) {
                true => self.users[user].site == site,
                false => {
                    self.too_fast += 1;
                    false
                }
            };
            let answer = if is_granted { Flow::Grants } else { Flow::Refusals };
            self.links.add(Link::DaemonToLeaf, site, at_site, answer);
            self.links.add(Link::LeafToHub, site, at_site, answer);
            self.links.add(Link::HubToServer, server, at_site + HOP, answer);
            if is_granted {
                self.granted(at_site + HOP * 2, server, user);
            } else {
                refusals += 1;
            }
        }
        if refusals > 0
            && self.users[user].subscribed_at.is_none()
            && let Some(wait) = self.servers[server].refused(user)
        {
            self.schedule(at_site + HOP * 2 + wait, Event::AskAgain { user });
        }
    }

    fn granted(&mut self, now: Time, server: usize, user: usize) {
        self.servers[server].granted(user);
        self.subscribe(now, server, user);
    }

    /// The server subscribes, if it has not: the hub tells the leaves.
    fn subscribe(&mut self, now: Time, server: usize, user: usize) {
        if self.users[user].subscribed_at.is_some() {
            return;
        }
        self.links.add(Link::ServerToHub, server, now, Flow::Subscriptions);
        for site in 0..self.plan.sites {
            // A leaf that is not there yet learns all of them when it comes.
            let reported_at = (now + HOP).max(self.site_back_at[site]);
            self.links.add(Link::HubToLeaf, site, reported_at, Flow::Subscriptions);
        }
        let user = &mut self.users[user];
        user.subscribed_at = Some((now + HOP).max(self.site_back_at[user.site]) + HOP);
    }

    /// The records, now that the receivers and times are known.
    fn finish(mut self) -> Outcome {
        let plan = self.plan;
        let up = |site: usize| match plan.outage {
            Some((begins, _)) => vec![(Time::ZERO, begins), (self.site_back_at[site], plan.until)],
            None => vec![(Time::ZERO, plan.until)],
        };
        let (mut made, mut delivered, mut heard_in_all) = (0, vec![0; plan.servers], 0);
        for user in &self.users {
            made +=
                up(user.site).into_iter().map(|(from, to)| count_records(from, to, user.offset)).sum::<u64>();
            let since = user.subscribed_at.map(|from| (from, plan.until));
            for (from, to) in user.before.into_iter().chain(since) {
                let heard = count_records(from, to, user.offset);
                delivered[user.server] += heard;
                heard_in_all += heard;
                self.links.add_records(Link::LeafToHub, user.site, (from, to), user.offset);
                self.links.add_records(Link::HubToServer, user.server, (from, to), user.offset);
            }
        }
        // The daemons' records of all their users go as far as the leaf.
        for site in 0..plan.sites {
            for user in 0..plan.users_per_site {
                let offset =
                    Span::from_nanos(link::PERIOD.as_nanos() * user as u64 / plan.users_per_site as u64);
                up(site)
                    .into_iter()
                    .for_each(|up| self.links.add_records(Link::DaemonToLeaf, site, up, offset));
            }
        }
        Outcome {
            whole_at: self.users.iter().map(|user| user.subscribed_at).collect(),
            made,
            delivered,
            without_subscription: made - heard_in_all,
            users_of: self.servers.iter().map(|server| server.users.len() as u64).collect(),
            too_fast: self.too_fast,
            connections: self.connections,
            links: self.links,
        }
    }
}

//! The traffic of each link in each second, and the length of messages.

use cellcc_assist::AdviceRecord;
use cellcc_control::AdviceClass;
use cellcc_netassist_client::nats::subject;
use cellcc_netassist_client::protocol::{Answer, Request, framed};
use cellcc_netassist_client::{PeerName, Role, UserKey};
use cellcc_units::{Bytes, Rate, Span, Time};
use std::net::IpAddr;
use std::ops::Range;

/// The paper's period of reports.
pub(crate) const PERIOD: Span = Span::from_millis(50);
const SECOND: Span = Span::from_secs(1);

/// A kind of link, in one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Link {
    DaemonToLeaf,
    LeafToDaemon,
    LeafToHub,
    HubToLeaf,
    HubToServer,
    ServerToHub,
}

impl Link {
    pub(crate) const ALL: [Self; 6] = [
        Self::DaemonToLeaf,
        Self::LeafToDaemon,
        Self::LeafToHub,
        Self::HubToLeaf,
        Self::HubToServer,
        Self::ServerToHub,
    ];

    /// There is one for each site; else one for each server.
    pub(crate) fn is_of_a_site(self) -> bool {
        !matches!(self, Self::HubToServer | Self::ServerToHub)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::DaemonToLeaf => "daemon to leaf",
            Self::LeafToDaemon => "leaf to daemon",
            Self::LeafToHub => "leaf to hub",
            Self::HubToLeaf => "hub to leaf",
            Self::HubToServer => "hub to server",
            Self::ServerToHub => "server to hub",
        }
    }
}

/// The kinds of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    Records,
    Requests,
    Grants,
    Refusals,
    Subscriptions,
}

impl Flow {
    pub(crate) const ALL: [Self; 5] =
        [Self::Records, Self::Requests, Self::Grants, Self::Refusals, Self::Subscriptions];
}

/// Messages by kind of link, which of them, content and second.
#[derive(Debug, Clone)]
pub(crate) struct Links {
    seconds: usize,
    /// The most links of a kind.
    links: usize,
    counts: Vec<u64>,
}

impl Links {
    pub(super) fn new(links: usize, until: Time) -> Self {
        let seconds = second(until);
        Self { seconds, links, counts: vec![0; Link::ALL.len() * links * Flow::ALL.len() * seconds] }
    }

    /// The seconds of one link and content.
    fn at(&self, link: Link, index: usize, flow: Flow) -> Range<usize> {
        let first = ((link as usize * self.links + index) * Flow::ALL.len() + flow as usize) * self.seconds;
        first..first + self.seconds
    }

    pub(super) fn add(&mut self, link: Link, index: usize, at: Time, flow: Flow) {
        let seconds = self.at(link, index, flow);
        // Messages on their way at the end do not count.
        if let Some(messages) = self.counts[seconds].get_mut(second(at)) {
            *messages += 1;
        }
    }

    /// The records about a user who is measured at this time of each period.
    pub(super) fn add_records(&mut self, link: Link, index: usize, (from, to): (Time, Time), offset: Span) {
        let seconds = self.at(link, index, Flow::Records);
        for (second, messages) in self.counts[seconds].iter_mut().enumerate() {
            let begins = Time::ZERO + SECOND * second as u64;
            *messages += count_records(from.max(begins), to.min(begins + SECOND), offset);
        }
    }

    /// Messages in all, of one content.
    pub(crate) fn total(&self, link: Link, flow: Flow) -> u64 {
        (0..self.links).map(|index| self.counts[self.at(link, index, flow)].iter().sum::<u64>()).sum()
    }

    /// The busiest second of the links of this kind: messages and bytes then. `seconds`: which count.
    pub(crate) fn busiest(&self, link: Link, seconds: Range<usize>, sizes: &Sizes) -> (u64, u64) {
        let in_second = |index: usize, second: usize| {
            let of = |flow: &Flow| {
                let count = self.counts[self.at(link, index, *flow)][second];
                (count, count * sizes.of(link, *flow))
            };
            let all = Flow::ALL.iter().map(of);
            all.fold((0, 0), |(messages, bytes), (count, size)| (messages + count, bytes + size))
        };
        let each = (0..self.links).flat_map(|index| seconds.clone().map(move |second| (index, second)));
        each.map(|(index, second)| in_second(index, second)).max().unwrap_or_default()
    }
}

/// How many records are made from one time until before another.
pub(super) fn count_records(from: Time, to: Time, offset: Span) -> u64 {
    let made_before = |time: Time| {
        (time.as_nanos() + PERIOD.as_nanos() - 1).saturating_sub(offset.as_nanos()) / PERIOD.as_nanos()
    };
    made_before(to).saturating_sub(made_before(from))
}

fn second(at: Time) -> usize {
    (at.as_nanos() / SECOND.as_nanos()) as usize
}

/// Bytes of each message in NATS' own text (client and leaf protocol), without TLS, TCP and IP, which carry many at once.
#[derive(Debug, Clone)]
pub(crate) struct Sizes {
    record: (usize, usize),
    request: (usize, usize),
    grant: (usize, usize),
    refusal: (usize, usize),
    subscription: usize,
}

/// Digits that a client counts its subscriptions with.
const SUBSCRIPTION_DIGITS: usize = 4;

impl Sizes {
    /// Lengths of messages as the product makes them, of names as long as those in the guide.
    pub(crate) fn of_examples() -> Self {
        let user = IpAddr::from([10, 145, 100, 102]);
        let key = UserKey([0xab; 16]);
        let name = PeerName::new(Role::Server, "video-12").expect("a name");
        let site = "site-12".parse().expect("a site");
        let record = record(key);
        let subject_of_record = subject::record(&site, &12, &record);
        let answers_to = subject::answers_to(&name, "0123456789abcdef");
        let request = json_bytes(&Request::Subscribe { user, flows: 1, consent: None });
        let grant = json_bytes(&Answer::Subscribed { user, key: key.to_string() });
        let reason = "no live flow between this server and this user, and no consent of the user".to_owned();
        let refusal = json_bytes(&Answer::Refused { user: Some(user), reason, retry_after_ms: Some(1000) });
        Self {
            record: (subject_of_record.len(), record.encode().len()),
            request: (subject::requests_of(&name).len() + 1 + answers_to.len(), request),
            grant: (answers_to.len(), grant),
            refusal: (answers_to.len(), refusal),
            subscription: subject::records_about(key).len(),
        }
    }

    /// `PUB` to a broker, `MSG` from it, `LMSG`, `LS+` and `SUB`, each in lines that end with two characters.
    pub(crate) fn of(&self, link: Link, flow: Flow) -> u64 {
        let (subjects, payload) = match flow {
            Flow::Records => self.record,
            Flow::Requests => self.request,
            Flow::Grants => self.grant,
            Flow::Refusals => self.refusal,
            Flow::Subscriptions if link == Link::ServerToHub => {
                return ("SUB ".len() + self.subscription + 1 + SUBSCRIPTION_DIGITS + 2) as u64;
            }
            Flow::Subscriptions => return ("LS+ ".len() + self.subscription + 2) as u64,
        };
        let verb = match link {
            Link::DaemonToLeaf | Link::ServerToHub => "PUB ".len(),
            Link::LeafToDaemon | Link::HubToServer => "MSG ".len() + SUBSCRIPTION_DIGITS + 1,
            Link::LeafToHub | Link::HubToLeaf => "LMSG ".len(),
        };
        let digits = payload.to_string().len();
        (verb + subjects + 1 + digits + 2 + payload + 2) as u64
    }
}

/// [`framed`] puts the length before the text, in 4 bytes; through a broker there is only the text.
fn json_bytes(message: &impl serde::Serialize) -> usize {
    framed(message).len() - 4
}

fn record(key: UserKey) -> AdviceRecord {
    AdviceRecord {
        class: AdviceClass::Backlogged,
        handover: false,
        stale: false,
        first: false,
        period: PERIOD,
        sequence: 1,
        measured_until: Time::ZERO,
        user: key.0,
        downlink: Rate::from_mbit_per_sec(12.0),
        uplink: Rate::ZERO,
        min_rtt: None,
        backlog: Bytes::ZERO,
        valid_for: PERIOD * 3,
        flows: 1,
        cell_epoch: 0,
    }
}

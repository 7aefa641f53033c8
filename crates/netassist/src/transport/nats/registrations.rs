//! Registrations that come through a broker. The service does not see when such a client has gone: it forgets one that has not
//! asked for half a minute, and each user that it has not asked for again.

use super::subject;
use crate::name::PeerName;
use crate::protocol::{Answer, MAX_MESSAGE_BYTES, Request, request};
use crate::service::{ClientId, Reply};
use crate::transport::shared::Shared;
use cellcc_units::{Span, Time};
use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

/// Clients ask again after [`RENEWED_EVERY`](super::client::RENEWED_EVERY): the third time is too late. As long as a flow is
/// remembered that connection tracking does not show any more.
const FORGOTTEN_AFTER: Span = Span::from_secs(30);
/// Of a client whose address is not in the configuration: connection tracking has seen no flow with it.
const UNKNOWN_ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);

/// The clients behind a broker.
#[derive(Debug)]
pub(super) struct Registrations {
    shared: Arc<Shared>,
    /// Where the flows of servers come from.
    addresses: BTreeMap<PeerName, IpAddr>,
    /// By where they are answered.
    clients: HashMap<String, Registered>,
}

#[derive(Debug)]
struct Registered {
    id: ClientId,
    asked_at: Time,
    users: HashMap<IpAddr, Time>,
}

impl Registrations {
    pub(super) fn new(shared: Arc<Shared>, addresses: BTreeMap<PeerName, IpAddr>) -> Self {
        Self { shared, addresses, clients: HashMap::new() }
    }

    /// Answers a request. The broker lets a client publish only under the subject with its own name.
    pub(super) fn answers(&mut self, asked_under: &str, answer_to: &str, text: &[u8]) -> Vec<Answer> {
        let asked = (text.len() <= MAX_MESSAGE_BYTES).then(|| request(text).ok()).flatten();
        let name = subject::name_in(asked_under)
            .filter(|name| answer_to.starts_with(&subject::answers_to(name, "")));
        let (Some(name), Some(asked)) = (name, asked) else {
            self.shared.state().counts.malformed += 1;
            return Vec::new();
        };
        let now = self.shared.clock.now();
        if !self.clients.contains_key(answer_to) {
            let address = self.addresses.get(&name).copied().unwrap_or(UNKNOWN_ADDRESS);
            let Some(id) = self.shared.connect(name, address) else {
                let reason = "the service has as many clients as it takes".into();
                return vec![Answer::Refused { user: None, reason, retry_after_ms: None }];
            };
            self.clients.insert(answer_to.into(), Registered { id, asked_at: now, users: HashMap::new() });
        }
        let Some(client) = self.clients.get_mut(answer_to) else { return Vec::new() };
        // One that asks too much is not heard until it has been forgotten.
        let Reply::Answers(answers) = self.shared.reply(client.id, &asked) else { return Vec::new() };
        client.asked_at = now;
        match asked {
            Request::Subscribe { user, .. } => {
                client.users.insert(user, now);
            }
            Request::Unsubscribe { user } => {
                client.users.remove(&user);
            }
            Request::SubscribeAll | Request::Flows { .. } => {}
        }
        answers
    }

    /// Forgets what was not asked for again.
    pub(super) fn forget(&mut self, now: Time) {
        let is_old = |at: Time| now.since(at) > FORGOTTEN_AFTER;
        self.clients.retain(|_, client| {
            if is_old(client.asked_at) {
                self.shared.disconnect(client.id);
                return false;
            }
            client.users.retain(|&user, at| {
                if is_old(*at) {
                    self.shared.reply(client.id, &Request::Unsubscribe { user });
                }
                !is_old(*at)
            });
            true
        });
    }
}

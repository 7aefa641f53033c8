//! Registrations that come through a broker. The service does not see when such a client has gone: it forgets one without
//! requests for half a minute, and each user that is not requested again.

use crate::service::{ClientId, Reply};
use crate::transport::shared::Shared;
use cellcc_netassist_client::PeerName;
use cellcc_netassist_client::nats::subject;
use cellcc_netassist_client::protocol::{Answer, FORGOTTEN_AFTER, MAX_MESSAGE_BYTES, Request, request};
use cellcc_units::Time;
use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

/// For a client whose address is not in the configuration: connection tracking has seen no flow with it.
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
                let reason = "the service has as many clients as it takes, of this name or of all".into();
                return vec![Answer::Refused { user: None, reason, retry_after_ms: None }];
            };
            self.clients.insert(answer_to.into(), Registered { id, asked_at: now, users: HashMap::new() });
        }
        let Some(client) = self.clients.get_mut(answer_to) else { return Vec::new() };
        // One with too many requests is ignored until it has been forgotten.
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

    /// Drops requests that were not repeated.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::authority::Authority;
    use crate::clock::ServiceClock;
    use crate::identity::{Identities, User};
    use crate::live_flows::LiveFlows;
    use crate::service::Service;
    use crate::verifier::Verifier;
    use cellcc_netassist_client::Role;
    use cellcc_units::Span;
    use std::time::SystemTime;

    const ASK: &str = "na.ask.v1.server.video-1";
    const ANSWER: &str = "na.answer.v1.server.video-1.7";

    /// A service with Alice and Bob, who have flows with all servers.
    fn registrations() -> Registrations {
        let authority = Authority::new().unwrap();
        let until = SystemTime::now() + std::time::Duration::from_secs(3600);
        let service = authority.sign(&PeerName::new(Role::Service, "edge").unwrap(), until).unwrap();
        let clock = ServiceClock::start();
        let user = |name: &str, last| User {
            name: name.into(),
            addresses: vec![IpAddr::from([10, 45, 0, last])],
            radio: Vec::new(),
            supi: None,
        };
        let users = Identities::new(vec![user("alice", 2), user("bob", 3)], &[7; 32]).unwrap();
        let core = Service::new(clock.now(), users, LiveFlows::assumed());
        let (audit, _) = tokio::sync::mpsc::unbounded_channel();
        let verifier = Verifier::new(&service).unwrap();
        let name = service.name().clone();
        let shared = Shared::new(core, clock, name, verifier, None, audit);
        Registrations::new(Arc::new(shared), BTreeMap::new())
    }

    fn wish(last: u8) -> Vec<u8> {
        let user = IpAddr::from([10, 45, 0, last]);
        serde_json::to_vec(&Request::Subscribe { user, flows: 1, consent: None }).unwrap()
    }

    #[test]
    fn a_client_that_asks_no_more_is_forgotten_and_so_is_a_user_it_asks_for_no_more() {
        let mut registrations = registrations();
        let sizes = |registrations: &Registrations| {
            let state = registrations.shared.state();
            (state.service.clients(), state.service.subscriptions())
        };
        for user in [2, 3] {
            let answers = registrations.answers(ASK, ANSWER, &wish(user));
            assert!(matches!(answers[..], [Answer::Subscribed { .. }]), "{answers:?}");
        }
        assert_eq!(sizes(&registrations), (1, 2));
        let now = registrations.shared.clock.now();
        registrations.forget(now + Span::from_secs(29));
        assert_eq!(sizes(&registrations), (1, 2));
        // As if the only request for Bob were long ago.
        let bob = IpAddr::from([10, 45, 0, 3]);
        registrations.clients.get_mut(ANSWER).unwrap().users.insert(bob, now - Span::from_secs(31));
        registrations.forget(now);
        assert_eq!(sizes(&registrations), (1, 1));
        registrations.forget(now + Span::from_secs(31));
        assert_eq!(sizes(&registrations), (0, 0));
        assert!(registrations.clients.is_empty());
    }

    #[test]
    fn what_a_client_cannot_have_asked_is_counted_and_not_answered() {
        let mut registrations = registrations();
        for (asked_under, answer_to, text) in [
            ("na.ask.v1.king.video-1", ANSWER, wish(2)),
            ("na.ask.v1.server.video-2", ANSWER, wish(2)),
            (ASK, "na.v1.edge.1.00", wish(2)),
            (ASK, ANSWER, vec![b' '; MAX_MESSAGE_BYTES + 1]),
        ] {
            assert_eq!(registrations.answers(asked_under, answer_to, &text), []);
        }
        assert_eq!(registrations.shared.state().counts.malformed, 4);
        assert!(registrations.clients.is_empty());
    }
}

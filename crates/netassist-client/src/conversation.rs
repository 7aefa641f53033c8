//! A client's conversation over any transport: requests, answers, records.

use crate::protocol::{Answer, Request};
use cellcc_assist::AdviceRecord;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// A refused registration is tried again after the service's time, at most this, doubled up to this many times.
const MAX_RETRY_AFTER_MS: u64 = 10_000;
const MAX_DOUBLINGS: u32 = 5;

/// The user of each key, as the service named it on this connection.
pub(crate) type Keys = Mutex<HashMap<[u8; 16], IpAddr>>;

pub(crate) type Listener = Box<dyn Fn(ClientEvent<'_>) + Send + Sync>;

/// What to ask for: again on each new connection.
#[derive(Debug, Default)]
pub(crate) struct Wanted {
    pub(crate) users: BTreeMap<IpAddr, WantedUser>,
    pub(crate) all: bool,
    pub(crate) own_flows: Option<u16>,
}

#[derive(Debug)]
pub(crate) struct WantedUser {
    pub(crate) flows: u16,
    pub(crate) consent: Option<String>,
    /// How often it has been refused since it was granted last.
    pub(crate) refusals: u32,
    /// A refused registration waits for its next attempt.
    pub(crate) will_be_asked_again: bool,
}

impl WantedUser {
    fn request(&self, user: IpAddr) -> Request {
        Request::Subscribe { user, flows: self.flows, consent: self.consent.clone() }
    }
}

#[derive(Debug)]
pub(crate) enum Change {
    User(IpAddr),
    All,
    OwnFlows,
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An event for a client.
#[derive(Debug)]
pub enum ClientEvent<'a> {
    /// A record about a user.
    Record {
        /// The requested address.
        user: IpAddr,
        /// The record.
        record: &'a AdviceRecord,
        /// When it arrived.
        arrived_at: Instant,
    },
    /// Records about this user come from now on.
    Granted(IpAddr),
    /// Records about a user do not come, or not any more.
    Denied {
        /// The user, where it is about one.
        user: Option<IpAddr>,
        /// Why.
        reason: &'a str,
    },
    /// The service, or its broker, is there.
    Connected,
    /// It is not, and is tried again.
    Lost(&'a str),
    /// A record that cannot be read, or about a user that was not requested.
    Unusable,
}

/// A client's side of the conversation.
pub(crate) struct Conversation {
    wanted: Arc<Mutex<Wanted>>,
    changes: mpsc::UnboundedSender<Change>,
    listener: Listener,
    was_connected: AtomicBool,
}

impl fmt::Debug for Conversation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conversation").field("wanted", &self.wanted).finish_non_exhaustive()
    }
}

impl Conversation {
    pub(crate) fn new(
        wanted: Arc<Mutex<Wanted>>,
        changes: mpsc::UnboundedSender<Change>,
        listener: Listener,
    ) -> Self {
        Self { wanted, changes, listener, was_connected: AtomicBool::new(false) }
    }

    pub(crate) fn connected(&self) {
        self.was_connected.store(true, Ordering::Relaxed);
        (self.listener)(ClientEvent::Connected);
    }

    /// True if there was a connection since the last call.
    pub(crate) fn was_connected(&self) -> bool {
        self.was_connected.swap(false, Ordering::Relaxed)
    }

    pub(crate) fn lost(&self, reason: &str) {
        (self.listener)(ClientEvent::Lost(reason));
    }

    pub(crate) fn granted(&self, user: IpAddr) {
        (self.listener)(ClientEvent::Granted(user));
    }

    pub(crate) fn denied(&self, user: Option<IpAddr>, reason: &str) {
        (self.listener)(ClientEvent::Denied { user, reason });
    }

    /// All that is wanted, as requests.
    pub(crate) fn everything(&self) -> Vec<Request> {
        let wanted = lock(&self.wanted);
        let users = wanted.users.iter().map(|(user, wanted)| wanted.request(*user));
        let all = wanted.all.then_some(Request::SubscribeAll);
        let flows = wanted.own_flows.map(|active| Request::Flows { active });
        users.chain(all).chain(flows).collect()
    }

    pub(crate) fn request(&self, change: &Change) -> Option<Request> {
        let wanted = lock(&self.wanted);
        match change {
            Change::User(user) => Some(match wanted.users.get(user) {
                Some(wanted) => wanted.request(*user),
                None => Request::Unsubscribe { user: *user },
            }),
            Change::All => wanted.all.then_some(Request::SubscribeAll),
            Change::OwnFlows => wanted.own_flows.map(|active| Request::Flows { active }),
        }
    }

    pub(crate) fn is_wanted(&self, user: IpAddr) -> bool {
        let wanted = lock(&self.wanted);
        wanted.all || wanted.users.contains_key(&user)
    }

    pub(crate) fn on_answer(&self, answer: Answer, keys: &Keys) {
        let mut keys = lock(keys);
        match answer {
            Answer::Subscribed { user, key } => match u128::from_str_radix(&key, 16) {
                Ok(key) => {
                    let known = keys.insert(key.to_be_bytes(), user);
                    if let Some(wanted) = lock(&self.wanted).users.get_mut(&user) {
                        wanted.refusals = 0;
                    }
                    if known.is_none() {
                        self.granted(user);
                    }
                }
                Err(_) => self.unusable(),
            },
            Answer::Refused { user, reason, retry_after_ms } => {
                self.denied(user, &reason);
                if let Some((user, after_ms)) = user.zip(retry_after_ms) {
                    self.ask_again(user, Duration::from_millis(after_ms.min(MAX_RETRY_AFTER_MS)));
                }
            }
            Answer::Ended { user, reason } => {
                keys.retain(|_, address| *address != user);
                if lock(&self.wanted).users.contains_key(&user) {
                    self.denied(Some(user), &reason);
                }
            }
        }
    }

    /// Each time doubles the wait, as long as the user is wanted. Through a broker each site answers: the refusals of several
    /// sites are one, and if one of them grants the user meanwhile, the request is not repeated.
    fn ask_again(&self, user: IpAddr, first: Duration) {
        let mut wanted = lock(&self.wanted);
        let Some(refused) = wanted.users.get_mut(&user).filter(|refused| !refused.will_be_asked_again) else {
            return;
        };
        let wait = first * 2_u32.pow(refused.refusals.min(MAX_DOUBLINGS));
        refused.refusals += 1;
        refused.will_be_asked_again = true;
        let (wanted, changes) = (Arc::clone(&self.wanted), self.changes.clone());
        tokio::spawn(async move {
            tokio::time::sleep(wait).await;
            let mut wanted = lock(&wanted);
            let Some(refused) = wanted.users.get_mut(&user) else { return };
            refused.will_be_asked_again = false;
            if refused.refusals > 0 {
                // If the client is gone, there are no requests.
                let _ = changes.send(Change::User(user));
            }
        });
    }

    /// A record that arrived just now.
    pub(crate) fn on_record(
        &self,
        record: &AdviceRecord,
        arrived_at: Instant,
        keys: &HashMap<[u8; 16], IpAddr>,
    ) {
        match keys.get(&record.user) {
            Some(&user) => (self.listener)(ClientEvent::Record { user, record, arrived_at }),
            None => self.unusable(),
        }
    }

    pub(crate) fn unusable(&self) {
        (self.listener)(ClientEvent::Unusable);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALICE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 45, 0, 2));

    /// A conversation that wants Alice.
    fn conversation() -> (Conversation, mpsc::UnboundedReceiver<Change>) {
        let (changes, changed) = mpsc::unbounded_channel();
        let mut wanted = Wanted::default();
        let alice = WantedUser { flows: 1, consent: None, refusals: 0, will_be_asked_again: false };
        wanted.users.insert(ALICE, alice);
        (Conversation::new(Arc::new(Mutex::new(wanted)), changes, Box::new(|_| {})), changed)
    }

    fn refusal() -> Answer {
        Answer::Refused { user: Some(ALICE), reason: "no flow".into(), retry_after_ms: Some(0) }
    }

    /// Each refusal used to be followed by a request, which all sites answered again.
    #[tokio::test]
    async fn who_is_refused_by_several_sites_is_asked_for_again_once() {
        let (conversation, mut changed) = conversation();
        (0..3).for_each(|_| conversation.on_answer(refusal(), &Keys::default()));
        assert!(matches!(changed.recv().await, Some(Change::User(ALICE))));
        assert_eq!(lock(&conversation.wanted).users[&ALICE].refusals, 1, "the wait has doubled once");
        assert!(changed.try_recv().is_err());
    }

    #[tokio::test]
    async fn who_is_granted_by_another_site_meanwhile_is_not_asked_for_again() {
        let (conversation, mut changed) = conversation();
        conversation.on_answer(refusal(), &Keys::default());
        conversation.on_answer(Answer::Subscribed { user: ALICE, key: "7".into() }, &Keys::default());
        while lock(&conversation.wanted).users[&ALICE].will_be_asked_again {
            tokio::task::yield_now().await;
        }
        assert!(changed.try_recv().is_err());
    }
}

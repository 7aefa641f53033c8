//! What a client says and hears, whatever carries it: requests for what is wanted, answers, records.

use super::client::ClientEvent;
use crate::protocol::{Answer, Request};
use cellcc_assist::Record;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// A refused registration is tried again after what the service says, at most this, doubled up to so many times.
const MAX_RETRY_AFTER_MS: u64 = 10_000;
const MAX_DOUBLINGS: u32 = 5;

/// The user of each key, as the service named it on this connection.
pub(super) type Keys = Mutex<HashMap<[u8; 16], IpAddr>>;

pub(super) type Listener = Box<dyn Fn(ClientEvent<'_>) + Send + Sync>;

/// What to ask for: again on each new connection.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    pub(super) users: BTreeMap<IpAddr, WantedUser>,
    pub(super) all: bool,
    pub(super) own_flows: Option<u16>,
}

#[derive(Debug)]
pub(super) struct WantedUser {
    pub(super) flows: u16,
    pub(super) consent: Option<String>,
    /// How often it has been refused since it was granted last.
    pub(super) refusals: u32,
}

impl WantedUser {
    fn request(&self, user: IpAddr) -> Request {
        Request::Subscribe { user, flows: self.flows, consent: self.consent.clone() }
    }
}

#[derive(Debug)]
pub(super) enum Change {
    User(IpAddr),
    All,
    OwnFlows,
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A client's side of what is said.
pub(super) struct Conversation {
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
    pub(super) fn new(
        wanted: Arc<Mutex<Wanted>>,
        changes: mpsc::UnboundedSender<Change>,
        listener: Listener,
    ) -> Self {
        Self { wanted, changes, listener, was_connected: AtomicBool::new(false) }
    }

    pub(super) fn connected(&self) {
        self.was_connected.store(true, Ordering::Relaxed);
        (self.listener)(ClientEvent::Connected);
    }

    /// Whether there was a connection since the last question.
    pub(super) fn was_connected(&self) -> bool {
        self.was_connected.swap(false, Ordering::Relaxed)
    }

    pub(super) fn lost(&self, reason: &str) {
        (self.listener)(ClientEvent::Lost(reason));
    }

    pub(super) fn denied(&self, user: Option<IpAddr>, reason: &str) {
        (self.listener)(ClientEvent::Denied { user, reason });
    }

    /// All that is wanted, as requests.
    pub(super) fn everything(&self) -> Vec<Request> {
        let wanted = lock(&self.wanted);
        let users = wanted.users.iter().map(|(user, wanted)| wanted.request(*user));
        let all = wanted.all.then_some(Request::SubscribeAll);
        let flows = wanted.own_flows.map(|active| Request::Flows { active });
        users.chain(all).chain(flows).collect()
    }

    pub(super) fn request(&self, change: &Change) -> Option<Request> {
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

    pub(super) fn is_wanted(&self, user: IpAddr) -> bool {
        let wanted = lock(&self.wanted);
        wanted.all || wanted.users.contains_key(&user)
    }

    pub(super) fn on_answer(&self, answer: Answer, keys: &Keys) {
        let mut keys = lock(keys);
        match answer {
            Answer::Subscribed { user, key } => match u128::from_str_radix(&key, 16) {
                Ok(key) => {
                    let known = keys.insert(key.to_be_bytes(), user);
                    if let Some(wanted) = lock(&self.wanted).users.get_mut(&user) {
                        wanted.refusals = 0;
                    }
                    if known.is_none() {
                        (self.listener)(ClientEvent::Granted(user));
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

    /// Each refusal doubles the wait, as long as the user is wanted.
    fn ask_again(&self, user: IpAddr, first: Duration) {
        let mut wanted = lock(&self.wanted);
        let Some(wanted) = wanted.users.get_mut(&user) else { return };
        let wait = first * 2_u32.pow(wanted.refusals.min(MAX_DOUBLINGS));
        wanted.refusals += 1;
        let changes = self.changes.clone();
        tokio::spawn(async move {
            tokio::time::sleep(wait).await;
            // Where the client has gone, nobody asks.
            let _ = changes.send(Change::User(user));
        });
    }

    /// A record that arrived just now.
    pub(super) fn on_record(&self, record: &Record, arrived_at: Instant, keys: &HashMap<[u8; 16], IpAddr>) {
        match keys.get(&record.user) {
            Some(&user) => (self.listener)(ClientEvent::Record { user, record, arrived_at }),
            None => self.unusable(),
        }
    }

    pub(super) fn unusable(&self) {
        (self.listener)(ClientEvent::Unusable);
    }
}

//! A client's connection with a broker.

use super::broker::BrokerUrl;
use super::connection::{BrokerEvent, Client, Connection};
use super::subject;
use super::wire::Message;
use crate::allowance::Pace;
use crate::certificates::{CertificateError, Credentials, provider};
use crate::conversation::{Change, Conversation, Keys, lock};
use crate::name::PeerName;
use crate::protocol::{Answer, RENEWED_EVERY, Request, UserKey, answer};
use cellcc_assist::AdviceRecord;
use std::collections::{HashMap, HashSet, VecDeque};
use std::net::IpAddr;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

const RENEWAL_INTERVAL: Duration = Duration::from_secs(1);
const RENEWALS: u128 = RENEWED_EVERY.as_nanos() / RENEWAL_INTERVAL.as_nanos();

/// Connects with a broker.
pub(crate) struct Dialler {
    url: BrokerUrl,
    name: PeerName,
    tls: rustls::ClientConfig,
    known: Known,
}

/// The result of earlier connections. It holds on the next one, because a user's key outlives the services and their broker:
/// reports continue before a service has answered again.
#[derive(Default)]
struct Known {
    keys: Keys,
    /// The site that has reported each user last.
    sites: HashMap<[u8; 16], String>,
}

impl Dialler {
    pub(crate) fn new(url: BrokerUrl, credentials: &Credentials) -> Result<Self, CertificateError> {
        Ok(Self {
            url,
            name: credentials.name().clone(),
            tls: credentials.client_tls()?,
            known: Known::default(),
        })
    }

    /// Connects, and goes on until the connection is lost: why.
    pub(crate) async fn converse(
        &mut self,
        conversation: &Conversation,
        changed: &mut mpsc::UnboundedReceiver<Change>,
    ) -> String {
        match self.url.connect(&self.tls, &self.name).await {
            Ok(connection) => match self.talk(connection, conversation, changed).await {
                Ok(lost) | Err(lost) => lost,
            },
            Err(problem) => problem,
        }
    }

    async fn talk(
        &mut self,
        mut connection: Connection,
        conversation: &Conversation,
        changed: &mut mpsc::UnboundedReceiver<Change>,
    ) -> Result<String, String> {
        let answers_to = subject::answers_to(&self.name, &session()?);
        let client = connection.client.clone();
        let answers = client.subscribe(&answers_to).await?;
        let asking = Asking { client: &client, under: subject::requests_of(&self.name), answers_to };
        conversation.connected();
        // All changes until now are requested together.
        while changed.try_recv().is_ok() {}
        let mut unasked = VecDeque::from(conversation.everything());
        let pace = Pace::start();
        let mut brought = Brought::new(&client, conversation, &mut self.known);
        brought.resume().await?;
        let mut renewals = tokio::time::interval(RENEWAL_INTERVAL);
        let mut turn = 0;
        loop {
            tokio::select! {
                heard = connection.next() => match heard {
                    BrokerEvent::Message(message) if message.sid == answers => brought.on_answer(&message).await?,
                    BrokerEvent::Message(message) => brought.on_record(&message),
                    BrokerEvent::Refused(what) => brought.on_refused(&what).await?,
                    BrokerEvent::Late => {}
                    BrokerEvent::Lost(reason) => return Ok(reason),
                },
                Some(change) = changed.recv() => {
                    brought.on_change(&change).await?;
                    unasked.extend(conversation.request(&change));
                }
                () = pace.turn(), if !unasked.is_empty() => {
                    if let Some(request) = unasked.pop_front() {
                        asking.ask(&request).await?;
                    }
                }
                _ = renewals.tick() => {
                    turn = (turn + 1) % RENEWALS;
                    unasked.extend(conversation.everything().into_iter().filter(|request| turn_of(request) == turn));
                }
            }
        }
    }
}

/// A session that tells this process from others with the same certificate.
fn session() -> Result<String, String> {
    let mut random = [0; 8];
    provider().secure_random.fill(&mut random).map_err(|_| "the system has no randomness")?;
    Ok(format!("{:016x}", u64::from_le_bytes(random)))
}

/// The second of each ten in which a request is made again.
fn turn_of(request: &Request) -> u128 {
    match request {
        Request::Subscribe { user: IpAddr::V4(user), .. } => u128::from(user.to_bits()) % RENEWALS,
        Request::Subscribe { user: IpAddr::V6(user), .. } => user.to_bits() % RENEWALS,
        Request::Unsubscribe { .. } | Request::SubscribeAll | Request::Flows { .. } => 0,
    }
}

/// How services are asked.
struct Asking<'a> {
    client: &'a Client,
    under: String,
    answers_to: String,
}

impl Asking<'_> {
    async fn ask(&self, request: &Request) -> Result<(), String> {
        let text = serde_json::to_vec(request).map_err(|error| error.to_string())?;
        self.client.publish(&self.under, Some(&self.answers_to), &text).await
    }
}

/// The state of one connection.
struct Brought<'a> {
    client: &'a Client,
    conversation: &'a Conversation,
    known: &'a mut Known,
    /// The subscription for each user.
    subscriptions: HashMap<IpAddr, (UserKey, u64)>,
    /// The subscriptions whose messages count.
    open: HashSet<u64>,
}

impl<'a> Brought<'a> {
    fn new(client: &'a Client, conversation: &'a Conversation, known: &'a mut Known) -> Self {
        Self { client, conversation, known, subscriptions: HashMap::new(), open: HashSet::new() }
    }

    /// Subscribes to the users of the connection before that are still wanted.
    async fn resume(&mut self) -> Result<(), String> {
        let known = lock(&self.known.keys).clone();
        for (key, user) in known {
            if self.conversation.is_wanted(user) {
                self.subscribe(user, UserKey(key)).await?;
                self.conversation.granted(user);
            } else {
                self.forget(&key);
            }
        }
        Ok(())
    }

    fn forget(&mut self, key: &[u8; 16]) {
        lock(&self.known.keys).remove(key);
        self.known.sites.remove(key);
    }

    async fn on_answer(&mut self, message: &Message) -> Result<(), String> {
        let Ok(answer) = answer(&message.payload) else {
            self.conversation.unusable();
            return Ok(());
        };
        match &answer {
            // Each site answers: one of them knows the user. The broker's permissions decide which reports this client may receive.
            Answer::Refused { user: Some(user), .. } | Answer::Ended { user, .. }
                if self.subscriptions.contains_key(user) => {}
            Answer::Subscribed { user, .. } if !self.conversation.is_wanted(*user) => {}
            Answer::Subscribed { user, key } => {
                if let Ok(key) = u128::from_str_radix(key, 16) {
                    self.subscribe(*user, UserKey(key.to_be_bytes())).await?;
                }
                self.conversation.on_answer(answer, &self.known.keys);
            }
            Answer::Refused { .. } | Answer::Ended { .. } => {
                self.conversation.on_answer(answer, &self.known.keys)
            }
        }
        Ok(())
    }

    async fn subscribe(&mut self, user: IpAddr, key: UserKey) -> Result<(), String> {
        if self.subscriptions.get(&user).is_some_and(|(known, _)| *known == key) {
            return Ok(());
        }
        self.unsubscribe(user).await?;
        let sid = self.client.subscribe(&subject::records_about(key)).await?;
        self.open.insert(sid);
        self.subscriptions.insert(user, (key, sid));
        Ok(())
    }

    async fn unsubscribe(&mut self, user: IpAddr) -> Result<(), String> {
        let Some((key, sid)) = self.subscriptions.remove(&user) else { return Ok(()) };
        self.open.remove(&sid);
        self.forget(&key.0);
        self.client.unsubscribe(sid).await
    }

    async fn on_change(&mut self, change: &Change) -> Result<(), String> {
        match change {
            Change::User(user) if !self.conversation.is_wanted(*user) => self.unsubscribe(*user).await,
            Change::User(_) | Change::All | Change::OwnFlows => Ok(()),
        }
    }

    async fn on_refused(&mut self, what: &str) -> Result<(), String> {
        let user = subject::key_in(what).and_then(|key| lock(&self.known.keys).get(&key.0).copied());
        self.conversation.denied(user, &format!("the broker refuses: {what}"));
        match user {
            Some(user) => self.unsubscribe(user).await,
            None => Ok(()),
        }
    }

    fn on_record(&mut self, message: &Message) {
        // Messages on their way when their subscription ended are dropped.
        if !self.open.contains(&message.sid) {
            return;
        }
        let arrived_at = Instant::now();
        let (Some(record), Some(site)) =
            (AdviceRecord::decode(&message.payload), subject::site_of(&message.subject))
        else {
            return self.conversation.unusable();
        };
        if let Some(record) = self.of_site(record, site) {
            self.conversation.on_record(&record, arrived_at, &lock(&self.known.keys));
        }
    }

    /// The record as the receiver is to see it. Each site counts by itself: the first record of another one restarts the count.
    fn of_site(&mut self, record: AdviceRecord, site: &str) -> Option<AdviceRecord> {
        match self.known.sites.get_mut(&record.user) {
            Some(known) if known == site => Some(record),
            // The site that the user has left, which has noticed that its source is silent.
            Some(_) if record.stale => None,
            Some(known) => {
                site.clone_into(known);
                Some(AdviceRecord { first: true, handover: true, ..record })
            }
            None => {
                self.known.sites.insert(record.user, site.to_owned());
                Some(record)
            }
        }
    }
}

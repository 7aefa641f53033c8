//! A server's end: asks for users, passes their records on, and connects again where the connection is lost.

use super::framing::{FramingError, read};
use super::{DATAGRAM_RECEIVE_BYTES, transport};
use crate::certificates::{CertificateError, Credentials, SERVICE_DNS_NAME};
use crate::protocol::{Answer, RECORDS_PER_DATAGRAM, Request, answer, framed};
use cellcc_assist::Record;
use noq::{ClientConfig, Connection, Endpoint, RecvStream, SendStream, VarInt};
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use thiserror::Error;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::timeout;

/// Longest wait for a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Waits between two attempts to connect: they double from the first to the last.
const RETRY_DELAYS: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(5));

/// A refused registration is tried again after what the service says, at most this, doubled up to so many times.
const MAX_RETRY_AFTER_MS: u64 = 10_000;
const MAX_DOUBLINGS: u32 = 5;

/// With whom to connect, and as whom.
#[derive(Debug, Clone)]
pub struct ClientSettings {
    /// The service.
    pub service: SocketAddr,
    /// Who the client is.
    pub credentials: Credentials,
}

/// Why a client cannot begin.
#[derive(Debug, Error)]
pub enum ClientError {
    /// The certificate cannot be used.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// The system gives no socket.
    #[error("cannot open a socket: {0}")]
    Socket(#[from] std::io::Error),
}

/// What a client hears.
#[derive(Debug)]
pub enum ClientEvent<'a> {
    /// A record about a user.
    Record {
        /// The address that was asked for.
        user: IpAddr,
        /// The record.
        record: &'a Record,
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
    /// The service is there.
    Connected,
    /// It is not, and is tried again.
    Lost(&'a str),
    /// A record that cannot be read, or is about nobody who was asked for.
    Unusable,
}

/// The user of each key, as the service named it on this connection.
type Keys = Mutex<HashMap<[u8; 16], IpAddr>>;

type Listener = Box<dyn Fn(ClientEvent<'_>) + Send + Sync>;

/// A connection with a service. Clones share it; dropping the last ends it.
#[derive(Debug, Clone)]
pub struct Client(Arc<Handle>);

#[derive(Debug)]
struct Handle {
    wanted: Arc<Mutex<Wanted>>,
    changes: mpsc::UnboundedSender<Change>,
    task: AbortHandle,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// What to ask for: again on each new connection.
#[derive(Debug, Default)]
struct Wanted {
    users: BTreeMap<IpAddr, WantedUser>,
    all: bool,
    own_flows: Option<u16>,
}

#[derive(Debug)]
struct WantedUser {
    flows: u16,
    consent: Option<String>,
    /// How often it has been refused since it was granted last.
    refusals: u32,
}

impl WantedUser {
    fn request(&self, user: IpAddr) -> Request {
        Request::Subscribe { user, flows: self.flows, consent: self.consent.clone() }
    }
}

#[derive(Debug)]
enum Change {
    User(IpAddr),
    All,
    OwnFlows,
}

impl Client {
    /// Connects in the background, and calls `listener` with what comes; it must not block. Needs a tokio runtime.
    ///
    /// # Errors
    /// The certificate cannot be used, or there is no socket. A service that is not there is no error: see
    /// [`ClientEvent::Lost`].
    pub fn start(
        settings: ClientSettings,
        listener: impl Fn(ClientEvent<'_>) + Send + Sync + 'static,
    ) -> Result<Self, ClientError> {
        let mut config = ClientConfig::new(Arc::new(settings.credentials.client_tls()?));
        config.transport_config(Arc::new(transport(DATAGRAM_RECEIVE_BYTES)));
        let own = match settings.service {
            SocketAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
            SocketAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
        };
        let endpoint = Endpoint::client(own)?;
        let wanted = Arc::new(Mutex::new(Wanted::default()));
        let (changes, changed) = mpsc::unbounded_channel();
        let link = Link {
            endpoint,
            config,
            service: settings.service,
            wanted: Arc::clone(&wanted),
            changes: changes.clone(),
            listener: Box::new(listener),
        };
        let task = tokio::spawn(link.run(changed)).abort_handle();
        Ok(Self(Arc::new(Handle { wanted, changes, task })))
    }

    /// Asks for records about a user, with whom there are so many flows; zero: no more records.
    pub fn want(&self, user: IpAddr, flows: u16, consent: Option<String>) {
        let mut wanted = lock(&self.0.wanted);
        if flows == 0 {
            wanted.users.remove(&user);
        } else {
            let refusals = wanted.users.get(&user).map_or(0, |known| known.refusals);
            wanted.users.insert(user, WantedUser { flows, consent, refusals });
        }
        drop(wanted);
        self.tell(Change::User(user));
    }

    /// Asks for records about all users; for operators.
    pub fn want_all(&self) {
        lock(&self.0.wanted).all = true;
        self.tell(Change::All);
    }

    /// Tells how many active flows this user's device has.
    pub fn tell_flows(&self, active: u16) {
        lock(&self.0.wanted).own_flows = Some(active);
        self.tell(Change::OwnFlows);
    }

    fn tell(&self, change: Change) {
        // The task lives as long as this.
        let _ = self.0.changes.send(change);
    }
}

fn lock(wanted: &Mutex<Wanted>) -> MutexGuard<'_, Wanted> {
    wanted.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The task of a client.
struct Link {
    endpoint: Endpoint,
    config: ClientConfig,
    service: SocketAddr,
    wanted: Arc<Mutex<Wanted>>,
    changes: mpsc::UnboundedSender<Change>,
    listener: Listener,
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link").field("service", &self.service).finish_non_exhaustive()
    }
}

impl Link {
    async fn run(self, mut changed: mpsc::UnboundedReceiver<Change>) {
        let mut delay = RETRY_DELAYS.0;
        loop {
            let problem = match self.connect().await {
                Ok(connection) => {
                    let problem = self.converse(&connection, &mut changed, &mut delay).await;
                    connection.close(VarInt::from_u32(0), b"");
                    problem
                }
                Err(problem) => problem,
            };
            (self.listener)(ClientEvent::Lost(&problem));
            tokio::time::sleep(delay).await;
            delay = (delay * 2).min(RETRY_DELAYS.1);
        }
    }

    async fn connect(&self) -> Result<Connection, String> {
        let connecting = self
            .endpoint
            .connect_with(self.config.clone(), self.service, SERVICE_DNS_NAME)
            .map_err(|error| error.to_string())?;
        let connected = timeout(CONNECT_TIMEOUT, connecting).await;
        connected.map_err(|_| format!("{} does not answer", self.service))?.map_err(|error| error.to_string())
    }

    /// Until the connection is lost: why.
    async fn converse(
        &self,
        connection: &Connection,
        changed: &mut mpsc::UnboundedReceiver<Change>,
        delay: &mut Duration,
    ) -> String {
        // The service refuses a certificate only after the client believes that the handshake is done.
        if let Err(error) = connection.handshake_confirmed().await {
            return error.to_string();
        }
        let (mut send, mut receive) = match connection.open_bi().await {
            Ok(streams) => streams,
            Err(error) => return error.to_string(),
        };
        (self.listener)(ClientEvent::Connected);
        *delay = RETRY_DELAYS.0;
        let keys = Keys::default();
        // All at once: the service reads no more requests from a client that does not read its answers.
        let problem = tokio::select! {
            problem = self.ask(&mut send, changed) => problem,
            problem = self.listen(&mut receive, &keys) => problem,
            problem = self.receive(connection, &keys) => problem,
        };
        // What the service said when it closed, where it did.
        connection.close_reason().map_or(problem, |reason| reason.to_string())
    }

    /// Asks for all that is wanted, and then for what changes, until it cannot: why.
    async fn ask(&self, send: &mut SendStream, changed: &mut mpsc::UnboundedReceiver<Change>) -> String {
        // What has changed until now is asked for as a whole.
        while changed.try_recv().is_ok() {}
        let mut everything = self.everything();
        loop {
            let request = match everything.pop() {
                Some(request) => Some(request),
                None => match changed.recv().await {
                    Some(change) => self.request(&change),
                    None => return "no longer needed".to_owned(),
                },
            };
            if let Some(request) = request
                && send.write_all(&framed(&request)).await.is_err()
            {
                return "the stream is lost".to_owned();
            }
        }
    }

    /// Reads the service's answers, until it cannot: why.
    async fn listen(&self, receive: &mut RecvStream, keys: &Keys) -> String {
        loop {
            match read(receive).await {
                Ok(Some(text)) => match answer(&text) {
                    Ok(answer) => self.on_answer(answer, keys),
                    Err(problem) => return problem.to_string(),
                },
                Ok(None) => return "the service has ended the stream".to_owned(),
                Err(error @ (FramingError::Lost(_) | FramingError::Malformed(_))) => {
                    return error.to_string();
                }
            }
        }
    }

    /// Receives records, until the connection is lost: why.
    async fn receive(&self, connection: &Connection, keys: &Keys) -> String {
        loop {
            match connection.read_datagram().await {
                Ok(datagram) => self.on_datagram(&datagram, keys),
                Err(error) => return error.to_string(),
            }
        }
    }

    fn everything(&self) -> Vec<Request> {
        let wanted = lock(&self.wanted);
        let users = wanted.users.iter().map(|(user, wanted)| wanted.request(*user));
        let all = wanted.all.then_some(Request::SubscribeAll);
        let flows = wanted.own_flows.map(|active| Request::Flows { active });
        users.chain(all).chain(flows).collect()
    }

    fn request(&self, change: &Change) -> Option<Request> {
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

    fn on_answer(&self, answer: Answer, keys: &Keys) {
        let mut keys = keys.lock().unwrap_or_else(PoisonError::into_inner);
        match answer {
            Answer::Subscribed { user, key } => match u128::from_str_radix(&key, 16) {
                Ok(key) => {
                    keys.insert(key.to_be_bytes(), user);
                    if let Some(wanted) = lock(&self.wanted).users.get_mut(&user) {
                        wanted.refusals = 0;
                    }
                    (self.listener)(ClientEvent::Granted(user));
                }
                Err(_) => (self.listener)(ClientEvent::Unusable),
            },
            Answer::Refused { user, reason, retry_after_ms } => {
                (self.listener)(ClientEvent::Denied { user, reason: &reason });
                if let Some((user, after_ms)) = user.zip(retry_after_ms) {
                    self.ask_again(user, Duration::from_millis(after_ms.min(MAX_RETRY_AFTER_MS)));
                }
            }
            Answer::Ended { user, reason } => {
                keys.retain(|_, address| *address != user);
                if lock(&self.wanted).users.contains_key(&user) {
                    (self.listener)(ClientEvent::Denied { user: Some(user), reason: &reason });
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

    fn on_datagram(&self, datagram: &[u8], keys: &Keys) {
        let arrived_at = Instant::now();
        let records = datagram.chunks_exact(Record::SIZE);
        if records.len() > RECORDS_PER_DATAGRAM || !records.remainder().is_empty() {
            return (self.listener)(ClientEvent::Unusable);
        }
        let keys = keys.lock().unwrap_or_else(PoisonError::into_inner);
        for bytes in records {
            let known =
                Record::decode(bytes).ok().and_then(|record| Some((*keys.get(&record.user)?, record)));
            (self.listener)(match &known {
                Some((user, record)) => ClientEvent::Record { user: *user, record, arrived_at },
                None => ClientEvent::Unusable,
            });
        }
    }
}

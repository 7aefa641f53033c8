//! A server's end: asks for users, passes their records on, and connects again where the connection is lost.

use crate::backoff::{Backoff, drawn_share};
use crate::certificates::{CertificateError, Credentials};
use crate::conversation::{Change, ClientEvent, Conversation, Wanted, WantedUser, lock};
use crate::nats::{self, BrokerUrl};
use crate::quic;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use thiserror::Error;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

/// Where records come from.
#[derive(Debug, Clone)]
pub enum ServiceAddress {
    /// A service, over QUIC.
    Quic(SocketAddr),
    /// The broker of one service or several.
    Nats(BrokerUrl),
}

/// With whom to connect, and as whom.
#[derive(Debug, Clone)]
pub struct ClientSettings {
    /// The service.
    pub service: ServiceAddress,
    /// The client's identity.
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

/// Where the two transports meet at this end.
enum Dialler {
    Quic(quic::Dialler),
    Nats(Box<nats::Dialler>),
}

impl Client {
    /// Connects in the background, and calls `listener` with events; it must not block. Needs a tokio runtime.
    ///
    /// # Errors
    /// The certificate cannot be used, or there is no socket. A service that is not there is no error: see
    /// [`ClientEvent::Lost`].
    pub fn start(
        settings: ClientSettings,
        listener: impl Fn(ClientEvent<'_>) + Send + Sync + 'static,
    ) -> Result<Self, ClientError> {
        let dialler = match settings.service {
            ServiceAddress::Quic(service) => {
                Dialler::Quic(quic::Dialler::new(service, settings.credentials.client_quic()?)?)
            }
            ServiceAddress::Nats(broker) => {
                Dialler::Nats(Box::new(nats::Dialler::new(broker, &settings.credentials)?))
            }
        };
        let wanted = Arc::new(Mutex::new(Wanted::default()));
        let (changes, changed) = mpsc::unbounded_channel();
        let conversation = Conversation::new(Arc::clone(&wanted), changes.clone(), Box::new(listener));
        let task = tokio::spawn(run(dialler, conversation, changed)).abort_handle();
        Ok(Self(Arc::new(Handle { wanted, changes, task })))
    }

    /// Asks for records about a user, with whom there are so many flows; zero: no more records.
    pub fn want(&self, user: IpAddr, flows: u16, consent: Option<String>) {
        let mut wanted = lock(&self.0.wanted);
        if flows == 0 {
            wanted.users.remove(&user);
        } else {
            let known = wanted.users.get(&user);
            let (refusals, will_be_asked_again) =
                known.map_or((0, false), |known| (known.refusals, known.will_be_asked_again));
            wanted.users.insert(user, WantedUser { flows, consent, refusals, will_be_asked_again });
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

/// Connects, again and again.
async fn run(mut dialler: Dialler, conversation: Conversation, mut changed: mpsc::UnboundedReceiver<Change>) {
    let mut backoff = Backoff::default();
    loop {
        let problem = match &mut dialler {
            Dialler::Quic(quic) => quic.converse(&conversation, &mut changed).await,
            Dialler::Nats(nats) => nats.converse(&conversation, &mut changed).await,
        };
        if conversation.was_connected() {
            backoff = Backoff::default();
        }
        conversation.lost(&problem);
        tokio::time::sleep(backoff.wait(drawn_share())).await;
    }
}

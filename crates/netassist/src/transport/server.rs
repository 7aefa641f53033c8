//! The service's end: connections, their requests, and the records for them.

use super::framing::{FramingError, read};
use super::{SERVICE_DATAGRAM_RECEIVE_BYTES, transport};
use crate::audit::AuditEntry;
use crate::certificates::{CertificateError, Credentials, name_in};
use crate::clock::ServiceClock;
use crate::consent::ConsentVerifier;
use crate::live_flows::tracked_flows;
use crate::name::PeerName;
use crate::protocol::{Answer, RECORDS_PER_DATAGRAM, Request, framed, request};
use crate::sample::Sample;
use crate::service::{ClientId, Counts, Presented, Publication, Reply, Service};
use bytes::Bytes;
use cellcc_assist::Record;
use cellcc_units::{Bytes as Size, Span, Time, input};
use noq::{Connection, Endpoint, Incoming, PathId, RecvStream, ServerConfig, VarInt};
use rustls::pki_types::CertificateDer;
use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Semaphore, mpsc};
use tokio::time::timeout;

/// Handshakes at once; each takes up to 85 kB of the QUIC implementation's memory, so 5.4 MB. Further ones are refused.
const MAX_HANDSHAKES: usize = 64;
/// Above this many at once, a client first proves its address, which takes it a round trip.
const RETRY_ABOVE: usize = 16;
/// Longest handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);
/// Answers that wait for a client that does not read them. One that lets more wait is disconnected.
const MAX_ANSWERS: usize = 256;
/// First packets that nobody has looked at yet, and what their clients may send meanwhile.
const MAX_INCOMING: usize = 256;
const INCOMING_BUFFER_BYTES: u64 = 8192;
/// How often connection tracking is looked at without being asked for.
const FLOWS_INTERVAL: Span = Span::from_secs(5);
/// And how often at most when clients ask.
const MIN_FLOWS_INTERVAL: Span = Span::from_millis(200);
/// A table of a million flows.
const MAX_FLOWS_BYTES: Size = Size::new(256 << 20);

const CLOSE_REFUSED: VarInt = VarInt::from_u32(1);
const CLOSE_PROTOCOL: VarInt = VarInt::from_u32(2);
const CLOSE_SLOW: VarInt = VarInt::from_u32(3);
const CLOSE_SHUTDOWN: VarInt = VarInt::from_u32(4);

/// How many of what there were, besides those of the core.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ServerCounts {
    /// Connections that began.
    pub connections: u64,
    /// Handshakes that failed: without a certificate, with a wrong or expired one.
    pub handshakes_failed: u64,
    /// Handshakes that were refused because there were too many, or sent back to prove an address.
    pub handshakes_refused: u64,
    /// Messages that were none, or too long.
    pub malformed: u64,
    /// Clients that did not read what they were sent.
    pub slow: u64,
    /// Records handed to connections.
    pub records: u64,
    /// Records that made room for newer ones, or that a connection did not take.
    pub records_dropped: u64,
}

/// The service with its connections. Clones share it.
#[derive(Debug, Clone)]
pub struct Server(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    endpoint: Endpoint,
    clock: ServiceClock,
    state: Mutex<State>,
    consent: ConsentVerifier,
    /// Connection tracking, where flows are looked for.
    flows: Option<PathBuf>,
    handshakes: Arc<Semaphore>,
    audit: mpsc::UnboundedSender<AuditEntry>,
}

#[derive(Debug)]
struct State {
    service: Service,
    clients: HashMap<ClientId, Connected>,
    counts: ServerCounts,
    flows_seen_at: Time,
}

#[derive(Debug, Clone)]
struct Connected {
    connection: Connection,
    answers: mpsc::Sender<Answer>,
}

impl Server {
    /// Listens. `flows`: the table of connection tracking. `audit` takes what happens. Needs a tokio runtime.
    ///
    /// # Errors
    /// An unusable certificate, an address in use.
    pub fn bind(
        listen: SocketAddr,
        credentials: &Credentials,
        service: Service,
        clock: ServiceClock,
        flows: Option<PathBuf>,
        audit: mpsc::UnboundedSender<AuditEntry>,
    ) -> Result<Self, BindError> {
        let mut config = ServerConfig::with_crypto(Arc::new(credentials.server_tls()?));
        config
            .transport_config(Arc::new(transport(SERVICE_DATAGRAM_RECEIVE_BYTES)))
            .max_incoming(MAX_INCOMING)
            .incoming_buffer_size(INCOMING_BUFFER_BYTES);
        let endpoint =
            Endpoint::server(config, listen).map_err(|cause| BindError::Listen { listen, cause })?;
        let state = State {
            service,
            clients: HashMap::new(),
            counts: ServerCounts::default(),
            flows_seen_at: Time::ZERO,
        };
        Ok(Self(Arc::new(Shared {
            endpoint,
            clock,
            state: Mutex::new(state),
            consent: ConsentVerifier::new(credentials)?,
            flows,
            handshakes: Arc::new(Semaphore::new(MAX_HANDSHAKES)),
            audit,
        })))
    }

    /// Where it listens.
    ///
    /// # Errors
    /// The socket was closed.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.0.endpoint.local_addr()
    }

    /// Accepts connections and does what is due, until it is shut down.
    pub async fn run(&self) {
        let accepting = async {
            while let Some(incoming) = self.0.endpoint.accept().await {
                self.accept(incoming);
            }
        };
        tokio::select! {
            () = accepting => {}
            () = self.tick() => {}
        }
    }

    /// Ends all connections.
    pub async fn shut_down(&self) {
        self.0.endpoint.close(CLOSE_SHUTDOWN, b"the service has shut down");
        let _ = timeout(Duration::from_millis(500), self.0.endpoint.wait_idle()).await;
    }

    /// Publishes what follows from a source's samples.
    pub fn samples(&self, samples: &[Sample]) {
        let mut state = self.0.state();
        let publications: Vec<_> = samples.iter().filter_map(|sample| state.service.sample(sample)).collect();
        state.publish(&publications);
    }

    /// What has been counted.
    pub fn counts(&self) -> (Counts, ServerCounts) {
        let state = self.0.state();
        (state.service.counts(), state.counts)
    }

    /// Clients, subscriptions, and users of whom something is known.
    pub fn sizes(&self) -> (usize, usize, usize) {
        let state = self.0.state();
        (state.service.clients(), state.service.subscriptions(), state.service.known_users())
    }

    /// UDP payload that was sent to the clients that are connected now.
    pub fn sent_bytes(&self) -> Size {
        let state = self.0.state();
        state.clients.values().map(|client| Size::new(client.connection.stats().udp_tx.bytes)).sum()
    }

    async fn tick(&self) {
        let mut next_flows = self.0.clock.now();
        loop {
            let wake = self.0.state().service.next_wake().min(next_flows);
            tokio::time::sleep_until(self.0.clock.instant(wake).into()).await;
            let now = self.0.clock.now();
            if now >= next_flows {
                next_flows = now + FLOWS_INTERVAL;
                self.0.look_at_flows(now);
            }
            let mut state = self.0.state();
            let due = state.service.poll(now);
            state.publish(&due.publications);
            for (id, answer) in due.answers {
                state.tell(id, answer);
            }
            self.0.pass_on_audit(&mut state);
        }
    }

    fn accept(&self, incoming: Incoming) {
        let free = self.0.handshakes.available_permits();
        if MAX_HANDSHAKES - free >= RETRY_ABOVE && !incoming.remote_address_validated() {
            self.0.state().counts.handshakes_refused += 1;
            // Fails only for a client that has proved its address.
            drop(incoming.retry());
            return;
        }
        let Ok(permit) = Arc::clone(&self.0.handshakes).try_acquire_owned() else {
            self.0.state().counts.handshakes_refused += 1;
            incoming.refuse();
            return;
        };
        let shared = Arc::clone(&self.0);
        tokio::spawn(async move {
            let connected = shared.handshake(incoming).await;
            drop(permit);
            match connected {
                Some((connection, name, address)) => shared.serve(connection, name, address).await,
                None => shared.state().counts.handshakes_failed += 1,
            }
        });
    }
}

/// Why the service cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// The address.
    #[error("cannot listen on {listen}: {cause}; choose another address or port")]
    Listen {
        /// Which.
        listen: SocketAddr,
        /// What the system says.
        cause: io::Error,
    },
    /// The certificate.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection whose client has proved who it is.
    async fn handshake(&self, incoming: Incoming) -> Option<(Connection, PeerName, IpAddr)> {
        let connection = timeout(HANDSHAKE_TIMEOUT, incoming.accept().ok()?).await.ok()?.ok()?;
        let address = connection.path(PathId::ZERO)?.remote_address().ok()?.ip();
        let identity = connection.peer_identity()?.downcast::<Vec<CertificateDer<'static>>>().ok()?;
        let Ok(name) = name_in(identity.first()?) else {
            connection.close(CLOSE_REFUSED, b"the certificate names nobody of NetAssist");
            return None;
        };
        Some((connection, name, address.to_canonical()))
    }

    async fn serve(&self, connection: Connection, name: PeerName, address: IpAddr) {
        let (answers, mut waiting) = mpsc::channel(MAX_ANSWERS);
        let id = {
            let mut state = self.state();
            state.counts.connections += 1;
            let Some(id) = state.service.connect(self.clock.now(), name, address) else {
                connection.close(CLOSE_REFUSED, b"too many clients");
                return;
            };
            state.clients.insert(id, Connected { connection: connection.clone(), answers: answers.clone() });
            id
        };
        // A stream is there with its first byte: a server without users sends none yet.
        if let Ok((mut send, mut receive)) = connection.accept_bi().await {
            let writing = async {
                while let Some(answer) = waiting.recv().await {
                    if send.write_all(&framed(&answer)).await.is_err() {
                        break;
                    }
                }
            };
            tokio::select! {
                () = writing => {}
                () = self.read_requests(id, &connection, &mut receive, &answers) => {}
            }
        }
        let mut state = self.state();
        state.clients.remove(&id);
        state.service.disconnect(self.clock.now(), id);
        self.pass_on_audit(&mut state);
        connection.close(VarInt::from_u32(0), b"");
    }

    async fn read_requests(
        &self,
        id: ClientId,
        connection: &Connection,
        receive: &mut RecvStream,
        answers: &mpsc::Sender<Answer>,
    ) {
        loop {
            let text = match read(receive).await {
                Ok(Some(text)) => text,
                Ok(None) | Err(FramingError::Lost(_)) => return,
                Err(FramingError::Malformed(problem)) => {
                    self.state().counts.malformed += 1;
                    return connection.close(CLOSE_PROTOCOL, problem.to_string().as_bytes());
                }
            };
            let asked = match request(&text) {
                Ok(asked) => asked,
                Err(problem) => {
                    self.state().counts.malformed += 1;
                    return connection.close(CLOSE_PROTOCOL, problem.to_string().as_bytes());
                }
            };
            let Reply::Answers(replies) = self.reply(id, &asked) else {
                return connection.close(CLOSE_REFUSED, b"too many requests");
            };
            // A client that does not read its answers is not asked for more requests.
            for reply in replies {
                if answers.send(reply).await.is_err() {
                    return;
                }
            }
        }
    }

    fn reply(&self, id: ClientId, asked: &Request) -> Reply {
        let now = self.clock.now();
        let presented = match asked {
            Request::Subscribe { consent: Some(text), .. } => match self.consent.verify(now, text) {
                Ok(consent) => Presented::Signed(consent),
                Err(_) => Presented::Forged,
            },
            _ => Presented::None,
        };
        if matches!(asked, Request::Subscribe { .. }) && presented == Presented::None {
            let is_old = now.since(self.state().flows_seen_at) >= MIN_FLOWS_INTERVAL;
            if is_old {
                self.look_at_flows(now);
            }
        }
        let mut state = self.state();
        let reply = state.service.request(now, id, asked, &presented);
        self.pass_on_audit(&mut state);
        reply
    }

    fn look_at_flows(&self, now: Time) {
        let Some(path) = &self.flows else { return };
        let text = input::read_text(path, MAX_FLOWS_BYTES).unwrap_or_default();
        let mut state = self.state();
        state.flows_seen_at = now;
        state.service.see_flows(now, tracked_flows(&text));
    }

    fn pass_on_audit(&self, state: &mut State) {
        for entry in state.service.take_audit() {
            // Where nobody takes it any more, the service ends.
            let _ = self.audit.send(entry);
        }
    }
}

impl State {
    /// Queues what the client has not asked for. One that has not read so much of it is disconnected.
    fn tell(&mut self, id: ClientId, answer: Answer) {
        let Some(client) = self.clients.get(&id) else { return };
        if client.answers.try_send(answer).is_err() {
            self.counts.slow += 1;
            client.connection.close(CLOSE_SLOW, b"answers are not read");
        }
    }

    fn publish(&mut self, publications: &[Publication]) {
        let mut batches: HashMap<ClientId, Vec<u8>> = HashMap::new();
        for publication in publications {
            let bytes = publication.record.encode();
            for id in &publication.to {
                let batch = batches.entry(*id).or_default();
                batch.extend(bytes);
                if batch.len() == RECORDS_PER_DATAGRAM * Record::SIZE {
                    let full = std::mem::take(batch);
                    self.send(*id, full);
                }
            }
        }
        for (id, batch) in batches {
            if !batch.is_empty() {
                self.send(id, batch);
            }
        }
    }

    fn send(&mut self, id: ClientId, batch: Vec<u8>) {
        let Some(client) = self.clients.get(&id) else { return };
        let count = (batch.len() / Record::SIZE) as u64;
        let has_room = client.connection.datagram_send_buffer_space() >= batch.len();
        match client.connection.send_datagram(Bytes::from(batch)) {
            Ok(()) if has_room => self.counts.records += count,
            // It has taken the place of older ones, about as many.
            Ok(()) => self.counts.records_dropped += count,
            Err(_) => self.counts.records_dropped += count,
        }
    }
}

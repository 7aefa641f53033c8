//! The server: accepts, checks, and moves data.

use super::advice::Adviser;
use super::certificates::server_crypto;
use super::files::{IncomingFile, SharedFile, below};
use super::flow::Flow;
use super::limits::{Lease, Ledger};
use super::protocol::Message;
use super::receiving::PeerClock;
use super::session::{Control, Event, Session, Task, close};
use super::tickets::{Issued, TicketOffice};
use super::{
    CloseCode, Direction, Fingerprint, Identity, Limits, MAX_CONNECTIONS, MAX_STREAMS, MIN_INTERVAL, Payload,
    Request, TransferError, VERSION, transport,
};
use crate::Congestion;
use crate::qlog::Directory;
use crate::reception::endpoint;
use cellcc_control::{Registry, Scheme};
use cellcc_experiment::Source;
use cellcc_units::Bytes;
use noq::{Connection, Endpoint, Incoming, ServerConfig};
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, timeout};

/// From a connection's handshake to its request, and from the answer to the start.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often what a transfer uses is counted: a limit is kept within what the link carries in so much.
const CHARGE_EVERY: Duration = Duration::from_millis(20);
/// Transfers may take so much longer when the server is to end.
const GRACE: Duration = Duration::from_secs(5);
/// For the last packets to leave.
const LAST_PACKETS: Duration = Duration::from_millis(500);

/// What a server does for whom.
pub struct ServerSettings {
    /// Where it listens; port 0: any that is free.
    pub listen: SocketAddr,
    /// Sends with this, where a client asks for nothing else.
    pub scheme: Scheme,
    /// Names of the schemes that clients may ask it to send with; empty: all.
    pub allowed: Vec<String>,
    /// The folder with the files that can be had.
    pub root: Option<PathBuf>,
    /// Whether clients may add files to it.
    pub takes_files: bool,
    /// Its certificate.
    pub identity: Identity,
    /// The authorities of clients' certificates, in PEM; none: anybody may come.
    pub client_authorities: Option<PathBuf>,
    /// What each peer may have.
    pub limits: Limits,
    /// Where to write what each data connection does.
    pub qlog: Option<Directory>,
    /// Who tells schemes that ask for it about their bottleneck.
    pub adviser: Option<Adviser>,
    /// Is told of each transfer's beginning and end, in a line.
    pub log: Box<dyn Fn(&str) + Send + Sync>,
}

impl fmt::Debug for ServerSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerSettings").field("listen", &self.listen).finish_non_exhaustive()
    }
}

/// A server that listens.
#[derive(Debug)]
pub struct Server {
    endpoint: Endpoint,
    fingerprint: Fingerprint,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    settings: ServerSettings,
    ledger: Arc<Ledger>,
    office: TicketOffice<Place>,
    /// For control connections; the data connections' have their scheme beside it.
    config: ServerConfig,
    ends: watch::Sender<bool>,
    epoch: Instant,
}

/// Where a data connection belongs.
#[derive(Debug, Clone)]
struct Place {
    /// Where the server sends.
    congestion: Option<Congestion>,
    connections: mpsc::Sender<Connection>,
}

impl Server {
    /// Listens. In a tokio runtime.
    ///
    /// # Errors
    /// A certificate that cannot be used, an address that is taken.
    pub fn bind(settings: ServerSettings) -> Result<Self, TransferError> {
        let crypto = server_crypto(&settings.identity, settings.client_authorities.as_deref())?;
        let mut config = ServerConfig::with_crypto(Arc::new(crypto));
        config.transport_config(Arc::new(transport(None)));
        let endpoint = endpoint(settings.listen, Some(config.clone())).map_err(|error| {
            TransferError::Input(format!(
                "cannot listen on {}: {error}; choose another address or port with --listen",
                settings.listen
            ))
        })?;
        let shared = Shared {
            ledger: Ledger::new(settings.limits),
            office: TicketOffice::default(),
            config,
            ends: watch::Sender::new(false),
            epoch: Instant::now(),
            settings,
        };
        let fingerprint = shared.settings.identity.fingerprint();
        Ok(Self { endpoint, fingerprint, shared: Arc::new(shared) })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// The socket is gone.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.endpoint.local_addr()
    }

    /// The fingerprint of its certificate.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// Serves until `end` is over. Then transfers have five seconds; what is left is closed with a reason.
    pub async fn run(self, end: impl Future<Output = ()>) {
        let mut tasks = JoinSet::new();
        tokio::pin!(end);
        loop {
            tokio::select! {
                incoming = self.endpoint.accept() => match incoming {
                    Some(incoming) => self.accept(incoming, &mut tasks),
                    None => return,
                },
                Some(_) = tasks.join_next() => {}
                () = &mut end => break,
            }
        }
        self.shared.ends.send_replace(true);
        let rest = async {
            while !tasks.is_empty() {
                tokio::select! {
                    Some(incoming) = self.endpoint.accept() => incoming.refuse(),
                    _ = tasks.join_next() => {}
                }
            }
        };
        // Beyond the grace of transfers there are only those who never asked for one.
        let _ = timeout(GRACE + LAST_PACKETS, rest).await;
        self.endpoint.close(CloseCode::Shutdown.code(), b"the server has shut down");
        let _ = timeout(LAST_PACKETS, self.endpoint.wait_idle()).await;
    }

    fn accept(&self, incoming: Incoming, tasks: &mut JoinSet<()>) {
        let shared = Arc::clone(&self.shared);
        if let Some(place) = shared.office.redeem(&incoming.orig_dst_cid()) {
            tasks.spawn(async move { shared.accept_data(incoming, place).await });
        } else {
            tasks.spawn(async move { shared.accept_control(incoming).await });
        }
    }
}

impl Shared {
    /// A connection that fails its handshake is the client's to report.
    async fn accept_data(&self, incoming: Incoming, place: Place) {
        let mut transport = transport(self.settings.qlog.as_ref());
        if let Some(congestion) = &place.congestion {
            congestion.install(&mut transport);
        }
        let mut config = self.config.clone();
        config.transport_config(Arc::new(transport));
        let Ok(connecting) = incoming.accept_with(Arc::new(config)) else { return };
        if let Ok(Ok(connection)) = timeout(PATIENCE, connecting).await {
            let _ = place.connections.send(connection).await;
        }
    }

    async fn accept_control(&self, incoming: Incoming) {
        let peer = incoming.remote_address();
        let Ok(connecting) = incoming.accept() else { return };
        let Ok(Ok(connection)) = timeout(PATIENCE, connecting).await else { return };
        if let Err(error) = self.serve(&connection, peer).await {
            self.log(&format!("{peer}: {error}"));
            close(&connection, error.close_code(), &error.to_string());
        }
    }

    fn log(&self, line: &str) {
        (self.settings.log)(line);
    }

    /// A transfer from its request to its end.
    async fn serve(&self, connection: &Connection, peer: SocketAddr) -> Result<(), TransferError> {
        let late = |_| TransferError::Protocol("no request for 10 s".into());
        let streams = timeout(PATIENCE, connection.accept_bi()).await.map_err(late)?;
        let streams = streams.map_err(|error| TransferError::of(error, "client"))?;
        let mut control = Control::new(connection.clone(), streams, "client");
        let request = match timeout(PATIENCE, control.read()).await.map_err(late)?? {
            Message::Request(request) => request,
            other => return Err(Control::unexpected(&other)),
        };
        let mut agreed = self.agree(&request, peer.ip())?;
        control.write(&agreed.answer()).await?;
        let scheme = agreed.congestion.scheme().text().to_owned();
        self.log(&format!("{peer}: {} by {scheme}", described(&request)));
        let preparing = self.prepare(&mut control, &mut agreed, &request);
        let late = |_| TransferError::Protocol("the data connections did not come within 10 s".into());
        let (flows, clock) = timeout(PATIENCE, preparing).await.map_err(late)??;
        let task = Task {
            payload: &request.payload,
            is_sender: request.direction == Direction::Get,
            streams: request.streams,
            file: agreed.file(),
            clock,
        };
        let mut session = Session::start(control, flows, &task);
        match self.transfer(&mut session, &request, &mut agreed).await {
            Ok(()) => {
                let took = session.elapsed().as_secs_f64();
                self.log(&format!("{peer}: complete after {took:.1} s"));
                // The client closes: it has the last word.
                let _ = timeout(LAST_PACKETS, connection.closed()).await;
                session.close(CloseCode::Done, "complete");
                Ok(())
            }
            Err(error) => {
                session.close(error.close_code(), &error.to_string());
                Err(error)
            }
        }
    }

    /// Whether and how to do what is asked for.
    fn agree(&self, request: &Request, peer: IpAddr) -> Result<Agreed, TransferError> {
        check(request)?;
        let scheme = self.scheme(request)?;
        let congestion =
            Congestion::new(scheme).map_err(|error| TransferError::Refused(error.to_string()))?;
        let congestion = congestion.with_rtt_samples();
        let files = self.files(request)?;
        let known = match &files {
            Files::Out(file) => Some(Bytes::new(file.bytes())),
            _ => request.payload.bytes(),
        };
        let connections = u32::from(request.connections);
        let lease = self.ledger.lease(Instant::now(), peer, connections, (known, request.payload.time()))?;
        let random = rustls::crypto::ring::default_provider().secure_random;
        let (sender, arriving) = mpsc::channel(connections as usize);
        let sending = (request.direction == Direction::Get).then(|| congestion.clone());
        let place = Place { congestion: sending, connections: sender };
        let issued = self.office.issue(connections as usize, random, &place);
        let issued = issued.ok_or_else(|| TransferError::Refused("the server has no randomness".into()))?;
        Ok(Agreed { congestion, files, lease, issued, arriving })
    }

    fn scheme(&self, request: &Request) -> Result<Scheme, TransferError> {
        let Some(text) = &request.scheme else { return Ok(self.settings.scheme.clone()) };
        let scheme =
            Registry::default().parse(text).map_err(|error| TransferError::Refused(error.to_string()))?;
        let allowed = &self.settings.allowed;
        let name = scheme.info().name;
        if request.direction == Direction::Get
            && !allowed.is_empty()
            && !allowed.iter().any(|one| one == name)
        {
            return Err(TransferError::Refused(format!(
                "this server does not send by {name}; it does by {}",
                allowed.join(", ")
            )));
        }
        Ok(scheme)
    }

    fn files(&self, request: &Request) -> Result<Files, TransferError> {
        let Payload::File { name, bytes } = &request.payload else { return Ok(Files::None) };
        let Some(root) = &self.settings.root else {
            return Err(TransferError::Refused(
                "this server has no files; start it with --root FOLDER".into(),
            ));
        };
        let path = below(root, name)?;
        match (request.direction, bytes) {
            (Direction::Get, _) => SharedFile::open(&path).map(Files::Out).map_err(|error| match error {
                TransferError::File { cause, .. } => TransferError::Refused(format!("`{name}`: {cause}")),
                other => TransferError::Refused(other.to_string()),
            }),
            (Direction::Put, _) if !self.settings.takes_files => {
                Err(TransferError::Refused("this server takes no files; start it with --writable".into()))
            }
            (Direction::Put, Some(bytes)) => {
                IncomingFile::create(&path, bytes.get(), false).map(Files::In).map_err(|error| match error {
                    TransferError::File { cause, .. } => TransferError::Refused(format!("`{name}`: {cause}")),
                    other => other,
                })
            }
            (Direction::Put, None) => Err(TransferError::Protocol("a file to put has a size".into())),
        }
    }

    /// Until all data connections are there and the client says start.
    async fn prepare(
        &self,
        control: &mut Control,
        agreed: &mut Agreed,
        request: &Request,
    ) -> Result<(Vec<Flow>, PeerClock), TransferError> {
        let mut flows = Vec::new();
        let mut clock = None;
        while clock.is_none() || flows.len() < usize::from(request.connections) {
            tokio::select! {
                Some(connection) = agreed.arriving.recv() => {
                    flows.push(match request.direction {
                        Direction::Get => {
                            Flow::sending(connection, &agreed.congestion, self.settings.adviser.as_ref())?
                        }
                        Direction::Put => Flow::receiving(connection),
                    });
                }
                message = control.read() => match message? {
                    Message::Ping { client_ns } => {
                        let server_ns = self.epoch.elapsed().as_nanos() as u64;
                        control.write(&Message::Pong { client_ns, server_ns }).await?;
                    }
                    Message::Start { server_ahead_ns } => {
                        clock = Some(PeerClock { epoch: self.epoch, ahead_ns: server_ahead_ns.saturating_neg() });
                    }
                    other => return Err(Control::unexpected(&other)),
                },
            }
        }
        Ok((flows, clock.unwrap_or(PeerClock { epoch: self.epoch, ahead_ns: 0 })))
    }

    /// Moves the data, and tells the client how it goes.
    async fn transfer(
        &self,
        session: &mut Session,
        request: &Request,
        agreed: &mut Agreed,
    ) -> Result<(), TransferError> {
        let mut ticks = tokio::time::interval(Duration::from_nanos(request.interval.as_nanos()));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        ticks.reset();
        let mut charges = tokio::time::interval(CHARGE_EVERY);
        charges.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut charged_at = Instant::now();
        let mut ends = self.ends.subscribe();
        let ending = async {
            let _ = ends.wait_for(|ends| *ends).await;
            tokio::time::sleep(GRACE).await;
        };
        tokio::pin!(ending);
        let mut is_through = false;
        loop {
            let event = tokio::select! {
                event = session.next(&mut ticks) => match event {
                    // The client has everything, and has closed before its report was read.
                    Err(TransferError::Closed { code, .. }) if is_through && code == CloseCode::Done as u64 => {
                        return Ok(());
                    }
                    event => event?,
                },
                () = &mut ending => {
                    return Err(TransferError::Shutdown("it shuts down; try again when it is back".into()));
                }
                _ = charges.tick() => {
                    let now = Instant::now();
                    let bytes = session.flows.iter_mut().map(Flow::uncharged).sum();
                    agreed.lease.charge(now, bytes, now - charged_at)?;
                    charged_at = now;
                    continue;
                }
            };
            match event {
                Event::Tick => {
                    let message = Message::Interval { at: session.elapsed(), flows: session.sample() };
                    session.control.write(&message).await?;
                }
                Event::Through => {
                    let report = session.report();
                    session.control.write(&Message::Ended(report)).await?;
                    is_through = true;
                }
                Event::Message(Message::Stop) => session.stop(),
                Event::Message(Message::Ended(_)) if request.direction == Direction::Get => return Ok(()),
                Event::Message(Message::Ended(sent)) => {
                    session.receive_rest(&sent, &request.payload).await?;
                    agreed.complete_file()?;
                    let report = session.report();
                    return session.control.write(&Message::Ended(report)).await;
                }
                Event::Message(other) => return Err(Control::unexpected(&other)),
            }
        }
    }
}

/// Whether a request is within what the protocol has.
fn check(request: &Request) -> Result<(), TransferError> {
    let within = |value: u16, most: u16, what: &str| {
        let problem = || TransferError::Refused(format!("{value} {what} are not 1 to {most}"));
        (1..=most).contains(&value).then_some(()).ok_or_else(problem)
    };
    within(request.connections, MAX_CONNECTIONS, "data connections")?;
    within(request.streams, MAX_STREAMS, "streams")?;
    if request.version != VERSION {
        return Err(TransferError::Protocol(format!("version {} is not {VERSION}", request.version)));
    }
    if request.interval < MIN_INTERVAL {
        return Err(TransferError::Refused(format!("an interval is at least {MIN_INTERVAL}")));
    }
    match &request.payload {
        Payload::Made { source: Source::OnOff { .. }, .. } => {
            Err(TransferError::Refused("there are bulk, sized, rate and frames".into()))
        }
        Payload::Made { source: Source::Sized(_), .. } | Payload::File { .. } => Ok(()),
        Payload::Made { time: Some(_), .. } => Ok(()),
        Payload::Made { time: None, .. } => {
            Err(TransferError::Refused("what has no end by itself needs a time".into()))
        }
    }
}

/// A request for the log.
fn described(request: &Request) -> String {
    let direction = match request.direction {
        Direction::Get => "get",
        Direction::Put => "put",
    };
    let payload = match &request.payload {
        Payload::File { name, .. } => format!("file {name:?}"),
        Payload::Made { source, time: Some(time) } => format!("{source} for {time}"),
        Payload::Made { source, time: None } => source.to_string(),
    };
    match request.connections {
        1 => format!("{direction} {payload}"),
        many => format!("{direction} {payload}, {many} connections"),
    }
}

/// What a request led to.
struct Agreed {
    congestion: Congestion,
    files: Files,
    lease: Lease,
    issued: Issued<Place>,
    arriving: mpsc::Receiver<Connection>,
}

enum Files {
    None,
    Out(SharedFile),
    In(IncomingFile),
}

impl Agreed {
    fn answer(&self) -> Message {
        Message::Accepted {
            scheme: self.congestion.scheme().text().into(),
            tickets: self.issued.tickets.clone(),
            bytes: match &self.files {
                Files::Out(file) => Some(Bytes::new(file.bytes())),
                Files::None | Files::In(_) => None,
            },
            software: concat!("cellcc ", env!("CARGO_PKG_VERSION")).into(),
        }
    }

    fn file(&self) -> Option<&SharedFile> {
        match &self.files {
            Files::None => None,
            Files::Out(file) => Some(file),
            Files::In(incoming) => Some(&incoming.file),
        }
    }

    fn complete_file(&mut self) -> Result<(), TransferError> {
        match &mut self.files {
            Files::In(incoming) => incoming.complete(),
            Files::None | Files::Out(_) => Ok(()),
        }
    }
}

//! The client: asks, moves data, and puts together what both sides know.

use super::advice::Adviser;
use super::certificates::client_crypto;
use super::files::{IncomingFile, SharedFile};
use super::flow::Flow;
use super::progress::{FlowSample, Interval, Progress, Started};
use super::protocol::{Message, Report};
use super::receiving::PeerClock;
use super::session::{Control, Event, Session, Task};
use super::tickets::Ticket;
use super::{CloseCode, Direction, Identity, Outcome, Payload, Request, TransferError, Trust, transport};
use crate::Congestion;
use crate::qlog::Directory;
use crate::reception::endpoint;
use cellcc_units::{Bytes, Span};
use noq::crypto::rustls::QuicClientConfig;
use noq::{ClientConfig, Connection, ConnectionError, Endpoint};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, timeout};

/// For the server's answer, and for its part of the end.
const PATIENCE: Duration = Duration::from_secs(10);
/// An interrupted transfer waits so long for the server's report.
const INTERRUPTED_PATIENCE: Duration = Duration::from_secs(2);
/// The clocks are compared so many times; the quickest answer counts.
const PINGS: usize = 5;
/// Without a report from the server for so many intervals, a line is made of what is known here.
const SILENT_INTERVALS: u32 = 2;
/// For the last packets to leave.
const LAST_PACKETS: Duration = Duration::from_millis(500);

/// What to transfer with whom.
#[derive(Debug, Clone)]
pub struct ClientSettings {
    /// The server's address.
    pub server: SocketAddr,
    /// Its name, for certificates that authorities signed.
    pub server_name: String,
    /// Which certificate it may have.
    pub trust: Trust,
    /// The client's own certificate, for servers that want one.
    pub identity: Option<Identity>,
    /// What to ask for.
    pub request: Request,
    /// The file here that is to be written or read.
    pub file: Option<PathBuf>,
    /// Where to write what each data connection does.
    pub qlog: Option<Directory>,
    /// Who tells schemes that ask for it about their bottleneck.
    pub adviser: Option<Adviser>,
}

/// Transfers. `stop` ends it early, with a report of what there is where that makes sense; `progress` is told as it goes.
///
/// # Errors
/// Bad input, a server that is not there or refuses, a connection or a file that fails.
pub async fn transfer(
    settings: &ClientSettings,
    mut stop: watch::Receiver<bool>,
    progress: &mut dyn FnMut(Progress),
) -> Result<Outcome, TransferError> {
    let mut request = settings.request.clone();
    let out = open_file(settings, &mut request)?;
    let connector = Connector::new(settings)?;
    let agreed = tokio::select! {
        agreed = connector.agree(&request) => agreed?,
        _ = stop.wait_for(|stop| *stop) => return Err(TransferError::Interrupted),
    };
    let incoming = incoming_file(settings, &agreed)?;
    let mut control = agreed.control;
    let prepared = tokio::select! {
        prepared = connector.prepare(&mut control, &agreed.congestion, &agreed.tickets, &request) => prepared?,
        _ = stop.wait_for(|stop| *stop) => return Err(TransferError::Interrupted),
    };
    let (flows, clock) = prepared;
    progress(Progress::Started(&agreed.started));
    control.write(&Message::Start { server_ahead_ns: clock.ahead_ns }).await?;
    let task = Task {
        payload: &request.payload,
        is_sender: request.direction == Direction::Put,
        streams: request.streams,
        file: out.as_ref().or(incoming.as_ref().map(|incoming| &incoming.file)),
        clock,
    };
    let session = Session::start(control, flows, &task);
    let mut running = Running { session, request, incoming, last: Last::default(), intervals: Vec::new() };
    let result = running.run(&mut stop, progress).await;
    let (code, reason) = match &result {
        Ok(_) => (CloseCode::Done, "complete".into()),
        Err(error) => (error.close_code(), error.to_string()),
    };
    running.session.close(code, &reason);
    let _ = timeout(LAST_PACKETS, connector.endpoint.wait_idle()).await;
    let (sent, received, is_interrupted) = result?;
    Ok(Outcome {
        request: running.request,
        started: agreed.started,
        intervals: running.intervals,
        sent,
        received,
        is_interrupted,
    })
}

/// The file to put.
fn open_file(settings: &ClientSettings, request: &mut Request) -> Result<Option<SharedFile>, TransferError> {
    let (Payload::File { bytes, .. }, Some(path)) = (&mut request.payload, &settings.file) else {
        return Ok(None);
    };
    if request.direction == Direction::Get {
        return Ok(None);
    }
    let file = SharedFile::open(path).map_err(|error| TransferError::Input(error.to_string()))?;
    *bytes = Some(Bytes::new(file.bytes()));
    Ok(Some(file))
}

/// The file that is got.
fn incoming_file(settings: &ClientSettings, agreed: &Agreed) -> Result<Option<IncomingFile>, TransferError> {
    let (Some(bytes), Some(path)) = (agreed.bytes, &settings.file) else { return Ok(None) };
    IncomingFile::create(path, bytes.get(), true).map(Some)
}

/// Connects to a server.
struct Connector {
    endpoint: Endpoint,
    crypto: Arc<QuicClientConfig>,
    presented: Arc<super::certificates::Presented>,
    server: SocketAddr,
    server_name: String,
    qlog: Option<Directory>,
    adviser: Option<Adviser>,
}

/// What the server agreed to.
struct Agreed {
    control: Control,
    started: Started,
    congestion: Congestion,
    tickets: Vec<Ticket>,
    bytes: Option<Bytes>,
}

/// What makes a connection a data connection.
struct Data<'a> {
    ticket: Ticket,
    /// Where the client sends.
    congestion: Option<&'a Congestion>,
}

impl Connector {
    fn new(settings: &ClientSettings) -> Result<Self, TransferError> {
        let server = settings.server;
        let anywhere: SocketAddr = match server {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        let (crypto, presented) = client_crypto(&settings.trust, settings.identity.as_ref())?;
        let endpoint = endpoint(anywhere, None)
            .map_err(|error| TransferError::Connect { server, cause: format!("no socket: {error}") })?;
        Ok(Self {
            endpoint,
            crypto: Arc::new(crypto),
            presented,
            server,
            server_name: settings.server_name.clone(),
            qlog: settings.qlog.clone(),
            adviser: settings.adviser.clone(),
        })
    }

    /// A control connection, or a data connection.
    async fn connect(&self, data: Option<Data<'_>>) -> Result<Connection, TransferError> {
        let mut config = ClientConfig::new(Arc::clone(&self.crypto) as _);
        let mut transport = transport(self.qlog.as_ref().filter(|_| data.is_some()));
        if let Some(Data { ticket, congestion }) = data {
            if let Some(congestion) = congestion {
                congestion.install(&mut transport);
            }
            config.initial_dst_cid_provider(Arc::new(move || ticket.connection_id()));
        }
        config.transport_config(Arc::new(transport));
        let connecting = self.endpoint.connect_with(config, self.server, &self.server_name);
        let connecting =
            connecting.map_err(|error| TransferError::Input(format!("{}: {error}", self.server)))?;
        connecting.await.map_err(|error| self.no_connection(error))
    }

    fn no_connection(&self, error: ConnectionError) -> TransferError {
        let server = self.server;
        if let Some(presented) = self.presented.refused() {
            return TransferError::Pin { server, presented };
        }
        let cause = match error {
            ConnectionError::TimedOut => {
                "no answer; is `cellcc serve` running there, and UDP let through to that port?".into()
            }
            ConnectionError::TransportError(error) => {
                format!("{error}; see --ca and --pin for what certificates are accepted")
            }
            other => return TransferError::of(other, "server"),
        };
        TransferError::Connect { server, cause }
    }

    /// Asks, and gets the answer.
    async fn agree(&self, request: &Request) -> Result<Agreed, TransferError> {
        let connection = self.connect(None).await?;
        let streams = connection.open_bi().await.map_err(|error| TransferError::of(error, "server"))?;
        let mut control = Control::new(connection, streams, "server");
        control.write(&Message::Request(request.clone())).await?;
        let silent = |_| TransferError::Lost("the server does not answer the request".into());
        match timeout(PATIENCE, control.read()).await.map_err(silent)?? {
            Message::Accepted { scheme, tickets, bytes, software } => {
                if tickets.len() != usize::from(request.connections) {
                    return Err(TransferError::Protocol(format!("{} tickets", tickets.len())));
                }
                let congestion = Congestion::named(&scheme).map_err(|error| {
                    TransferError::Protocol(format!("the server's scheme is not known here: {error}"))
                })?;
                let started = Started {
                    server: self.server,
                    software,
                    scheme,
                    connections: request.connections,
                    streams: request.streams,
                };
                let congestion = congestion.with_rtt_samples();
                Ok(Agreed { control, started, congestion, tickets, bytes })
            }
            other => Err(Control::unexpected(&other)),
        }
    }

    /// Opens the data connections, and compares the clocks where that matters.
    async fn prepare(
        &self,
        control: &mut Control,
        congestion: &Congestion,
        tickets: &[Ticket],
        request: &Request,
    ) -> Result<(Vec<Flow>, PeerClock), TransferError> {
        let congestion = (request.direction == Direction::Put).then_some(congestion);
        let mut flows = Vec::new();
        for ticket in tickets {
            let connection = self.connect(Some(Data { ticket: *ticket, congestion })).await?;
            flows.push(match congestion {
                Some(congestion) => Flow::sending(connection, congestion, self.adviser.as_ref())?,
                None => Flow::receiving(connection),
            });
        }
        let epoch = Instant::now();
        let ahead_ns = match request.payload.deadline() {
            Some(_) => compare_clocks(control, epoch).await?,
            None => 0,
        };
        Ok((flows, PeerClock { epoch, ahead_ns }))
    }
}

/// By how much the server's clock is ahead: half the quickest answer's round trip is the error at most.
async fn compare_clocks(control: &mut Control, epoch: Instant) -> Result<i64, TransferError> {
    let now = || epoch.elapsed().as_nanos() as u64;
    let mut best: Option<(u64, i64)> = None;
    for _ in 0..PINGS {
        control.write(&Message::Ping { client_ns: now() }).await?;
        match control.read().await? {
            Message::Pong { client_ns, server_ns } => {
                let round_trip = now().saturating_sub(client_ns);
                let ahead = i128::from(server_ns) - i128::from(client_ns) - i128::from(round_trip / 2);
                let ahead = i64::try_from(ahead).unwrap_or(0);
                if best.is_none_or(|(quickest, _)| round_trip < quickest) {
                    best = Some((round_trip, ahead));
                }
            }
            other => return Err(Control::unexpected(&other)),
        }
    }
    Ok(best.map_or(0, |(_, ahead)| ahead))
}

/// A transfer that runs.
struct Running {
    session: Session,
    request: Request,
    incoming: Option<IncomingFile>,
    last: Last,
    intervals: Vec<Interval>,
}

/// Where the last interval ended.
#[derive(Default)]
struct Last {
    at: Span,
    received: Bytes,
    lost_packets: u64,
    remote: Vec<FlowSample>,
}

impl Running {
    /// To the end: what was sent, what was received, and whether the user ended it.
    async fn run(
        &mut self,
        stop: &mut watch::Receiver<bool>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(Report, Report, bool), TransferError> {
        let interval = Duration::from_nanos(self.request.interval.as_nanos());
        let mut ticks = tokio::time::interval(interval * SILENT_INTERVALS);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        ticks.reset();
        let mut own = None;
        let mut gives_up_at = None;
        let mut is_interrupted = false;
        loop {
            let given_up = async {
                match gives_up_at {
                    Some(at) => tokio::time::sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            let event = tokio::select! {
                event = self.session.next(&mut ticks) => event?,
                () = given_up => {
                    return Err(TransferError::Lost("the server does not confirm the end".into()));
                }
                _ = stop.wait_for(|stop| *stop), if !is_interrupted => {
                    is_interrupted = true;
                    if matches!(self.request.payload, Payload::File { .. }) {
                        return Err(TransferError::Interrupted);
                    }
                    self.session.stop();
                    self.session.control.write(&Message::Stop).await?;
                    gives_up_at = Some(tokio::time::Instant::now() + INTERRUPTED_PATIENCE);
                    continue;
                }
            };
            match event {
                Event::Tick => {
                    let at = self.session.elapsed();
                    let remote = self.last.remote.clone();
                    self.interval(at, remote, progress);
                }
                Event::Message(Message::Interval { at, flows }) => {
                    let at =
                        if self.request.direction == Direction::Get { self.session.elapsed() } else { at };
                    self.interval(at, flows, progress);
                    ticks.reset();
                }
                Event::Through => {
                    let report = self.session.report();
                    self.session.control.write(&Message::Ended(report.clone())).await?;
                    own = Some(report);
                    gives_up_at = Some(tokio::time::Instant::now() + PATIENCE);
                }
                Event::Message(Message::Ended(remote)) => {
                    let (sent, received) = match (self.request.direction, own.take()) {
                        (Direction::Get, _) => (remote.clone(), self.end_of_get(&remote).await?),
                        (Direction::Put, Some(own)) => (own, remote.clone()),
                        (Direction::Put, None) => return Err(TransferError::Protocol("an early end".into())),
                    };
                    let flows = remote.flows.into_iter().map(|flow| flow.sample).collect();
                    self.interval(received.active, flows, progress);
                    return Ok((sent, received, is_interrupted));
                }
                Event::Message(other) => return Err(Control::unexpected(&other)),
            }
        }
    }

    /// The server has sent everything: takes what is still under way, and tells the server.
    async fn end_of_get(&mut self, sent: &Report) -> Result<Report, TransferError> {
        self.session.receive_rest(sent, &self.request.payload).await?;
        if let Some(file) = &mut self.incoming {
            file.complete()?;
        }
        let report = self.session.report();
        self.session.control.write(&Message::Ended(report.clone())).await?;
        Ok(report)
    }

    /// An interval is over at `at`, with this from the server.
    fn interval(&mut self, at: Span, remote: Vec<FlowSample>, progress: &mut dyn FnMut(Progress)) {
        // Less than a tenth of an interval is the end's business, not a line of its own; unless it is all there is.
        let is_short = at < self.last.at + self.request.interval / 10 && !self.intervals.is_empty();
        if is_short || remote.len() > self.session.flows.len() {
            return;
        }
        let own = self.session.sample();
        let (senders, receivers) = match self.request.direction {
            Direction::Get => (&remote, &own),
            Direction::Put => (&own, &remote),
        };
        let flows: Vec<FlowSample> = (0..own.len())
            .map(|index| FlowSample {
                received: receivers.get(index).map_or(Bytes::ZERO, |flow| flow.received),
                sender: senders.get(index).and_then(|flow| flow.sender.clone()),
            })
            .collect();
        let received: Bytes = flows.iter().map(|flow| flow.received).sum();
        let lost: u64 = flows.iter().filter_map(|flow| flow.sender.as_ref()).map(|it| it.lost_packets).sum();
        let interval = Interval {
            from: self.last.at,
            to: at,
            received: received.saturating_sub(self.last.received),
            flows,
            lost_packets: lost.saturating_sub(self.last.lost_packets),
        };
        self.last = Last { at, received, lost_packets: lost.max(self.last.lost_packets), remote };
        progress(Progress::Interval(&interval));
        self.intervals.push(interval);
    }
}

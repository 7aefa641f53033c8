//! The daemon: everything that a configuration names, running.

use super::config::{Config, CoreConfig, LiveFlowsFrom};
use super::http;
use super::https::{Https, HttpsError};
use super::interfaces;
use super::metrics::{SourceCounts, registry};
use super::mobile_core::follow_sessions;
use super::nats::SecretError;
use super::page;
use super::probes::Probes;
use super::sources::open_sources;
use crate::audit::AuditEntry;
use crate::certificates::{CertificateError, Credentials};
use crate::clock::ServiceClock;
use crate::identity::{Ambiguous, Identities};
use crate::live_flows::LiveFlows;
use crate::name::Role;
use crate::service::Service;
use crate::source::mec::Plmn;
use crate::source::{OpenHostCounters, Source, SourceEvent};
use crate::transport::{BindError, Server, UnknownName};
use sd_notify::NotifyState;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// Where Linux shows its tracked connections.
const CONNTRACK: &str = "/proc/net/nf_conntrack";
/// The same problem of a source is logged once in this time.
const PROBLEM_INTERVAL: Duration = Duration::from_secs(10);

/// Why a daemon cannot begin.
#[derive(Debug, Error)]
pub enum DaemonError {
    /// Its certificate.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// Its users.
    #[error("the users of the configuration: {0}")]
    Users(#[from] Ambiguous),
    /// A source names a user whom the table lacks.
    #[error("a source is about `{0}`, and no user has this name")]
    UnknownUser(String),
    /// Its addresses.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// Its HTTP address.
    #[error("cannot listen on {address} for HTTP: {cause}; choose another address or port")]
    Http {
        /// Which.
        address: SocketAddr,
        /// What the system says.
        cause: io::Error,
    },
    /// The audit log.
    #[error("cannot write the audit log {}: {cause}", .path.display())]
    Audit {
        /// Which.
        path: PathBuf,
        /// What the system says.
        cause: io::Error,
    },
    /// There is no connection tracking.
    #[error(
        "live_flows = \"conntrack\" needs {CONNTRACK}, which cannot be read: {0}; load nf_conntrack and run as root, or use \
         \"none\" with consent"
    )]
    Conntrack(io::Error),
    /// A source cannot begin.
    #[error("source {which}: {problem}")]
    Source {
        /// Its kind and what it reads.
        which: String,
        /// What is wrong.
        problem: String,
    },
    /// The users' keys.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// The servers that hear through the broker.
    #[error("[nats]: {0}")]
    Servers(#[from] UnknownName),
}

type Log = Arc<dyn Fn(&str) + Send + Sync>;

type Publishing = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A daemon that listens, and has not begun yet.
pub struct Daemon {
    server: Server,
    clock: ServiceClock,
    sources: Vec<(String, Box<dyn Source>)>,
    probes: Probes,
    http: Option<TcpListener>,
    https: Option<Https>,
    core: Option<CoreConfig>,
    plmn: Plmn,
    audit: (PathBuf, File, mpsc::UnboundedReceiver<AuditEntry>),
    /// Publishes through the broker.
    publishing: Option<Publishing>,
    log: Log,
}

impl Daemon {
    /// Opens everything that the configuration names. `host_counters`: what counts on an interface, where something can. `log`
    /// takes lines. Needs a tokio runtime.
    ///
    /// # Errors
    /// Something cannot be opened.
    pub async fn open(
        config: &Config,
        host_counters: Option<OpenHostCounters>,
        log: impl Fn(&str) + Send + Sync + 'static,
    ) -> Result<Self, DaemonError> {
        let clock = ServiceClock::start();
        let credentials = Credentials::load(&config.credentials, Role::Service)?;
        let identities = Identities::new(config.users.clone(), &config.secret()?)?;
        let sources = open_sources(config, &identities, clock, host_counters).await?;
        let probes = Probes::open(&config.cells, clock).await?;
        let (live_flows, flows) = match config.live_flows {
            LiveFlowsFrom::Assumed => (LiveFlows::assumed(), None),
            LiveFlowsFrom::None => (LiveFlows::default(), None),
            LiveFlowsFrom::Conntrack => {
                File::open(CONNTRACK).map_err(DaemonError::Conntrack)?;
                (LiveFlows::default(), Some(CONNTRACK.into()))
            }
        };
        let path = config.audit_log.clone();
        let file = OpenOptions::new().append(true).create(true).open(&path);
        let file = file.map_err(|cause| DaemonError::Audit { path: path.clone(), cause })?;
        let (audit, entries) = mpsc::unbounded_channel();
        let service = Service::new(clock.now(), identities, live_flows);
        let server = Server::bind(config.listen, &credentials, service, clock, flows, audit)?;
        let http = match config.http {
            Some(address) => {
                Some(TcpListener::bind(address).await.map_err(|cause| DaemonError::Http { address, cause })?)
            }
            None => None,
        };
        let https = match config.https {
            Some(address) => Some(Https::bind(address, &credentials).await.map_err(|error| match error {
                HttpsError::Certificate(error) => DaemonError::Certificate(error),
                HttpsError::Listen(cause) => DaemonError::Http { address, cause },
            })?),
            None => None,
        };
        let core = config.core.clone();
        let log: Log = Arc::new(log);
        let publishing: Option<Publishing> = match &config.nats {
            Some(nats) => {
                Some(Box::pin(server.through_broker(nats.settings(credentials, Arc::clone(&log))?)?))
            }
            None => None,
        };
        Ok(Self {
            server,
            clock,
            sources,
            probes,
            http,
            https,
            core,
            plmn: config.plmn.clone(),
            audit: (path, file, entries),
            publishing,
            log,
        })
    }

    /// The service.
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// The daemon's clock.
    pub fn clock(&self) -> ServiceClock {
        self.clock
    }

    /// Where `/health` and `/metrics` are.
    pub fn http_address(&self) -> Option<SocketAddr> {
        self.http.as_ref()?.local_addr().ok()
    }

    /// Where the page is.
    pub fn https_address(&self) -> Option<SocketAddr> {
        self.https.as_ref()?.address()
    }

    /// Runs until `stop`, and tells systemd how it goes.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let Self { server, sources, probes, http, https, core, plmn, audit, publishing, log, .. } = self;
        let counts = Arc::new(SourceCounts::default());
        let mut tasks = JoinSet::new();
        for prober in probes.all() {
            tasks.spawn(prober.clone().run());
        }
        for (name, source) in sources {
            let (probes, counts) = (probes.clone(), Arc::clone(&counts));
            tasks.spawn(follow(name, source, probes, server.clone(), counts, Arc::clone(&log)));
        }
        if let Some(publishing) = publishing {
            tasks.spawn(publishing);
        }
        if let Some(core) = core {
            tasks.spawn(follow_sessions(core, server.clone(), Arc::clone(&log)));
        }
        if let Some(https) = https {
            let paths = page::router(server.clone()).merge(interfaces::router(server.clone(), plmn));
            tasks.spawn(https.serve(paths));
        }
        if let Some(listener) = http {
            let metrics = registry(server.clone(), counts, probes);
            let (server, log) = (server.clone(), Arc::clone(&log));
            tasks.spawn(async move {
                if let Err(error) = http::serve(listener, server, metrics).await {
                    log(&format!("/health and /metrics: {error}"));
                }
            });
        }
        let writing = tokio::spawn(write_audit(audit, Arc::clone(&log)));
        tell_systemd(&[NotifyState::Ready]);
        tokio::select! {
            () = server.run() => {}
            () = feed_watchdog() => {}
            () = stop => {}
        }
        tell_systemd(&[NotifyState::Stopping]);
        tasks.shutdown().await;
        server.shut_down().await;
        drop(server);
        // The log's last lines are written once the last connection is gone.
        let _ = tokio::time::timeout(Duration::from_secs(1), writing).await;
    }
}

fn tell_systemd(state: &[NotifyState<'_>]) {
    // Without systemd there is nobody to tell.
    let _ = sd_notify::notify(state);
}

async fn feed_watchdog() {
    let Some(patience) = sd_notify::watchdog_enabled() else { return std::future::pending().await };
    loop {
        tell_systemd(&[NotifyState::Watchdog]);
        tokio::time::sleep(patience / 2).await;
    }
}

async fn follow(
    name: String,
    mut source: Box<dyn Source>,
    probes: Probes,
    server: Server,
    counts: Arc<SourceCounts>,
    log: Log,
) {
    let mut told: Option<(String, Instant)> = None;
    while let Some(event) = source.next().await {
        match event {
            SourceEvent::Samples(mut samples) => {
                probes.fill(&mut samples);
                server.samples(&samples);
            }
            SourceEvent::Problem(problem) => {
                counts.problems.fetch_add(1, Ordering::Relaxed);
                let is_new = told
                    .as_ref()
                    .is_none_or(|(last, at)| *last != problem || at.elapsed() > PROBLEM_INTERVAL);
                if is_new {
                    log(&format!("source {name}: {problem}"));
                    told = Some((problem, Instant::now()));
                }
            }
        }
    }
    counts.ended.fetch_add(1, Ordering::Relaxed);
    log(&format!("source {name} has ended"));
}

async fn write_audit(audit: (PathBuf, File, mpsc::UnboundedReceiver<AuditEntry>), log: Log) {
    let (path, mut file, mut entries) = audit;
    while let Some(entry) = entries.recv().await {
        let Ok(line) = serde_json::to_string(&entry) else { continue };
        if let Err(error) = writeln!(file, "{line}") {
            log(&format!("cannot write the audit log {}: {error}", path.display()));
        }
    }
}

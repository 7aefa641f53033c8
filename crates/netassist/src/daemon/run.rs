//! The daemon: everything that a configuration names, running.

use super::audit_log::AuditLog;
use super::config::{Config, CoreConfig, LiveFlowsFrom};
use super::error::{CONNTRACK, DaemonError};
use super::follow::Follower;
use super::https::{Https, HttpsError};
use super::mec::Plmn;
use super::metrics::{SourceCounts, registry};
use super::nats::{NatsConfig, new_secret};
use super::probes::Probes;
use super::{http, interfaces, page};
use crate::audit::AuditEntry;
use crate::clock::ServiceClock;
use crate::http_get::get;
use crate::identity::Identities;
use crate::live_flows::LiveFlows;
use crate::service::Service;
use crate::sessions::open5gs_sessions;
use crate::source::{OpenHostCounters, Services, Source};
use crate::transport::{Log, Server, Tracking};
use cellcc_http_port::{Port, ProblemLog};
use cellcc_link::TraceCache;
use cellcc_netassist_client::{Credentials, Role};
use sd_notify::NotifyState;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval};

type Publishing = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A daemon that listens, and has not begun yet.
pub struct Daemon {
    server: Server,
    clock: ServiceClock,
    sources: Vec<(String, Box<dyn Source>)>,
    probes: Probes,
    http: Option<Port>,
    https: Option<Https>,
    core: Option<CoreConfig>,
    plmn: Plmn,
    audit: (AuditLog, mpsc::UnboundedReceiver<AuditEntry>),
    reopen_audit_log: Arc<Notify>,
    /// Publishes through the broker.
    publishing: Option<Publishing>,
    log: Log,
}

impl Daemon {
    /// Opens everything that the configuration names. `host_counters`: the opener of an interface's counters, if there is one.
    /// `log` takes lines. Needs a tokio runtime.
    ///
    /// # Errors
    /// Something cannot be opened.
    pub async fn open(
        config: &Config,
        host_counters: Option<OpenHostCounters>,
        log: impl Fn(&str) + Send + Sync + 'static,
    ) -> Result<Self, DaemonError> {
        let credentials = Credentials::load(&config.credentials, Role::Service)?;
        Self::open_as(credentials, config, host_counters, log).await
    }

    /// Opens the daemon with these credentials, instead of those that the configuration names.
    ///
    /// # Errors
    /// Something cannot be opened.
    pub async fn open_as(
        credentials: Credentials,
        config: &Config,
        host_counters: Option<OpenHostCounters>,
        log: impl Fn(&str) + Send + Sync + 'static,
    ) -> Result<Self, DaemonError> {
        let clock = ServiceClock::start();
        let log: Log = Arc::new(log);
        let secret = config.nats.as_ref().map_or_else(new_secret, NatsConfig::secret)?;
        let identities = Identities::new(config.users.clone(), &secret)?;
        let sources = open_sources(config, &identities, clock, host_counters).await?;
        let probes = Probes::open(&config.cells, clock).await?;
        let (live_flows, flows) = match config.live_flows {
            LiveFlowsFrom::Assumed => (LiveFlows::assumed(), None),
            LiveFlowsFrom::None => (LiveFlows::default(), None),
            LiveFlowsFrom::Conntrack => {
                let tracking = Tracking::open(CONNTRACK, Arc::clone(&log)).map_err(DaemonError::Conntrack)?;
                (LiveFlows::default(), Some(tracking))
            }
        };
        let audit_log = AuditLog::open(&config.audit_log, Arc::clone(&log))
            .map_err(|cause| DaemonError::Audit { path: config.audit_log.clone(), cause })?;
        let (audit, entries) = mpsc::unbounded_channel();
        let service = Service::new(clock.now(), identities, live_flows);
        let server = Server::bind(config.listen, &credentials, service, clock, flows, audit)?;
        let http = match config.http {
            Some(address) => {
                let port = Port::bind(address, http::BOUNDS).await;
                Some(port.map_err(|cause| DaemonError::Http { address, cause })?)
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
            audit: (audit_log, entries),
            reopen_audit_log: Arc::default(),
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
        self.http.as_ref()?.address()
    }

    /// Where the page is.
    pub fn https_address(&self) -> Option<SocketAddr> {
        self.https.as_ref()?.address()
    }

    /// Has the audit log opened again by its name with each [`notify_one`](Notify::notify_one), as after it was renamed.
    pub fn reopen_audit_log(&self) -> Arc<Notify> {
        Arc::clone(&self.reopen_audit_log)
    }

    /// Runs until `stop`, and tells systemd how it goes.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let Self {
            server,
            sources,
            probes,
            http,
            https,
            core,
            plmn,
            audit,
            reopen_audit_log,
            publishing,
            log,
            ..
        } = self;
        let counts = Arc::new(SourceCounts::default());
        let mut tasks = JoinSet::new();
        for prober in probes.all() {
            tasks.spawn(prober.clone().run());
        }
        for (name, source) in sources {
            let (probes, server, counts) = (probes.clone(), server.clone(), Arc::clone(&counts));
            let follower = Follower { name, probes, server, counts, log: Arc::clone(&log) };
            tasks.spawn(follower.follow(source));
        }
        if let Some(publishing) = publishing {
            tasks.spawn(publishing);
        }
        if let Some(core) = core {
            tasks.spawn(follow_sessions(core, server.clone(), Arc::clone(&counts), Arc::clone(&log)));
        }
        if let Some(https) = https {
            let paths = page::router(server.clone()).merge(interfaces::router(server.clone(), plmn));
            tasks.spawn(https.serve(paths, Arc::clone(&log)));
        }
        if let Some(port) = http {
            let metrics = registry(server.clone(), counts, probes);
            tasks.spawn(http::serve(port, server.clone(), metrics, http::SILENCE, Arc::clone(&log)));
        }
        let (audit_log, entries) = audit;
        let writing = tokio::spawn(audit_log.write(entries, reopen_audit_log));
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

/// The sources of a configuration, each with its kind and input.
async fn open_sources(
    config: &Config,
    identities: &Identities,
    clock: ServiceClock,
    host_counters: Option<OpenHostCounters>,
) -> Result<Vec<(String, Box<dyn Source>)>, DaemonError> {
    let services = Services { identities, clock, host_counters, traces: TraceCache::default() };
    let mut opened = Vec::new();
    for source in &config.sources {
        let which = source.which();
        match source.open(&services).await {
            Ok(source) => opened.push((which, source)),
            Err(problem) => return Err(DaemonError::Source { which, problem }),
        }
    }
    Ok(opened)
}

fn tell_systemd(state: &[NotifyState<'_>]) {
    // Without systemd there is no notification.
    let _ = sd_notify::notify(state);
}

async fn feed_watchdog() {
    let Some(patience) = sd_notify::watchdog_enabled() else { return std::future::pending().await };
    loop {
        tell_systemd(&[NotifyState::Watchdog]);
        tokio::time::sleep(patience / 2).await;
    }
}

// Asks a mobile core for its users' sessions, again and again.

/// A core's report is valid for this long while it does not answer: an address may be another user's after that. Ours.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(10);

/// Until it is dropped.
async fn follow_sessions(config: CoreConfig, server: Server, counts: Arc<SourceCounts>, log: Log) {
    let every = Duration::from_nanos(config.interval.as_nanos()).max(Duration::from_millis(1));
    let mut ticks = interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut reported_at = Instant::now();
    let mut problems = ProblemLog::default();
    let mut problem = |count: u64, text: &str| {
        counts.problems.fetch_add(count, Ordering::Relaxed);
        if let Some(line) = problems.line(std::time::Instant::now(), text) {
            log(&format!("core: {line}"));
        }
    };
    loop {
        ticks.tick().await;
        match get(&config.open5gs).await.and_then(|body| open5gs_sessions(&body)) {
            Ok((sessions, left_out)) => {
                server.join(&sessions);
                reported_at = Instant::now();
                if left_out.count > 0 {
                    problem(left_out.count, &left_out.to_string());
                }
            }
            Err(text) => {
                if reported_at.elapsed() > FORGOTTEN_AFTER {
                    server.join(&[]);
                }
                problem(1, &text);
            }
        }
    }
}

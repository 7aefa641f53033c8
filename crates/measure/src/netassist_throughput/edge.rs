//! The service, its measurements, and the broker perhaps.

use super::resident_bytes;
use anyhow::{Result, bail};
use cellcc_assist::Knowledge;
use cellcc_control::{Advice, AdviceClass};
use cellcc_netassist::{
    Authority, BrokerClients, Identities, KnownServer, LiveFlows, PublisherSettings, Sample, Server, Service,
    ServiceClock, SourceName, User, permissions,
};
use cellcc_netassist_client::nats::SubjectToken;
use cellcc_netassist_client::{BrokerUrl, PeerName, Role};
use cellcc_test_support::nats_server::{self, example, free_port};
use cellcc_units::{Rate, Span};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::process::Child;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// The paper's period of reports.
pub(crate) const PERIOD: Span = Span::from_millis(50);
/// Measurements are made once in this time, those of the users whose turn has come together: 20 of 1,000 users.
const TICK: Duration = Duration::from_millis(1);
const TICKS_PER_PERIOD: u64 = 50;

/// The measured system: a service, its users, and perhaps a broker.
pub(crate) struct Edge {
    clock: ServiceClock,
    server: Server,
    broker: Option<Broker>,
    /// The folder of the servers' certificates.
    keys: TempDir,
    /// The users' measurements, by the tick of the period that each is due at.
    turns: Vec<Vec<Sample>>,
    _threads: Runtime,
}

impl Edge {
    pub(crate) fn start(through_broker: bool, users: u64, servers: u64) -> Result<Self> {
        let threads = runtime()?;
        let clock = ServiceClock::start();
        let authority = Authority::new()?;
        let keys = tempfile::tempdir()?;
        let names: Vec<_> = (0..servers).flat_map(|server| names(server, users)).collect();
        for name in &names {
            authority.issue(&PeerName::new(Role::Server, name)?, keys.path())?;
        }
        let identities = identities(users)?;
        let turns = turns(&identities, clock);
        let site: SubjectToken = "edge-1".parse()?;
        let broker =
            through_broker.then(|| Broker::start(&authority, &site, &identities, &names)).transpose()?;
        let service = Service::new(clock.now(), identities, LiveFlows::assumed());
        let (audit, _nobody) = tokio::sync::mpsc::unbounded_channel();
        let credentials = authority.sign(&PeerName::new(Role::Service, "edge")?, in_an_hour())?;
        let server = threads.block_on(async {
            Server::bind((Ipv4Addr::LOCALHOST, 0).into(), &credentials, service, clock, None, audit)
        })?;
        let running = server.clone();
        threads.spawn(async move { running.run().await });
        if let Some(broker) = &broker {
            let settings = PublisherSettings {
                url: broker.url.clone(),
                credentials,
                site,
                cells: Vec::new(),
                addresses: BTreeMap::new(),
                log: Arc::new(|line| eprintln!("{line}")),
            };
            threads.spawn(server.through_broker(settings)?);
            wait_until("the service has its broker", || server.has_broker())?;
        }
        Ok(Self { clock, server, broker, keys, turns, _threads: threads })
    }

    /// How servers reach it.
    pub(crate) fn address(&self) -> Result<String> {
        Ok(match &self.broker {
            Some(broker) => broker.url.to_string(),
            None => self.server.address()?.to_string(),
        })
    }

    pub(crate) fn keys(&self) -> &Path {
        self.keys.path()
    }

    pub(crate) fn broker(&self) -> Option<u32> {
        self.broker.as_ref().map(|broker| broker.process.id())
    }

    /// The broker's memory beyond that at its start.
    pub(crate) fn broker_resident(&self) -> Result<Option<u64>> {
        let Some(broker) = &self.broker else { return Ok(None) };
        let now = resident_bytes(broker.process.id())?;
        Ok(Some(now.saturating_sub(broker.resident_at_start)))
    }

    pub(crate) fn sent_bytes(&self) -> u64 {
        self.server.sent_bytes().get()
    }

    /// Measures all users for this time; how many measurements, and how long it took.
    pub(crate) fn measure(&mut self, time: Duration) -> (u64, Duration) {
        let began = Instant::now();
        let ticks = time.as_millis() as u64;
        let mut measured = 0;
        for tick in 0..ticks {
            let due = began + TICK * tick as u32;
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            let samples = &mut self.turns[(tick % TICKS_PER_PERIOD) as usize];
            let now = self.clock.now();
            samples.iter_mut().for_each(|sample| sample.until = now);
            measured += samples.len() as u64;
            self.server.samples(samples);
        }
        (measured, began.elapsed())
    }
}

/// A real nats-server, configured as the guide says.
struct Broker {
    process: Child,
    _folder: tempfile::TempDir,
    url: BrokerUrl,
    /// Before any client is connected.
    resident_at_start: u64,
}

impl Drop for Broker {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Broker {
    /// For one service and these servers, which may receive reports on each of its users by its own subject.
    fn start(
        authority: &Authority,
        site: &SubjectToken,
        identities: &Identities,
        servers: &[String],
    ) -> Result<Self> {
        let users: Vec<_> = identities.all().map(|user| identities.user(user).name.clone()).collect();
        let known =
            |name: &String| KnownServer { name: name.clone(), address: None, users: Some(users.clone()) };
        let servers: Vec<_> = servers.iter().map(known).collect();
        let clients = BrokerClients { servers: &servers, operators: &[], leaf_brokers: &[] };
        let permissions = permissions(&PeerName::new(Role::Service, "edge")?, site, identities, clients)?;
        let folder = tempfile::tempdir()?;
        authority.issue(&PeerName::new(Role::Broker, "localhost")?, &folder.path().join("keys"))?;
        let (port, leaves) = (free_port()?, free_port()?);
        let text =
            example("# nats.conf").replace("4222", &port.to_string()).replace("7422", &leaves.to_string());
        std::fs::write(folder.path().join("nats.conf"), text.replace("nats.example", "localhost"))?;
        std::fs::write(folder.path().join("permissions.conf"), permissions.to_string())?;
        let process = nats_server::start(folder.path(), port)?;
        let url = format!("tls://localhost:{port}").parse()?;
        let resident_at_start = resident_bytes(process.id())?;
        Ok(Self { process, _folder: folder, url, resident_at_start })
    }
}

/// The names of a server: one for each connection that it needs for so many users.
pub(crate) fn names(server: u64, users: u64) -> impl Iterator<Item = String> {
    (0..users.div_ceil(USERS_OF_A_CLIENT)).map(move |part| format!("server-{server}-{part}"))
}

/// As many as a service lets one client have (docs/how-to/netassist.md, Limits).
pub(crate) const USERS_OF_A_CLIENT: u64 = 10_000;

pub(crate) fn address(index: u64) -> IpAddr {
    Ipv4Addr::from_bits(0x0a00_0001 + index as u32).into()
}

fn name(index: u64) -> String {
    format!("user-{index}")
}

fn identities(users: u64) -> Result<Identities> {
    let table = (0..users).map(|index| User {
        name: name(index),
        addresses: vec![address(index)],
        radio: Vec::new(),
        supi: None,
    });
    Ok(Identities::new(table.collect(), &[7; 32])?)
}

/// Each user is measured at its own time of the period.
fn turns(identities: &Identities, clock: ServiceClock) -> Vec<Vec<Sample>> {
    let mut turns = vec![Vec::new(); TICKS_PER_PERIOD as usize];
    for (index, user) in identities.all().enumerate() {
        let offset = identities.key(user).offset_in(PERIOD);
        let turn = offset.as_nanos() * TICKS_PER_PERIOD / PERIOD.as_nanos();
        turns[turn as usize].push(sample(&name(index as u64), clock));
    }
    turns
}

fn sample(name: &str, clock: ServiceClock) -> Sample {
    let advice = Advice::new(Rate::from_mbit_per_sec(12.0), AdviceClass::Backlogged, PERIOD);
    Sample {
        user: SourceName::Name(name.into()),
        cell: 0,
        until: clock.now(),
        measured: Knowledge::Known(advice),
    }
}

/// When the certificates of a run end.
fn in_an_hour() -> SystemTime {
    SystemTime::now() + Duration::from_secs(3600)
}

pub(crate) fn runtime() -> Result<Runtime> {
    Ok(tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?)
}

pub(crate) fn wait_until(what: &str, is_so: impl Fn() -> bool) -> Result<()> {
    let patience = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        if Instant::now() > patience {
            bail!("not within a minute: {what}");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

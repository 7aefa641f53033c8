//! How many reports a second a service passes on, and how late: `make bench-netassist`.
//!
//! One process on loopback: a service, measurements made by a thread, and one server that is subscribed to all users; with NATS
//! a broker beside it. Each user is measured every 50 ms, at its own time of the period.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a measurement takes real time and prints"
)]

mod broker;

use anyhow::{Context, bail};
use broker::Broker;
use cellcc_assist::{Advice, AdviceClass, MinRttParts};
use cellcc_netassist::{
    Authority, Client, ClientEvent, ClientSettings, Identities, LiveFlows, Measured, PeerName,
    PublisherSettings, Role, Sample, Server, Service, ServiceAddress, ServiceClock, SourceName, SubjectToken,
    User,
};
use cellcc_units::{Bytes, Rate, Span};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};
use tokio::runtime::Runtime;

/// The paper's period of reports.
const PERIOD: Span = Span::from_millis(50);
/// Measurements are made once in this time, those of the users whose turn has come together: 20 of 1,000 users.
const TICK: Duration = Duration::from_millis(1);
const TICKS_PER_PERIOD: u64 = 50;

fn main() -> anyhow::Result<()> {
    let usage =
        "give the transport, the number of users, seconds and runs: quic 1000 60 5, or nats 1000 60 5";
    let mut arguments = std::env::args().skip(1);
    let through_broker = match arguments.next().as_deref() {
        Some("quic") => false,
        Some("nats") => true,
        _ => bail!(usage),
    };
    let numbers: Vec<u64> = arguments.map(|text| text.parse()).collect::<Result<_, _>>()?;
    let [users, secs, runs] = numbers[..] else { bail!(usage) };
    println!("| users | records/s | lost | p50, us | p99, us | max, us | kbit/s a user | resident, MiB |");
    println!("|---|---|---|---|---|---|---|---|");
    for _ in 0..runs {
        let row = run(through_broker, users, Duration::from_secs(secs))?;
        println!("{row}");
    }
    Ok(())
}

/// What is measured: a service, whose users these are, and a broker perhaps.
struct Edge {
    authority: Authority,
    clock: ServiceClock,
    server: Server,
    broker: Option<Broker>,
    /// The users' measurements, by the tick of the period that each is due at.
    turns: Vec<Vec<Sample>>,
    threads: Runtime,
}

impl Edge {
    fn start(through_broker: bool, users: u64) -> anyhow::Result<Self> {
        let threads = runtime()?;
        let clock = ServiceClock::start();
        let authority = Authority::new()?;
        let identities = identities(users)?;
        let turns = turns(&identities, clock);
        let site: SubjectToken = "edge-1".parse()?;
        let broker = through_broker.then(|| Broker::start(&authority, &site, &identities)).transpose()?;
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
        Ok(Self { authority, clock, server, broker, turns, threads })
    }

    fn address(&self) -> anyhow::Result<ServiceAddress> {
        Ok(match &self.broker {
            Some(broker) => ServiceAddress::Nats(broker.url.clone()),
            None => ServiceAddress::Quic(self.server.address()?),
        })
    }

    /// Megabytes of this process, and of the broker's.
    fn resident(&self) -> anyhow::Result<String> {
        let own = resident_mib("self")?;
        Ok(match &self.broker {
            Some(broker) => format!("{own:.1} + {:.1}", resident_mib(&broker.process().to_string())?),
            None => format!("{own:.1}"),
        })
    }
}

/// A server that hears of all users, and how many nanoseconds late each record was.
struct Subscribed {
    client: Client,
    late: Arc<Mutex<Vec<u32>>>,
    threads: Runtime,
}

impl Subscribed {
    fn start(edge: &Edge, users: u64, records: u64) -> anyhow::Result<Self> {
        let threads = runtime()?;
        let late = Arc::new(Mutex::new(Vec::with_capacity(records as usize)));
        let granted = Arc::new(AtomicU64::new(0));
        let (heard, count, clock) = (Arc::clone(&late), Arc::clone(&granted), edge.clock);
        let listener = move |event: ClientEvent<'_>| match event {
            // What a service says of itself when the measurements have ended is none.
            ClientEvent::Record { record, .. } if !record.stale => {
                let late = clock.now().since(record.measured_until).as_nanos();
                let late = u32::try_from(late).unwrap_or(u32::MAX);
                heard.lock().unwrap_or_else(PoisonError::into_inner).push(late);
            }
            ClientEvent::Granted(_) => {
                count.fetch_add(1, Ordering::Relaxed);
            }
            _ => {}
        };
        let credentials = edge.authority.sign(&PeerName::new(Role::Server, "server-1")?, in_an_hour())?;
        let client = {
            let _inside = threads.enter();
            Client::start(ClientSettings { service: edge.address()?, credentials }, listener)?
        };
        for index in 0..users {
            client.want(address(index), 1, None);
        }
        wait_until("all users are granted", || granted.load(Ordering::Relaxed) >= users)?;
        // A broker takes the last subscriptions in its own time.
        std::thread::sleep(Duration::from_millis(500));
        Ok(Self { client, late, threads })
    }

    /// How many nanoseconds late each record was, the least late first. Nothing is heard any more.
    fn end(self) -> Vec<u32> {
        drop(self.client);
        self.threads.shutdown_background();
        let mut late = std::mem::take(&mut *self.late.lock().unwrap_or_else(PoisonError::into_inner));
        late.sort_unstable();
        late
    }
}

/// One run: its row of the table.
fn run(through_broker: bool, users: u64, time: Duration) -> anyhow::Result<String> {
    let mut edge = Edge::start(through_broker, users)?;
    let subscribed = Subscribed::start(&edge, users, users * 20 * (time.as_secs() + 1))?;
    let sent_before = edge.server.sent_bytes();
    let measured = measure(&mut edge, time);
    std::thread::sleep(Duration::from_millis(500));
    let bits = 8 * (edge.server.sent_bytes() - sent_before).get();
    let resident = edge.resident()?;
    let late = subscribed.end();
    edge.threads.shutdown_background();
    let at = |share: f64| {
        late.get((late.len().saturating_sub(1) as f64 * share) as usize).copied().unwrap_or_default() / 1000
    };
    let kbit_a_user = match edge.broker {
        Some(_) => "-".to_owned(),
        None => format!("{:.2}", bits as f64 / 1000.0 / users as f64 / time.as_secs_f64()),
    };
    Ok(format!(
        "| {users} | {:.0} | {} | {} | {} | {} | {kbit_a_user} | {resident} |",
        measured as f64 / time.as_secs_f64(),
        measured - late.len() as u64,
        at(0.5),
        at(0.99),
        at(1.0),
    ))
}

/// Measures all users for this time; how many measurements.
fn measure(edge: &mut Edge, time: Duration) -> u64 {
    let began = Instant::now();
    let ticks = time.as_millis() as u64;
    let mut measured = 0;
    for tick in 0..ticks {
        let due = began + TICK * tick as u32;
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        let samples = &mut edge.turns[(tick % TICKS_PER_PERIOD) as usize];
        let now = edge.clock.now();
        samples.iter_mut().for_each(|sample| sample.until = now);
        measured += samples.len() as u64;
        edge.server.samples(samples);
    }
    measured
}

fn name(index: u64) -> String {
    format!("user-{index}")
}

fn address(index: u64) -> IpAddr {
    Ipv4Addr::from_bits(0x0a00_0001 + index as u32).into()
}

fn identities(users: u64) -> anyhow::Result<Identities> {
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

/// When the certificates of a run end.
fn in_an_hour() -> SystemTime {
    SystemTime::now() + Duration::from_secs(3600)
}

fn sample(name: &str, clock: ServiceClock) -> Sample {
    let advice = Advice {
        bandwidth: Rate::from_mbit_per_sec(12.0),
        class: AdviceClass::Backlogged,
        min_rtt: MinRttParts::default(),
        flows: 1,
        backlog: Bytes::ZERO,
        period: PERIOD,
        age: Span::ZERO,
    };
    Sample {
        user: SourceName::Name(name.into()),
        cell: 0,
        until: clock.now(),
        measured: Measured::Known(advice),
    }
}

fn runtime() -> anyhow::Result<Runtime> {
    Ok(tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?)
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) -> anyhow::Result<()> {
    let patience = Instant::now() + Duration::from_secs(30);
    while !is_so() {
        if Instant::now() > patience {
            bail!("not within 30 s: {what}");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

/// Of a whole process; our own is the service, the server that listens, and the latencies of all records (4 bytes each).
fn resident_mib(process: &str) -> anyhow::Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("no VmHWM")?;
    let kib: f64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kib / 1024.0)
}

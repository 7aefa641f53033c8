//! A server that receives reports on all users, in a process of its own.

use super::edge::{Edge, USERS_OF_A_CLIENT, address, names, runtime, wait_until};
use super::resident_bytes;
use anyhow::{Context, Result};
use cellcc_experiment::Distribution;
use cellcc_netassist::ServiceClock;
use cellcc_netassist_client::{
    BrokerUrl, Client, ClientEvent, ClientSettings, Credentials, Role, ServiceAddress,
};
use std::io::{BufRead, BufReader, Lines, Read, stdin};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The first argument of such a process.
pub(crate) const ROLE: &str = "subscriber";

/// A running one.
pub(crate) struct Subscriber {
    process: Child,
    says: Lines<BufReader<ChildStdout>>,
}

impl Drop for Subscriber {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The counts of one subscriber.
#[derive(Debug)]
pub(crate) struct SubscriberFigures {
    pub(crate) records: u64,
    pub(crate) p50_ms: f64,
    pub(crate) p99_ms: f64,
    pub(crate) max_ms: f64,
    /// Its memory beyond that before it connected.
    pub(crate) bytes: u64,
}

impl Subscriber {
    /// Returns once it is subscribed to all users.
    pub(crate) fn start(edge: &Edge, index: u64, users: u64) -> Result<Self> {
        let mut process = Command::new(std::env::current_exe()?)
            .args(["netassist", ROLE, &edge.address()?])
            .arg(edge.keys())
            .args([index.to_string(), users.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let says = BufReader::new(process.stdout.take().context("its output")?).lines();
        let mut subscriber = Self { process, says };
        subscriber.line()?;
        Ok(subscriber)
    }

    pub(crate) fn process(&self) -> u32 {
        self.process.id()
    }

    pub(crate) fn end(mut self) -> Result<SubscriberFigures> {
        drop(self.process.stdin.take());
        let line = self.line()?;
        let numbers: Vec<f64> = line.split(' ').map(str::parse).collect::<Result<_, _>>()?;
        let [records, p50_ms, p99_ms, max_ms, bytes] = numbers[..] else {
            anyhow::bail!("a server says `{line}`")
        };
        Ok(SubscriberFigures { records: records as u64, p50_ms, p99_ms, max_ms, bytes: bytes as u64 })
    }

    fn line(&mut self) -> Result<String> {
        Ok(self.says.next().context("a server has ended")??)
    }
}

/// The process: says when it is subscribed, and at the end of its input prints its counts.
pub(crate) fn run(address_of_service: &str, keys: &Path, index: u64, users: u64) -> Result<()> {
    let service = match address_of_service.parse::<BrokerUrl>() {
        Ok(broker) => ServiceAddress::Nats(broker),
        Err(_) => ServiceAddress::Quic(address_of_service.parse()?),
    };
    let threads = runtime()?;
    let late = Arc::new(Mutex::new(Distribution::default()));
    let granted = Arc::new(AtomicU64::new(0));
    let before = resident_bytes("self")?;
    let mut clients = Vec::new();
    for (part, name) in names(index, users).enumerate() {
        let credentials = Credentials::load(&keys.join(format!("server-{name}")), Role::Server)?;
        let settings = ClientSettings { service: service.clone(), credentials };
        let listener = listener(Arc::clone(&late), Arc::clone(&granted));
        let client = {
            let _inside = threads.enter();
            Client::start(settings, listener)?
        };
        let first = part as u64 * USERS_OF_A_CLIENT;
        for user in first..users.min(first + USERS_OF_A_CLIENT) {
            client.want(address(user), 1, None);
        }
        clients.push(client);
    }
    wait_until("all users are granted", || granted.load(Ordering::Relaxed) >= users)?;
    // A broker takes the last subscriptions in its own time.
    std::thread::sleep(Duration::from_millis(500));
    println!("subscribed");
    stdin().read_to_end(&mut Vec::new())?;
    let bytes = resident_bytes("self")?.saturating_sub(before);
    let late = late.lock().unwrap_or_else(PoisonError::into_inner);
    let summary = late.summary().context("no record arrived")?;
    println!("{} {} {} {} {bytes}", late.count(), summary.p50_ms, summary.p99_ms, summary.max_ms);
    Ok(())
}

fn listener(
    late: Arc<Mutex<Distribution>>,
    granted: Arc<AtomicU64>,
) -> impl Fn(ClientEvent<'_>) + Send + Sync + 'static {
    let clock = ServiceClock::start();
    move |event: ClientEvent<'_>| match event {
        // A service's own records after the end of the measurements do not count.
        ClientEvent::Record { record, .. } if !record.stale => {
            let span = clock.now().since(record.measured_until);
            late.lock().unwrap_or_else(PoisonError::into_inner).add(span);
        }
        ClientEvent::Granted(_) => {
            granted.fetch_add(1, Ordering::Relaxed);
        }
        _ => {}
    }
}

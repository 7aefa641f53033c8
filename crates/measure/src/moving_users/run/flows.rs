//! A TCP connection and a QUIC connection to each user, and their traffic.

use super::USERS;
use super::edge::Edge;
use super::heard::{Observed, SiteChanges};
use anyhow::{Context, Result};
use cellcc_emu::topology::Topology;
use cellcc_experiment::Source;
use cellcc_netassist_client::AssistedPeers;
use cellcc_transfer::{
    AdviceConfig, ClientSettings, Direction, Identity, Limits, Payload, Progress, Request, Server,
    ServerSettings, Trust, VERSION, transfer,
};
use cellcc_units::Span;
use rustix::net::sockopt::set_tcp_congestion;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::sync::watch;

/// A flow at its receiver.
struct Flow {
    name: String,
    received: Arc<AtomicU64>,
    /// The received bytes at the last look, and the number of looks without new ones.
    seen: Mutex<(u64, u32)>,
    /// Why it ended, where it has.
    ended: Arc<Mutex<Option<String>>>,
}

impl Flow {
    fn new(name: String) -> Self {
        Self { name, received: Arc::default(), seen: Mutex::default(), ended: Arc::default() }
    }

    fn ends(&self) -> impl FnOnce(String) + Send + 'static {
        let ended = Arc::clone(&self.ended);
        move |why| *ended.lock().unwrap_or_else(PoisonError::into_inner) = Some(why)
    }

    fn counts(&self) -> impl Fn(u64) + Send + 'static {
        let received = Arc::clone(&self.received);
        move |bytes| {
            received.fetch_add(bytes, Ordering::Relaxed);
        }
    }
}

/// The flows of all users.
pub(crate) struct Flows {
    all: Vec<Flow>,
    tcp: Vec<TcpStream>,
    stop: watch::Sender<bool>,
}

impl Flows {
    /// `time`: the requested length of the QUIC transfers; they would end by themselves a while later.
    pub(crate) fn start(
        runtime: &Runtime,
        topology: &Topology,
        edge: &Edge,
        heard: &SiteChanges,
        time: Duration,
    ) -> Result<Self> {
        let (stop, stops) = watch::channel(false);
        let advice = edge.quic_server()?;
        let (address, heard) = (topology.outside().address4, heard.clone());
        let serving = runtime.spawn(async move { serve(address, advice, heard) });
        let (server, trust) = runtime.block_on(serving)??;
        let (mut all, mut tcp) = (Vec::new(), Vec::new());
        for (user, name) in USERS.iter().enumerate() {
            let flow = Flow::new(format!("{name} in TCP"));
            tcp.push(connect(topology, user, &flow)?);
            all.push(flow);
            let flow = Flow::new(format!("{name} in QUIC"));
            let settings = download(server, trust.clone(), time * 2);
            let (counts, ends, stops) = (flow.counts(), flow.ends(), stops.clone());
            let namespace = topology.users[user].namespace.clone();
            std::thread::spawn(move || {
                let downloading = || fetch(&settings, stops, &counts);
                ends(match namespace.run(downloading) {
                    Ok(Ok(())) => "ended".to_owned(),
                    Ok(Err(error)) => error.to_string(),
                    Err(error) => error.to_string(),
                });
            });
            all.push(flow);
        }
        Ok(Self { all, tcp, stop })
    }

    /// Looks whether each has carried something since the last look.
    pub(crate) fn look(&self) {
        for flow in &self.all {
            let received = flow.received.load(Ordering::Relaxed);
            let mut seen = flow.seen.lock().unwrap_or_else(PoisonError::into_inner);
            *seen = (received, seen.1 + u32::from(received == seen.0));
        }
    }

    /// The flows that were lost, and why: those that ended by themselves, and those that carried nothing between two looks.
    pub(crate) fn end(self) -> Vec<String> {
        self.look();
        let lost = |flow: &Flow| {
            let ended = flow.ended.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let (received, idle) = *flow.seen.lock().unwrap_or_else(PoisonError::into_inner);
            let idle = (idle > 0)
                .then(|| format!("carried nothing between two moves, {idle} times; {received} B in all"));
            ended.or(idle).map(|why| format!("{}: {why}", flow.name))
        };
        let lost = self.all.iter().filter_map(lost).collect();
        self.stop.send_replace(true);
        for stream in &self.tcp {
            let _ = stream.shutdown(Shutdown::Both);
        }
        lost
    }
}

/// A connection over which the server sends without end, by the kernel's NATCP.
fn connect(topology: &Topology, user: usize, flow: &Flow) -> Result<TcpStream> {
    let outside = topology.outside();
    let listener = outside.namespace.run(|| TcpListener::bind((outside.address4, 0)))??;
    let address = listener.local_addr()?;
    let mut client = topology.users[user].namespace.run(|| TcpStream::connect(address))??;
    let server = listener.accept()?.0;
    set_tcp_congestion(&server, "cellcc_natcp")?;
    let mut sending = server.try_clone()?;
    std::thread::spawn(move || while sending.write_all(&[7; 1 << 16]).is_ok() {});
    let (counts, ends) = (flow.counts(), flow.ends());
    std::thread::spawn(move || {
        let mut buffer = vec![0; 1 << 16];
        ends(loop {
            match client.read(&mut buffer) {
                Ok(0) => break "the server has ended it".to_owned(),
                Ok(length) => counts(length as u64),
                Err(error) => break error.to_string(),
            }
        });
    });
    Ok(server)
}

/// `cellcc serve --assist`, as far as these flows need it.
fn serve(
    address: Ipv4Addr,
    advice: cellcc_netassist_client::ClientSettings,
    heard: SiteChanges,
) -> Result<(SocketAddr, Trust)> {
    let service = AssistedPeers::start(advice, |_| {})?;
    let settings = ServerSettings {
        listen: (address, 0).into(),
        scheme: cellcc_schemes::registry().parse("natcp")?,
        allowed: Vec::new(),
        root: None,
        takes_files: false,
        http: None,
        hidden: false,
        identity: Identity::made()?,
        client_authorities: None,
        limits: Limits::default(),
        qlog: None,
        advice: Some(AdviceConfig::Service(Arc::new(Observed { service, heard }))),
        log: Box::new(|_| {}),
    };
    let server = Server::bind(settings)?;
    let (address, trust) = (server.address()?, Trust::Pin(server.fingerprint()));
    tokio::spawn(async move { server.run(std::future::pending()).await });
    Ok((address, trust))
}

fn download(server: SocketAddr, trust: Trust, time: Duration) -> ClientSettings {
    let time = Span::from_nanos(time.as_nanos() as u64);
    ClientSettings {
        server,
        server_name: "localhost".into(),
        trust,
        identity: None,
        request: Request {
            version: VERSION,
            direction: Direction::Get,
            payload: Payload::Made { source: Source::Bulk, time: Some(time) },
            scheme: None,
            connections: 1,
            streams: 16,
            interval: Span::from_secs(1),
        },
        file: None,
        qlog: None,
        advice: None,
    }
}

/// Until it is stopped, or fails.
fn fetch(settings: &ClientSettings, stops: watch::Receiver<bool>, counts: &dyn Fn(u64)) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("a runtime")?;
    let mut progress = |progress: Progress<'_>| {
        if let Progress::Interval(interval) = progress {
            counts(interval.received.get());
        }
    };
    runtime.block_on(transfer(settings, stops, &mut progress))?;
    Ok(())
}

//! One run, for the measurement and for the test: two daemons and a broker, a kernel server and a QUIC server, three users.
//!
//! ```text
//! users' namespaces            servers' namespace
//! alice, bob, carol <-- cell -- TCP by cellcc_natcp   <-- advice -- cellcc assist join \
//!                   <-- cell -- QUIC by natcp         <-- advice ---------------------- nats-server
//!                                                     cellcc assist serve north, south /
//!                                                     base stations north, south, which count the cell's queues
//! ```
//!
//! The path stays as it is when a user moves: the reporting base station changes.

mod edge;
mod flows;
mod heard;
mod outcome;
mod sites;

use anyhow::{Context, Result, bail};
use cellcc_emu::emulation::{DEFAULT_GRANULARITY, Emulation, EmulationSpec};
use cellcc_emu::queue_counts::QueueCounts;
use cellcc_emu::stage::Stage;
use cellcc_emu::topology::{Servers, Topology, TopologySpec};
use cellcc_link::{Bottleneck, Capacity, Delay, LinkConfig, Scheduler};
use cellcc_units::{QueueLimit, Rate, Span};
use edge::Edge;
use flows::Flows;
use heard::{SiteChanges, watch_kernel};
use outcome::Memory;
pub(crate) use outcome::Outcome;
use sites::Sites;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

/// Each has a TCP connection and a QUIC connection.
pub(crate) const USERS: [&str; 3] = ["alice", "bob", "carol"];

/// When what happens.
pub(crate) struct Schedule {
    /// Slow start, registrations and first reports; no user moves.
    pub(crate) warm_up: Duration,
    /// Each user moves once in this time, in turn.
    pub(crate) move_interval: Duration,
    /// Each user moves so many times.
    pub(crate) moves: usize,
}

/// How often it is looked whether the run is to stop.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);
/// A user's channel alone, in Mbit/s: with two others a third of it.
const USER_MBIT: f64 = 24.0;
/// Each way; together the 20 ms of `cellcc compare`.
const DELAY: Span = Span::from_millis(10);
/// A base station's deep queue: half a second of the user's rate alone.
const QUEUE: QueueLimit = QueueLimit::Packets(1000);

/// Runs until all users have moved. `program`: `cellcc`. Files go into `folder`. Where `stop` becomes true, everything that was
/// started and loaded goes, and that is an error.
pub(crate) fn run(program: &Path, folder: &Path, schedule: &Schedule, stop: &AtomicBool) -> Result<Outcome> {
    let queues = Arc::new(QueueCounts::default());
    let path = emulate(Arc::clone(&queues))?;
    let topology = path.topology();
    let outside = &topology.outside().namespace;
    let users: Vec<IpAddr> = topology.users.iter().map(|user| user.address4.into()).collect();
    // Its threads, and hence its sockets, are in the servers' namespace.
    let runtime = outside.run(Runtime::new)??;
    let mut sites = Sites::start(&runtime)?;
    let server = topology.outside().address4.into();
    let edge = Edge::start(program, folder, outside, server, &users, sites.addresses())?;
    let (kernel, quic) = (SiteChanges::default(), SiteChanges::default());
    let watch = watch_kernel(edge.advice_map()?, &users, kernel.clone());
    let interval = schedule.move_interval / USERS.len() as u32;
    let moves = schedule.moves * USERS.len();
    let time = schedule.warm_up + interval * (moves as u32 + 1);
    let flows = Flows::start(&runtime, topology, &edge, &quic, time)?;
    let telling = sites.tell_of(queues, path.clock());
    wait(schedule.warm_up, stop)?;
    let mut memory = Memory::new(edge.processes());
    memory.look()?;
    for index in 0..moves {
        wait(interval, stop)?;
        telling.move_user(index % USERS.len());
        flows.look();
        if index == moves / 2 {
            memory.look()?;
        }
    }
    wait(interval, stop)?;
    memory.look()?;
    let lost = flows.end();
    drop(watch);
    let moves = telling.end().context("the base stations have ended before the run")?;
    drop(edge);
    runtime.shutdown_background();
    Ok(Outcome::new(&moves, &users, &kernel, &quic, lost, memory))
}

fn wait(time: Duration, stop: &AtomicBool) -> Result<()> {
    let until = Instant::now() + time;
    while Instant::now() < until {
        if stop.load(Ordering::Relaxed) {
            bail!("interrupted");
        }
        std::thread::sleep(LOOK_INTERVAL.min(until.saturating_duration_since(Instant::now())));
    }
    Ok(())
}

fn emulate(queues: Arc<QueueCounts>) -> Result<Emulation> {
    let spec = TopologySpec { users: USERS.len(), servers: Servers::Apart, backend: None, mtu: 1500 };
    let topology = Topology::build(&spec)?;
    let link = |capacity| LinkConfig {
        capacity: Arc::new(capacity),
        queue: QUEUE.into(),
        delay: Delay::constant(DELAY),
        ..LinkConfig::transparent()
    };
    let capacity = Capacity::constant(Rate::from_mbit_per_sec(USER_MBIT)).context("a rate above zero")?;
    let users = vec![link(capacity); USERS.len()];
    let cell = Bottleneck::Cell { users, scheduler: Scheduler::RoundRobin };
    let spec = EmulationSpec {
        up: vec![Stage::link(link(Capacity::unlimited()), 1)],
        down: vec![cell.path(1).into()],
        granularity: DEFAULT_GRANULARITY,
        receive_offload: true,
        taps: None,
        queue_counts: Some(queues),
    };
    Ok(Emulation::start(topology, spec)?)
}

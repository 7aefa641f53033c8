//! Two threads, one per direction, that carry packets between devices on the path's schedule.

mod arena;
mod clock;
mod flow_number;
mod forwarder;
mod pipeline;
mod report;
mod segment;
mod super_packet;

pub use clock::Clock;
pub use report::{DirectionReport, SelfReport};

/// Makes the calling thread as punctual as the emulation's own. It gets real-time priority (`SCHED_FIFO`) where we
/// may set it, and the kernel does not lengthen its sleeps to save power. False without real-time priority: under
/// load the thread is then as late as any program.
pub fn be_punctual() -> bool {
    // By default the kernel ends a sleep up to 50 us late.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    crate::sys::prefer_this_thread()
}

use crate::error::EmuError;
use crate::log::LogSummary;
use crate::queue_counts::{QueueCounts, QueueReader};
use crate::stage::Stage;
use crate::tap::Tap;
use crate::topology::Topology;
use cellcc_units::Span;
use forwarder::{Direction, Forwarder, ForwarderOutcome};
use pipeline::Pipeline;
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::OwnedFd;
use std::io;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::thread::JoinHandle;

/// The emulated path.
pub struct EmulationSpec {
    /// The path from the users to the outside, in the order in which packets cross.
    pub up: Vec<Stage>,
    /// The path towards the users.
    pub down: Vec<Stage>,
    /// Packets that are due within this of each other are released together. [`DEFAULT_GRANULARITY`] is finer than a
    /// wake-up on a machine under load.
    pub granularity: Span,
    /// Packets of one super-packet that are due together are handed over as one, as receivers with offload (GRO, LRO) see them.
    pub receive_offload: bool,
    /// The taps at the uplink and at the downlink.
    pub taps: Option<(Box<dyn Tap>, Box<dyn Tap>)>,
    /// The counters of the downlink's queues, one entry per user.
    pub queue_counts: Option<Arc<QueueCounts>>,
}

/// 50 us: four packets of 1500 bytes at 1 Gbit/s, and the slack of ordinary timers in Linux.
pub const DEFAULT_GRANULARITY: Span = Span::from_micros(50);

/// A running emulation. Dropping it stops it.
pub struct Emulation {
    topology: Arc<Topology>,
    clock: Clock,
    stop: Arc<OwnedFd>,
    threads: Option<(Thread, Thread)>,
}

type Thread = JoinHandle<io::Result<ForwarderOutcome>>;

impl Emulation {
    /// Begins to carry packets. Time zero, at which all traces begin, is now.
    ///
    /// # Errors
    /// The system has no threads or descriptors left.
    pub fn start(topology: Topology, spec: EmulationSpec) -> Result<Self, EmuError> {
        let stop = eventfd(0, EventfdFlags::CLOEXEC).map_err(EmuError::system("make an eventfd"))?;
        let stop = Arc::new(stop);
        let clock = Clock::start();
        let topology = Arc::new(topology);
        let (up_tap, down_tap) = spec.taps.map_or((None, None), |(up, down)| (Some(up), Some(down)));
        let users = topology.users.len();
        let queue_reader = spec.queue_counts.map(|counts| QueueReader::new(counts, users));
        let forwarder = |direction, pipeline, tap, queue_reader| Forwarder {
            direction,
            topology: Arc::clone(&topology),
            pipeline,
            clock,
            tap,
            queue_reader,
            granularity: spec.granularity,
            receive_offload: spec.receive_offload,
            stop: Arc::clone(&stop),
        };
        let up = forwarder(Direction::Up, Pipeline::new(spec.up)?, up_tap, None);
        let down = forwarder(Direction::Down, Pipeline::new(spec.down)?, down_tap, queue_reader);
        let threads = (spawn("cellcc-up", up)?, spawn("cellcc-down", down)?);
        Ok(Self { topology, clock, stop, threads: Some(threads) })
    }

    /// The clock of the emulation: taps and logs use it.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// The namespaces and addresses.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// Ends it.
    ///
    /// # Errors
    /// A device vanished during the emulation.
    pub fn stop(mut self) -> Result<SelfReport, EmuError> {
        self.signal();
        let (up, down) = self.threads.take().unwrap_or_else(|| unreachable!("taken only here and on drop"));
        let (up, down) = (join(up)?, join(down)?);
        let mut report =
            SelfReport { up: up.report, down: down.report, log_failures: Vec::new(), log_notes: Vec::new() };
        for log in up.logs.into_iter().chain(down.logs) {
            match log {
                Err(error) => report.log_failures.push(error.to_string()),
                Ok(LogSummary { path, behind: Some(events), .. }) => report.log_notes.push(format!(
                    "the disk was slow: up to {events} events of the log {} waited in memory; it is complete",
                    path.display()
                )),
                Ok(_) => {}
            }
        }
        Ok(report)
    }

    fn signal(&self) {
        // It is never read, so both threads find it readable.
        let _ = rustix::io::write(&*self.stop, &1_u64.to_ne_bytes());
    }
}

impl Drop for Emulation {
    fn drop(&mut self) {
        self.signal();
        if let Some((up, down)) = self.threads.take() {
            let _ = (up.join(), down.join());
        }
    }
}

fn spawn(name: &str, forwarder: Forwarder) -> Result<Thread, EmuError> {
    let thread = std::thread::Builder::new().name(name.into()).spawn(move || forwarder.run());
    thread.map_err(EmuError::system("start a thread"))
}

fn join(thread: Thread) -> Result<ForwarderOutcome, EmuError> {
    match thread.join() {
        Ok(result) => result.map_err(EmuError::system("carry packets")),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

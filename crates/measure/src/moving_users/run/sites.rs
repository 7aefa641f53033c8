//! The two base stations, and the users that each reports on.

use super::USERS;
use anyhow::{Context, Result, bail};
use cellcc_emu::emulation::Clock;
use cellcc_emu::queue_counts::QueueCounts;
use cellcc_experiment::UserQueues;
use cellcc_netassist::base_station::{BaseStation, REPORT_PERIOD};
use cellcc_units::{Span, Time};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::Instant;
use tokio::runtime::Runtime;

/// A site, and its report of the network's part of the minimum RTT. The path has the first; the second identifies the site of a
/// sender's report.
pub(crate) const SITES: [(&str, Span); 2] =
    [("north", Span::from_millis(20)), ("south", Span::from_millis(26))];

/// A user who has moved.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Move {
    pub(crate) user: usize,
    /// The index of the site.
    pub(crate) to: usize,
    pub(crate) at: Instant,
}

/// The base stations of both sites. At first all users are at the first.
pub(crate) struct Sites {
    stations: Option<[BaseStation; 2]>,
    addresses: [SocketAddr; 2],
}

impl Sites {
    pub(crate) fn start(runtime: &Runtime) -> Result<Self> {
        let start = async {
            let mut stations =
                [BaseStation::start(USERS.len()).await?, BaseStation::start(USERS.len()).await?];
            (0..USERS.len()).for_each(|user| stations[1].set_attached(user, false));
            std::io::Result::Ok(stations)
        };
        let stations = runtime.block_on(runtime.spawn(start))??;
        let addresses = stations.each_ref().map(BaseStation::address);
        Ok(Self { stations: Some(stations), addresses })
    }

    pub(crate) fn addresses(&self) -> [SocketAddr; 2] {
        self.addresses
    }

    /// Tells of the users in each period, until the end.
    pub(crate) fn tell_of(&mut self, queues: Arc<QueueCounts>, clock: Clock) -> Telling {
        let stations = self.stations.take().expect("called once");
        let (asked, asking) = mpsc::channel();
        let moves = Arc::new(Mutex::new(Vec::new()));
        let made = Arc::clone(&moves);
        let thread = std::thread::spawn(move || tell(stations, &queues, clock, &asking, &made));
        Telling { asked, moves, thread }
    }
}

/// Base stations that tell.
pub(crate) struct Telling {
    asked: mpsc::Sender<usize>,
    moves: Arc<Mutex<Vec<Move>>>,
    thread: JoinHandle<()>,
}

impl Telling {
    /// Moves a user to the other site, just after the next report: the other site's first report on the user comes a whole period
    /// later, which is the latest that it can come.
    pub(crate) fn move_user(&self, user: usize) {
        // Where the base stations have ended, `end` says so.
        let _ = self.asked.send(user);
    }

    /// All moves that were made.
    pub(crate) fn end(self) -> Result<Vec<Move>> {
        let Self { asked, moves, thread } = self;
        if thread.is_finished() {
            bail!("the emulation ended");
        }
        drop(asked);
        thread.join().ok().context("a panic")?;
        Ok(moves.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }
}

fn tell(
    mut stations: [BaseStation; 2],
    queues: &QueueCounts,
    clock: Clock,
    asking: &mpsc::Receiver<usize>,
    moves: &Mutex<Vec<Move>>,
) {
    let mut site_of = [0; USERS.len()];
    let mut report_at = clock.now() + REPORT_PERIOD;
    while let Some(counters) = queues.counters(report_at) {
        for station in &mut stations {
            station.report(report_at, counters.clone());
        }
        report_at = next(report_at, clock.now());
        loop {
            match asking.try_recv() {
                Ok(user) => {
                    let to = 1 - site_of[user];
                    stations[site_of[user]].set_attached(user, false);
                    stations[to].set_attached(user, true);
                    site_of[user] = to;
                    let moved = Move { user, to, at: Instant::now() };
                    moves.lock().unwrap_or_else(PoisonError::into_inner).push(moved);
                }
                Err(mpsc::TryRecvError::Empty) => break,
                Err(mpsc::TryRecvError::Disconnected) => return,
            }
        }
    }
}

/// Reports that are missed are left out.
fn next(reported_at: Time, now: Time) -> Time {
    let missed = now.since(reported_at).as_nanos() / REPORT_PERIOD.as_nanos();
    reported_at + REPORT_PERIOD * (missed + 1)
}

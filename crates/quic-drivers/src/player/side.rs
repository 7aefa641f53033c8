//! One side of all flows: a thread with a runtime of its own, so that senders and receivers do not wait for each other.

use std::future::Future;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};
use tokio::runtime::Builder;

/// A thread that had a processor for more than this share of the time may have been waiting for it, too.
const BUSY: f64 = 0.85;

/// How often a side looks whether it comes to its processor in time.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Timers of tokio are up to one millisecond late by design. Later than two more, one in a hundred times, a sender leaves
/// holes that no scheme meant: a round-trip time's worth of them on the fastest paths of the papers (20 ms).
const LATE: Duration = Duration::from_millis(3);

/// What became of one side.
pub(super) struct Side<T> {
    /// Each flow; or why it ended before its time.
    pub(super) flows: Vec<Result<T, String>>,
    /// Share of its time in which the thread had a processor.
    cpu_share: f64,
    /// How late its timers were, one in a hundred times or more.
    late_p99: Duration,
}

impl<T> Side<T> {
    /// Says so where the processor may have been the limit.
    pub(super) fn limit(&self, who: &str) -> Option<String> {
        // In whole classes, so that the runs of a table share a note.
        if self.cpu_share > BUSY {
            return Some(format!(
                "the {who}' thread was busy more than {:.0} % of the time: its processor may have limited the flows, not \
                 the path",
                BUSY * 100.0
            ));
        }
        (self.late_p99 > LATE).then(|| {
            format!(
                "the {who}' thread came more than {} ms late to one in a hundred of its timers or more, without being busy: \
                 other programs kept it waiting; leave it more of the processors",
                LATE.as_millis()
            )
        })
    }
}

/// A side that is at work.
pub(super) type Running<'scope, T> = ScopedJoinHandle<'scope, io::Result<Side<T>>>;

/// Runs the flows of a side together in one thread.
pub(super) fn start<'scope, T: Send + 'static>(
    scope: &'scope Scope<'scope, '_>,
    name: &str,
    flows: Vec<impl Future<Output = Result<T, String>> + Send + 'static>,
) -> io::Result<Running<'scope, T>> {
    std::thread::Builder::new().name(name.into()).spawn_scoped(scope, move || run(flows))
}

/// Waits until all flows of a side are over.
pub(super) fn join<T>(side: Running<'_, T>) -> io::Result<Side<T>> {
    side.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn run<T: Send + 'static>(
    flows: Vec<impl Future<Output = Result<T, String>> + Send + 'static>,
) -> io::Result<Side<T>> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let began = Instant::now();
    let (flows, late_p99) = runtime.block_on(async {
        let looks = Arc::new(Mutex::new(Vec::new()));
        let look = tokio::spawn(look(Arc::clone(&looks)));
        let tasks: Vec<_> = flows.into_iter().map(tokio::spawn).collect();
        let mut ended = Vec::new();
        for task in tasks {
            ended.push(task.await.unwrap_or_else(|error| Err(error.to_string())));
        }
        look.abort();
        (ended, p99(&looks))
    });
    let cpu_share = cpu_seconds() / began.elapsed().as_secs_f64().max(1e-9);
    Ok(Side { flows, cpu_share, late_p99 })
}

/// Takes down how late this thread comes to its timers.
async fn look(looks: Arc<Mutex<Vec<Duration>>>) {
    loop {
        let due = tokio::time::Instant::now() + LOOK_EVERY;
        tokio::time::sleep_until(due).await;
        looks.lock().unwrap_or_else(PoisonError::into_inner).push(due.elapsed());
    }
}

fn p99(looks: &Mutex<Vec<Duration>>) -> Duration {
    let mut looks = std::mem::take(&mut *looks.lock().unwrap_or_else(PoisonError::into_inner));
    looks.sort_unstable();
    looks.get(looks.len() * 99 / 100).copied().unwrap_or_default()
}

/// For how long this thread has had a processor.
fn cpu_seconds() -> f64 {
    let cpu = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    cpu.tv_sec as f64 + cpu.tv_nsec as f64 / 1e9
}

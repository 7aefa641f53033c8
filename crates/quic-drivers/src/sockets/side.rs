//! One side of all flows: a thread with a runtime of its own, so that senders and receivers do not wait for each other.

use std::future::Future;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};
use tokio::runtime::Builder;

/// Above this share of processor time a thread may have waited for its processor.
const MAX_CPU_SHARE: f64 = 0.85;

/// How often a side measures how late its timers are.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Tolerated lateness of a timer, 99th percentile. tokio's timers are up to one millisecond late by design; two more leave
/// gaps that the scheme did not ask for, which matters on the papers' fastest paths (RTT 20 ms).
const MAX_TIMER_DELAY: Duration = Duration::from_millis(3);

/// The result of one side.
pub(super) struct Side<T> {
    /// Each flow's result, or why it ended early.
    pub(super) flows: Vec<Result<T, String>>,
    /// Share of its time in which the thread had a processor.
    cpu_share: f64,
    /// Lateness of its timers, 99th percentile.
    late_p99: Duration,
}

impl<T> Side<T> {
    /// A note, if the processor may have been the limit.
    pub(super) fn limit(&self, who: &str) -> Option<String> {
        // Without the measured value, so that the runs of a table share a note.
        if self.cpu_share > MAX_CPU_SHARE {
            return Some(format!(
                "the {who}' thread was busy more than {:.0} % of the time: its processor may have limited the flows, not \
                 the path",
                MAX_CPU_SHARE * 100.0
            ));
        }
        (self.late_p99 > MAX_TIMER_DELAY).then(|| {
            format!(
                "the {who}' thread came more than {} ms late to one in a hundred of its timers or more, without being busy: \
                 other programs kept it waiting; leave it more of the processors",
                MAX_TIMER_DELAY.as_millis()
            )
        })
    }
}

/// The thread of a running side.
pub(super) type SideThread<'scope, T> = ScopedJoinHandle<'scope, io::Result<Side<T>>>;

/// Runs the flows of a side together in one thread.
pub(super) fn start<'scope, T: Send + 'static>(
    scope: &'scope Scope<'scope, '_>,
    name: &str,
    flows: Vec<impl Future<Output = Result<T, String>> + Send + 'static>,
) -> io::Result<SideThread<'scope, T>> {
    std::thread::Builder::new().name(name.into()).spawn_scoped(scope, move || run(flows))
}

/// Waits until all flows of a side are over.
pub(super) fn join<T>(side: SideThread<'_, T>) -> io::Result<Side<T>> {
    side.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn run<T: Send + 'static>(
    flows: Vec<impl Future<Output = Result<T, String>> + Send + 'static>,
) -> io::Result<Side<T>> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let began = Instant::now();
    let (flows, late_p99) = runtime.block_on(async {
        let delays = Arc::new(Mutex::new(Vec::new()));
        let measuring = tokio::spawn(measure_timer_delays(Arc::clone(&delays)));
        let tasks: Vec<_> = flows.into_iter().map(tokio::spawn).collect();
        let mut ended = Vec::new();
        for task in tasks {
            ended.push(task.await.unwrap_or_else(|error| Err(error.to_string())));
        }
        measuring.abort();
        (ended, p99(&delays))
    });
    let cpu_share = cpu_seconds() / began.elapsed().as_secs_f64().max(1e-9);
    Ok(Side { flows, cpu_share, late_p99 })
}

/// Records how late this thread's timers are.
async fn measure_timer_delays(delays: Arc<Mutex<Vec<Duration>>>) {
    loop {
        let due = tokio::time::Instant::now() + POLL_INTERVAL;
        tokio::time::sleep_until(due).await;
        delays.lock().unwrap_or_else(PoisonError::into_inner).push(due.elapsed());
    }
}

fn p99(delays: &Mutex<Vec<Duration>>) -> Duration {
    let mut delays = std::mem::take(&mut *delays.lock().unwrap_or_else(PoisonError::into_inner));
    delays.sort_unstable();
    delays.get(delays.len() * 99 / 100).copied().unwrap_or_default()
}

/// Processor time of this thread so far.
fn cpu_seconds() -> f64 {
    let cpu = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    cpu.tv_sec as f64 + cpu.tv_nsec as f64 / 1e9
}

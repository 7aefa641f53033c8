//! Asks a mobile core for its users' sessions, again and again.

use super::config::CoreConfig;
use super::metrics::SourceCounts;
use crate::http_get::get;
use crate::problem_log::ProblemLog;
use crate::sessions::open5gs_sessions;
use crate::transport::{Log, Server};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::time::{Instant, MissedTickBehavior, interval};

/// What a core reported holds for so long while it does not answer: an address may be another user's after that. Ours.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(10);

/// Until it is dropped.
pub(super) async fn follow_sessions(config: CoreConfig, server: Server, counts: Arc<SourceCounts>, log: Log) {
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

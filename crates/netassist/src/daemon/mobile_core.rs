//! Asks a mobile core for its users' sessions, again and again.

use super::config::CoreConfig;
use crate::http_get::get;
use crate::sessions::open5gs_sessions;
use crate::transport::Server;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, MissedTickBehavior, interval};

/// What a core told holds for so long while it does not answer: an address may be another user's after that. Ours.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(10);

/// Until it is dropped.
pub(super) async fn follow_sessions(
    config: CoreConfig,
    server: Server,
    log: Arc<dyn Fn(&str) + Send + Sync>,
) {
    let every = Duration::from_nanos(config.interval.as_nanos()).max(Duration::from_millis(1));
    let mut ticks = interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut told_at = Instant::now();
    let mut last_problem = None;
    loop {
        ticks.tick().await;
        let sessions = get(&config.open5gs).await.and_then(|body| open5gs_sessions(&body));
        match sessions {
            Ok(sessions) => {
                server.join(&sessions);
                told_at = Instant::now();
                last_problem = None;
            }
            Err(problem) => {
                if told_at.elapsed() > FORGOTTEN_AFTER {
                    server.join(&[]);
                }
                // The same problem is told once.
                if last_problem.as_ref() != Some(&problem) {
                    log(&format!("core: {problem}"));
                    last_problem = Some(problem);
                }
            }
        }
    }
}

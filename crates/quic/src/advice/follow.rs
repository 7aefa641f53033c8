//! Passes the reports of a source to a connection's scheme.

use super::AdviceSource;
use crate::handle::SchemeHandle;
use crate::service::send_buffer;
use std::time::Instant;
use tokio::task::AbortHandle;

/// The task that passes reports on. Dropping it ends the task; the scheme then falls back after its feedback time-out.
#[derive(Debug)]
pub struct AdviceTask(AbortHandle);

impl Drop for AdviceTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Passes every report of `source` to the connection's scheme, until either of them ends.
///
/// # Panics
/// Outside of a tokio runtime.
pub fn follow(
    connection: &noq::Connection,
    scheme: &SchemeHandle,
    mut source: impl AdviceSource + 'static,
) -> AdviceTask {
    // Hold only a weak reference, so feedback never keeps a connection alive.
    let (weak, mut closed) = (connection.weak_handle(), connection.on_closed());
    let scheme = scheme.clone();
    let task = tokio::spawn(async move {
        loop {
            let advice = tokio::select! {
                _ = &mut closed => return,
                advice = source.next() => advice,
            };
            let Some(advice) = advice else { return };
            if scheme.on_advice(Instant::now(), &advice) {
                let Some(connection) = weak.upgrade() else { return };
                connection.set_send_window(send_buffer(&scheme).get());
            }
        }
    });
    AdviceTask(task.abort_handle())
}

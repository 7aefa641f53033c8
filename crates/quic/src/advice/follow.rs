//! Passes a source's reports on to a connection's scheme.

use super::AdviceSource;
use crate::handle::SchemeHandle;
use crate::service::send_buffer;
use std::time::Instant;
use tokio::task::AbortHandle;

/// A source that is followed. Dropping it ends that; the scheme then falls back after its feedback time-out.
#[derive(Debug)]
pub struct Following(AbortHandle);

impl Drop for Following {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Tells the connection's scheme everything that `source` has to say, until either of them ends.
///
/// # Panics
/// Outside of a tokio runtime.
pub fn follow(
    connection: &noq::Connection,
    scheme: &SchemeHandle,
    mut source: impl AdviceSource + 'static,
) -> Following {
    // A connection ends when its last user lets go of it: whoever gives advice is none.
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
    Following(task.abort_handle())
}

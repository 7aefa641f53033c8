//! Serves a connection's scheme between acknowledgements: its timers, its send buffer.
//!
//! noq calls a controller only when something is sent, acknowledged or lost. A scheme's timer may have to come between;
//! and where it opens a window, noq must be told to look again.

use crate::controller::SchemeHandle;
use crate::packet_size::PacketSize;
use cellcc_units::Bytes;
use noq::{OnClosed, PathId, WeakConnectionHandle};
use std::net::IpAddr;
use std::time::{Duration, Instant};
use tokio::task::AbortHandle;

/// The send buffer holds this many windows: one is in flight, one is ready behind it.
const BUFFERED_WINDOWS: u64 = 2;
/// It is never smaller than this, so that a window that opens at once finds data (ten packets would be one initial
/// window) ...
const MIN_SEND_BUFFER: u64 = 1 << 18;
/// ... nor larger: 1 Gbit/s over half a second.
const MAX_SEND_BUFFER: u64 = 1 << 26;

/// The send buffer follows the window this often; an opening window wakes noq at once, whatever this is.
const BUFFER_EVERY: Duration = Duration::from_millis(10);

/// A connection that is served. Dropping it ends the service, and leaves the scheme to acknowledgements alone.
#[derive(Debug)]
pub struct Attached {
    handle: SchemeHandle,
    task: AbortHandle,
}

impl Attached {
    pub(crate) fn start(connection: &noq::Connection) -> Option<Self> {
        let handle = SchemeHandle::of(connection)?;
        if is_ipv6(connection) {
            handle.set_headers(PacketSize::IPV6_HEADERS);
        }
        let task = tokio::spawn(serve(connection.weak_handle(), connection.on_closed(), handle.clone()))
            .abort_handle();
        Some(Self { handle, task })
    }

    /// The way to the scheme.
    pub fn scheme(&self) -> &SchemeHandle {
        &self.handle
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn is_ipv6(connection: &noq::Connection) -> bool {
    let remote = connection.path(PathId::ZERO).and_then(|path| path.remote_address().ok());
    remote.is_some_and(|remote| match remote.ip() {
        IpAddr::V4(_) => false,
        IpAddr::V6(address) => address.to_ipv4_mapped().is_none(),
    })
}

/// A connection ends when its last user lets go of it: the service is none.
async fn serve(connection: WeakConnectionHandle, mut closed: OnClosed, handle: SchemeHandle) {
    let mut buffer = Bytes::ZERO;
    loop {
        let now = Instant::now();
        let opened = handle.on_time(now);
        let wanted = send_buffer(&handle);
        if opened || wanted != buffer {
            buffer = wanted;
            let Some(connection) = connection.upgrade() else { return };
            connection.set_send_window(wanted.get());
        }
        let wake = handle.next_time().map_or(now + BUFFER_EVERY, |next| next.min(now + BUFFER_EVERY));
        tokio::select! {
            _ = &mut closed => return,
            () = tokio::time::sleep_until(wake.into()) => {}
            () = handle.sooner_than(Some(wake)) => {}
        }
    }
}

pub(crate) fn send_buffer(handle: &SchemeHandle) -> Bytes {
    let window = handle.snapshot().limits.window.get();
    Bytes::new(window.saturating_mul(BUFFERED_WINDOWS).clamp(MIN_SEND_BUFFER, MAX_SEND_BUFFER))
}

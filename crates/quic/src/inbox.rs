//! The application's own datagrams, which arrive together with the extension's.

use bytes::Bytes;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// Bytes that may wait; beyond this the oldest datagrams are dropped, as noq does (its default is 1.25 MB).
const MAX_BYTES: usize = 1 << 20;

/// Datagrams that wait to be read.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    queue: VecDeque<Bytes>,
    /// Size of the queue. Each datagram counts with its entry, so that empty ones are limited too.
    bytes: usize,
    is_closed: bool,
}

fn weight(datagram: &Bytes) -> usize {
    datagram.len() + size_of::<Bytes>()
}

impl Inbox {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn push(&self, datagram: Bytes) {
        let mut state = self.lock();
        state.bytes += weight(&datagram);
        state.queue.push_back(datagram);
        while state.bytes > MAX_BYTES
            && let Some(oldest) = state.queue.pop_front()
        {
            state.bytes -= weight(&oldest);
        }
        drop(state);
        self.changed.notify_one();
    }

    /// No more datagrams will come.
    pub(crate) fn close(&self) {
        self.lock().is_closed = true;
        self.changed.notify_waiters();
    }

    /// The oldest datagram; `None` if the inbox is closed and empty.
    pub(crate) async fn pop(&self) -> Option<Bytes> {
        loop {
            // Registered before the queue is read, so that no datagram in between is missed.
            let changed = self.changed.notified();
            {
                let mut state = self.lock();
                if let Some(datagram) = state.queue.pop_front() {
                    state.bytes -= weight(&datagram);
                    if !state.queue.is_empty() {
                        self.changed.notify_one();
                    }
                    return Some(datagram);
                }
                if state.is_closed {
                    return None;
                }
            }
            changed.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[tokio::test]
    async fn what_nobody_reads_makes_room_for_what_is_newer() {
        let inbox = Inbox::default();
        for count in 0..2000u32 {
            inbox.push(Bytes::from(vec![(count % 256) as u8; 1000]));
        }
        inbox.close();
        let mut last = None;
        let mut left = 0;
        while let Some(datagram) = inbox.pop().await {
            left += 1;
            last = Some(datagram[0]);
        }
        assert_eq!(last, Some((1999 % 256) as u8));
        assert_eq!(left, MAX_BYTES / (1000 + size_of::<Bytes>()));
    }

    #[tokio::test]
    async fn a_reader_that_waits_hears_of_the_end() {
        let inbox = Arc::new(Inbox::default());
        let reader = tokio::spawn({
            let inbox = Arc::clone(&inbox);
            async move { (inbox.pop().await, inbox.pop().await) }
        });
        tokio::task::yield_now().await;
        inbox.push(Bytes::from_static(b"x"));
        inbox.close();
        assert_eq!(reader.await.unwrap(), (Some(Bytes::from_static(b"x")), None));
    }
}

//! Admission: which connections a server begins. Any host can request one, with a single packet and under another's address.
//! So the number of connections without a request has a limit, and above a threshold a client must first prove its address:
//! the server answers with a Retry (RFC 9000, section 8.1.2), which costs it no memory.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Above this many connections without a request, clients must prove their address, which takes them a round trip. A
/// connection in its handshake takes 85 kB of noq's memory (heap profile of 2852 such connections, noq 1.4), so these take
/// 5.4 MB.
const RETRY_ABOVE: usize = 64;
/// Most connections without a request, 44 MB; further clients wait for the end of one.
const MAX_CONNECTIONS: usize = 512;
/// Most clients that wait, with their first packet (2 kB); further ones are refused. With fifty clients at once on loopback
/// none waits long: each of their connections counts for 80 ms after its end.
const MAX_WAITING: usize = 512;
/// Shortest time between two lines of the log about it.
const NEWS_INTERVAL: Duration = Duration::from_secs(10);

/// Counts clients without a request.
#[derive(Debug, Clone)]
pub(crate) struct Admission {
    state: Arc<Mutex<State>>,
    connections: Arc<Semaphore>,
}

#[derive(Debug, Default)]
struct State {
    counts: Counts,
    reported: Counts,
    reported_at: Option<Instant>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Counts {
    /// Clients without a request, connected or not.
    clients: usize,
    retried: u64,
    refused: u64,
}

/// The answer to a client's first packet.
#[derive(Debug)]
pub(crate) enum Answer {
    /// The handshake begins as soon as there is room for the connection.
    Accept(Client),
    /// The client must prove its address.
    Retry,
    /// There are too many.
    Refuse,
}

/// A client without a request, counted until this is dropped.
#[derive(Debug)]
pub(crate) struct Client(Admission);

/// A connection without a request, counted until this is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    _client: Client,
    /// `None` would be a closed semaphore, which is never closed.
    _permit: Option<OwnedSemaphorePermit>,
}

impl Default for Admission {
    fn default() -> Self {
        Self { state: Arc::default(), connections: Arc::new(Semaphore::new(MAX_CONNECTIONS)) }
    }
}

impl Admission {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The answer to a client's first packet. `is_validated`: whether the client has proved its address.
    pub(crate) fn answer(&self, is_validated: bool) -> Answer {
        let mut state = self.lock();
        let counts = &mut state.counts;
        if counts.clients >= MAX_CONNECTIONS + MAX_WAITING {
            counts.refused += 1;
            return Answer::Refuse;
        }
        if counts.clients >= RETRY_ABOVE && !is_validated {
            counts.retried += 1;
            return Answer::Retry;
        }
        counts.clients += 1;
        Answer::Accept(Client(self.clone()))
    }

    /// A line for the log when clients were retried or refused since the last one, at most one in ten seconds.
    pub(crate) fn news(&self, now: Instant) -> Option<String> {
        let mut state = self.lock();
        if state.reported_at.is_some_and(|at| now < at + NEWS_INTERVAL) {
            return None;
        }
        let line = state.tell()?;
        state.reported_at = Some(now);
        Some(line)
    }

    /// The next line, whenever the last one was.
    pub(crate) fn last_news(&self) -> Option<String> {
        self.lock().tell()
    }
}

impl State {
    fn tell(&mut self) -> Option<String> {
        let Counts { clients, retried, refused } = self.counts;
        if (retried, refused) == (self.reported.retried, self.reported.refused) {
            return None;
        }
        self.reported = self.counts;
        Some(format!(
            "many clients without a request: {clients} now; since the start {retried} had to prove their address, {refused} were refused"
        ))
    }
}

impl Client {
    /// Waits for room for its connection.
    pub(crate) async fn place(self) -> Place {
        let connections = Arc::clone(&self.0.connections);
        Place { _client: self, _permit: connections.acquire_owned().await.ok() }
    }
}

impl Place {
    /// Counts for this time still. Needs a tokio runtime.
    pub(crate) fn keep_for(self, time: Duration) {
        tokio::spawn(async move {
            tokio::time::sleep(time).await;
            drop(self);
        });
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.0.lock().counts.clients -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepted(admission: &Admission, is_validated: bool, count: usize) -> Vec<Client> {
        let client = |_| match admission.answer(is_validated) {
            Answer::Accept(client) => client,
            other => panic!("{other:?}"),
        };
        (0..count).map(client).collect()
    }

    #[test]
    fn above_the_threshold_a_client_proves_its_address() {
        let admission = Admission::default();
        let clients = accepted(&admission, false, RETRY_ABOVE);
        assert!(matches!(admission.answer(false), Answer::Retry));
        accepted(&admission, true, 1);
        drop(clients);
        accepted(&admission, false, 1);
    }

    #[tokio::test]
    async fn beyond_the_most_connections_a_client_waits_for_the_end_of_one() {
        let admission = Admission::default();
        let mut places = Vec::new();
        for client in accepted(&admission, true, MAX_CONNECTIONS) {
            places.push(client.place().await);
        }
        let next = tokio::spawn(accepted(&admission, true, 1).remove(0).place());
        tokio::task::yield_now().await;
        assert!(!next.is_finished());
        places.pop();
        next.await.unwrap();
    }

    #[test]
    fn beyond_the_most_waiting_clients_all_are_refused_until_one_leaves() {
        let admission = Admission::default();
        let mut clients = accepted(&admission, true, MAX_CONNECTIONS + MAX_WAITING);
        assert!(matches!(admission.answer(true), Answer::Refuse));
        assert!(matches!(admission.answer(false), Answer::Refuse));
        clients.pop();
        accepted(&admission, true, 1);
    }

    #[test]
    fn the_log_tells_of_it_once_in_ten_seconds() {
        let (admission, now) = (Admission::default(), Instant::now());
        let _clients = accepted(&admission, true, MAX_CONNECTIONS + MAX_WAITING);
        assert_eq!(admission.news(now), None);
        admission.answer(false);
        let line = admission.news(now).unwrap();
        assert!(line.contains("1024 now") && line.contains("1 were refused"), "{line}");
        admission.answer(false);
        assert_eq!(admission.news(now + NEWS_INTERVAL / 2), None);
        assert!(admission.news(now + NEWS_INTERVAL).is_some());
        assert_eq!(admission.last_news(), None);
    }
}

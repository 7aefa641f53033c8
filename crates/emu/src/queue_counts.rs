//! The counters of the downlink's queues, for reports to senders.

use cellcc_experiment::UserQueues;
use cellcc_link::{OwnCounters, QueueCounters};
use cellcc_units::{Span, Time};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The interval at which the queues are read: a slot of LTE (3GPP TS 36.211, section 4.1).
const READ_INTERVAL: Span = Span::from_millis(1);

/// The newest counters of each user's queue.
#[derive(Debug, Default)]
pub struct QueueCounts {
    newest: Mutex<Newest>,
    is_newer: Condvar,
}

#[derive(Debug, Default)]
struct Newest {
    /// The time of the last reading; `None` before the first.
    read_at: Option<Time>,
    users: Vec<QueueCounters>,
    /// No others will come.
    ended: bool,
}

impl QueueCounts {
    fn newest(&self) -> MutexGuard<'_, Newest> {
        self.newest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The own counters of a user's queue, as last read.
    pub(crate) fn own(&self, user: usize) -> OwnCounters {
        self.newest().users.get(user).map(|counters| counters.own).unwrap_or_default()
    }
}

impl UserQueues for QueueCounts {
    fn counters(&self, at: Time) -> Option<Vec<QueueCounters>> {
        let is_older =
            |newest: &mut Newest| !newest.ended && newest.read_at.is_none_or(|read_at| read_at < at);
        let newest = self.is_newer.wait_while(self.newest(), is_older);
        let newest = newest.unwrap_or_else(PoisonError::into_inner);
        (!newest.ended).then(|| newest.users.clone())
    }
}

/// Reads the queues in the thread that has them. Dropping it ends the waiting of those who ask.
#[derive(Debug)]
pub(crate) struct QueueReader {
    counts: Arc<QueueCounts>,
    users: usize,
    next: Time,
}

impl QueueReader {
    pub(crate) fn new(counts: Arc<QueueCounts>, users: usize) -> Self {
        Self { counts, users, next: Time::ZERO }
    }

    /// The time of the next reading.
    pub(crate) fn next(&self) -> Time {
        self.next
    }

    /// Reads the queues, where it is time to.
    pub(crate) fn read(&mut self, now: Time, counters: impl FnMut(usize) -> QueueCounters) {
        if now < self.next {
            return;
        }
        // Always at whole milliseconds, when reports are made, however late this reading is.
        let passed = now.since(Time::ZERO).as_nanos() / READ_INTERVAL.as_nanos();
        self.next = Time::ZERO + READ_INTERVAL * (passed + 1);
        let mut newest = self.counts.newest();
        newest.read_at = Some(now);
        newest.users.clear();
        newest.users.extend((0..self.users).map(counters));
        drop(newest);
        self.counts.is_newer.notify_all();
    }
}

impl Drop for QueueReader {
    fn drop(&mut self) {
        self.counts.newest().ended = true;
        self.counts.is_newer.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cellcc_units::Bytes;

    fn micros(micros: u64) -> Time {
        Time::ZERO + Span::from_micros(micros)
    }

    fn served(bytes: u64) -> QueueCounters {
        QueueCounters { served: Bytes::new(bytes), ..QueueCounters::default() }
    }

    #[test]
    fn who_asks_waits_for_counters_of_that_time_or_later() {
        let counts = Arc::new(QueueCounts::default());
        let mut reader = QueueReader::new(Arc::clone(&counts), 2);
        reader.read(micros(0), |user| served(user as u64));
        assert_eq!(counts.counters(micros(0)), Some(vec![served(0), served(1)]));
        std::thread::scope(|scope| {
            let asked = scope.spawn(|| counts.counters(micros(2000)));
            reader.read(micros(1200), |_| served(7));
            reader.read(micros(2010), |_| served(9));
            assert_eq!(asked.join().expect("no panic"), Some(vec![served(9); 2]));
        });
    }

    #[test]
    fn queues_are_read_once_a_millisecond_however_late_one_reading_is() {
        let mut reader = QueueReader::new(Arc::default(), 1);
        let mut readings = Vec::new();
        for now in [0, 400, 1700, 1900, 2000, 2999, 3000].map(micros) {
            reader.read(now, |_| {
                readings.push(now);
                served(0)
            });
        }
        assert_eq!(readings, [0, 1700, 2000, 3000].map(micros));
    }

    #[test]
    fn nobody_waits_for_a_reader_that_is_gone() {
        let counts = Arc::new(QueueCounts::default());
        std::thread::scope(|scope| {
            let asked = scope.spawn(|| counts.counters(micros(1)));
            drop(QueueReader::new(Arc::clone(&counts), 1));
            assert_eq!(asked.join().expect("no panic"), None);
        });
    }
}

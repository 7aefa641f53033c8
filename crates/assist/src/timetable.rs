//! Reports at times that are known beforehand.

use cellcc_control::Advice;
use cellcc_units::Time;

/// Reports at times that are known beforehand. It has no clock: a driver in virtual time asks it directly; a real-time driver
/// waits for [`next_wake`](Self::next_wake).
pub trait Timetable: Send {
    /// When the next report reaches the sender, or is made; [`Time::NEVER`] after the last one.
    fn next_wake(&self) -> Time;

    /// The newest report that has reached the sender by `now`; `None` where it was returned before. Older ones are dropped.
    fn poll(&mut self, now: Time) -> Option<Advice>;
}

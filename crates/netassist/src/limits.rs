//! How much one client, and all together, may ask for.

use cellcc_netassist_client::Allowance;
use cellcc_units::Time;
use std::num::NonZeroU32;

/// Registrations a second: more than our own clients make.
const REQUESTS_PER_SECOND: NonZeroU32 = NonZeroU32::new(2000).unwrap();
/// Registrations at once.
const REQUESTS_AT_ONCE: NonZeroU32 = NonZeroU32::new(5000).unwrap();
/// Requests above that rate after which a client is disconnected: it ignores the request to wait.
pub(crate) const MAX_TOO_FAST: u32 = 1000;
/// Refusals of one name that are written down in a second, and at once; the others are counted.
const REFUSALS_LOGGED_PER_SECOND: NonZeroU32 = NonZeroU32::new(10).unwrap();
const REFUSALS_LOGGED_AT_ONCE: NonZeroU32 = NonZeroU32::new(100).unwrap();
/// Messages of a source on a connection, pings among them: some ten times those of a base station that tells of all of its layers
/// a hundred times a second.
const SOURCE_MESSAGES_PER_SECOND: NonZeroU32 = NonZeroU32::new(5000).unwrap();
/// Begin-and-end pairs that one name may add to the log: all users of all its clients at once, and then as many per second as
/// come and go at a busy server. That is at most 26 kB a second.
const BEGINNINGS_PER_SECOND: NonZeroU32 = NonZeroU32::new(100).unwrap();
const BEGINNINGS_AT_ONCE: NonZeroU32 =
    NonZeroU32::new((MAX_CLIENTS_OF_ONE_NAME * MAX_SUBSCRIPTIONS) as u32).unwrap();
/// Users of one client.
pub(crate) const MAX_SUBSCRIPTIONS: usize = 10_000;
/// Clients at once; each takes up to 100 kB of the QUIC implementation's memory, so 25 MB.
pub(crate) const MAX_CLIENTS: usize = 256;
/// Clients of one name among these: a server's processes, and connections that were lost and not yet noticed. So that one
/// certificate does not take the places of all.
pub(crate) const MAX_CLIENTS_OF_ONE_NAME: usize = 16;

/// For the requests of one client at a service.
pub fn client_requests(now: Time) -> Allowance {
    Allowance::new(now, REQUESTS_PER_SECOND, REQUESTS_AT_ONCE)
}

/// For the messages of a source on one connection.
pub(crate) fn source_messages(now: Time) -> Allowance {
    Allowance::new(now, SOURCE_MESSAGES_PER_SECOND, SOURCE_MESSAGES_PER_SECOND)
}

/// For refusals of one name in the audit log.
pub(crate) fn logged_refusals(now: Time) -> Allowance {
    Allowance::new(now, REFUSALS_LOGGED_PER_SECOND, REFUSALS_LOGGED_AT_ONCE)
}

/// The allowance of one name for entries of the audit log: connections, subscriptions, pages.
pub(crate) fn beginnings(now: Time) -> Allowance {
    Allowance::new(now, BEGINNINGS_PER_SECOND, BEGINNINGS_AT_ONCE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cellcc_netassist_client::own_requests;
    use cellcc_units::Span;

    #[test]
    fn a_client_may_ask_five_thousand_times_at_once_and_then_two_thousand_times_a_second() {
        let rate = client_requests(Time::ZERO);
        assert_eq!((0..100_000).filter(|_| rate.allows(Time::ZERO)).count(), 5000);
        let later = Time::ZERO + Span::from_secs(1);
        assert_eq!((0..100_000).filter(|_| rate.allows(later)).count(), 2000);
    }

    #[test]
    fn what_our_clients_ask_for_is_never_too_fast_for_a_service() {
        let (own, service) = (own_requests(Time::ZERO), client_requests(Time::ZERO));
        let mut asked = 0;
        for ms in 0..10_000 {
            let now = Time::ZERO + Span::from_millis(ms);
            while own.allows(now) {
                assert!(service.allows(now), "{ms} ms");
                asked += 1;
            }
        }
        assert!(asked > MAX_SUBSCRIPTIONS, "{asked}");
    }
}

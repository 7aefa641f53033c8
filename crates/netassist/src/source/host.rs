//! This host's own counters, for operators without access to the radio network: traffic of an interface towards each user, and
//! the round-trip times of users' TCP. The counter itself is a trait here: [`HostCounters`]. `cellcc assist count` writes the same
//! counters as lines.

use super::kind::{HostCounters, OpenHostCounters, Services, SourceKind};
use super::{NextEvent, Source, SourceEvent, UserCounters};
use crate::clock::ServiceClock;
use crate::identity::{Identities, SourceName, UserIndex};
use cellcc_assist::{BaseRtt, PassivePeriod, PassiveReader};
use cellcc_units::{Span, Time};
use serde::Deserialize;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::IpAddr;
use std::time::Duration;

/// The paper's period of reports (NATCP, section 2.2.1).
const PERIOD: Span = Span::from_millis(50);
/// Wait before an interface that is gone is looked for again.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// This host's counts on an interface that leads to the users.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostInterface {
    /// Its name.
    pub interface: String,
}

impl SourceKind for HostInterface {
    fn reads(&self) -> String {
        self.interface.clone()
    }

    async fn open(&self, services: &Services<'_>) -> Result<Box<dyn Source>, String> {
        let Services { identities, clock, host_counters, .. } = *services;
        Ok(Box::new(Host::new(&self.interface, identities, clock, host_counters)?))
    }
}

/// The counters of an interface, each user's once a period, at a time of its own.
pub struct Host {
    interface: String,
    open: OpenHostCounters,
    clock: ServiceClock,
    addresses: Vec<Vec<IpAddr>>,
    users: Vec<HostUser>,
    counters: Option<Box<dyn HostCounters>>,
    turns: BinaryHeap<Reverse<(Time, usize)>>,
}

struct HostUser {
    name: String,
    offset: Span,
    reader: PassiveReader,
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Host").field("interface", &self.interface).finish_non_exhaustive()
    }
}

impl Host {
    /// Counts on this interface, for all users. `open`: the opener of its counters, if there is one.
    ///
    /// # Errors
    /// There is none, or it cannot.
    pub fn new(
        interface: &str,
        identities: &Identities,
        clock: ServiceClock,
        open: Option<OpenHostCounters>,
    ) -> Result<Self, String> {
        let open = open.ok_or(
            "nothing here can count on an interface: this needs Linux, and cellcc with the feature `kernel`",
        )?;
        let addresses: Vec<_> =
            identities.all().map(|index| identities.user(index).addresses.clone()).collect();
        let user = |index: UserIndex| HostUser {
            name: identities.user(index).name.clone(),
            offset: identities.key(index).offset_in(PERIOD),
            reader: PassiveReader::default(),
        };
        let mut host = Self {
            interface: interface.into(),
            open,
            clock,
            addresses,
            users: identities.all().map(user).collect(),
            counters: None,
            turns: BinaryHeap::new(),
        };
        host.begin()?;
        Ok(host)
    }

    /// Begins to count, from nothing.
    fn begin(&mut self) -> Result<(), String> {
        self.counters = Some((self.open)(&self.interface, &self.addresses)?);
        let now = self.clock.now();
        self.users.iter_mut().for_each(|user| user.reader = PassiveReader::default());
        let turns = self.users.iter().enumerate();
        self.turns = turns.map(|(index, user)| Reverse((now + user.offset, index))).collect();
        Ok(())
    }

    /// The next counters, or why there are none for a while. `None` without users: there is nothing to count.
    pub async fn counted(&mut self) -> Option<Result<Vec<UserCounters>, String>> {
        if self.counters.is_none() {
            tokio::time::sleep(RETRY_DELAY).await;
            if let Err(problem) = self.begin() {
                return Some(Err(problem));
            }
        }
        let &Reverse((at, _)) = self.turns.peek()?;
        tokio::time::sleep_until(self.clock.instant(at).into()).await;
        Some(self.due(self.clock.now()).inspect_err(|_| self.counters = None))
    }

    /// The counters of all whose turn it is.
    fn due(&mut self, now: Time) -> Result<Vec<UserCounters>, String> {
        let mut counted = Vec::new();
        let Some(counters) = &self.counters else { return Ok(counted) };
        while let Some(&Reverse((at, index))) = self.turns.peek()
            && at <= now
        {
            self.turns.pop();
            // Turns that were missed are left out.
            let missed = now.since(at).as_nanos() / PERIOD.as_nanos();
            self.turns.push(Reverse((at + PERIOD * (missed + 1), index)));
            let user = &mut self.users[index];
            counted
                .extend(user.reader.read(now, &counters.read(index)?).map(|period| user.counters(&period)));
        }
        Ok(counted)
    }
}

impl HostUser {
    fn counters(&self, PassivePeriod { downlink, received, min_rtt }: &PassivePeriod) -> UserCounters {
        UserCounters {
            user: SourceName::Name(self.name.clone()),
            cell: None,
            period: downlink.period,
            served: downlink.served,
            busy: Some((downlink.busy, downlink.evidence)),
            queued: Some(downlink.backlog),
            received: Some(*received),
            uplink_delay: None,
            base_rtt: BaseRtt::ToUser(*min_rtt),
        }
    }
}

impl Source for Host {
    fn next(&mut self) -> NextEvent<'_> {
        Box::pin(async move {
            Some(match self.counted().await? {
                Ok(counted) => {
                    let now = self.clock.now();
                    let samples = counted.into_iter().map(|counters| counters.sample(now));
                    SourceEvent::Samples(samples.collect())
                }
                Err(problem) => SourceEvent::Problem(problem),
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::User;
    use cellcc_assist::{PassiveCounters, PassiveRtt};
    use cellcc_units::Bytes;
    use std::sync::atomic::{AtomicU64, Ordering};

    struct Steady(AtomicU64);

    impl HostCounters for Steady {
        fn read(&self, user: usize) -> Result<PassiveCounters, String> {
            assert_eq!(user, 0);
            let looks = self.0.fetch_add(1, Ordering::Relaxed);
            if looks == 3 {
                return Err("gone".into());
            }
            // 12 Mbit/s, all the time with a queue.
            let elapsed = PERIOD * looks;
            Ok(PassiveCounters {
                delivered: Bytes::new(75_000 * looks),
                waited: elapsed,
                rtt: Some(PassiveRtt { last: Span::from_millis(60), min: Span::from_millis(20) }),
                acknowledged_at: Time::ZERO + elapsed,
                ..PassiveCounters::default()
            })
        }
    }

    #[test]
    fn each_user_has_a_turn_a_period_and_an_interface_that_comes_back_is_counted_on_again() {
        let user = User {
            name: "alice".into(),
            addresses: vec!["10.45.0.2".parse().unwrap()],
            radio: Vec::new(),
            supi: None,
        };
        let identities = Identities::new(vec![user], &[1; 32]).unwrap();
        let open: OpenHostCounters = |interface, users| {
            assert_eq!((interface, users.len()), ("wwan0", 1));
            Ok(Box::new(Steady(AtomicU64::new(0))))
        };
        let mut host = Host::new("wwan0", &identities, ServiceClock::start(), Some(open)).unwrap();
        let first_turn = |host: &Host| host.turns.peek().unwrap().0.0;
        let first = first_turn(&host);
        let mut looks = |periods: u64| host.due(first + PERIOD * periods).map(|samples| samples.len());
        // The first look only begins a period; a turn that was missed is left out.
        assert_eq!([looks(0), looks(2), looks(2), looks(3)], [Ok(0), Ok(1), Ok(0), Ok(1)]);
        assert_eq!(looks(4), Err("gone".into()));
        host.begin().unwrap();
        let again = first_turn(&host);
        assert_eq!([again, again + PERIOD].map(|now| host.due(now).unwrap().len()), [0, 1]);
    }

    #[test]
    fn what_cannot_be_opened_is_said_at_the_start() {
        let identities = Identities::new(Vec::new(), &[1; 32]).unwrap();
        let open: OpenHostCounters = |interface, _| Err(format!("there is no interface `{interface}`"));
        let error = Host::new("wwan7", &identities, ServiceClock::start(), Some(open)).unwrap_err();
        assert_eq!(error, "there is no interface `wwan7`");
    }
}

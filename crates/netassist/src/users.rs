//! What is known of each user: samples in, records out.

use crate::identity::{Identities, UserIndex};
use crate::sample::{BaseRtt, Counted, Measured, Sample};
use cellcc_assist::scone::{Signal, SlowCeiling};
use cellcc_assist::{Advice, AdviceClass, Estimator, MinRttParts, Record};
use cellcc_units::{Bytes, Rate, Span, Time};

/// A report is used for this many periods. The scheme's own time-out is six periods (`cellcc schemes natcp`); a record that
/// arrives half of that late tells more of the past than of the path.
const VALID_PERIODS: u64 = 3;
/// A user whose source is this many periods late gets a record that says so.
const STALE_PERIODS: u64 = 3;
/// The minimum of the uplink's delay is taken over this time: the length of BBR's window of the minimum RTT.
const UPLINK_DELAY_WINDOW: Span = Span::from_secs(10);
/// What a user's device has told of its flows holds for this long. Devices tell it every second.
const FLOWS_TOLD_FOR: Span = Span::from_secs(5);

/// All users.
#[derive(Debug, Clone)]
pub(crate) struct Users(Vec<UserState>);

#[derive(Debug, Clone, Default)]
struct UserState {
    estimator: Estimator,
    uplink_delay: RecentMinimum,
    cell: Option<u32>,
    cell_epoch: u32,
    sequence: u32,
    last: Option<Record>,
    /// What was served in the last period, where the source tells it.
    served: Option<Rate>,
    ceiling: SlowCeiling,
    last_is_told_stale: bool,
    flows_told: Option<(Time, u16)>,
}

impl Users {
    pub(crate) fn new(identities: &Identities) -> Self {
        Self(vec![UserState::default(); identities.all().count()])
    }

    /// The record that follows from a sample; `None` while nothing is known of the user. `flows`: how many the servers
    /// have told of.
    pub(crate) fn take(
        &mut self,
        index: UserIndex,
        key: [u8; 16],
        sample: &Sample,
        flows: u16,
    ) -> Option<Record> {
        self.0[index.0].take(key, sample, flows)
    }

    /// The user's device has told how many flows it has.
    pub(crate) fn on_flows_told(&mut self, now: Time, index: UserIndex, flows: u16) {
        self.0[index.0].flows_told = Some((now, flows));
    }

    /// The record that says that the source of a user is late, once, and the user's cell.
    pub(crate) fn stale(&mut self, now: Time, index: UserIndex) -> Option<(Record, u32)> {
        let user = &mut self.0[index.0];
        user.stale(now).zip(user.cell)
    }

    pub(crate) fn last(&self, index: UserIndex) -> Option<&Record> {
        self.0[index.0].last.as_ref()
    }

    /// The cell that the user is in, once it is known.
    pub(crate) fn cell(&self, index: UserIndex) -> Option<u32> {
        self.0[index.0].cell
    }

    /// The user's slow ceiling.
    pub(crate) fn ceiling(&self, index: UserIndex) -> Signal {
        self.0[index.0].ceiling.signal()
    }

    /// What the user was served in the last period, where the source tells it.
    pub(crate) fn served(&self, index: UserIndex) -> Option<Rate> {
        self.0[index.0].served
    }
}

impl UserState {
    fn take(&mut self, key: [u8; 16], sample: &Sample, flows: u16) -> Option<Record> {
        let is_first = self.cell.is_none();
        let is_handover = self.cell.is_some_and(|cell| cell != sample.cell);
        if is_handover {
            // Nothing that was measured in the other cell holds in this one.
            self.estimator = Estimator::default();
            self.uplink_delay = RecentMinimum::default();
            self.cell_epoch = self.cell_epoch.wrapping_add(1);
        }
        self.cell = Some(sample.cell);
        self.served = match &sample.measured {
            Measured::Known(_) => None,
            Measured::Counted(Counted { downlink, .. }) => {
                Some(Rate::from_transfer(downlink.served, downlink.period))
            }
        };
        let (advice, uplink) = match &sample.measured {
            Measured::Known(advice) => (*advice, Rate::ZERO),
            Measured::Counted(counted) => (self.estimate(sample.until, counted)?, counted.uplink),
        };
        self.sequence = self.sequence.wrapping_add(1);
        let told = self.flows_told.filter(|(at, _)| sample.until.since(*at) <= FLOWS_TOLD_FOR);
        let known = u16::try_from(advice.flows).unwrap_or(u16::MAX);
        let record = Record {
            class: advice.class,
            handover: is_handover,
            stale: false,
            first: is_first,
            period: advice.period,
            sequence: self.sequence,
            measured_until: sample.until,
            user: key,
            downlink: advice.bandwidth,
            uplink,
            min_rtt_network: advice.min_rtt.network,
            min_rtt_downlink: advice.min_rtt.downlink,
            min_rtt_uplink: advice.min_rtt.uplink,
            backlog: advice.backlog,
            valid_for: advice.period * VALID_PERIODS,
            flows: told.map_or(flows.max(known), |(_, flows)| flows).max(1),
            cell_epoch: self.cell_epoch,
        };
        self.ceiling.told(sample.until, record.downlink);
        self.last = Some(record);
        self.last_is_told_stale = false;
        Some(record)
    }

    fn estimate(&mut self, until: Time, counted: &Counted) -> Option<Advice> {
        let estimate = self.estimator.estimate(&counted.downlink);
        let is_known = estimate.class != AdviceClass::Idle || !estimate.bandwidth.is_zero();
        let uplink = self.uplink_delay.at(until, counted.uplink_delay);
        let downlink = estimate.downlink;
        let min_rtt = match counted.base_rtt {
            BaseRtt::ToBaseStation(Some(network)) => MinRttParts { network, downlink, uplink },
            // A part without the others would be taken for the whole; senders know a minimum of their own.
            BaseRtt::ToBaseStation(None) => MinRttParts::default(),
            BaseRtt::ToUser(whole) => {
                MinRttParts { network: whole.saturating_sub(downlink), downlink, uplink: Span::ZERO }
            }
        };
        is_known.then_some(Advice {
            bandwidth: estimate.bandwidth,
            class: estimate.class,
            min_rtt,
            flows: 1,
            backlog: counted.downlink.backlog,
            period: counted.downlink.period,
            age: Span::ZERO,
        })
    }

    fn stale(&mut self, now: Time) -> Option<Record> {
        let last = self.last?;
        if self.last_is_told_stale || now.since(last.measured_until) < last.period * STALE_PERIODS {
            return None;
        }
        self.last_is_told_stale = true;
        self.served = None;
        self.sequence = self.sequence.wrapping_add(1);
        // A receiver takes only what is of a later time.
        let record = Record {
            stale: true,
            sequence: self.sequence,
            measured_until: now,
            backlog: Bytes::ZERO,
            ..last
        };
        self.last = Some(record);
        Some(record)
    }
}

/// The minimum of the present and the last window.
#[derive(Debug, Clone, Copy, Default)]
struct RecentMinimum {
    window_began: Time,
    before: Option<Span>,
    present: Option<Span>,
}

impl RecentMinimum {
    /// The minimum with what is measured now; zero while nothing was.
    fn at(&mut self, now: Time, measured: Option<Span>) -> Span {
        if now.since(self.window_began) >= UPLINK_DELAY_WINDOW {
            *self = Self { window_began: now, before: self.present, present: None };
        }
        self.present = self.present.into_iter().chain(measured).min();
        self.before.into_iter().chain(self.present).min().unwrap_or(Span::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::SourceName;
    use cellcc_assist::{Evidence, Observation};

    const PERIOD: Span = Span::from_millis(50);

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    /// `served` bytes with something queued all the time.
    fn sample(until: u64, cell: u32, served: u64) -> Sample {
        let downlink = Observation {
            period: PERIOD,
            served: Bytes::new(served),
            busy: PERIOD,
            backlog: Bytes::new(3000),
            channel: None,
            packet: Bytes::new(1500),
            evidence: Evidence::Queue,
        };
        let counted = Counted {
            downlink,
            uplink: Rate::from_mbit_per_sec(1.0),
            uplink_delay: None,
            base_rtt: BaseRtt::ToBaseStation(Some(Span::from_millis(10))),
        };
        Sample {
            user: SourceName::Name("a".into()),
            cell,
            until: at(until),
            measured: Measured::Counted(counted),
        }
    }

    fn take(user: &mut UserState, sample: &Sample) -> Record {
        user.take([1; 16], sample, 1).expect("something is known")
    }

    #[test]
    fn a_sample_becomes_a_record() {
        let mut user = UserState::default();
        let record = take(&mut user, &sample(50, 1, 75_000));
        assert_eq!(record.downlink, Rate::from_mbit_per_sec(12.0));
        assert_eq!((record.first, record.handover, record.sequence), (true, false, 1));
        assert_eq!((record.valid_for, record.measured_until), (Span::from_millis(150), at(50)));
        assert_eq!(record.min_rtt_downlink, Span::from_millis(1));
        let next = take(&mut user, &sample(100, 1, 75_000));
        assert_eq!((next.first, next.sequence), (false, 2));
    }

    #[test]
    fn in_another_cell_the_estimate_begins_anew() {
        let mut user = UserState::default();
        take(&mut user, &sample(50, 1, 75_000));
        let moved = take(&mut user, &sample(100, 2, 7_500));
        assert_eq!((moved.handover, moved.cell_epoch), (true, 1));
        assert_eq!(moved.downlink, Rate::from_mbit_per_sec(1.2), "nothing of the other cell");
        assert!(!take(&mut user, &sample(150, 2, 7_500)).handover);
    }

    #[test]
    fn parts_of_the_minimum_rtt_are_told_together_or_not_at_all() {
        let told = |base_rtt| {
            let mut sample = sample(50, 1, 75_000);
            if let Measured::Counted(counted) = &mut sample.measured {
                counted.base_rtt = base_rtt;
            }
            let record = take(&mut UserState::default(), &sample);
            [record.min_rtt_network, record.min_rtt_downlink, record.min_rtt_uplink]
                .map(|part| part.as_nanos() / 1_000_000)
        };
        assert_eq!(told(BaseRtt::ToBaseStation(Some(Span::from_millis(10)))), [10, 1, 0]);
        assert_eq!(told(BaseRtt::ToBaseStation(None)), [0, 0, 0]);
        assert_eq!(told(BaseRtt::ToUser(Span::from_millis(20))), [19, 1, 0], "the packet's time is in it");
    }

    #[test]
    fn a_source_that_is_late_is_told_once() {
        let mut user = UserState::default();
        take(&mut user, &sample(50, 1, 75_000));
        assert_eq!(user.stale(at(150)), None);
        let told = user.stale(at(200)).expect("150 ms without a sample");
        assert_eq!((told.stale, told.sequence), (true, 2));
        assert_eq!(user.stale(at(400)), None);
        take(&mut user, &sample(450, 1, 75_000));
        assert!(user.stale(at(600)).is_some(), "late again");
    }

    #[test]
    fn what_the_device_tells_of_its_flows_comes_before_what_servers_tell() {
        let mut user = UserState::default();
        let flows = |user: &mut UserState, until, servers| {
            user.take([1; 16], &sample(until, 1, 75_000), servers).expect("known").flows
        };
        assert_eq!(flows(&mut user, 50, 0), 1, "it divides");
        assert_eq!(flows(&mut user, 100, 3), 3);
        user.flows_told = Some((at(100), 5));
        assert_eq!(flows(&mut user, 150, 3), 5);
        assert_eq!(flows(&mut user, 5200, 3), 3, "it has been silent");
    }

    #[test]
    fn the_uplinks_delay_is_its_recent_minimum() {
        let mut minimum = RecentMinimum::default();
        let ms = |value| Some(Span::from_millis(value));
        assert_eq!(minimum.at(at(0), None), Span::ZERO);
        assert_eq!(minimum.at(at(100), ms(8)), Span::from_millis(8));
        assert_eq!(minimum.at(at(200), ms(20)), Span::from_millis(8));
        assert_eq!(minimum.at(at(10_200), ms(12)), Span::from_millis(8), "of the last window");
        assert_eq!(minimum.at(at(20_400), ms(30)), Span::from_millis(12));
    }
}

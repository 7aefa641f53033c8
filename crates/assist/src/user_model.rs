//! The state of one user over time: measurements in, reports out. The service and the simulator have it from here.

use crate::estimator::{Estimator, Observation};
use crate::record::AdviceRecord;
use crate::scone::{Signal, SlowCeiling};
use cellcc_control::{Advice, AdviceClass, MinRttParts};
use cellcc_units::{Bytes, Rate, Span, Time};

/// A report is used for this many periods. The scheme's own time-out is six periods (`cellcc schemes natcp`); a record that
/// arrives half of that late tells more of the past than of the path.
const VALID_PERIODS: u64 = 3;
/// A user whose source is this many periods late gets a record that says so.
const STALE_PERIODS: u64 = 3;
/// The minimum of the uplink's delay is taken over this time: the length of BBR's window of the minimum RTT.
const UPLINK_DELAY_WINDOW: Span = Span::from_secs(10);
/// A device's report of its flows is valid for this long. Devices say it every second.
const OWN_FLOWS_FOR: Span = Span::from_secs(5);

/// How much a source knows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Knowledge {
    /// A base station's counts: the estimator draws conclusions.
    Counted(Counted),
    /// The knowledge of an oracle.
    Known(Advice),
}

/// The counts of a user by a base station, or by a host on the way to it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Counted {
    /// The downlink.
    pub downlink: Observation,
    /// The rate that was received of the user.
    pub uplink: Rate,
    /// From a request of the user to send until its data were decoded; `None` where it sent none.
    pub uplink_delay: Option<Span>,
    /// The smallest round-trip time.
    pub base_rtt: BaseRtt,
}

/// The smallest round-trip time that a source knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BaseRtt {
    /// Between the servers' gateway and the base station; `None` while it is not known.
    ToBaseStation(Option<Span>),
    /// To the user, the radio link included.
    ToUser(Span),
}

/// One user.
#[derive(Debug, Clone, Default)]
pub struct UserModel {
    key: [u8; 16],
    estimator: Estimator,
    uplink_delay: RecentMinimum,
    cell: Option<u32>,
    cell_epoch: u32,
    sequence: u32,
    last: Option<AdviceRecord>,
    /// The service of the last period, if it was counted.
    served: Option<Rate>,
    ceiling: SlowCeiling,
    is_stale_reported: bool,
    /// How many flows the user's device said that it has, and when.
    own_flows: Option<(Time, u16)>,
}

impl UserModel {
    /// A user of whom nothing is known; `key` stands for the user in reports.
    pub fn new(key: [u8; 16]) -> Self {
        Self { key, ..Self::default() }
    }

    /// The report that follows from a cell's measurements in the period that ended at `until`; `None` while nothing is known of
    /// the user. `flows`: how many the user has, as far as servers know.
    pub fn take(&mut self, cell: u32, until: Time, measured: &Knowledge, flows: u16) -> Option<AdviceRecord> {
        let is_first = self.cell.is_none();
        let is_handover = self.cell.is_some_and(|before| before != cell);
        if is_handover {
            // Nothing that was measured in the other cell holds in this one.
            self.estimator = Estimator::default();
            self.uplink_delay = RecentMinimum::default();
            self.cell_epoch = self.cell_epoch.wrapping_add(1);
        }
        self.cell = Some(cell);
        let (advice, uplink) = match measured {
            Knowledge::Known(advice) => {
                self.served = None;
                (*advice, Rate::ZERO)
            }
            Knowledge::Counted(counted) => {
                self.served = Some(Rate::from_transfer(counted.downlink.served, counted.downlink.period));
                (self.estimate(until, counted)?, counted.uplink)
            }
        };
        self.sequence = self.sequence.wrapping_add(1);
        let own = self.own_flows.filter(|(at, _)| until.since(*at) <= OWN_FLOWS_FOR);
        let known = u16::try_from(advice.flows).unwrap_or(u16::MAX);
        let record = AdviceRecord {
            class: advice.class,
            handover: is_handover,
            stale: false,
            first: is_first,
            period: advice.period,
            sequence: self.sequence,
            measured_until: until,
            user: self.key,
            downlink: advice.bandwidth,
            uplink,
            min_rtt: advice.min_rtt,
            backlog: advice.backlog,
            valid_for: advice.period * VALID_PERIODS,
            flows: own.map_or(flows.max(known), |(_, flows)| flows).max(1),
            cell_epoch: self.cell_epoch,
        };
        self.ceiling.reported(until, record.downlink);
        self.last = Some(record);
        self.is_stale_reported = false;
        Some(record)
    }

    /// The user's device has said how many flows it has.
    pub fn on_own_flows(&mut self, now: Time, flows: u16) {
        self.own_flows = Some((now, flows));
    }

    /// The last report.
    pub fn last(&self) -> Option<&AdviceRecord> {
        self.last.as_ref()
    }

    /// The cell that the user is in, once it is known.
    pub fn cell(&self) -> Option<u32> {
        self.cell
    }

    /// The user's slow ceiling.
    pub fn ceiling(&self) -> Signal {
        self.ceiling.signal()
    }

    /// The user's service in the last period, if it was counted.
    pub fn served(&self) -> Option<Rate> {
        self.served
    }

    /// The report that says, once, that nothing was measured for three periods.
    pub fn stale(&mut self, now: Time) -> Option<AdviceRecord> {
        let last = self.last?;
        if self.is_stale_reported || now.since(last.measured_until) < last.period * STALE_PERIODS {
            return None;
        }
        self.is_stale_reported = true;
        self.served = None;
        self.sequence = self.sequence.wrapping_add(1);
        // A receiver takes only records of a later time.
        let record = AdviceRecord {
            stale: true,
            sequence: self.sequence,
            measured_until: now,
            backlog: Bytes::ZERO,
            ..last
        };
        self.last = Some(record);
        Some(record)
    }

    /// `None` for a user who was never served.
    fn estimate(&mut self, until: Time, counted: &Counted) -> Option<Advice> {
        let estimate = self.estimator.estimate(&counted.downlink);
        let is_known = estimate.class != AdviceClass::Idle || !estimate.bandwidth.is_zero();
        let uplink = self.uplink_delay.at(until, counted.uplink_delay);
        let downlink = estimate.downlink;
        let min_rtt = match counted.base_rtt {
            // A part without the others would be taken for the whole; senders know a minimum of their own.
            BaseRtt::ToBaseStation(network) => {
                network.zip(uplink).map(|(network, uplink)| MinRttParts { network, downlink, uplink })
            }
            BaseRtt::ToUser(whole) => {
                Some(MinRttParts { network: whole.saturating_sub(downlink), downlink, uplink: Span::ZERO })
            }
        };
        let mut advice = Advice::new(estimate.bandwidth, estimate.class, counted.downlink.period);
        advice.min_rtt = min_rtt;
        advice.backlog = counted.downlink.backlog;
        is_known.then_some(advice)
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
    /// The minimum, with the present measurement; `None` while nothing was.
    fn at(&mut self, now: Time, measured: Option<Span>) -> Option<Span> {
        if now.since(self.window_began) >= UPLINK_DELAY_WINDOW {
            *self = Self { window_began: now, before: self.present, present: None };
        }
        self.present = self.present.into_iter().chain(measured).min();
        self.before.into_iter().chain(self.present).min()
    }
}

// How many flows a user has: NATCP's beta, counted at the base station.

/// A flow without a packet for this long is not active. Our choice: longer than the outages of the traces let a
/// sender's probes stay away, shorter than a user notices a share that is missing.
const ACTIVE_FOR: Span = Span::from_secs(1);

/// Number of a user's flows with a packet in the last second, from the time of each one's last packet; at least one, since it
/// is a divisor.
pub fn active_flows(now: Time, last_packets: impl IntoIterator<Item = Time>) -> u32 {
    let active = last_packets.into_iter().filter(|&last| now.since(last) <= ACTIVE_FOR).count();
    u32::try_from(active).unwrap_or(u32::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimator::Evidence;

    const PERIOD: Span = Span::from_millis(50);

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    /// `served` bytes with something queued all the time.
    fn counted(served: u64) -> Counted {
        let downlink = Observation {
            period: PERIOD,
            served: Bytes::new(served),
            busy: PERIOD,
            backlog: Bytes::new(3000),
            channel: None,
            packet: Bytes::new(1500),
            evidence: Evidence::Queue,
        };
        Counted {
            downlink,
            uplink: Rate::from_mbit_per_sec(1.0),
            uplink_delay: Some(Span::from_millis(8)),
            base_rtt: BaseRtt::ToBaseStation(Some(Span::from_millis(10))),
        }
    }

    fn take(user: &mut UserModel, until: u64, cell: u32, served: u64) -> AdviceRecord {
        user.take(cell, at(until), &Knowledge::Counted(counted(served)), 1).expect("something is known")
    }

    #[test]
    fn a_measurement_becomes_a_report() {
        let mut user = UserModel::default();
        let record = take(&mut user, 50, 1, 75_000);
        assert_eq!(record.downlink, Rate::from_mbit_per_sec(12.0));
        assert_eq!((record.first, record.handover, record.sequence), (true, false, 1));
        assert_eq!((record.valid_for, record.measured_until), (Span::from_millis(150), at(50)));
        assert_eq!(record.min_rtt.map(|parts| parts.downlink), Some(Span::from_millis(1)));
        let next = take(&mut user, 100, 1, 75_000);
        assert_eq!((next.first, next.sequence), (false, 2));
    }

    #[test]
    fn of_a_user_who_was_never_served_nothing_is_known() {
        let mut nothing = counted(0);
        (nothing.downlink.busy, nothing.downlink.backlog) = (Span::ZERO, Bytes::ZERO);
        assert_eq!(UserModel::default().take(1, at(50), &Knowledge::Counted(nothing), 1), None);
    }

    #[test]
    fn in_another_cell_the_estimate_begins_anew() {
        let mut user = UserModel::default();
        take(&mut user, 50, 1, 75_000);
        let moved = take(&mut user, 100, 2, 7_500);
        assert_eq!((moved.handover, moved.cell_epoch), (true, 1));
        assert_eq!(moved.downlink, Rate::from_mbit_per_sec(1.2), "nothing of the other cell");
        assert!(!take(&mut user, 150, 2, 7_500).handover);
    }

    #[test]
    fn parts_of_the_minimum_rtt_are_reported_together_or_not_at_all() {
        let ms = |value| Some(Span::from_millis(value));
        let reported = |base_rtt, uplink_delay| {
            let counted = Counted { base_rtt, uplink_delay, ..counted(75_000) };
            let record = UserModel::default().take(1, at(50), &Knowledge::Counted(counted), 1);
            let parts = record.expect("something is known").min_rtt?;
            Some([parts.network, parts.downlink, parts.uplink].map(|part| part.as_nanos() / 1_000_000))
        };
        assert_eq!(reported(BaseRtt::ToBaseStation(ms(10)), ms(8)), Some([10, 1, 8]));
        // 2 ms were reported where the path's minimum is 20 ms.
        assert_eq!(reported(BaseRtt::ToBaseStation(ms(1)), None), None, "nobody knows the uplink's part");
        assert_eq!(reported(BaseRtt::ToBaseStation(None), ms(8)), None);
        let to_user = reported(BaseRtt::ToUser(Span::from_millis(20)), None);
        assert_eq!(to_user, Some([19, 1, 0]), "the packet's time is in it");
    }

    #[test]
    fn a_source_that_is_late_is_reported_once() {
        let mut user = UserModel::default();
        take(&mut user, 50, 1, 75_000);
        assert_eq!(user.stale(at(150)), None);
        let reported = user.stale(at(200)).expect("150 ms without a sample");
        assert_eq!((reported.stale, reported.sequence), (true, 2));
        assert_eq!(user.stale(at(400)), None);
        take(&mut user, 450, 1, 75_000);
        assert!(user.stale(at(600)).is_some(), "late again");
    }

    #[test]
    fn what_the_device_tells_of_its_flows_comes_before_what_servers_tell() {
        let mut user = UserModel::default();
        let flows = |user: &mut UserModel, until, servers| {
            user.take(1, at(until), &Knowledge::Counted(counted(75_000)), servers).expect("known").flows
        };
        assert_eq!(flows(&mut user, 50, 0), 1, "it divides");
        assert_eq!(flows(&mut user, 100, 3), 3);
        user.on_own_flows(at(100), 5);
        assert_eq!(flows(&mut user, 150, 3), 5);
        assert_eq!(flows(&mut user, 5200, 3), 3, "it has been silent");
    }

    #[test]
    fn the_uplinks_delay_is_its_recent_minimum() {
        let mut minimum = RecentMinimum::default();
        let ms = |value| Some(Span::from_millis(value));
        assert_eq!(minimum.at(at(0), None), None);
        assert_eq!(minimum.at(at(100), ms(8)), ms(8));
        assert_eq!(minimum.at(at(200), ms(20)), ms(8));
        assert_eq!(minimum.at(at(10_200), ms(12)), ms(8), "of the last window");
        assert_eq!(minimum.at(at(20_400), ms(30)), ms(12));
    }

    #[test]
    fn a_flow_counts_until_a_second_after_its_last_packet() {
        let at = |millis| Time::ZERO + Span::from_millis(millis);
        assert_eq!(active_flows(at(0), []), 1, "none is one: it divides");
        let last_packets = [at(0), at(700)];
        assert_eq!(active_flows(at(1000), last_packets), 2);
        assert_eq!(active_flows(at(1001), last_packets), 1);
        assert_eq!(active_flows(at(5000), last_packets), 1);
    }
}

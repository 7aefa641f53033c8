//! From a base station's counts to samples.
//!
//! The estimator wants to know how long something waited for the user. The base station reports only the queue at the end of a
//! period, and the number of sent transport blocks:
//!
//! - More waited at both ends than is explained by two packets in flight and by data that wait for an acknowledgement: all the time.
//!   (A queue that is empty in between for long is not full at both ends.) Less is no evidence: a sender whose window holds it back
//!   keeps some packets there, and its service would be reported as the capacity, which makes the window smaller again.
//! - Else as long as the blocks take at the cell's rate of slots, times the users who were served: each of them waited while
//!   the others were. Not longer than the period without its longest gap: nothing waited in it.

use super::report::{CellReport, Malformed, Message, UeReport, parse};
use crate::entries::MAX_USERS;
use crate::identity::{RadioName, SourceName};
use crate::sample::Sample;
use crate::source::{Reading, UserCounters};
use cellcc_assist::{BaseRtt, Evidence};
use cellcc_units::{Bytes, Rate, Span, Time};
use std::collections::HashMap;

/// Reports that are farther apart do not belong together; the longest period that a base station can be set to is hours, and
/// of no use here.
const MAX_PERIOD_MS: u64 = 10_000;
/// A gNB that had no processor sends the reports of several periods within a millisecond. All but the first would be valid for three
/// such periods, and then stale.
const MIN_PERIOD_MS: u64 = 5;
/// A sender whose window holds it back keeps two packets in flight.
const IN_FLIGHT: Bytes = Bytes::new(2 * 1500);
/// HARQ and RLC keep data until they are acknowledged. Measured: a queue of 3 to 6 kB at 0.47 Mbit/s with two packets in flight
/// (srsENB, acknowledged mode).
const UNACKNOWLEDGED_FOR: Span = Span::from_millis(50);
/// Timestamps may be of one day: they begin again after it.
const DAY_MS: u64 = 86_400_000;

/// Settings that a base station does not report.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GnbSettings {
    /// Slots a second in which a cell can send to users.
    pub downlink_slots_per_second: u32,
    /// Between the servers' gateway and the base station, both ways, where it is known.
    pub network_rtt: Option<Span>,
}

/// Makes samples of a base station's messages. Pure.
#[derive(Debug)]
pub struct GnbReader {
    settings: GnbSettings,
    before: HashMap<RadioName, Before>,
}

/// The last report on a user.
#[derive(Debug, Clone, Copy)]
struct Before {
    at_ms: u64,
    queued: Option<Bytes>,
}

impl GnbReader {
    /// A reader that has seen nothing.
    pub fn new(settings: GnbSettings) -> Self {
        Self { settings, before: HashMap::new() }
    }

    /// Restarts: messages are missing.
    pub fn forget(&mut self) {
        self.before.clear();
    }

    /// The samples in a message that arrived at `now`. A user's first message only begins a period.
    ///
    /// # Errors
    /// It is no message of a base station.
    pub fn read(&mut self, now: Time, bytes: &[u8]) -> Result<Reading, Malformed> {
        let (at_ms, cells, left_out) = match parse(bytes)? {
            Message::Cells { at_ms, cells, left_out } => (at_ms, cells, left_out),
            Message::Refusal(reason) => return Err(Malformed::Refused(reason)),
            Message::Other => return Ok(Reading::default()),
        };
        let mut samples = Vec::new();
        for cell in &cells {
            let served = cell.users.iter().filter(|user| user.blocks > 0).count().max(1) as u64;
            samples.extend(cell.users.iter().filter_map(|user| self.sample(now, at_ms, user, served)));
        }
        // A cell reports all its users: a missing one has left, and restarts on return.
        let is_of =
            |cell: &CellReport, pci| cell.pci == Some(pci) || cell.users.iter().any(|user| user.pci == pci);
        let is_reported_of = |pci| cells.iter().any(|cell| is_of(cell, pci));
        self.before.retain(|user, before| before.at_ms == at_ms || !is_reported_of(user.pci));
        if self.before.len() > MAX_USERS {
            self.before.retain(|_, before| before.at_ms == at_ms);
        }
        Ok(Reading { samples, left_out })
    }

    fn sample(&mut self, now: Time, at_ms: u64, user: &UeReport, served_users: u64) -> Option<Sample> {
        let name = RadioName { pci: user.pci, rnti: user.rnti };
        let before = self.before.insert(name, Before { at_ms, queued: user.queued })?;
        let period_ms = (at_ms + DAY_MS - before.at_ms % DAY_MS) % DAY_MS;
        if !(MIN_PERIOD_MS..=MAX_PERIOD_MS).contains(&period_ms) {
            return None;
        }
        let period = Span::from_millis(period_ms);
        let counters = UserCounters {
            user: SourceName::Radio(name),
            cell: Some(user.pci.into()),
            period,
            served: user.downlink.bytes_in(period),
            busy: Some((self.busy(period, before.queued, user, served_users), Evidence::Queue)),
            queued: user.queued,
            received: Some(user.uplink.bytes_in(period)),
            uplink_delay: user.uplink_delay,
            base_rtt: BaseRtt::ToBaseStation(self.settings.network_rtt),
        };
        Some(counters.sample(now))
    }

    fn busy(&self, period: Span, before: Option<Bytes>, user: &UeReport, served_users: u64) -> Span {
        // An unknown queue is below every number.
        if before.min(user.queued) > Some(IN_FLIGHT + user.downlink.bytes_in(UNACKNOWLEDGED_FOR)) {
            return period;
        }
        let slots = user.blocks.saturating_mul(served_users);
        let slot =
            Span::from_nanos(1_000_000_000 / u64::from(self.settings.downlink_slots_per_second.max(1)));
        let granted = Span::from_nanos(slot.as_nanos().saturating_mul(slots));
        let gap = user.longest_gap.unwrap_or(Span::ZERO);
        granted.min(period.saturating_sub(gap))
    }
}

/// A base station's message on one cell with these users, in the form that [`parse`] reads, as an emulated cell sends it.
///
/// `at_ms`: milliseconds since midnight. `pci`: the cell's identity.
pub fn message(at_ms: u64, pci: u16, users: &[UeReport]) -> String {
    let list: Vec<_> = users.iter().map(entry).collect();
    let (secs, ms) = (at_ms / 1000, at_ms % 1000);
    let time = format!("1970-01-01T{:02}:{:02}:{:02}.{ms:03}", secs / 3600 % 24, secs / 60 % 60, secs % 60);
    serde_json::json!({"timestamp": time, "cells": [{"cell_metrics": {"pci": pci}, "ue_list": list}]})
        .to_string()
}

fn entry(user: &UeReport) -> serde_json::Value {
    let bits = |rate: Rate| rate.as_bytes_per_sec() * 8;
    let mut entry = serde_json::json!({
        "pci": user.pci, "rnti": user.rnti, "dl_brate": bits(user.downlink), "ul_brate": bits(user.uplink),
        "dl_nof_ok": user.blocks, "dl_nof_nok": 0, "dl_bs": user.queued.map(Bytes::get),
    });
    if let Some(gap) = user.longest_gap {
        entry["max_pdsch_distance"] = gap.as_millis_f64().into();
    }
    if let Some(delay) = user.uplink_delay {
        entry["avg_sr_to_pusch_delay"] = delay.as_millis_f64().into();
    }
    entry
}

#[cfg(test)]
mod tests {
    use super::super::report::tests::OCUDU;
    use super::*;
    use cellcc_assist::{Estimator, Knowledge, Observation};

    const SETTINGS: GnbSettings =
        GnbSettings { downlink_slots_per_second: 1400, network_rtt: Some(Span::from_millis(10)) };

    fn user(queued: u64, blocks: u64) -> UeReport {
        UeReport {
            pci: 1,
            rnti: 7,
            downlink: Rate::from_mbit_per_sec(12.0),
            uplink: Rate::ZERO,
            blocks,
            queued: Some(Bytes::new(queued)),
            longest_gap: None,
            uplink_delay: None,
        }
    }

    /// The observation of the first of `users`, after a message 50 ms before it.
    fn observed(before: u64, users: &[UeReport]) -> Observation {
        let mut reader = GnbReader::new(SETTINGS);
        let first = message(1000, 1, &[user(before, 0)]);
        assert_eq!(
            reader.read(Time::ZERO, first.as_bytes()),
            Ok(Reading::default()),
            "it only begins a period"
        );
        let samples = reader.read(Time::ZERO, message(1050, 1, users).as_bytes()).unwrap().samples;
        match samples[0].measured {
            Knowledge::Counted(counted) => counted.downlink,
            Knowledge::Known(_) => panic!("no oracle"),
        }
    }

    #[test]
    fn a_period_is_what_lies_between_two_timestamps() {
        let observed = observed(3000, &[user(3000, 35)]);
        assert_eq!(observed.period, Span::from_millis(50));
        assert_eq!(observed.served, Bytes::new(75_000));
    }

    /// As OCUDU did in its test mode on two busy processors: six reports within a millisecond, after 290 ms.
    #[test]
    fn of_several_reports_at_once_the_first_one_counts() {
        let mut reader = GnbReader::new(SETTINGS);
        let times = [1000, 1290, 1290, 1291, 1292, 1342];
        let samples = times.map(|at_ms| {
            let text = message(at_ms, 1, &[user(3000, 35)]);
            reader.read(Time::ZERO, text.as_bytes()).unwrap().samples.len()
        });
        assert_eq!(samples, [0, 1, 0, 0, 0, 1]);
    }

    #[test]
    fn a_user_with_a_queue_at_both_ends_was_busy_all_the_time() {
        assert_eq!(observed(80_000, &[user(80_000, 5)]).busy, Span::from_millis(50));
        assert!(observed(80_000, &[user(3000, 5)]).busy < Span::from_millis(50), "at one end");
    }

    /// A sender with two packets in flight uses 0.48 Mbit/s of a link of 6 Mbit/s: 0.87, 0.75, 0.70 were reported.
    #[test]
    fn two_packets_in_flight_are_no_queue_and_a_bandwidth_that_fell_rises_within_a_second() {
        let settings = GnbSettings { downlink_slots_per_second: 1000, network_rtt: None };
        let (mut reader, mut estimator) = (GnbReader::new(settings), Estimator::new());
        let mut reported = |period: u64, served: f64, blocks, queued| {
            let downlink = Rate::from_mbit_per_sec(served);
            let report = UeReport { downlink, ..user(queued, blocks) };
            let text = message(100 * period, 1, &[report]);
            let samples = reader.read(Time::ZERO, text.as_bytes()).unwrap().samples;
            let Knowledge::Counted(counted) = samples.first()?.measured else { panic!("no oracle") };
            Some(estimator.estimate(&counted.downlink).bandwidth.as_mbit_per_sec())
        };
        assert_eq!(reported(0, 6.0, 100, 90_000), None);
        assert_eq!(reported(1, 6.0, 100, 90_000), Some(6.0));
        // Four packets in 100 ms take eight blocks of 750 bytes.
        let held: Vec<_> = (2..12).filter_map(|period| reported(period, 0.48, 8, 4000)).collect();
        assert!(held.iter().all(|mbit| (mbit / 6.0 - 1.0).abs() < 0.01), "{held:?}");
        assert_eq!(reported(12, 0.48, 100, 90_000), Some(0.48), "a bad channel");
        let risen = (13..23).filter_map(|period| reported(period, 0.48, 8, 4000)).last();
        assert!((risen.unwrap() / 6.0 - 1.0).abs() < 0.01, "{risen:?}");
    }

    #[test]
    fn else_the_blocks_say_how_long() {
        // 14 blocks of 1/1400 s: 10 ms; with another user who is served, twice as long.
        let near = |busy: Span, ms: u64| busy.as_nanos().abs_diff(Span::from_millis(ms).as_nanos()) < 100;
        assert!(near(observed(0, &[user(3000, 14)]).busy, 10));
        let other = UeReport { rnti: 8, ..user(3000, 1) };
        assert!(near(observed(0, &[user(0, 14), other]).busy, 20));
        let gap = UeReport { longest_gap: Some(Span::from_millis(45)), ..user(0, 14) };
        assert_eq!(observed(0, &[gap]).busy, Span::from_millis(5), "nothing waited in the gap");
    }

    /// The time away used to count as the period, and a report of it as valid for three times as long.
    #[test]
    fn a_user_who_left_the_cell_and_comes_back_begins_anew() {
        let other = UeReport { rnti: 8, ..user(3000, 1) };
        for meanwhile in [vec![other], vec![]] {
            let mut reader = GnbReader::new(SETTINGS);
            let mut samples = |at_ms, users: &[UeReport]| {
                let samples = reader.read(Time::ZERO, message(at_ms, 1, users).as_bytes()).unwrap().samples;
                samples
                    .into_iter()
                    .filter(|sample| sample.user == SourceName::Radio(RadioName { pci: 1, rnti: 7 }))
                    .count()
            };
            assert_eq!(samples(1000, &[user(3000, 1)]), 0);
            assert_eq!(samples(1050, &[user(3000, 1)]), 1);
            assert_eq!(samples(1100, &meanwhile), 0);
            assert_eq!(samples(6000, &[user(3000, 1)]), 0, "it only begins a period");
            assert_eq!(samples(6050, &[user(3000, 1)]), 1);
        }
    }

    #[test]
    fn another_cells_message_ends_nobodys_period() {
        let mut reader = GnbReader::new(SETTINGS);
        let elsewhere = UeReport { pci: 2, ..user(3000, 1) };
        reader.read(Time::ZERO, message(1000, 1, &[user(3000, 1)]).as_bytes()).unwrap();
        reader.read(Time::ZERO, message(1001, 2, &[elsewhere]).as_bytes()).unwrap();
        assert_eq!(
            reader.read(Time::ZERO, message(1050, 1, &[user(3000, 1)]).as_bytes()).unwrap().samples.len(),
            1
        );
    }

    #[test]
    fn a_clock_that_passes_midnight_goes_on() {
        let mut reader = GnbReader::new(SETTINGS);
        reader.read(Time::ZERO, message(DAY_MS - 20, 1, &[user(1, 1)]).as_bytes()).unwrap();
        assert_eq!(
            reader.read(Time::ZERO, message(30, 1, &[user(1, 1)]).as_bytes()).unwrap().samples.len(),
            1
        );
    }

    #[test]
    fn what_an_emulated_cell_sends_has_the_fields_of_a_base_station() {
        let own: serde_json::Value = serde_json::from_str(&message(1000, 1, &[user(1, 1)])).unwrap();
        let real: serde_json::Value = serde_json::from_str(OCUDU).unwrap();
        let fields = |value: &serde_json::Value| value["cells"][0]["ue_list"][0].as_object().unwrap().clone();
        for name in fields(&own).keys() {
            assert!(fields(&real).contains_key(name), "{name}");
        }
    }
}

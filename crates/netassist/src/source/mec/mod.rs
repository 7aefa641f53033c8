//! A MEC platform's layer-2 measurements: read here, and served by the [daemon](crate::daemon) to MEC applications.
//!
//! There is no subscription for them, so they are asked for, and they tell what was served without telling what waited: a bandwidth
//! is a lower bound (`Evidence::RoundTrips` without a queue). Not tried: a live platform.

mod layer2;

pub use layer2::{AssociateId, CellUeInfo, Ecgi, L2Meas, Plmn, TimeStamp};

use super::MessageReader;
use crate::identity::SourceName;
use crate::sample::{BaseRtt, Counted, Measured, Sample};
use cellcc_assist::{Evidence, Observation};
use cellcc_units::{Bytes, Rate, Span, Time};
use serde::Deserialize;

/// The packet that the minimum RTT is about.
const PACKET: Bytes = Bytes::new(1500);
/// Measurements that are farther apart do not belong together.
const MAX_PERIOD: Span = Span::from_secs(60);
/// The fastest rate that is believed: 1 Tbit/s, as for a base station's own messages.
const MAX_KBIT_PER_SEC: u64 = 1_000_000_000;

/// Makes samples of a platform's answers. Pure.
#[derive(Debug)]
pub struct MecReader {
    network_rtt: Option<Span>,
    /// The time of the last measurement, since 1970.
    before: Option<Span>,
}

impl MecReader {
    /// A reader that has seen nothing. `network_rtt`: between the servers' gateway and the base station, both ways.
    pub fn new(network_rtt: Option<Span>) -> Self {
        Self { network_rtt, before: None }
    }

    fn sample(&self, now: Time, period: Span, info: &CellUeInfo) -> Option<Sample> {
        let user = name(&info.associate_id)?;
        let rate = |one: Option<u64>, other: Option<u64>| {
            let kbit = one.unwrap_or(0).checked_add(other.unwrap_or(0))?;
            (kbit <= MAX_KBIT_PER_SEC).then(|| Rate::from_bytes_per_sec(kbit * 125))
        };
        let downlink = rate(info.dl_nongbr_throughput, info.dl_gbr_throughput)?;
        let observation = Observation {
            period,
            served: downlink.bytes_in(period),
            busy: Span::ZERO,
            backlog: Bytes::ZERO,
            channel: None,
            packet: PACKET,
            evidence: Evidence::RoundTrips,
        };
        let counted = Counted {
            downlink: observation,
            uplink: rate(info.ul_nongbr_throughput, info.ul_gbr_throughput)?,
            uplink_delay: None,
            base_rtt: BaseRtt::ToBaseStation(self.network_rtt),
        };
        let measured = Measured::Counted(counted);
        Some(Sample { user, cell: cell(&info.ecgi), until: now, measured })
    }
}

impl MessageReader for MecReader {
    /// A user's entry that lacks something is left out. The first answer only begins a period.
    fn read(&mut self, now: Time, bytes: &[u8]) -> Result<Vec<Sample>, String> {
        let measured: L2Meas =
            serde_json::from_slice(bytes).map_err(|error| format!("no layer-2 measurements: {error}"))?;
        let TimeStamp { seconds, nano_seconds } = measured.time_stamp;
        let nanos =
            seconds.checked_mul(1_000_000_000).and_then(|nanos| nanos.checked_add(nano_seconds.into()));
        let at = Span::from_nanos(nanos.ok_or("a time stamp beyond 584 years")?);
        let before = self.before.replace(at);
        let Some(period) = before.map(|before| at.saturating_sub(before)) else { return Ok(Vec::new()) };
        if period.is_zero() || period > MAX_PERIOD {
            return Ok(Vec::new());
        }
        let users = measured.cell_ue_info.iter().filter_map(|entry| CellUeInfo::deserialize(entry).ok());
        Ok(users.filter_map(|info| self.sample(now, period, &info)).collect())
    }

    fn forget(&mut self) {
        self.before = None;
    }
}

fn name(id: &AssociateId) -> Option<SourceName> {
    match id.kind {
        1..=3 => id.value.parse().ok().map(SourceName::Address),
        4 => tunnel(&id.value).map(SourceName::Tunnel),
        _ => None,
    }
}

/// A tunnel endpoint identifier: decimal, or hexadecimal after `0x`.
fn tunnel(text: &str) -> Option<u32> {
    match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// Only whether it is another one than before counts: the last 32 bits of the cell's identity.
fn cell(ecgi: &Ecgi) -> u32 {
    let digits = ecgi.cell_id.trim_start_matches("0x");
    u64::from_str_radix(digits, 16).map_or(0, |id| (id & u64::from(u32::MAX)) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Made from the OpenAPI description; not from a platform.
    fn answer(seconds: u64, entries: &str) -> String {
        format!(
            r#"{{"timeStamp":{{"seconds":{seconds},"nanoSeconds":500000000}},"cellInfo":[{{"ecgi":{{"cellId":"4b",
            "plmn":{{"mcc":"001","mnc":"01"}}}},"dl_total_prb_usage_cell":40}}],"cellUEInfo":[{entries}]}}"#
        )
    }

    fn entry(kind: u8, value: &str, kbit: &str) -> String {
        format!(
            r#"{{"ecgi":{{"cellId":"4b","plmn":{{"mcc":"001","mnc":"01"}}}},"associateId":{{"type":{kind},"value":"{value}"}},
            "dl_nongbr_throughput_ue":{kbit},"ul_nongbr_throughput_ue":1000,"dl_nongbr_delay_ue":20,"dl_gbr_pdr_ue":0}}"#
        )
    }

    fn read(reader: &mut MecReader, text: &str) -> Vec<Sample> {
        reader.read(Time::ZERO, text.as_bytes()).unwrap()
    }

    #[test]
    fn throughput_is_kbit_per_second_over_the_time_between_two_measurements() {
        let mut reader = MecReader::new(None);
        let alice = entry(1, "10.45.0.2", "12000");
        assert_eq!(read(&mut reader, &answer(100, &alice)), [], "it only begins a period");
        let samples = read(&mut reader, &answer(101, &alice));
        assert_eq!((&samples[0].user, samples[0].cell), (&SourceName::Address([10, 45, 0, 2].into()), 0x4b));
        let Measured::Counted(counted) = samples[0].measured else { panic!("no oracle") };
        assert_eq!(
            (counted.downlink.served, counted.downlink.period),
            (Bytes::new(1_500_000), Span::from_secs(1))
        );
        assert_eq!(counted.uplink, Rate::from_mbit_per_sec(1.0));
        assert_eq!(read(&mut reader, &answer(101, &alice)), [], "the same measurement once more");
    }

    #[test]
    fn users_are_named_by_address_or_tunnel() {
        let named = |kind, value: &str| name(&AssociateId { kind, value: value.into() });
        assert_eq!(named(2, "2001:db8::1"), Some(SourceName::Address("2001:db8::1".parse().unwrap())));
        assert_eq!(named(4, "0x1f"), Some(SourceName::Tunnel(31)));
        assert_eq!(named(4, "31"), Some(SourceName::Tunnel(31)));
        for (kind, value) in [(1, "alice"), (4, "x"), (0, "10.45.0.2"), (5, "10.45.0.2")] {
            assert_eq!(named(kind, value), None, "{kind} {value}");
        }
    }

    #[test]
    fn an_entry_that_lacks_something_costs_only_itself() {
        let mut reader = MecReader::new(None);
        let good = entry(1, "10.45.0.2", "12000");
        let no_cell = good.replace("ecgi", "gcie");
        let entries =
            [&good, "7", &no_cell, &entry(1, "10.45.0.3", "-1"), &entry(1, "10.45.0.4", "4000000000")];
        read(&mut reader, &answer(100, ""));
        assert_eq!(read(&mut reader, &answer(101, &entries.join(","))).len(), 1);
    }

    proptest! {
        #[test]
        fn an_answer_with_bytes_changed_does_not_make_the_reader_panic(at in 0_usize..400, byte in any::<u8>()) {
            let mut bytes = answer(100, &entry(1, "10.45.0.2", "12000")).into_bytes();
            let length = bytes.len();
            bytes[at % length] = byte;
            let mut reader = MecReader::new(None);
            for _ in 0..2 {
                let _ = reader.read(Time::ZERO, &bytes);
            }
        }
    }
}

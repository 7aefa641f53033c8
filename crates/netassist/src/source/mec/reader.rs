//! A platform's answers, read.

use super::TimeStamp;
use crate::entries::{Entries, Entry, fields};
use crate::identity::SourceName;
use crate::sample::Sample;
use crate::source::{MessageReader, Reading, UserCounters};
use cellcc_assist::BaseRtt;
use cellcc_netassist_client::protocol::shortened;
use cellcc_units::{Rate, Span, Time};
use serde::Deserialize;

/// Measurements that are farther apart do not belong together.
const MAX_PERIOD: Span = Span::from_secs(60);

/// An answer of a platform, as far as it is read.
#[derive(Deserialize)]
struct Answer {
    #[serde(rename = "timeStamp")]
    time_stamp: Option<TimeStamp>,
    #[serde(default, rename = "cellUEInfo")]
    cell_ue_info: Entries<UserEntry>,
}

/// One user in one cell.
struct UserEntry {
    user: SourceName,
    cell: u32,
    downlink: Rate,
    uplink: Rate,
}

#[derive(Deserialize)]
struct UserFields {
    #[serde(rename = "associateId")]
    associate_id: OneOrMore<IdFields>,
    ecgi: EcgiFields,
    dl_nongbr_throughput_ue: Option<u64>,
    dl_gbr_throughput_ue: Option<u64>,
    ul_nongbr_throughput_ue: Option<u64>,
    ul_gbr_throughput_ue: Option<u64>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMore<T> {
    One(T),
    More(Vec<T>),
}

#[derive(Deserialize)]
struct IdFields {
    #[serde(rename = "type")]
    kind: NumberOrText,
    value: NumberOrText,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct EcgiFields {
    cell_id: NumberOrText,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum NumberOrText {
    Number(u64),
    Text(String),
}

/// Makes samples of a platform's answers. Pure.
#[derive(Debug)]
pub struct MecReader {
    network_rtt: Option<Span>,
    before: Option<Before>,
}

/// The last measurement.
#[derive(Debug, Clone, Copy)]
struct Before {
    /// When the platform made it, since 1970; `None` where it does not tell.
    made: Option<Span>,
    arrived: Time,
}

impl MecReader {
    /// A reader that has seen nothing. `network_rtt`: between the servers' gateway and the base station, both ways.
    pub fn new(network_rtt: Option<Span>) -> Self {
        Self { network_rtt, before: None }
    }

    /// The time from the measurement before to this one; `None` where they do not belong together, or are the same one.
    fn period(&mut self, arrived: Time, made: Option<Span>) -> Result<Option<Span>, String> {
        let Some(before) = self.before.replace(Before { made, arrived }) else { return Ok(None) };
        let period = match (before.made, made) {
            (Some(before), Some(made)) if made < before => {
                return Err("its time stamp has gone back: a new period begins".into());
            }
            (Some(before), Some(made)) => made.saturating_sub(before),
            _ => arrived.since(before.arrived),
        };
        if period > MAX_PERIOD {
            let secs = period.as_secs_f64();
            return Err(format!("{secs:.0} s since the measurements before: a new period begins"));
        }
        Ok(Some(period).filter(|period| !period.is_zero()))
    }

    fn sample(&self, now: Time, period: Span, entry: UserEntry) -> Sample {
        let counters = UserCounters {
            user: entry.user,
            cell: Some(entry.cell),
            period,
            served: entry.downlink.bytes_in(period),
            busy: None,
            queued: None,
            received: Some(entry.uplink.bytes_in(period)),
            uplink_delay: None,
            base_rtt: BaseRtt::ToBaseStation(self.network_rtt),
        };
        counters.sample(now)
    }
}

impl MessageReader for MecReader {
    /// The first answer only begins a period.
    fn read(&mut self, now: Time, bytes: &[u8]) -> Result<Reading, String> {
        let answer: Answer = serde_json::from_slice(bytes)
            .map_err(|error| format!("no layer-2 measurements: {}", shortened(&error.to_string())))?;
        let made = answer.time_stamp.map(TimeStamp::since_1970).transpose()?.filter(|made| !made.is_zero());
        let Entries { read, left_out } = answer.cell_ue_info;
        let samples = match self.period(now, made)? {
            Some(period) => read.into_iter().map(|entry| self.sample(now, period, entry)).collect(),
            None => Vec::new(),
        };
        Ok(Reading { samples, left_out })
    }

    fn forget(&mut self) {
        self.before = None;
    }
}

impl Entry for UserEntry {
    fn read(json: &str) -> Result<Self, String> {
        let entry: UserFields = fields(json)?;
        let ids = match &entry.associate_id {
            OneOrMore::One(id) => std::slice::from_ref(id),
            OneOrMore::More(ids) => ids,
        };
        let user = ids.iter().find_map(name).ok_or("no `associateId` with an address or a tunnel")?;
        let rate = |one: Option<u64>, other: Option<u64>| {
            let kbit = one.unwrap_or(0).saturating_add(other.unwrap_or(0));
            Rate::from_bytes_per_sec(kbit.saturating_mul(125))
        };
        if entry.dl_nongbr_throughput_ue.or(entry.dl_gbr_throughput_ue).is_none() {
            return Err("neither `dl_nongbr_throughput_ue` nor `dl_gbr_throughput_ue`".into());
        }
        Ok(Self {
            user,
            cell: cell(&entry.ecgi.cell_id).ok_or("`cellId` has other digits than hexadecimal ones")?,
            downlink: rate(entry.dl_nongbr_throughput_ue, entry.dl_gbr_throughput_ue),
            uplink: rate(entry.ul_nongbr_throughput_ue, entry.ul_gbr_throughput_ue),
        })
    }
}

fn name(id: &IdFields) -> Option<SourceName> {
    let kind = match &id.kind {
        NumberOrText::Number(kind) => *kind,
        NumberOrText::Text(text) => kind_of(text)?,
    };
    match (kind, &id.value) {
        (1..=3, NumberOrText::Text(address)) => address.parse().ok().map(SourceName::Address),
        (4, NumberOrText::Text(text)) => tunnel(text).map(SourceName::Tunnel),
        (4, NumberOrText::Number(tunnel)) => u32::try_from(*tunnel).ok().map(SourceName::Tunnel),
        _ => None,
    }
}

/// The number of a kind of identifier: as a text, or by its name in the standard.
fn kind_of(text: &str) -> Option<u64> {
    let names = ["UE_IPv4_ADDRESS", "UE_IPv6_ADDRESS", "NATED_IP_ADDRESS", "GTP_TEID"];
    match names.iter().position(|name| name.eq_ignore_ascii_case(text)) {
        Some(position) => Some(position as u64 + 1),
        None => text.parse().ok(),
    }
}

/// A tunnel endpoint identifier: decimal, or hexadecimal after `0x`.
fn tunnel(text: &str) -> Option<u32> {
    match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// Low 32 bits of the cell identity; only used to detect a change of cell.
fn cell(id: &NumberOrText) -> Option<u32> {
    let id = match id {
        NumberOrText::Number(id) => *id,
        NumberOrText::Text(digits) => u64::from_str_radix(digits.trim_start_matches("0x"), 16).ok()?,
    };
    Some((id & u64::from(u32::MAX)) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cellcc_assist::Knowledge;
    use cellcc_units::Bytes;
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
        reader.read(Time::ZERO, text.as_bytes()).unwrap().samples
    }

    #[test]
    fn throughput_is_kbit_per_second_over_the_time_between_two_measurements() {
        let mut reader = MecReader::new(None);
        let alice = entry(1, "10.45.0.2", "12000");
        assert_eq!(read(&mut reader, &answer(100, &alice)), [], "it only begins a period");
        let samples = read(&mut reader, &answer(101, &alice));
        assert_eq!((&samples[0].user, samples[0].cell), (&SourceName::Address([10, 45, 0, 2].into()), 0x4b));
        let Knowledge::Counted(counted) = samples[0].measured else { panic!("no oracle") };
        assert_eq!(
            (counted.downlink.served, counted.downlink.period),
            (Bytes::new(1_500_000), Span::from_secs(1))
        );
        assert_eq!(counted.uplink, Rate::from_mbit_per_sec(1.0));
        assert_eq!(read(&mut reader, &answer(101, &alice)), [], "the same measurement once more");
    }

    /// Where the first user of an answer with this entry is, and who it is; or what was wrong.
    fn first(entry: &str) -> Result<(SourceName, u32), String> {
        let mut reader = MecReader::new(None);
        read(&mut reader, &answer(100, ""));
        let mut reading = reader.read(Time::ZERO, answer(101, entry).as_bytes()).unwrap();
        match reading.samples.pop() {
            Some(sample) => Ok((sample.user, sample.cell)),
            None => Err(reading.left_out.first.expect("it is named")),
        }
    }

    #[test]
    fn users_are_named_by_address_or_tunnel() {
        let named = |kind, value: &str| first(&entry(kind, value, "12000")).map(|(user, _)| user);
        assert_eq!(named(2, "2001:db8::1"), Ok(SourceName::Address("2001:db8::1".parse().unwrap())));
        assert_eq!(named(4, "0x1f"), Ok(SourceName::Tunnel(31)));
        assert_eq!(named(4, "31"), Ok(SourceName::Tunnel(31)));
        for (kind, value) in [(1, "alice"), (4, "x"), (0, "10.45.0.2"), (5, "10.45.0.2")] {
            assert!(named(kind, value).unwrap_err().contains("associateId"), "{kind} {value}");
        }
    }

    /// Each of these was left out without a word.
    #[test]
    fn what_platforms_write_in_another_way_and_can_mean_in_one_way_only_is_read() {
        let alice = entry(1, "10.45.0.2", "12000");
        let expected = Ok((SourceName::Address([10, 45, 0, 2].into()), 0x4b));
        let id = r#"{"type":1,"value":"10.45.0.2"}"#;
        for written in [
            alice.replace(r#""4b""#, "75"),
            alice.replace(id, &format!("[{id}]")),
            alice.replace(id, &format!(r#"[{{"type":9,"value":"x"}},{id}]"#)),
            alice.replace(r#""type":1"#, r#""type":"1""#),
            alice.replace(r#""type":1"#, r#""type":"UE_IPv4_ADDRESS""#),
        ] {
            assert_eq!(first(&written), expected, "{written}");
        }
    }

    #[test]
    fn one_user_may_stand_without_a_list_around_it() {
        let mut reader = MecReader::new(None);
        let one = |seconds| {
            let alone = format!(r#""cellUEInfo":{}"#, entry(1, "10.45.0.2", "12000"));
            answer(seconds, "").replace(r#""cellUEInfo":[]"#, &alone)
        };
        read(&mut reader, &one(100));
        assert_eq!(read(&mut reader, &one(101)).len(), 1);
    }

    #[test]
    fn without_a_time_stamp_the_arrival_counts() {
        let alice = answer(0, &entry(1, "10.45.0.2", "12000"));
        let stamp = r#""timeStamp":{"seconds":0,"nanoSeconds":500000000},"#;
        for stamped in ["", r#""timeStamp":{"seconds":0,"nanoSeconds":0},"#] {
            let text = alice.replace(stamp, stamped);
            let mut reader = MecReader::new(None);
            assert_eq!(reader.read(Time::ZERO, text.as_bytes()).unwrap().samples, []);
            let later = Time::ZERO + Span::from_secs(2);
            let samples = reader.read(later, text.as_bytes()).unwrap().samples;
            let Knowledge::Counted(counted) = samples[0].measured else { panic!("no oracle") };
            assert_eq!(counted.downlink.period, Span::from_secs(2));
        }
    }

    #[test]
    fn a_clock_that_goes_back_and_a_long_pause_are_named() {
        let mut reader = MecReader::new(None);
        read(&mut reader, &answer(100, ""));
        assert!(reader.read(Time::ZERO, answer(50, "").as_bytes()).unwrap_err().contains("gone back"));
        assert!(reader.read(Time::ZERO, answer(150, "").as_bytes()).unwrap_err().contains("100 s"));
        assert!(reader.read(Time::ZERO, answer(151, "").as_bytes()).is_ok());
    }

    #[test]
    fn an_entry_that_lacks_something_costs_only_itself_and_is_counted_and_named() {
        let mut reader = MecReader::new(None);
        let good = entry(1, "10.45.0.2", "12000");
        let no_cell = good.replace("ecgi", "gcie");
        let entries = [&good, "7", &no_cell, &entry(1, "10.45.0.3", "-1")];
        read(&mut reader, &answer(100, ""));
        let reading = reader.read(Time::ZERO, answer(101, &entries.join(",")).as_bytes()).unwrap();
        assert_eq!((reading.samples.len(), reading.left_out.count), (1, 3));
    }

    /// It doubled each time that the user had the whole of it, and never fell: 24 Mbit/s, then 48, and 48 for ever.
    #[test]
    fn a_user_that_is_served_less_hears_of_less() {
        let mut reader = MecReader::new(None);
        let mut estimator = cellcc_assist::Estimator::new();
        let mut reported = |seconds, kbit: &str| {
            let samples = read(&mut reader, &answer(seconds, &entry(1, "10.45.0.2", kbit)));
            samples.first().map(|sample| match sample.measured {
                Knowledge::Counted(counted) => {
                    estimator.estimate(&counted.downlink).bandwidth.as_mbit_per_sec()
                }
                Knowledge::Known(_) => panic!("no oracle"),
            })
        };
        let most = (100..110).filter_map(|second| reported(second, "24000")).fold(0.0, f64::max);
        assert!(most <= 30.0 + 1e-9, "{most}");
        let last = (110..120).filter_map(|second| reported(second, "3000")).last().unwrap();
        assert!((3.0..=3.75).contains(&last), "{last}");
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

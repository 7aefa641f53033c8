//! The text of a message. Two envelopes, one content:
//!
//! ```text
//! since July 2025, WebSocket:  {"timestamp":"2026-07-22T10:00:00.050","cells":[{"cell_metrics":{..},"ue_list":[{..}]}]}
//! before, UDP:                 {"timestamp":1700000000.05,"cell_metrics":{..},"ue_list":[{"ue_container":{..}}]}
//! ```
//!
//! Lists are absent where they are empty. Other layers' messages have other keys and are left out. A user's entry that lacks
//! something is left out, counted and named; the others of the message count. `dl_bs`, the queue, may be absent: some senders
//! over UDP do not report it, and the transport blocks show for how long the user was served.

use crate::entries::{Entries, Entry, LeftOut, fields};
use crate::source::counters::MAX_PCI;
use cellcc_netassist_client::protocol::shortened;
use cellcc_units::{Bytes, Rate, Span};
use serde::Deserialize;
use serde_json::value::RawValue;
use thiserror::Error;

/// The longest of the delays that is believed.
const MAX_DELAY_MS: f64 = 3_600_000.0;

/// A message of a base station.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// The scheduler's counts.
    Cells {
        /// When the period ended: milliseconds since some midnight or since 1970; only differences have a meaning.
        at_ms: u64,
        /// The cells.
        cells: Vec<CellReport>,
        /// Entries that were left out.
        left_out: LeftOut,
    },
    /// It refuses the request.
    Refusal(String),
    /// Another layer's message, or the answer to a command.
    Other,
}

/// One cell of a message.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CellReport {
    /// Physical cell identity, where the cell itself tells it: one without users can say so then.
    pub pci: Option<u16>,
    /// Its users.
    pub users: Vec<UeReport>,
}

/// One user of a cell, over the period.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UeReport {
    /// Physical cell identity.
    pub pci: u16,
    /// Radio network temporary identifier.
    pub rnti: u16,
    /// The rate that the user has acknowledged.
    pub downlink: Rate,
    /// The rate received from the user.
    pub uplink: Rate,
    /// Transport blocks that were sent to the user, acknowledged or not.
    pub blocks: u64,
    /// The user's queue at the end of the period, where it is reported.
    pub queued: Option<Bytes>,
    /// The longest time between two transmissions to the user.
    pub longest_gap: Option<Span>,
    /// From the user's request to send until its data were decoded, on average; `None` if it made no request.
    pub uplink_delay: Option<Span>,
}

/// Why bytes are no message.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Malformed {
    /// It is no JSON.
    #[error("not JSON: {0}")]
    Json(String),
    /// It has cells, and no time that can be read.
    #[error("`timestamp` is neither seconds nor a time such as 2026-07-22T10:00:00.050")]
    Timestamp,
    /// It refuses the request.
    #[error("it refuses the subscription: {0}")]
    Refused(String),
}

/// The parts of a message that are read here.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    #[serde(borrow)]
    timestamp: Option<&'a RawValue>,
    cells: Option<Entries<Cell>>,
    /// The older form: one cell.
    cell_metrics: Option<CellMetrics>,
    ue_list: Option<Entries<UeReport>>,
}

#[derive(Deserialize)]
struct Cell {
    #[serde(default)]
    cell_metrics: Option<CellMetrics>,
    #[serde(default)]
    ue_list: Entries<UeReport>,
}

#[derive(Deserialize, Default)]
struct CellMetrics {
    pci: Option<u16>,
}

impl Entry for Cell {
    fn read(json: &str) -> Result<Self, String> {
        fields(json)
    }
}

/// Reads a message.
///
/// # Errors
/// Not a message of a base station.
pub fn parse(bytes: &[u8]) -> Result<Message, Malformed> {
    let envelope: Envelope<'_> =
        serde_json::from_slice(bytes).map_err(|error| Malformed::Json(shortened(&error.to_string())))?;
    if let Some(error) = envelope.error {
        let reason = serde_json::from_str(error.get()).unwrap_or_else(|_| "without a reason".to_owned());
        return Ok(Message::Refusal(shortened(&reason)));
    }
    let cells = match (envelope.cells, envelope.cell_metrics, envelope.ue_list) {
        (Some(cells), _, _) => cells,
        (None, None, None) => return Ok(Message::Other),
        (None, cell_metrics, list) => {
            let cell = Cell { cell_metrics, ue_list: list.unwrap_or_default() };
            Entries { read: vec![cell], left_out: LeftOut::default() }
        }
    };
    let at_ms = envelope.timestamp.and_then(milliseconds).ok_or(Malformed::Timestamp)?;
    let mut left_out = cells.left_out;
    let report = |cell: Cell| {
        left_out.join(cell.ue_list.left_out);
        CellReport { pci: cell.cell_metrics.and_then(|metrics| metrics.pci), users: cell.ue_list.read }
    };
    let cells = cells.read.into_iter().map(report).collect();
    Ok(Message::Cells { at_ms, cells, left_out })
}

/// The fields as they are named.
#[derive(Deserialize)]
struct Ue {
    pci: u16,
    rnti: u16,
    /// Bit/s: the generator multiplies kbit/s by 1e3.
    dl_brate: f64,
    ul_brate: f64,
    dl_nof_ok: f64,
    dl_nof_nok: f64,
    /// Bytes.
    dl_bs: Option<f64>,
    /// Milliseconds: the generator converts slots.
    max_pdsch_distance: Option<f64>,
    avg_sr_to_pusch_delay: Option<f64>,
    avg_crc_delay: Option<f64>,
}

/// An entry, in the older form within another object.
#[derive(Deserialize)]
struct Container<'a> {
    #[serde(borrow)]
    ue_container: Option<&'a RawValue>,
}

impl Entry for UeReport {
    fn read(json: &str) -> Result<Self, String> {
        let container: Container<'_> = serde_json::from_str(json).map_err(|error| error.to_string())?;
        fields::<Ue>(container.ue_container.map_or(json, RawValue::get))?.report()
    }
}

impl Ue {
    fn report(self) -> Result<UeReport, String> {
        let request = self.avg_sr_to_pusch_delay.and_then(delay).filter(|delay| !delay.is_zero());
        let decoding = self.avg_crc_delay.and_then(delay).unwrap_or(Span::ZERO);
        if self.pci > MAX_PCI {
            return Err(format!("`pci` is above {MAX_PCI}"));
        }
        Ok(UeReport {
            pci: self.pci,
            rnti: self.rnti,
            downlink: rate("dl_brate", self.dl_brate)?,
            uplink: rate("ul_brate", self.ul_brate)?,
            blocks: count("dl_nof_ok", self.dl_nof_ok)? + count("dl_nof_nok", self.dl_nof_nok)?,
            queued: self.dl_bs.map(|bytes| count("dl_bs", bytes)).transpose()?.map(Bytes::new),
            longest_gap: self.max_pdsch_distance.and_then(delay),
            uplink_delay: request.map(|request| request + decoding),
        })
    }
}

/// Plausibility of a rate is decided with knowledge of the cell: [`Plausible`](crate::source::Plausible).
fn rate(field: &str, bits_per_sec: f64) -> Result<Rate, String> {
    let is_rate = bits_per_sec.is_finite() && bits_per_sec >= 0.0;
    is_rate
        .then(|| Rate::from_mbit_per_sec(bits_per_sec / 1e6))
        .ok_or_else(|| format!("`{field}` is {bits_per_sec}, which is no rate"))
}

fn count(field: &str, value: f64) -> Result<u64, String> {
    (0.0..=f64::from(u32::MAX))
        .contains(&value)
        .then_some(value as u64)
        .ok_or_else(|| format!("`{field}` is {value}, which is no count"))
}

fn delay(ms: f64) -> Option<Span> {
    (0.0..=MAX_DELAY_MS).contains(&ms).then(|| Span::from_secs_f64(ms / 1e3))
}

/// Seconds since 1970, or `YYYY-MM-DDTHH:MM:SS.mmm`, whose time of day is enough.
fn milliseconds(timestamp: &RawValue) -> Option<u64> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Timestamp {
        Secs(f64),
        Text(String),
    }
    match serde_json::from_str(timestamp.get()).ok()? {
        Timestamp::Secs(secs) => {
            let ms = secs * 1e3;
            (0.0..1e15).contains(&ms).then_some(ms.round() as u64)
        }
        Timestamp::Text(text) => {
            let (_, time) = text.split_once('T')?;
            let mut parts = time.trim_end_matches('Z').splitn(3, ':');
            let hours: u64 = parts.next()?.parse().ok().filter(|hours| *hours < 24)?;
            let minutes: u64 = parts.next()?.parse().ok().filter(|minutes| *minutes < 60)?;
            let secs: f64 = parts.next()?.parse().ok().filter(|secs| (0.0..61.0).contains(secs))?;
            Some((hours * 60 + minutes) * 60_000 + (secs * 1e3).round() as u64)
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Made from the field lists of OCUDU's generator; not from a base station.
    pub(in crate::source::gnb) const OCUDU: &str = r#"{"timestamp":"2026-07-22T10:00:00.050","cells":[{"cell_metrics":{"pci":1,
        "error_indication_count":0,"average_latency":12,"max_latency":40,"latency_histogram":[0,0,0,0,0,0,0,0,0,0],
        "nof_failed_uci_allocs":0,"failed_dl_pdcch":0,"failed_ul_pdcch":0,"pucch_tot_rb_usage_avg":2.0},
        "ue_list":[{"ue":0,"pci":1,"rnti":17921,"cqi":15,"dl_ri":2.0,"ul_ri":1.0,"dl_mcs":27,"dl_brate":12000000.0,
        "dl_nof_ok":35,"dl_nof_nok":0,"dl_bs":3000,"pusch_snr_db":28.5,"ta_ns":260.0,"ul_mcs":20,"ul_brate":1000000.0,
        "ul_nof_ok":5,"ul_nof_nok":0,"last_phr":30,"max_pusch_distance":12.0,"max_pdsch_distance":2.5,"bsr":0,
        "avg_ce_delay":0.0,"max_ce_delay":0.0,"avg_crc_delay":1.5,"max_crc_delay":2.0,"avg_sr_to_pusch_delay":6.5,
        "max_sr_to_pusch_delay":9.0}]}]}"#;

    /// Made from the field lists of srsRAN's generator of 2024.
    const LEGACY: &str = r#"{"timestamp":1700000000.05,"cell_metrics":{"error_indication_count":0},"ue_list":[{"ue_container":
        {"pci":1,"rnti":17921,"cqi":15,"ri":2,"dl_mcs":27,"dl_brate":12000000.0,"dl_nof_ok":35,"dl_nof_nok":0,"dl_bs":3000,
        "pusch_snr_db":28.5,"pucch_snr_db":20.0,"ta_ns":"n/a","ul_mcs":20,"ul_brate":1000000.0,"ul_nof_ok":5,"ul_nof_nok":0,
        "bsr":0}}]}"#;

    fn users(text: &str) -> (Vec<UeReport>, u64) {
        match parse(text.as_bytes()).expect("a message") {
            Message::Cells { cells, left_out, .. } => {
                (cells.into_iter().flat_map(|cell| cell.users).collect(), left_out.count)
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_users_entry_is_read() {
        let (users, malformed) = users(OCUDU);
        let [user] = users[..] else { panic!("{users:?}") };
        assert_eq!((user.pci, user.rnti, user.blocks, malformed), (1, 17921, 35, 0));
        assert_eq!(user.queued, Some(Bytes::new(3000)));
        assert_eq!(user.uplink_delay, Some(Span::from_millis(8)), "request and decoding");
    }

    #[test]
    fn rates_are_bits_per_second_whatever_the_documentation_says() {
        let (users, _) = users(OCUDU);
        assert_eq!(users[0].downlink, Rate::from_mbit_per_sec(12.0), "not 12 Gbit/s");
        assert_eq!(users[0].uplink, Rate::from_mbit_per_sec(1.0));
    }

    #[test]
    fn the_gap_is_in_milliseconds_whatever_the_documentation_says() {
        assert_eq!(users(OCUDU).0[0].longest_gap, Some(Span::from_micros(2500)), "not 2.5 slots");
    }

    #[test]
    fn the_older_envelope_has_the_same_content() {
        let (new, old) = (users(OCUDU).0[0], users(LEGACY).0[0]);
        let delays = UeReport { longest_gap: None, uplink_delay: None, ..new };
        assert_eq!(old, delays);
    }

    #[test]
    fn differences_of_timestamps_are_periods_in_both_forms() {
        for (one, two) in [
            ("\"2026-07-22T10:59:59.990\"", "\"2026-07-22T11:00:00.040\""),
            ("1700000000.99", "1700000001.04"),
        ] {
            let at = |text: &str| milliseconds(serde_json::from_str(text).unwrap()).unwrap();
            assert_eq!(at(two) - at(one), 50, "{one}");
        }
    }

    #[test]
    fn an_entry_that_lacks_something_costs_only_itself() {
        let entry = |fields: &str| {
            format!(r#"{{"pci":1,"rnti":2,"dl_nof_ok":1,"dl_nof_nok":0,"ul_brate":0{fields}}}"#)
        };
        let list = [
            entry(r#","dl_bs":0,"dl_brate":1"#),
            entry(r#","dl_bs":0"#),
            entry(r#","dl_bs":0,"dl_brate":-1"#),
            entry(r#","dl_bs":0,"dl_brate":"12000000""#),
            entry(r#","dl_bs":0,"dl_brate":null"#),
            entry(r#","dl_bs":-5,"dl_brate":1"#),
            "7".into(),
        ];
        let text = format!(r#"{{"timestamp":1,"cells":[{{"ue_list":[{}]}}]}}"#, list.join(","));
        let (users, left_out) = users(&text);
        assert_eq!((users.len(), left_out), (1, 6));
    }

    /// Some senders over UDP have no `dl_bs`: such a user was left out without a word.
    #[test]
    fn a_user_whose_waiting_bytes_are_not_reported_counts() {
        let (users, left_out) = users(&LEGACY.replace(r#""dl_bs":3000,"#, ""));
        assert_eq!((users.len(), users[0].queued, left_out), (1, None, 0));
    }

    #[test]
    fn a_cell_without_users_has_no_list() {
        let text = r#"{"timestamp":"2026-07-22T10:00:00.050","cells":[{"cell_metrics":{"pci":1}}]}"#;
        assert_eq!(users(text), (vec![], 0));
    }

    #[test]
    fn other_layers_and_answers_are_distinguished() {
        let read = |text: &str| parse(text.as_bytes());
        assert_eq!(read(r#"{"timestamp":"x","rlc_metrics":{"du_id":0}}"#), Ok(Message::Other));
        assert_eq!(read(r#"{"cmd":"metrics_subscribe","timestamp":"x"}"#), Ok(Message::Other));
        assert_eq!(
            read(r#"{"cmd":"x","error":"unknown command"}"#),
            Ok(Message::Refusal("unknown command".into()))
        );
    }

    #[test]
    fn what_was_cut_off_is_refused() {
        for end in [0, 1, OCUDU.len() / 2, OCUDU.len() - 1] {
            assert!(matches!(parse(&OCUDU.as_bytes()[..end]), Err(Malformed::Json(_))), "{end}");
        }
        let untimed = OCUDU.replace("2026-07-22T10:00:00.050", "today");
        assert_eq!(parse(untimed.as_bytes()), Err(Malformed::Timestamp));
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = parse(&bytes);
        }

        #[test]
        fn a_message_with_bytes_changed_does_not_either(at in 0..OCUDU.len(), byte in any::<u8>()) {
            let mut bytes = OCUDU.as_bytes().to_vec();
            bytes[at] = byte;
            let _ = parse(&bytes);
        }
    }
}

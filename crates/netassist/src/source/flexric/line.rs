//! The text of a line. Field names are those of FlexRIC's service models; a line has one or more of the lists:
//!
//! ```text
//! {"tstamp":1790000000050000,"mac":[{"rnti":17921,"dl_aggr_tbs":75000,"ul_aggr_tbs":900,"dl_aggr_prb":5300}]}
//! {"tstamp":1790000000050000,"rlc":[{"rnti":17921,"rbid":1,"txbuf_occ_bytes":3000}]}
//! {"tstamp":1790000000050000,"gtp":[{"rnti":17921,"teidgnb":12}]}
//! ```
//!
//! Other fields are left out. An entry that lacks something is left out, counted and named; the others of the line count.

use crate::entries::{Entries, Entry, LeftOut, fields};
use cellcc_netassist_client::protocol::shortened;
use cellcc_units::Bytes;
use serde::Deserialize;
use thiserror::Error;

/// One line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Line {
    /// The base station's time: microseconds; only differences have a meaning.
    pub at_us: u64,
    /// The scheduler's counters.
    pub mac: Vec<MacUe>,
    /// The bearers' queues.
    pub rlc: Vec<RlcBearer>,
    /// The users' tunnels to the core.
    pub gtp: Vec<GtpTunnel>,
    /// Entries that were left out.
    pub left_out: LeftOut,
}

/// The scheduler's counts of a user since it came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct MacUe {
    /// Radio network temporary identifier.
    pub rnti: u16,
    /// Bytes of transport blocks towards the user.
    pub dl_aggr_tbs: u64,
    /// Bytes of transport blocks from the user.
    pub ul_aggr_tbs: u64,
    /// Resource blocks that the user had, each for a slot.
    pub dl_aggr_prb: u64,
}

/// A bearer of a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct RlcBearer {
    /// Radio network temporary identifier.
    pub rnti: u16,
    /// Which of the user's bearers.
    pub rbid: u8,
    /// Bytes that wait in it for the user.
    pub txbuf_occ_bytes: u32,
}

impl RlcBearer {
    pub(super) fn queued(&self) -> Bytes {
        Bytes::new(self.txbuf_occ_bytes.into())
    }
}

/// A user's tunnel between base station and core.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct GtpTunnel {
    /// Radio network temporary identifier.
    pub rnti: u16,
    /// Tunnel endpoint identifier at the base station.
    pub teidgnb: u32,
}

/// Why bytes are no line.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Malformed {
    /// It is not JSON, its list is too long, or its time is not a number.
    #[error("no line of an xApp: {0}")]
    Json(String),
    /// It has no time.
    #[error("no `tstamp` in microseconds")]
    Timestamp,
}

impl Entry for MacUe {
    fn read(json: &str) -> Result<Self, String> {
        fields(json)
    }
}

impl Entry for RlcBearer {
    fn read(json: &str) -> Result<Self, String> {
        fields(json)
    }
}

impl Entry for GtpTunnel {
    fn read(json: &str) -> Result<Self, String> {
        fields(json)
    }
}

#[derive(Deserialize)]
struct Lists {
    tstamp: Option<u64>,
    #[serde(default)]
    mac: Entries<MacUe>,
    #[serde(default)]
    rlc: Entries<RlcBearer>,
    #[serde(default)]
    gtp: Entries<GtpTunnel>,
}

/// Reads a line.
///
/// # Errors
/// Not a line of an xApp.
pub fn parse(bytes: &[u8]) -> Result<Line, Malformed> {
    let lists: Lists =
        serde_json::from_slice(bytes).map_err(|error| Malformed::Json(shortened(&error.to_string())))?;
    let at_us = lists.tstamp.ok_or(Malformed::Timestamp)?;
    let Lists { mac, rlc, gtp, .. } = lists;
    let mut left_out = mac.left_out;
    left_out.join(rlc.left_out);
    left_out.join(gtp.left_out);
    Ok(Line { at_us, mac: mac.read, rlc: rlc.read, gtp: gtp.read, left_out })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Made from the field lists of FlexRIC's service models; not from a base station.
    const LINE: &str = r#"{"tstamp":1790000000050000,
        "mac":[{"frame":1,"slot":2,"rnti":17921,"dl_aggr_tbs":75000,"ul_aggr_tbs":900,"dl_aggr_prb":5300,"wb_cqi":15,"bsr":0,
        "dl_bler":0.01}],"rlc":[{"rnti":17921,"rbid":1,"mode":0,"txbuf_occ_bytes":3000,"txbuf_occ_pkts":2,"txsdu_wt_us":1500}],
        "gtp":[{"rnti":17921,"qfi":1,"teidgnb":12,"teidupf":7}]}"#;

    #[test]
    fn a_line_with_all_lists_is_read() {
        let line = parse(LINE.as_bytes()).unwrap();
        assert_eq!(line.at_us, 1_790_000_000_050_000);
        let mac = MacUe { rnti: 17921, dl_aggr_tbs: 75_000, ul_aggr_tbs: 900, dl_aggr_prb: 5300 };
        assert_eq!(line.mac, [mac]);
        assert_eq!(line.rlc, [RlcBearer { rnti: 17921, rbid: 1, txbuf_occ_bytes: 3000 }]);
        assert_eq!((line.gtp, line.left_out.count), (vec![GtpTunnel { rnti: 17921, teidgnb: 12 }], 0));
    }

    #[test]
    fn an_entry_that_lacks_something_costs_only_itself() {
        let good = r#"{"rnti":1,"dl_aggr_tbs":1,"ul_aggr_tbs":1,"dl_aggr_prb":1}"#;
        let list = [good, "{}", "7", &good.replace(":1,", ":-1,"), &good.replacen("1", "99999", 1)];
        let line = parse(format!(r#"{{"tstamp":1,"mac":[{}]}}"#, list.join(",")).as_bytes()).unwrap();
        assert_eq!((line.mac.len(), line.left_out.count), (1, 4));
    }

    #[test]
    fn what_was_cut_off_or_has_no_time_is_refused() {
        assert!(matches!(parse(&LINE.as_bytes()[..LINE.len() / 2]), Err(Malformed::Json(_))));
        assert_eq!(parse(br#"{"mac":[]}"#), Err(Malformed::Timestamp));
        assert!(matches!(parse(br#"{"tstamp":-5,"mac":[]}"#), Err(Malformed::Json(_))));
    }

    proptest! {
        #[test]
        fn a_line_with_bytes_changed_does_not_make_the_reader_panic(at in 0..LINE.len(), byte in any::<u8>()) {
            let mut bytes = LINE.as_bytes().to_vec();
            bytes[at] = byte;
            let _ = parse(&bytes);
        }
    }
}

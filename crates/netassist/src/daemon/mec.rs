//! Layer-2 measurements of ETSI GS MEC 012, as they are written: `GET {root}/rni/v2/queries/layer2_meas`.
//!
//! Source: the OpenAPI description of version 2.2.1, types `L2Meas` and `L2MeasCellUEInfo`. The units are those of 3GPP TS
//! 36.314: kbit/s and milliseconds. All users count as users without a guaranteed rate.

use crate::service::Measurement;
use crate::source::mec::TimeStamp;
use cellcc_units::{Rate, Time};
use serde::{Deserialize, Serialize};

/// The measurements of a platform.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct L2Meas<'a> {
    /// When they were made.
    time_stamp: TimeStamp,
    /// Users in cells. Absent where there are none.
    #[serde(rename = "cellUEInfo", skip_serializing_if = "Vec::is_empty")]
    cell_ue_info: Vec<CellUeInfo<'a>>,
}

/// One user in one cell.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct CellUeInfo<'a> {
    associate_id: AssociateId,
    ecgi: Ecgi<'a>,
    /// kbit/s towards the user.
    #[serde(rename = "dl_nongbr_throughput_ue", skip_serializing_if = "Option::is_none")]
    downlink: Option<u64>,
    /// kbit/s from the user.
    #[serde(rename = "ul_nongbr_throughput_ue", skip_serializing_if = "Option::is_none")]
    uplink: Option<u64>,
    /// How long packets towards the user wait, in ms.
    #[serde(rename = "dl_nongbr_delay_ue", skip_serializing_if = "Option::is_none")]
    wait: Option<u64>,
}

/// The identifier of a user.
#[derive(Debug, Serialize)]
struct AssociateId {
    /// 1: an IPv4 address, 2: an IPv6 address.
    #[serde(rename = "type")]
    kind: u8,
    value: String,
}

/// A cell in a network.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Ecgi<'a> {
    /// In hexadecimal digits.
    cell_id: String,
    plmn: &'a Plmn,
}

/// A mobile network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plmn {
    /// Country code.
    pub mcc: String,
    /// Network code.
    pub mnc: String,
}

impl<'a> L2Meas<'a> {
    /// The measurements in this network, `now` since 1970.
    pub(super) fn new(now: Time, measurements: &[Measurement], plmn: &'a Plmn) -> Self {
        let (seconds, nano_seconds) =
            (now.as_nanos() / 1_000_000_000, (now.as_nanos() % 1_000_000_000) as u32);
        let cell_ue_info =
            measurements.iter().map(|measurement| CellUeInfo::new(measurement, plmn)).collect();
        Self { time_stamp: TimeStamp { seconds, nano_seconds }, cell_ue_info }
    }
}

impl<'a> CellUeInfo<'a> {
    fn new(measurement: &Measurement, plmn: &'a Plmn) -> Self {
        let kbit = |rate: Rate| rate.as_bytes_per_sec() / 125;
        let address = measurement.address.to_canonical();
        let kind = if address.is_ipv4() { 1 } else { 2 };
        Self {
            associate_id: AssociateId { kind, value: address.to_string() },
            ecgi: Ecgi { cell_id: format!("{:x}", measurement.cell), plmn },
            downlink: measurement.downlink.map(kbit),
            uplink: measurement.uplink.map(kbit),
            wait: measurement.wait.map(|wait| wait.as_nanos() / 1_000_000),
        }
    }
}

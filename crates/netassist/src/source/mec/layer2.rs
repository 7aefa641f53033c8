//! Layer-2 measurements of ETSI GS MEC 012: `GET {root}/rni/v2/queries/layer2_meas`.
//!
//! Source: the OpenAPI description of version 2.2.1, types `L2Meas` and `L2MeasCellUEInfo`. The units are those of 3GPP TS 36.314: kbit/s
//! and milliseconds. Fields that are not used here are left out, both ways.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::net::IpAddr;

/// The measurements of a platform.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct L2Meas {
    /// When they were made.
    pub time_stamp: TimeStamp,
    /// Users in cells. Absent where there are none.
    #[serde(default, rename = "cellUEInfo", skip_serializing_if = "Vec::is_empty")]
    pub cell_ue_info: Vec<Value>,
}

/// A time since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TimeStamp {
    /// Whole seconds.
    pub seconds: u64,
    /// The rest, below 1,000,000,000.
    pub nano_seconds: u32,
}

/// One user in one cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CellUeInfo {
    /// Who it is.
    pub associate_id: AssociateId,
    /// The cell.
    pub ecgi: Ecgi,
    /// kbit/s towards the user in bearers without a guaranteed rate.
    #[serde(default, rename = "dl_nongbr_throughput_ue", skip_serializing_if = "Option::is_none")]
    pub dl_nongbr_throughput: Option<u64>,
    /// The same in bearers with one.
    #[serde(default, rename = "dl_gbr_throughput_ue", skip_serializing_if = "Option::is_none")]
    pub dl_gbr_throughput: Option<u64>,
    /// kbit/s from the user in bearers without a guaranteed rate.
    #[serde(default, rename = "ul_nongbr_throughput_ue", skip_serializing_if = "Option::is_none")]
    pub ul_nongbr_throughput: Option<u64>,
    /// The same in bearers with one.
    #[serde(default, rename = "ul_gbr_throughput_ue", skip_serializing_if = "Option::is_none")]
    pub ul_gbr_throughput: Option<u64>,
    /// How long packets towards the user wait, in ms.
    #[serde(default, rename = "dl_nongbr_delay_ue", skip_serializing_if = "Option::is_none")]
    pub dl_nongbr_delay: Option<u64>,
}

/// Who a user is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AssociateId {
    /// 1: an IPv4 address, 2: an IPv6 address, 3: an address behind a translator, 4: a tunnel endpoint identifier.
    #[serde(rename = "type")]
    pub kind: u8,
    /// The address or the identifier.
    pub value: String,
}

/// A cell in a network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ecgi {
    /// The cell, in hexadecimal digits.
    pub cell_id: String,
    /// The network.
    pub plmn: Plmn,
}

/// A mobile network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plmn {
    /// Country code.
    pub mcc: String,
    /// Network code.
    pub mnc: String,
}

impl AssociateId {
    /// A user with this address.
    pub fn of_address(address: IpAddr) -> Self {
        let address = address.to_canonical();
        Self { kind: if address.is_ipv4() { 1 } else { 2 }, value: address.to_string() }
    }
}

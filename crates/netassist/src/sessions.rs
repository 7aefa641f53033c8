//! A mobile core's knowledge of its users' sessions: the addresses and tunnels of each. So a user of the table may have a new
//! address and a new tunnel each time that it connects.
//!
//! Source: Open5GS's session management function, `GET /pdu-info` (main of 7 August 2026). Not tried: a live core.

use crate::entries::{Entries, Entry, LeftOut, fields};
use cellcc_netassist_client::protocol::shortened;
use serde::Deserialize;
use std::net::IpAddr;

/// The sessions of one user.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Session {
    /// The user's permanent identifier, such as `imsi-001010000000001`.
    pub supi: String,
    /// Its addresses now.
    pub addresses: Vec<IpAddr>,
    /// The endpoint identifiers at the base station of its tunnels.
    pub tunnels: Vec<u32>,
}

#[derive(Deserialize)]
struct Answer {
    items: Entries<Item>,
}

#[derive(Deserialize)]
struct Item {
    supi: String,
    #[serde(default)]
    pdu: Entries<Pdu>,
}

impl Entry for Item {
    fn read(json: &str) -> Result<Self, String> {
        fields(json)
    }
}

impl Entry for Pdu {
    fn read(json: &str) -> Result<Self, String> {
        fields(json)
    }
}

#[derive(Deserialize)]
struct Pdu {
    #[serde(default)]
    ipv4: Option<IpAddr>,
    #[serde(default)]
    ipv6: Option<IpAddr>,
    #[serde(default)]
    n3: Option<N3>,
}

#[derive(Deserialize)]
struct N3 {
    #[serde(default)]
    gnb: Option<Endpoint>,
}

#[derive(Deserialize)]
struct Endpoint {
    teid: u32,
}

/// The sessions in an answer of Open5GS, and the omissions: an invalid entry is skipped.
///
/// # Errors
/// It is no answer of Open5GS: what is wrong with it.
pub fn open5gs_sessions(bytes: &[u8]) -> Result<(Vec<Session>, LeftOut), String> {
    let answer: Answer = serde_json::from_slice(bytes)
        .map_err(|error| format!("no sessions: {}", shortened(&error.to_string())))?;
    let mut left_out = answer.items.left_out;
    let session = |item: Item| {
        left_out.join(item.pdu.left_out);
        let mut session = Session { supi: item.supi, ..Session::default() };
        for pdu in item.pdu.read {
            session.addresses.extend([pdu.ipv4, pdu.ipv6].into_iter().flatten());
            session.tunnels.extend(pdu.n3.and_then(|n3| n3.gnb).map(|gnb| gnb.teid));
        }
        session
    };
    let sessions = answer.items.read.into_iter().map(session).collect();
    Ok((sessions, left_out))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Made from the code that writes it; not from a core.
    const ANSWER: &str = r#"{"items":[{"supi":"imsi-001010000000001","pdu":[{"psi":1,"dnn":"internet","ipv4":"10.45.0.2",
        "snssai":{"sst":1},"qos_flows":[{"qfi":1,"5qi":9}],"n3":{"gnb":{"teid":12,"addr":"10.1.0.1"},
        "upf":{"teid":7,"addr":"10.2.0.1"}},"pdu_state":"active"},{"psi":2,"dnn":"ims","ipv6":"2001:db8::2"}],
        "ue_activity":"active"}],"pager":{"page":-1,"page_size":1,"count":1}}"#;

    #[test]
    fn a_users_addresses_and_tunnels_are_read() {
        let expected = Session {
            supi: "imsi-001010000000001".into(),
            addresses: vec!["10.45.0.2".parse().unwrap(), "2001:db8::2".parse().unwrap()],
            tunnels: vec![12],
        };
        assert_eq!(open5gs_sessions(ANSWER.as_bytes()), Ok((vec![expected], LeftOut::default())));
    }

    #[test]
    fn an_entry_that_lacks_something_costs_only_itself() {
        let text = r#"{"items":[7,{"pdu":[]},{"supi":"imsi-1","pdu":[3,{"ipv4":"x"},{"ipv4":"10.45.0.3","n3":{}}]}]}"#;
        let (sessions, left_out) = open5gs_sessions(text.as_bytes()).unwrap();
        assert_eq!((sessions.len(), left_out.count), (1, 4));
        assert_eq!((sessions[0].addresses.len(), sessions[0].tunnels.len()), (1, 0));
        // An answer without the list does not mean that there is no session.
        for other in ["[]", "{}", "<html>"] {
            assert!(open5gs_sessions(other.as_bytes()).is_err(), "{other}");
        }
        assert_eq!(open5gs_sessions(br#"{"items":[]}"#), Ok((vec![], LeftOut::default())));
    }

    proptest! {
        #[test]
        fn an_answer_with_bytes_changed_does_not_make_the_reader_panic(at in 0..ANSWER.len(), byte in any::<u8>()) {
            let mut bytes = ANSWER.as_bytes().to_vec();
            bytes[at] = byte;
            let _ = open5gs_sessions(&bytes);
        }
    }
}

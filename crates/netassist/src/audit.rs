//! The log of requests and answers: one line of JSON each.

use cellcc_netassist_client::PeerName;
use cellcc_units::Time;
use serde::Serialize;
use std::net::IpAddr;

/// Something that a later reader may ask about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AuditEntry {
    /// Milliseconds since 1970.
    pub unix_ms: u64,
    /// The client's name in its certificate.
    #[serde(serialize_with = "as_text")]
    pub client: PeerName,
    /// Where it connected from.
    pub address: IpAddr,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

impl AuditEntry {
    /// What happened at this time since 1970.
    pub(crate) fn new(unix: Time, client: PeerName, address: IpAddr, event: Event) -> Self {
        Self { unix_ms: unix.as_nanos() / 1_000_000, client, address, event }
    }
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// A client is there.
    Connected,
    /// It has left, and all its subscriptions have ended.
    Disconnected {
        /// How many of its requests were refused.
        refused: u32,
    },
    /// It is informed about a user from now on.
    Subscribed {
        /// The user's name.
        user: String,
        /// Why it may be.
        because: Ground,
    },
    /// It is not informed about a user any more.
    Ended {
        /// The user's name.
        user: String,
        /// Why not.
        reason: EndReason,
    },
    /// It receives reports on all users from now on, as an operator.
    SubscribedToAll,
    /// It sees the page of all users.
    Page,
    /// It wanted to be informed about an address, and is not.
    Refused {
        /// The address that it named.
        address_asked: IpAddr,
        /// The reason, in more detail than the client receives.
        reason: Refused,
    },
}

/// Why a server may be informed about a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ground {
    /// It has a flow with the user.
    LiveFlow,
    /// The user has signed that it may.
    Consent,
    /// It is the operator.
    Operator,
}

/// Why a subscription has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndReason {
    /// The server does not want it any more.
    Unsubscribed,
    /// There is no flow between them any more.
    FlowEnded,
    /// The consent was for a time that is over.
    ConsentExpired,
}

/// Why a request was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Refused {
    /// There is no such user.
    UnknownUser,
    /// No flow, and no consent.
    NoGround,
    /// The consent is another user's, for another server, expired, or not signed by the user.
    WrongConsent,
    /// The certificate is not for this.
    Role,
    /// It asks faster than it may.
    TooFast,
    /// It begins more than may be written down.
    TooOften,
    /// It has as many users as it may.
    TooMany,
}

fn as_text<S: serde::Serializer>(name: &PeerName, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cellcc_netassist_client::Role;

    #[test]
    fn an_entry_is_a_line_of_json() {
        let entry = AuditEntry {
            unix_ms: 1_790_000_000_000,
            client: PeerName::new(Role::Server, "video-1").unwrap(),
            address: IpAddr::from([192, 0, 2, 1]),
            event: Event::Subscribed { user: "alice".into(), because: Ground::LiveFlow },
        };
        assert_eq!(
            serde_json::to_string(&entry).unwrap(),
            r#"{"unix_ms":1790000000000,"client":"server/video-1","address":"192.0.2.1","event":"subscribed","user":"alice","because":"live-flow"}"#
        );
    }
}

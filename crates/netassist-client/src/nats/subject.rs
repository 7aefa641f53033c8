//! The subjects under which messages go.

use crate::name::PeerName;
use crate::protocol::UserKey;
use cellcc_assist::AdviceRecord;
use serde::Deserialize;
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// Requests of all clients.
pub const ALL_REQUESTS: &str = "na.ask.v1.*.*";
/// Records about all users.
pub const ALL_RECORDS: &str = "na.v1.*.*.*";
/// Answers to all clients.
pub const ALL_ANSWERS: &str = "na.answer.v1.>";
const REQUEST: &str = "na.ask.v1.";
const RECORD: &str = "na.v1.*.*.";

/// The name of a site or a cell, as one part of a subject.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct SubjectToken(String);

/// Why a text is no part of a subject.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{0}` is no name of a site or a cell: 1 to 64 of the characters a-z, 0-9 and `-`")]
pub struct NotAToken(String);

impl FromStr for SubjectToken {
    type Err = NotAToken;

    fn from_str(text: &str) -> Result<Self, NotAToken> {
        let is_allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if text.is_empty() || text.len() > 64 || !text.chars().all(is_allowed) {
            return Err(NotAToken(text.into()));
        }
        Ok(Self(text.into()))
    }
}

impl TryFrom<String> for SubjectToken {
    type Error = NotAToken;

    fn try_from(text: String) -> Result<Self, NotAToken> {
        text.parse()
    }
}

impl fmt::Display for SubjectToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The name of a cell in subjects; without a name it is called by its number.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellName {
    /// Physical cell identity, as in the table of users.
    pub pci: u32,
    /// Its name.
    pub name: SubjectToken,
}

/// Where the records about a user go that this site's cell makes.
pub fn record(site: &SubjectToken, cell: &impl fmt::Display, record: &AdviceRecord) -> String {
    format!("na.v1.{site}.{cell}.{}", UserKey(record.user))
}

/// The records of all cells of a site.
pub fn records_of_site(site: &SubjectToken) -> String {
    format!("na.v1.{site}.*.*")
}

/// The records about a user, wherever it is: after a handover they come from another cell or site.
pub fn records_about(key: UserKey) -> String {
    format!("{RECORD}{key}")
}

/// The key in a subject of [`records_about`] that stands in this text.
pub(super) fn key_in(text: &str) -> Option<UserKey> {
    let (_, after) = text.split_once(RECORD)?;
    let digits = after.get(..32)?;
    u128::from_str_radix(digits, 16).ok().map(|key| UserKey(key.to_be_bytes()))
}

/// The site in the subject of a record.
pub(super) fn site_of(subject: &str) -> Option<&str> {
    subject.split('.').nth(2)
}

/// Where a client asks.
pub fn requests_of(name: &PeerName) -> String {
    format!("{REQUEST}{}", tokens(name))
}

/// The client that asks under this subject.
pub fn name_in(subject: &str) -> Option<PeerName> {
    let (role, name) = subject.strip_prefix(REQUEST)?.split_once('.')?;
    format!("{role}/{}", name.replace('_', ".")).parse().ok()
}

/// Where a client is answered; its processes each have another session.
pub fn answers_to(name: &PeerName, session: &str) -> String {
    format!("na.answer.v1.{}.{session}", tokens(name))
}

/// Names have dots, which separate the parts of a subject, and no underscore.
fn tokens(name: &PeerName) -> String {
    format!("{}.{}", name.role().name(), name.name().replace('.', "_"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::Role;
    use proptest::prelude::*;

    #[test]
    fn a_name_with_dots_is_one_part_of_a_subject_and_reads_back() {
        let name = PeerName::new(Role::Server, "video-1.example").unwrap();
        assert_eq!(requests_of(&name), "na.ask.v1.server.video-1_example");
        assert_eq!(name_in(&requests_of(&name)), Some(name.clone()));
        assert_eq!(answers_to(&name, "7f"), "na.answer.v1.server.video-1_example.7f");
    }

    #[test]
    fn a_key_reads_back_from_what_a_broker_says_of_its_subject() {
        let key = UserKey([0xab; 16]);
        let said = format!("Permissions Violation for Subscription to \"{}\"", records_about(key));
        assert_eq!(key_in(&said), Some(key));
        assert_eq!(key_in("Permissions Violation for Subscription to \"na.v1.>\""), None);
    }

    #[test]
    fn a_site_cannot_name_more_than_one_part_of_a_subject() {
        for wrong in ["", "a.b", "*", ">", "a b", "Berlin", &"a".repeat(65)] {
            assert!(wrong.parse::<SubjectToken>().is_err(), "{wrong}");
        }
        assert_eq!("berlin-2".parse::<SubjectToken>().unwrap().to_string(), "berlin-2");
    }

    proptest! {
        #[test]
        fn no_subject_makes_the_readers_panic(text in "(na.ask.v1.|na.v1.\\*.\\*.)?\\PC{0,60}") {
            let _ = (name_in(&text), key_in(&text), site_of(&text));
        }
    }
}

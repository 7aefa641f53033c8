//! The peer of a connection: the name in its certificate.
//!
//! A certificate names its holder by one URI in the form of SPIFFE: `spiffe://netassist/ROLE/NAME`.

use std::fmt;
use std::str::FromStr;
use thiserror::Error;

const PREFIX: &str = "spiffe://netassist/";
/// Longest name. Ours: names stand in every line of the audit log.
const MAX_NAME_CHARS: usize = 64;

/// The rights of a certificate's holder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// The service itself.
    Service,
    /// A server: subscribes to users with which it has a flow, or that consented.
    Server,
    /// A user's device: tells how many flows it has, and signs consent.
    User,
    /// Runs the service: sees all users.
    Operator,
    /// A NATS broker; its name is the host in its URL.
    Broker,
}

impl Role {
    const ALL: [Self; 5] = [Self::Service, Self::Server, Self::User, Self::Operator, Self::Broker];

    /// Its name in certificates.
    pub fn name(self) -> &'static str {
        match self {
            Self::Service => "service",
            Self::Server => "server",
            Self::User => "user",
            Self::Operator => "operator",
            Self::Broker => "broker",
        }
    }
}

/// The name in a certificate.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PeerName {
    role: Role,
    name: String,
}

/// The fault of a text that is no name.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NameError {
    /// It is not a URI of ours.
    #[error("the certificate's name is not of the form {PREFIX}ROLE/NAME")]
    Form,
    /// A name has other characters, none or too many.
    #[error("a name has 1 to {MAX_NAME_CHARS} of the characters a-z, 0-9, `-` and `.`")]
    Name,
}

impl PeerName {
    /// A name in a role.
    ///
    /// # Errors
    /// The name has other characters than `a-z`, `0-9`, `-` and `.`, or more than 64.
    pub fn new(role: Role, name: &str) -> Result<Self, NameError> {
        let is_allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.';
        if name.is_empty() || name.len() > MAX_NAME_CHARS || !name.chars().all(is_allowed) {
            return Err(NameError::Name);
        }
        Ok(Self { role, name: name.to_owned() })
    }

    /// The role of its holder.
    pub fn role(&self) -> Role {
        self.role
    }

    /// The name without the role.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The URI in a certificate.
    pub fn uri(&self) -> String {
        format!("{PREFIX}{}/{}", self.role.name(), self.name)
    }

    /// The name in a URI of a certificate.
    ///
    /// # Errors
    /// Not a name of this service.
    pub fn of_uri(uri: &str) -> Result<Self, NameError> {
        uri.strip_prefix(PREFIX).ok_or(NameError::Form)?.parse()
    }
}

impl fmt::Display for PeerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.role.name(), self.name)
    }
}

impl FromStr for PeerName {
    type Err = NameError;

    /// `ROLE/NAME`.
    fn from_str(text: &str) -> Result<Self, NameError> {
        let (role, name) = text.split_once('/').ok_or(NameError::Form)?;
        let role = Role::ALL.into_iter().find(|known| known.name() == role).ok_or(NameError::Form)?;
        Self::new(role, name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_reads_back() {
        let name = PeerName::new(Role::Server, "video-1.example").unwrap();
        assert_eq!(name.uri(), "spiffe://netassist/server/video-1.example");
        assert_eq!(PeerName::of_uri(&name.uri()), Ok(name));
    }

    #[test]
    fn what_names_nobody_is_refused() {
        for uri in
            ["", "spiffe://elsewhere/server/a", "spiffe://netassist/king/a", "spiffe://netassist/server"]
        {
            assert_eq!(PeerName::of_uri(uri), Err(NameError::Form), "{uri}");
        }
        for name in ["", "A", "a b", "a/b", "é", &"a".repeat(65)] {
            assert_eq!(PeerName::new(Role::User, name), Err(NameError::Name), "{name}");
        }
    }
}

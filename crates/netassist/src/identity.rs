//! The identities of users: a table that joins a base station's name of a user, the addresses that servers see, and the key of
//! the user on the wire.

use crate::sessions::Session;
use cellcc_netassist_client::{PeerName, Role, UserKey};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use thiserror::Error;

/// A source's name of a user.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum SourceName {
    /// A base station's names.
    Radio(RadioName),
    /// The name in the table.
    Name(String),
    /// An address.
    Address(IpAddr),
    /// The endpoint identifier at the base station of a tunnel to the core.
    Tunnel(u32),
}

impl fmt::Display for SourceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Radio(RadioName { pci, rnti }) => write!(f, "RNTI {rnti} of cell {pci}"),
            Self::Name(name) => f.write_str(name),
            Self::Address(address) => write!(f, "the address {address}"),
            Self::Tunnel(tunnel) => write!(f, "the tunnel {tunnel}"),
        }
    }
}

/// A base station's name of a user: within a cell (physical cell identity) its radio network temporary identifier. It is
/// another after each attachment: a static table is for laboratories.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RadioName {
    /// Physical cell identity, 0 to 1007.
    pub pci: u16,
    /// Radio network temporary identifier.
    pub rnti: u16,
}

/// One user of the table.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct User {
    /// The name in the user's certificate, and in the audit log.
    #[serde(deserialize_with = "user_name")]
    pub name: String,
    /// The addresses under which servers see the user; the core may report more.
    #[serde(default)]
    pub addresses: Vec<IpAddr>,
    /// The core's name of the user, such as `imsi-001010000000001`: then it reports addresses and tunnels.
    #[serde(default)]
    pub supi: Option<String>,
    /// The base stations' names of the user.
    #[serde(default)]
    pub radio: Vec<RadioName>,
}

/// A name that a certificate can have.
fn user_name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let name = String::deserialize(deserializer)?;
    match PeerName::new(Role::User, &name) {
        Ok(_) => Ok(name),
        Err(error) => Err(D::Error::custom(error)),
    }
}

/// A user of an [`Identities`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UserIndex(pub(crate) usize);

/// Why a table of users cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{what} stands for two users, `{first}` and `{second}`: remove one")]
pub struct Ambiguous {
    what: String,
    first: String,
    second: String,
}

/// The table of users, and a core's report of their sessions.
#[derive(Debug, Clone)]
pub struct Identities {
    users: Vec<(User, UserKey)>,
    by_address: HashMap<IpAddr, UserIndex>,
    by_source: HashMap<SourceName, UserIndex>,
    by_supi: HashMap<String, UserIndex>,
    sessions: Sessions,
}

/// A core's report. The table comes before it.
#[derive(Debug, Clone, Default)]
struct Sessions {
    addresses: HashMap<UserIndex, Vec<IpAddr>>,
    by_address: HashMap<IpAddr, UserIndex>,
    by_tunnel: HashMap<u32, UserIndex>,
}

impl Identities {
    /// A table of these users.
    ///
    /// # Errors
    /// A name, an address or a radio name is given twice.
    pub fn new(users: Vec<User>, secret: &[u8; 32]) -> Result<Self, Ambiguous> {
        let (mut by_address, mut by_source, mut by_supi) = (HashMap::new(), HashMap::new(), HashMap::new());
        for (index, user) in users.iter().enumerate() {
            let clash = |what: String, other: UserIndex| Ambiguous {
                what,
                first: users[other.0].name.clone(),
                second: user.name.clone(),
            };
            for address in &user.addresses {
                if let Some(other) = by_address.insert(address.to_canonical(), UserIndex(index)) {
                    return Err(clash(format!("the address {address}"), other));
                }
            }
            if let Some(supi) = &user.supi
                && let Some(other) = by_supi.insert(supi.clone(), UserIndex(index))
            {
                return Err(clash(supi.clone(), other));
            }
            for radio in &user.radio {
                if let Some(other) = by_source.insert(SourceName::Radio(*radio), UserIndex(index)) {
                    return Err(clash(format!("RNTI {} of cell {}", radio.rnti, radio.pci), other));
                }
            }
            if let Some(other) = by_source.insert(SourceName::Name(user.name.clone()), UserIndex(index)) {
                return Err(clash("the name".to_owned(), other));
            }
        }
        let users = users.into_iter().map(|user| {
            let key = key_of(secret, &user.name);
            (user, key)
        });
        let users = users.collect();
        Ok(Self { users, by_address, by_source, by_supi, sessions: Sessions::default() })
    }

    /// All users.
    pub fn all(&self) -> impl Iterator<Item = UserIndex> {
        (0..self.users.len()).map(UserIndex)
    }

    /// The user with this address.
    pub fn by_address(&self, address: IpAddr) -> Option<UserIndex> {
        let address = address.to_canonical();
        self.by_address.get(&address).or_else(|| self.sessions.by_address.get(&address)).copied()
    }

    /// The addresses under which servers see the user now.
    pub fn addresses(&self, index: UserIndex) -> impl Iterator<Item = IpAddr> {
        let reported = self.sessions.addresses.get(&index).into_iter().flatten();
        self.user(index).addresses.iter().chain(reported).copied()
    }

    /// A core has reported all its sessions: those from before are forgotten. A session is a user's by its permanent
    /// identifier, or by an address of the table.
    pub fn join(&mut self, sessions: &[Session]) {
        self.sessions = Sessions::default();
        for session in sessions {
            let by_address = || session.addresses.iter().find_map(|address| self.by_address.get(address));
            let Some(&index) = self.by_supi.get(&session.supi).or_else(by_address) else { continue };
            for address in session.addresses.iter().map(|address| address.to_canonical()) {
                if !self.by_address.contains_key(&address) {
                    self.sessions.by_address.insert(address, index);
                    self.sessions.addresses.entry(index).or_default().push(address);
                }
            }
            self.sessions.by_tunnel.extend(session.tunnels.iter().map(|tunnel| (*tunnel, index)));
        }
    }

    /// The user of this name of a source.
    pub fn by_source(&self, name: &SourceName) -> Option<UserIndex> {
        match name {
            SourceName::Address(address) => self.by_address(*address),
            SourceName::Tunnel(tunnel) => self.sessions.by_tunnel.get(tunnel).copied(),
            SourceName::Radio(_) | SourceName::Name(_) => self.by_source.get(name).copied(),
        }
    }

    /// The user's entry.
    pub fn user(&self, index: UserIndex) -> &User {
        &self.users[index.0].0
    }

    /// The user's key on the wire.
    pub fn key(&self, index: UserIndex) -> UserKey {
        self.users[index.0].1
    }
}

fn key_of(secret: &[u8; 32], name: &str) -> UserKey {
    // SHA-256 of a secret of fixed length and a text is not extended here: the half that is kept hides the state.
    let digest = Sha256::new().chain_update(secret).chain_update(name).finalize();
    let mut key = [0; 16];
    key.copy_from_slice(&digest[..16]);
    UserKey(key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cellcc_units::Span;

    fn user(name: &str, address: &str, rnti: u16) -> User {
        User {
            name: name.into(),
            addresses: vec![address.parse().unwrap()],
            radio: vec![RadioName { pci: 1, rnti }],
            supi: None,
        }
    }

    #[test]
    fn a_user_is_found_by_each_of_its_names() {
        let table = Identities::new(vec![user("alice", "10.45.0.2", 17921)], &[7; 32]).unwrap();
        let alice = table.by_address("::ffff:10.45.0.2".parse().unwrap()).unwrap();
        assert_eq!(table.by_source(&SourceName::Radio(RadioName { pci: 1, rnti: 17921 })), Some(alice));
        assert_eq!(table.by_source(&SourceName::Name("alice".into())), Some(alice));
        assert_eq!(table.by_source(&SourceName::Radio(RadioName { pci: 2, rnti: 17921 })), None);
    }

    #[test]
    fn a_key_changes_with_the_secret_and_not_with_the_address() {
        let key = |secret, address| {
            let table = Identities::new(vec![user("alice", address, 1)], &[secret; 32]).unwrap();
            table.key(UserIndex(0))
        };
        assert_eq!(key(1, "10.45.0.2"), key(1, "10.45.0.3"));
        assert_ne!(key(1, "10.45.0.2"), key(2, "10.45.0.2"));
    }

    #[test]
    fn what_a_core_tells_holds_until_it_tells_again() {
        let known = User { supi: Some("imsi-1".into()), ..user("alice", "10.45.0.2", 1) };
        let mut table = Identities::new(vec![known, user("bob", "10.45.0.3", 2)], &[0; 32]).unwrap();
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        let session = |supi: &str, address, tunnel| Session {
            supi: supi.into(),
            addresses: vec![ip(address)],
            tunnels: vec![tunnel],
        };
        // Sessions of a stranger; of Alice, by her identifier; of Bob, by his address.
        table.join(&[
            session("imsi-9", "10.45.0.9", 9),
            session("imsi-1", "10.45.0.7", 12),
            session("", "10.45.0.3", 13),
        ]);
        let (alice, bob) = (Some(UserIndex(0)), Some(UserIndex(1)));
        assert_eq!(table.by_address(ip("10.45.0.7")), alice);
        assert_eq!(table.addresses(UserIndex(0)).collect::<Vec<_>>(), [ip("10.45.0.2"), ip("10.45.0.7")]);
        let by_tunnel = |table: &Identities, tunnel| table.by_source(&SourceName::Tunnel(tunnel));
        assert_eq!([12, 13, 9].map(|tunnel| by_tunnel(&table, tunnel)), [alice, bob, None]);
        assert_eq!(table.by_source(&SourceName::Address(ip("10.45.0.9"))), None);
        // The table takes precedence over a core's report.
        table.join(&[session("imsi-1", "10.45.0.3", 14)]);
        assert_eq!((table.by_address(ip("10.45.0.3")), table.by_address(ip("10.45.0.7"))), (bob, None));
        assert_eq!([12, 14].map(|tunnel| by_tunnel(&table, tunnel)), [None, alice]);
    }

    #[test]
    fn what_stands_for_two_users_is_refused_by_name() {
        let message = |second: User| {
            Identities::new(vec![user("alice", "10.45.0.2", 1), second], &[0; 32]).unwrap_err().to_string()
        };
        assert!(
            message(user("bob", "10.45.0.2", 2))
                .starts_with("the address 10.45.0.2 stands for two users, `alice`")
        );
        assert!(message(user("bob", "10.45.0.3", 1)).starts_with("RNTI 1 of cell 1"));
        assert!(message(user("alice", "10.45.0.3", 2)).starts_with("the name"));
    }

    #[test]
    fn users_have_their_turns_all_over_the_period() {
        let users = (0..1000_u32).map(|n| User {
            name: format!("user-{n}"),
            addresses: Vec::new(),
            radio: Vec::new(),
            supi: None,
        });
        let table = Identities::new(users.collect(), &[1; 32]).unwrap();
        let mut per_millisecond = [0_u32; 50];
        for index in table.all() {
            let offset = table.key(index).offset_in(Span::from_millis(50));
            per_millisecond[(offset.as_nanos() / 1_000_000) as usize] += 1;
        }
        // Twenty each on average: a binomial distribution is above 45 less than once in a million.
        assert!(per_millisecond.iter().all(|&count| count < 45), "{per_millisecond:?}");
    }
}

//! The permissions that a broker needs, from the service's own table of users.

use crate::identity::{Identities, SourceName};
use cellcc_netassist_client::nats::subject::{self, ALL_ANSWERS, ALL_RECORDS, ALL_REQUESTS, SubjectToken};
use cellcc_netassist_client::{PeerName, Role};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use thiserror::Error;

/// A server that receives reports through a broker.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownServer {
    /// The name in its certificate.
    pub name: String,
    /// The source address of its flows, for connection tracking. Without it, the server needs consent.
    pub address: Option<IpAddr>,
    /// The users whose reports the broker passes to it; none given: all.
    pub users: Option<Vec<String>>,
}

/// The clients of a broker besides the service and the users' devices.
#[derive(Debug, Clone, Copy)]
pub struct BrokerClients<'a> {
    /// Servers.
    pub servers: &'a [KnownServer],
    /// Operators, who receive reports on all users.
    pub operators: &'a [String],
    /// Brokers of sites, which pass on their services' records.
    pub leaf_brokers: &'a [String],
}

/// A server has rights on a user that is not in the table, or has a name that no certificate has.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum UnknownName {
    /// The user.
    #[error("the server `{server}` may receive reports on `{user}`, and no user has this name")]
    User {
        /// Which server.
        server: String,
        /// Which user.
        user: String,
    },
    /// The server or operator.
    #[error("`{0}`: a name has 1 to 64 of the characters a-z, 0-9, `-` and `.`")]
    Peer(String),
}

/// Two sites of one broker do not say the same of a client.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "`{0}` has other rights at one site than at another; give all sites the same user_keys, users and servers, and each \
     service a name of its own"
)]
pub struct Contradiction(String);

/// The rights to publish and subscribe: the block `authorization` of nats-server's configuration, for a broker that knows its
/// clients by their certificates (`verify_and_map`).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Permissions(BTreeMap<String, Rights>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Rights {
    publish: Vec<String>,
    subscribe: Vec<String>,
}

impl Permissions {
    /// These, and those of another site of the same broker.
    ///
    /// # Errors
    /// A client has other rights there.
    pub fn and(mut self, other: Self) -> Result<Self, Contradiction> {
        for (client, rights) in other.0 {
            let known = self.0.entry(client.clone()).or_insert_with(|| rights.clone());
            if *known != rights {
                return Err(Contradiction(client));
            }
        }
        Ok(self)
    }

    fn add(&mut self, name: &PeerName, publish: &[&str], subscribe: Vec<String>) {
        let publish = publish.iter().map(|subject| (*subject).to_owned()).collect();
        self.0.insert(name.uri(), Rights { publish, subscribe });
    }

    /// A client asks under its own name, receives its own answers, and these records.
    fn add_client(&mut self, name: &PeerName, records: Vec<String>) {
        let subscribe = std::iter::once(subject::answers_to(name, "*")).chain(records).collect();
        self.add(name, &[&subject::requests_of(name)], subscribe);
    }
}

impl fmt::Display for Permissions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "authorization {{\n  users = [")?;
        for (client, Rights { publish, subscribe }) in &self.0 {
            writeln!(
                f,
                "    {{ user: \"{client}\", permissions: {{ publish: {publish:?}, subscribe: {subscribe:?} }} }}"
            )?;
        }
        writeln!(f, "  ]\n}}")
    }
}

/// The broker's permissions for the service of a site and its clients.
///
/// # Errors An unknown name.
pub fn permissions(
    service: &PeerName,
    site: &SubjectToken,
    identities: &Identities,
    clients: BrokerClients<'_>,
) -> Result<Permissions, UnknownName> {
    let mut permissions = Permissions::default();
    let records_here = subject::records_of_site(site);
    permissions.add(service, &[&records_here, ALL_ANSWERS], vec![ALL_REQUESTS.into()]);
    for broker in clients.leaf_brokers {
        let broker = peer(Role::Broker, broker)?;
        // A leaf must allow others' subscriptions, and those have no site.
        permissions.add(&broker, &[ALL_RECORDS, ALL_ANSWERS], vec![ALL_REQUESTS.into()]);
    }
    for server in clients.servers {
        let mut records = Vec::new();
        for user in server.users.iter().flatten() {
            let index = identities
                .by_source(&SourceName::Name(user.clone()))
                .ok_or_else(|| UnknownName::User { server: server.name.clone(), user: user.clone() })?;
            records.push(subject::records_about(identities.key(index)));
        }
        if server.users.is_none() {
            records.push(ALL_RECORDS.into());
        }
        permissions.add_client(&peer(Role::Server, &server.name)?, records);
    }
    for operator in clients.operators {
        permissions.add_client(&peer(Role::Operator, operator)?, vec![ALL_RECORDS.into()]);
    }
    for index in identities.all() {
        // No client could connect with a name that no certificate has.
        if let Ok(device) = peer(Role::User, &identities.user(index).name) {
            permissions.add_client(&device, Vec::new());
        }
    }
    Ok(permissions)
}

fn peer(role: Role, name: &str) -> Result<PeerName, UnknownName> {
    PeerName::new(role, name).map_err(|_| UnknownName::Peer(name.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::User;

    /// The permissions of a site's service, with one server for Alice.
    fn of_site(service: &str, secret: [u8; 32]) -> Permissions {
        let alice = User {
            name: "alice".into(),
            addresses: vec![IpAddr::from([10, 45, 0, 2])],
            radio: Vec::new(),
            supi: None,
        };
        let identities = Identities::new(vec![alice], &secret).unwrap();
        let users = Some(vec!["alice".to_owned()]);
        let servers = [KnownServer { name: "video-1".into(), address: None, users }];
        let clients = BrokerClients { servers: &servers, operators: &[], leaf_brokers: &[] };
        let name = PeerName::new(Role::Service, service).unwrap();
        permissions(&name, &format!("{service}-site").parse().unwrap(), &identities, clients).unwrap()
    }

    #[test]
    fn one_broker_serves_two_sites_that_have_the_same_users() {
        let both = of_site("north", [7; 32]).and(of_site("south", [7; 32])).unwrap().to_string();
        let lines = |part: &str| both.lines().filter(|line| line.contains(part)).count();
        assert_eq!((lines("na.v1.north-site.*.*"), lines("na.v1.south-site.*.*")), (1, 1), "{both}");
        assert_eq!((lines("server/video-1"), lines("user/alice")), (1, 1), "{both}");
    }

    #[test]
    fn sites_with_different_keys_of_users_or_one_name_for_two_services_contradict_each_other() {
        let other_keys = of_site("north", [7; 32]).and(of_site("south", [8; 32])).unwrap_err();
        assert!(other_keys.to_string().contains("server/video-1"), "{other_keys}");
        let mut same_service = of_site("north", [7; 32]);
        same_service.0.values_mut().for_each(|rights| rights.publish.push("elsewhere".into()));
        assert!(of_site("north", [7; 32]).and(same_service).is_err());
    }
}

//! The permissions that a broker needs, from the service's own table of users.

use super::subject::{self, ALL_ANSWERS, ALL_RECORDS, ALL_REQUESTS, SubjectToken};
use crate::identity::{Identities, SourceName};
use crate::name::{PeerName, Role};
use serde::Deserialize;
use std::fmt::Write;
use std::net::IpAddr;
use thiserror::Error;

/// A server that hears of users through a broker.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownServer {
    /// The name in its certificate.
    pub name: String,
    /// Where its flows come from: what connection tracking is asked for. Without it, the server needs consent.
    pub address: Option<IpAddr>,
    /// The users of whom the broker lets it hear; none given: all.
    pub users: Option<Vec<String>>,
}

/// Who connects to a broker besides the service and the users' devices.
#[derive(Debug, Clone, Copy)]
pub struct BrokerClients<'a> {
    /// Servers.
    pub servers: &'a [KnownServer],
    /// Operators, who hear of all users.
    pub operators: &'a [String],
    /// Brokers of sites, which pass on what their services publish.
    pub leaf_brokers: &'a [String],
}

/// A server may hear of somebody who is not in the table, or has a name that no certificate has.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum UnknownName {
    /// The user.
    #[error("the server `{server}` may hear of `{user}`, and no user has this name")]
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

/// The block `authorization` of nats-server's configuration, for a broker that knows its clients by their certificates
/// (`verify_and_map`).
///
/// # Errors
/// A name of nobody.
pub fn permissions(
    service: &PeerName,
    site: &SubjectToken,
    identities: &Identities,
    clients: BrokerClients<'_>,
) -> Result<String, UnknownName> {
    let mut text = String::from("authorization {\n  users = [\n");
    let records_here = subject::records_of_site(site);
    entry(&mut text, service, &[&records_here, ALL_ANSWERS], &[ALL_REQUESTS.into()]);
    for broker in clients.leaf_brokers {
        let broker = peer(Role::Broker, broker)?;
        // A leaf must allow what others subscribe to, and that has no site.
        entry(&mut text, &broker, &[ALL_RECORDS, ALL_ANSWERS], &[ALL_REQUESTS.into()]);
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
        client(&mut text, &peer(Role::Server, &server.name)?, records);
    }
    for operator in clients.operators {
        client(&mut text, &peer(Role::Operator, operator)?, vec![ALL_RECORDS.into()]);
    }
    for index in identities.all() {
        // A name that no certificate has is nobody's who could connect.
        if let Ok(device) = peer(Role::User, &identities.user(index).name) {
            client(&mut text, &device, Vec::new());
        }
    }
    text.push_str("  ]\n}\n");
    Ok(text)
}

fn peer(role: Role, name: &str) -> Result<PeerName, UnknownName> {
    PeerName::new(role, name).map_err(|_| UnknownName::Peer(name.into()))
}

/// A client asks under its own name, hears its own answers, and these records.
fn client(text: &mut String, name: &PeerName, records: Vec<String>) {
    let subscribe: Vec<_> = std::iter::once(subject::answers_to(name, "*")).chain(records).collect();
    entry(text, name, &[&subject::requests_of(name)], &subscribe);
}

fn entry(text: &mut String, name: &PeerName, publish: &[&str], subscribe: &[String]) {
    let _ = writeln!(
        text,
        "    {{ user: \"{}\", permissions: {{ publish: {publish:?}, subscribe: {subscribe:?} }} }}",
        name.uri()
    );
}

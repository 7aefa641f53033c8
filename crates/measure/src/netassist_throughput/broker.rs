//! A real nats-server, configured as the guide says.

use super::resident_bytes;
use cellcc_netassist::{Authority, BrokerClients, Identities, KnownServer, permissions};
use cellcc_netassist_client::nats::SubjectToken;
use cellcc_netassist_client::{BrokerUrl, PeerName, Role};
use cellcc_test_support::nats_server::{self, example, free_port};
use std::process::Child;

pub(crate) struct Broker {
    process: Child,
    _folder: tempfile::TempDir,
    pub(crate) url: BrokerUrl,
    /// Before any client is connected.
    pub(crate) resident_at_start: u64,
}

impl Drop for Broker {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Broker {
    /// For one service and these servers, which may receive reports on each of its users by its own subject.
    pub(crate) fn start(
        authority: &Authority,
        site: &SubjectToken,
        identities: &Identities,
        servers: &[String],
    ) -> anyhow::Result<Self> {
        let users: Vec<_> = identities.all().map(|user| identities.user(user).name.clone()).collect();
        let known =
            |name: &String| KnownServer { name: name.clone(), address: None, users: Some(users.clone()) };
        let servers: Vec<_> = servers.iter().map(known).collect();
        let clients = BrokerClients { servers: &servers, operators: &[], leaf_brokers: &[] };
        let permissions = permissions(&PeerName::new(Role::Service, "edge")?, site, identities, clients)?;
        let folder = tempfile::tempdir()?;
        authority.issue(&PeerName::new(Role::Broker, "localhost")?, &folder.path().join("keys"))?;
        let (port, leaves) = (free_port()?, free_port()?);
        let text =
            example("# nats.conf").replace("4222", &port.to_string()).replace("7422", &leaves.to_string());
        std::fs::write(folder.path().join("nats.conf"), text.replace("nats.example", "localhost"))?;
        std::fs::write(folder.path().join("permissions.conf"), permissions.to_string())?;
        let process = nats_server::start(folder.path(), port)?;
        let url = format!("tls://localhost:{port}").parse()?;
        let resident_at_start = resident_bytes(process.id())?;
        Ok(Self { process, _folder: folder, url, resident_at_start })
    }

    pub(crate) fn process(&self) -> u32 {
        self.process.id()
    }
}

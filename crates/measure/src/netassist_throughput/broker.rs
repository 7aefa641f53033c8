//! A real nats-server, configured as the guide says.

use super::process::resident_bytes;
use anyhow::{Context, bail};
use cellcc_netassist::{Authority, BrokerClients, Identities, KnownServer, permissions};
use cellcc_netassist_client::nats::SubjectToken;
use cellcc_netassist_client::{BrokerUrl, PeerName, Role};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const GUIDE: &str = include_str!("../../../../docs/how-to/netassist-nats.md");
/// Debian's, which is not in an ordinary user's PATH.
const PROGRAMS: [&str; 2] = ["nats-server", "/usr/sbin/nats-server"];

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
        let (_, after) = GUIDE.split_once("```conf\n# nats.conf\n").context("the guide's nats.conf")?;
        let (text, _) = after.split_once("```").context("its end")?;
        let text = text.replace("4222", &port.to_string()).replace("7422", &leaves.to_string());
        std::fs::write(folder.path().join("nats.conf"), text.replace("nats.example", "localhost"))?;
        std::fs::write(folder.path().join("permissions.conf"), permissions.to_string())?;
        let start = |program| {
            Command::new(program)
                .args(["--config", "nats.conf", "--addr", "127.0.0.1"])
                .current_dir(folder.path())
                .stderr(Stdio::null())
                .spawn()
        };
        let process = PROGRAMS.into_iter().find_map(|program| start(program).ok());
        let process = process.context("no nats-server: apt-get install nats-server")?;
        let url = format!("tls://localhost:{port}").parse()?;
        let mut broker = Self { process, _folder: folder, url, resident_at_start: 0 };
        let began = Instant::now();
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            if began.elapsed() > Duration::from_secs(10) {
                bail!("nats-server does not answer");
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        broker.resident_at_start = resident_bytes(&broker.process().to_string())?;
        Ok(broker)
    }

    pub(crate) fn process(&self) -> u32 {
        self.process.id()
    }
}

fn free_port() -> anyhow::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

//! The service of a demonstration: `cellcc assist serve` in this process, with the emulated cell's base station as its source. Its
//! authority and all keys are in memory: whatever ends the process, none is left.

#![allow(clippy::disallowed_methods, reason = "a certificate has a date")]

use super::{DELAY, USERS};
use crate::exit::tell;
use cellcc_netassist::base_station::{FIRST_RNTI, PCI, SLOTS_PER_SECOND};
use cellcc_netassist::daemon::{Config, Daemon, LiveFlowsFrom, Plmn};
use cellcc_netassist::source::gnb::{GnbAddress, GnbWebsocket};
use cellcc_netassist::source::{FASTEST_CELL, SourceConfig};
use cellcc_netassist::{Authority, RadioName, User};
use cellcc_netassist_client::{ClientSettings, Credentials, PeerName, Role, ServiceAddress};
use std::error::Error;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// A running service.
pub(super) struct Edge {
    service: SocketAddr,
    credentials: Credentials,
    end: watch::Sender<bool>,
    task: JoinHandle<()>,
}

/// How long the certificates hold: as those that are kept in files.
const VALIDITY: Duration = Duration::from_secs(90 * 86_400);

impl Edge {
    /// Starts a service that reads `gnb` and knows the users by these addresses. Its audit log goes into `out`.
    pub(super) async fn start(
        gnb: SocketAddr,
        addresses: &[IpAddr],
        out: &Path,
    ) -> Result<Self, Box<dyn Error>> {
        let (authority, until) = (Authority::new()?, SystemTime::now() + VALIDITY);
        let service = authority.sign(&PeerName::new(Role::Service, "edge")?, until)?;
        let credentials = authority.sign(&PeerName::new(Role::Server, "server-1")?, until)?;
        let daemon = Daemon::open_as(service, &config(gnb, addresses, out), None, tell).await?;
        let service = daemon.server().address()?;
        let (end, mut ends) = watch::channel(false);
        let task = tokio::spawn(daemon.run(async move {
            let _ = ends.wait_for(|end| *end).await;
        }));
        Ok(Self { service, credentials, end, task })
    }

    /// How a server reaches it.
    pub(super) fn client(&self) -> ClientSettings {
        ClientSettings { service: ServiceAddress::Quic(self.service), credentials: self.credentials.clone() }
    }

    /// Ends it.
    pub(super) async fn stop(self) -> Result<(), Box<dyn Error>> {
        self.end.send_replace(true);
        Ok(self.task.await?)
    }
}

fn config(gnb: SocketAddr, addresses: &[IpAddr], out: &Path) -> Config {
    let user = |(index, ((name, _), address)): (usize, (&(&str, &str), &IpAddr))| User {
        name: (*name).into(),
        addresses: vec![*address],
        radio: vec![RadioName { pci: PCI, rnti: FIRST_RNTI + index as u16 }],
        supi: None,
    };
    Config {
        nats: None,
        listen: (Ipv4Addr::LOCALHOST, 0).into(),
        credentials: PathBuf::new(),
        http: None,
        https: None,
        core: None,
        plmn: Plmn { mcc: "001".into(), mnc: "01".into() },
        audit_log: out.join("audit.jsonl"),
        // The emulated cell's flows are in no connection tracking.
        live_flows: LiveFlowsFrom::Assumed,
        users: USERS.iter().zip(addresses).enumerate().map(user).collect(),
        sources: vec![SourceConfig::GnbWebsocket(GnbWebsocket(GnbAddress {
            cell_rate: FASTEST_CELL,
            address: gnb,
            network_rtt: Some(DELAY * 2),
            downlink_slots_per_second: SLOTS_PER_SECOND,
            record: None,
        }))],
        cells: Vec::new(),
    }
}

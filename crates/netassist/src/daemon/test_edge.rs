//! The daemon's HTTPS on loopback, for tests.

use super::https::Https;
use super::mec::Plmn;
use super::{interfaces, page};
use crate::audit::AuditEntry;
use crate::authority::Authority;
use crate::clock::ServiceClock;
use crate::identity::{Identities, SourceName, User};
use crate::live_flows::LiveFlows;
use crate::sample::Sample;
use crate::service::Service;
use crate::transport::Server;
use cellcc_assist::Knowledge;
use cellcc_control::{Advice, AdviceClass};
use cellcc_netassist_client::{Credentials, PeerName, Role};
use cellcc_units::{Rate, Span};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio_rustls::TlsConnector;

/// A service of some name with Alice (10.45.0.2) and Bob (10.45.0.3), who have flows with all servers, and its authority.
pub(super) struct Edge {
    pub(super) authority: Authority,
    pub(super) server: Server,
    pub(super) clock: ServiceClock,
    pub(super) audit: mpsc::UnboundedReceiver<AuditEntry>,
    address: SocketAddr,
}

impl Edge {
    pub(super) async fn start(name: &str) -> Self {
        Self::with(name, ServiceClock::start()).await
    }

    /// The edge on a machine with this clock.
    pub(super) async fn with(name: &str, clock: ServiceClock) -> Self {
        let authority = Authority::new().unwrap();
        let credentials = credentials(&authority, Role::Service, name);
        let user = |name: &str, address: [u8; 4]| User {
            name: name.into(),
            addresses: vec![address.into()],
            supi: None,
            radio: Vec::new(),
        };
        let users = vec![user("alice", [10, 45, 0, 2]), user("bob", [10, 45, 0, 3])];
        let identities = Identities::new(users, &[1; 32]).unwrap();
        let service = Service::new(clock.now(), identities, LiveFlows::assumed());
        let (tell, audit) = mpsc::unbounded_channel();
        let listen = (Ipv4Addr::LOCALHOST, 0).into();
        let server = Server::bind(listen, &credentials, service, clock, None, tell).unwrap();
        let running = server.clone();
        tokio::spawn(async move { running.run().await });
        let Ok(https) = Https::bind(listen, &credentials).await else { panic!("no socket") };
        let address = https.address().unwrap();
        let plmn = Plmn { mcc: "001".into(), mnc: "01".into() };
        let paths = page::router(server.clone()).merge(interfaces::router(server.clone(), plmn));
        tokio::spawn(https.serve(paths, Arc::new(|_: &str| {})));
        Self { authority, server, clock, audit, address }
    }

    /// The answer to a program with this certificate, which knows the service by `host`; of one without an end its beginning.
    pub(super) async fn get(
        &self,
        path: &str,
        client: &Credentials,
        host: &'static str,
        more: &str,
    ) -> String {
        let tls = TlsConnector::from(Arc::new(client.client_tls().unwrap()));
        let socket = TcpStream::connect(self.address).await.unwrap();
        let mut stream = tls.connect(host.try_into().unwrap(), socket).await.unwrap();
        let asked = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n{more}\r\n");
        stream.write_all(asked.as_bytes()).await.unwrap();
        let mut answer = vec![0; 65_536];
        let length = stream.read(&mut answer).await.unwrap();
        String::from_utf8_lossy(&answer[..length]).into_owned()
    }

    /// A sample of Alice's that becomes a record.
    pub(super) fn measure(&self) {
        let advice =
            Advice::new(Rate::from_mbit_per_sec(12.0), AdviceClass::Backlogged, Span::from_millis(50));
        let user = SourceName::Name("alice".into());
        let sample = Sample { user, cell: 1, until: self.clock.now(), measured: Knowledge::Known(advice) };
        self.server.samples(&[sample]);
    }

    pub(super) fn credentials(&self, role: Role, name: &str) -> Credentials {
        credentials(&self.authority, role, name)
    }
}

pub(super) fn credentials(authority: &Authority, role: Role, name: &str) -> Credentials {
    let until = SystemTime::now() + Duration::from_secs(3600);
    authority.sign(&PeerName::new(role, name).unwrap(), until).unwrap()
}

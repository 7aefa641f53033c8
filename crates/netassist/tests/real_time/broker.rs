//! A real nats-server, configured as the guide says.

use crate::support::{Edge, HANG_TIMEOUT, Listening, name};
use cellcc_netassist::{Authority, BrokerClients, KnownServer, PublisherSettings, permissions};
use cellcc_netassist_client::nats::SubjectToken;
use cellcc_netassist_client::{BrokerUrl, Credentials, PeerName, Role, ServiceAddress};
use cellcc_test_support::nats_server;
use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::Child;
use std::sync::{Arc, Mutex};

/// A running broker, killed where a test ends.
pub(crate) struct Broker {
    process: Child,
    folder: tempfile::TempDir,
    pub(crate) port: u16,
}

impl Drop for Broker {
    #[allow(clippy::print_stderr, reason = "what the broker said explains a failed test")]
    fn drop(&mut self) {
        self.kill();
        if std::thread::panicking() {
            eprintln!(
                "nats-server: {}",
                fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
            );
        }
    }
}

/// True if there is a nats-server; a test that cannot run says so.
pub(crate) fn is_there() -> bool {
    let is_there = nats_server::program().is_some();
    if !is_there {
        cellcc_test_support::skip("nats-server is not installed: apt-get install nats-server");
    }
    is_there
}

impl Broker {
    /// Where servers connect, in the guide, for clients of these services and with these rights.
    pub(crate) fn start(authority: &Authority, permissions: &str) -> Self {
        Self::with_certificate(authority, "localhost", permissions)
    }

    /// With a certificate for another host, perhaps.
    pub(crate) fn with_certificate(authority: &Authority, host: &str, permissions: &str) -> Self {
        let port = nats_server::free_port().unwrap();
        let text = nats_server::example("# nats.conf").replace("4222", &port.to_string());
        // Only leaves connect there.
        let text = text.replace("7422", &nats_server::free_port().unwrap().to_string());
        Self::of_configuration(authority, host, &text.replace("nats.example", host), port, permissions)
    }

    pub(crate) fn of_configuration(
        authority: &Authority,
        host: &str,
        text: &str,
        port: u16,
        permissions: &str,
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        authority.issue(&name(Role::Broker, host), &folder.path().join("keys")).unwrap();
        fs::write(folder.path().join("nats.conf"), text).unwrap();
        fs::write(folder.path().join("permissions.conf"), permissions).unwrap();
        let process = nats_server::start(folder.path(), port).unwrap();
        Self { process, folder, port }
    }

    pub(crate) fn kill(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    pub(crate) fn start_again(&mut self) {
        self.process = nats_server::start(self.folder.path(), self.port).unwrap();
    }

    pub(crate) fn url(&self) -> BrokerUrl {
        format!("tls://localhost:{}", self.port).parse().unwrap()
    }

    pub(crate) fn client(&self, credentials: Credentials) -> Listening {
        Listening::start(ServiceAddress::Nats(self.url()), credentials)
    }
}

/// The lines that a service has logged.
pub(crate) type Lines = Arc<Mutex<Vec<String>>>;

impl Edge {
    /// The permissions of this service's broker: servers receive reports on these users.
    pub(crate) fn permissions(&self, servers: &[(&str, &[&str])]) -> String {
        self.permissions_with(servers, &[])
    }

    pub(crate) fn permissions_with(&self, servers: &[(&str, &[&str])], leaf_brokers: &[String]) -> String {
        let known = |(name, users): &(&str, &[&str])| KnownServer {
            name: (*name).into(),
            address: Some(Ipv4Addr::LOCALHOST.into()),
            users: Some(users.iter().map(|user| (*user).into()).collect()),
        };
        let servers: Vec<_> = servers.iter().map(known).collect();
        let clients = BrokerClients { servers: &servers, operators: &["desk".into()], leaf_brokers };
        permissions(&self.name, &self.site(), &self.identities, clients).unwrap().to_string()
    }

    fn site(&self) -> SubjectToken {
        format!("{}-site", self.name.name()).parse().unwrap()
    }

    /// Publishes through the broker; the service knows where the flows of these servers come from.
    pub(crate) fn publish_through(&self, broker: &BrokerUrl, servers: &[&str]) -> Lines {
        let credentials = self.authority.sign(&self.name, crate::support::in_an_hour()).unwrap();
        self.publish_as(broker, servers, credentials)
    }

    pub(crate) fn publish_as(&self, broker: &BrokerUrl, servers: &[&str], credentials: Credentials) -> Lines {
        let lines = Lines::default();
        let log = Arc::clone(&lines);
        let address = |server: &&str| (name(Role::Server, server), Ipv4Addr::LOCALHOST.into());
        let settings = PublisherSettings {
            url: broker.clone(),
            credentials,
            site: self.site(),
            cells: Vec::new(),
            addresses: servers.iter().map(address).collect(),
            log: Arc::new(move |line| log.lock().unwrap().push(line.to_owned())),
        };
        tokio::spawn(self.server.through_broker(settings).unwrap());
        lines
    }

    /// The subject of the records about a user.
    pub(crate) fn records_about(&self, user: &str) -> String {
        let user = cellcc_netassist::SourceName::Name(user.into());
        format!("na.v1.*.*.{}", self.identities.key(self.identities.by_source(&user).unwrap()))
    }
}

/// A client with a certificate and a program of its own.
pub(crate) struct Raw {
    pub(crate) client: async_nats::Client,
    said: tokio::sync::mpsc::UnboundedReceiver<String>,
}

impl Raw {
    /// Connects with the certificate in this folder or none.
    pub(crate) async fn connect(
        broker: &BrokerUrl,
        authority: &Path,
        identity: Option<&Path>,
    ) -> Result<Self, async_nats::ConnectError> {
        let (tell, said) = tokio::sync::mpsc::unbounded_channel();
        let options = async_nats::ConnectOptions::new()
            .require_tls(true)
            .tls_client_config(tls(authority, identity))
            .max_reconnects(1)
            .event_callback(move |event| {
                let _ = tell.send(event.to_string());
                std::future::ready(())
            });
        Ok(Self { client: options.connect(broker.to_string()).await?, said })
    }

    /// The broker's message with this part.
    pub(crate) async fn is_reported(&mut self, part: &str) -> String {
        loop {
            let said =
                tokio::time::timeout(HANG_TIMEOUT, self.said.recv()).await.expect("it says so").unwrap();
            if said.contains(part) {
                return said;
            }
        }
    }
}

/// TLS with the authority and the certificate in these folders.
pub(crate) fn tls(authority: &Path, identity: Option<&Path>) -> rustls::ClientConfig {
    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer};
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(authority.join("authority.pem")).unwrap()).unwrap();
    let builder =
        rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_protocol_versions(&[&rustls::version::TLS13])
            .unwrap()
            .with_root_certificates(roots);
    match identity {
        Some(folder) => {
            let chain = vec![CertificateDer::from_pem_file(folder.join("certificate.pem")).unwrap()];
            let key = PrivateKeyDer::from_pem_file(folder.join("key.pem")).unwrap();
            builder.with_client_auth_cert(chain, key).unwrap()
        }
        None => builder.with_no_client_auth(),
    }
}

/// A server's own folder of credentials.
pub(crate) fn folder_of(authority: &Authority, holder: &PeerName) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let made = authority.issue(holder, folder.path()).unwrap();
    for file in ["authority.pem", "certificate.pem", "key.pem"] {
        fs::rename(made.join(file), folder.path().join(file)).unwrap();
    }
    folder
}

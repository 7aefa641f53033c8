//! A server with a folder, and a client of it.

use bytes::{Buf, Bytes};
use cellcc_http3::{ALPN, Adapter, Stream};
use cellcc_transfer::{Identity, Limits, Server, ServerSettings, TransferError};
use h3::client::{RequestStream, SendRequest};
use http::{Method, Request, Response};
use noq::crypto::rustls::QuicClientConfig;
use noq::{ClientConfig, Connection, Endpoint};
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tempfile::TempDir;
use tokio::sync::oneshot;

/// A server on a free port.
pub(super) struct Site {
    pub(super) address: SocketAddr,
    folder: TempDir,
    certificate: CertificateDer<'static>,
    end: Mutex<Option<oneshot::Sender<()>>>,
}

/// Bytes without two equal pieces.
pub(super) fn content(bytes: usize) -> Vec<u8> {
    (0..bytes as u64).map(|index| ((index * index) >> 7) as u8).collect()
}

/// A server of the files in `folder`/site, with a certificate that its clients can check.
pub(super) fn start(
    scheme: &str,
    folder: &Path,
    limits: Limits,
) -> Result<(Server, CertificateDer<'static>), TransferError> {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let (certificate, key) = (folder.join("certificate.pem"), folder.join("key.pem"));
    fs::write(&certificate, made.cert.pem()).unwrap();
    fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    let settings = ServerSettings {
        listen: (Ipv4Addr::LOCALHOST, 0).into(),
        scheme: cellcc_schemes::registry().parse(scheme).unwrap(),
        allowed: Vec::new(),
        root: None,
        takes_files: false,
        http: Some(folder.join("site")),
        hidden: false,
        identity: Identity::load(&certificate, &key).unwrap(),
        client_authorities: None,
        limits,
        qlog: None,
        advice: None,
        log: Box::new(|_| {}),
    };
    Ok((Server::bind(settings)?, made.cert.into()))
}

impl Site {
    pub(super) fn start(scheme: &str) -> Self {
        Self::with_limits(scheme, Limits::default())
    }

    pub(super) fn with_connections(scheme: &str, connections: u32) -> Self {
        Self::with_limits(scheme, Limits { connections, ..Limits::default() })
    }

    pub(super) fn with_limits(scheme: &str, limits: Limits) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("site")).unwrap();
        let (server, certificate) = start(scheme, folder.path(), limits).unwrap();
        let address = server.address().unwrap();
        let (end, ended) = oneshot::channel();
        tokio::spawn(server.run(async { drop(ended.await) }));
        Self { address, folder, certificate, end: Mutex::new(Some(end)) }
    }

    /// The folder that is shown.
    pub(super) fn path(&self) -> std::path::PathBuf {
        self.folder.path().join("site")
    }

    pub(super) fn write(&self, name: &str, content: &[u8]) {
        fs::write(self.path().join(name), content).unwrap();
    }

    pub(super) fn end(&self) {
        self.end.lock().unwrap().take();
    }

    /// A connection of QUIC that has chosen HTTP.
    pub(super) async fn dial(&self) -> Connection {
        let mut roots = RootCertStore::empty();
        roots.add(self.certificate.clone()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        tls.alpn_protocols = vec![ALPN.into()];
        let config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls).unwrap()));
        let endpoint = Endpoint::client((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        endpoint.connect_with(config, self.address, "localhost").unwrap().await.unwrap()
    }

    pub(super) async fn connect(&self) -> Client {
        Client::over(self.dial().await).await
    }
}

/// A connection to a server.
pub(super) struct Client {
    pub(super) connection: Connection,
    sender: SendRequest<Adapter, Bytes>,
}

impl Client {
    /// HTTP over a connection that the server keeps.
    pub(super) async fn over(connection: Connection) -> Self {
        let adapter = Adapter::new(connection.clone(), [u64::MAX; 2]);
        let (mut driver, sender) = h3::client::new(adapter).await.unwrap();
        tokio::spawn(async move { std::future::poll_fn(|cx| driver.poll_close(cx)).await });
        Self { connection, sender }
    }

    /// Another handle of the connection.
    pub(super) fn again(&self) -> Self {
        Self { connection: self.connection.clone(), sender: self.sender.clone() }
    }

    /// Waits until the windows of unread streams are full.
    pub(super) async fn is_sent_no_more(&self) {
        let received = async || {
            tokio::time::sleep(Duration::from_millis(250)).await;
            self.connection.stats().frame_rx.stream
        };
        while received().await != received().await {}
    }

    /// Sends a request that is complete.
    pub(super) async fn begin(
        &mut self,
        method: Method,
        path: &str,
        header: &[(&str, &str)],
    ) -> RequestStream<Stream, Bytes> {
        let request = Request::builder().method(method).uri(format!("https://localhost{path}"));
        let request = header.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let mut stream = self.sender.send_request(request.body(()).unwrap()).await.unwrap();
        let _ = stream.finish().await;
        stream
    }

    /// The answer to a request, and its body.
    pub(super) async fn ask(
        &mut self,
        method: Method,
        path: &str,
        header: &[(&str, &str)],
    ) -> (Response<()>, Vec<u8>) {
        let mut stream = self.begin(method, path, header).await;
        let answer = stream.recv_response().await.unwrap();
        let mut body = Vec::new();
        while let Some(mut data) = stream.recv_data().await.unwrap() {
            body.extend_from_slice(&data.copy_to_bytes(data.remaining()));
        }
        (answer, body)
    }

    pub(super) async fn get(&mut self, path: &str, header: &[(&str, &str)]) -> (Response<()>, Vec<u8>) {
        self.ask(Method::GET, path, header).await
    }
}

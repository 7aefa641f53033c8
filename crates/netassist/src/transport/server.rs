//! The service with its transports.

use super::counts::ServerCounts;
use super::nats::{Publisher, PublisherSettings};
use super::quic::{BindError, Listener};
use super::shared::{Shared, TooOften};
use super::tracking::Tracking;
use crate::audit::{AuditEntry, Event};
use crate::clock::ServiceClock;
use crate::identity::SourceName;
use crate::sample::Sample;
use crate::service::{Ceiling, Counts, Measurement, Overview, Service};
use crate::sessions::Session;
use crate::verifier::Verifier;
use cellcc_netassist_client::{CertificateError, Credentials, PeerName};
use cellcc_units::{Bytes as Size, Span, Time};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use tokio::sync::mpsc;

/// The service with its connections. Clones share it.
#[derive(Debug, Clone)]
pub struct Server {
    shared: Arc<Shared>,
    listener: Listener,
}

impl Server {
    /// Listens. `flows`: the table of connection tracking. `audit` takes what happens. Needs a tokio runtime.
    ///
    /// # Errors
    /// An unusable certificate, an address in use.
    pub fn bind(
        listen: SocketAddr,
        credentials: &Credentials,
        service: Service,
        clock: ServiceClock,
        flows: Option<Tracking>,
        audit: mpsc::UnboundedSender<AuditEntry>,
    ) -> Result<Self, BindError> {
        let listener = Listener::bind(listen, credentials)?;
        let name = credentials.name().clone();
        let verifier = Verifier::new(credentials)?;
        Ok(Self { shared: Arc::new(Shared::new(service, clock, name, verifier, flows, audit)), listener })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// The socket was closed.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.address()
    }

    /// Accepts connections and does due work, until it is shut down.
    pub async fn run(&self) {
        tokio::select! {
            () = self.listener.run(&self.shared) => {}
            () = self.shared.tick() => {}
        }
    }

    /// Also publishes records through a broker, and takes registrations from there, as long as the future is polled.
    ///
    /// # Errors
    /// An unusable certificate. A broker that is not there is tried again and again.
    pub fn through_broker(
        &self,
        settings: PublisherSettings,
    ) -> Result<impl Future<Output = ()> + Send + 'static, CertificateError> {
        let publisher = Publisher::new(settings, Arc::clone(&self.shared))?;
        Ok(publisher.run())
    }

    /// Ends all connections.
    pub async fn shut_down(&self) {
        self.listener.shut_down().await;
    }

    /// Publishes the reports that follow from a source's samples.
    pub fn samples(&self, samples: &[Sample]) {
        self.shared.samples(samples);
    }

    /// A source's name of the first of these users that is not in the table.
    pub(crate) fn stranger(&self, samples: &[Sample]) -> Option<SourceName> {
        let state = self.shared.state();
        let identities = state.service.identities();
        samples.iter().map(|sample| &sample.user).find(|user| identities.by_source(user).is_none()).cloned()
    }

    /// A source has sent unusable data.
    pub(crate) fn source_problem(&self, source: &str) {
        self.shared.state().troubled_source = Some((source.to_owned(), self.shared.clock.now()));
    }

    /// The source that has sent unusable data last, if that was within this time.
    pub(crate) fn troubled_source(&self, within: Span) -> Option<String> {
        let now = self.shared.clock.now();
        let troubled = self.shared.state().troubled_source.clone();
        troubled.filter(|(_, at)| now.since(*at) < within).map(|(source, _)| source)
    }

    /// The service's name.
    pub fn name(&self) -> &PeerName {
        self.shared.name()
    }

    /// All users as they are now, `most` of them by name.
    pub fn overview(&self, most: usize) -> Overview {
        self.shared.state().service.overview(self.shared.clock.now(), most)
    }

    /// Now, and the measurements of the users with one of these addresses, or of all, that this client receives reports on.
    pub(crate) fn measurements(&self, asker: &PeerName, addresses: &[IpAddr]) -> (Time, Vec<Measurement>) {
        let state = self.shared.state();
        (self.shared.clock.now(), state.service.measurements(asker, addresses))
    }

    /// The slow ceilings of all users of whom something is known.
    pub(crate) fn ceilings(&self) -> Vec<Ceiling> {
        self.shared.state().service.ceilings()
    }

    /// The operator who has signed this pass for this service, and until when it holds, since 1970.
    pub(crate) fn pass(&self, text: &str) -> Option<(PeerName, Time)> {
        self.shared.pass(text)
    }

    /// Now, since 1970.
    pub(crate) fn unix(&self) -> Time {
        self.shared.clock.unix()
    }

    /// Writes into the audit log an event that came by another way than a client's registrations; if it exceeds the allowance,
    /// the event must not happen.
    pub(crate) fn note(&self, client: PeerName, address: IpAddr, event: Event) -> Result<(), TooOften> {
        self.shared.note(client, address, event)
    }

    /// For how long no source has sent anything that can be used.
    pub(crate) fn silent_for(&self) -> Span {
        self.shared.clock.now().since(self.shared.state().heard_at)
    }

    /// For how long no sample has become a record.
    pub(crate) fn without_users_for(&self) -> Span {
        self.shared.clock.now().since(self.shared.state().measured_at)
    }

    /// A core has reported all its sessions: those from before are forgotten.
    pub fn join(&self, sessions: &[Session]) {
        self.shared.state().service.join(sessions);
    }

    /// The counts so far.
    pub fn counts(&self) -> (Counts, ServerCounts) {
        let state = self.shared.state();
        (state.service.counts(), state.counts)
    }

    /// Clients, subscriptions, and users of whom something is known.
    pub fn sizes(&self) -> (usize, usize, usize) {
        let state = self.shared.state();
        (state.service.clients(), state.service.subscriptions(), state.service.known_users())
    }

    /// True if there is a connection with a broker.
    pub fn has_broker(&self) -> bool {
        self.shared.state().broker.as_ref().is_some_and(|broker| broker.is_connected())
    }

    /// UDP payload that was sent to the clients that are connected now.
    pub fn sent_bytes(&self) -> Size {
        self.shared.state().connections.values().map(|connected| connected.sent_bytes()).sum()
    }
}

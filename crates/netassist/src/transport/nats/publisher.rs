//! The service's end of a broker: publishes records, and answers requests.

use super::Outbox;
use super::registrations::Registrations;
use crate::transport::shared::Shared;
use cellcc_http_port::ProblemLog;
use cellcc_netassist_client::nats::subject::{ALL_REQUESTS, CellName, SubjectToken};
use cellcc_netassist_client::nats::{BrokerEvent, BrokerUrl, Connection};
use cellcc_netassist_client::{Backoff, CertificateError, Credentials, PeerName, drawn_share};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often registrations are looked at.
const FORGET_INTERVAL: Duration = Duration::from_secs(1);

/// A line of the log.
type Log = Arc<dyn Fn(&str) + Send + Sync>;

/// The broker of a service, and its name there.
#[derive(Clone)]
pub struct PublisherSettings {
    /// The broker.
    pub url: BrokerUrl,
    /// The service's certificate.
    pub credentials: Credentials,
    /// Where the service is.
    pub site: SubjectToken,
    /// The names of its cells.
    pub cells: Vec<CellName>,
    /// Where the flows of servers come from.
    pub addresses: BTreeMap<PeerName, IpAddr>,
    /// Takes a line where something is out of order.
    pub log: Log,
}

impl std::fmt::Debug for PublisherSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PublisherSettings")
            .field("url", &self.url)
            .field("site", &self.site)
            .finish_non_exhaustive()
    }
}

/// A service's connection with its broker.
pub(in crate::transport) struct Publisher {
    shared: Arc<Shared>,
    settings: PublisherSettings,
    tls: rustls::ClientConfig,
    registrations: Registrations,
}

impl Publisher {
    pub(in crate::transport) fn new(
        settings: PublisherSettings,
        shared: Arc<Shared>,
    ) -> Result<Self, CertificateError> {
        let tls = settings.credentials.client_tls()?;
        shared.state().broker = Some(Outbox::new(settings.site.clone(), &settings.cells));
        let registrations = Registrations::new(Arc::clone(&shared), settings.addresses.clone());
        Ok(Self { shared, settings, tls, registrations })
    }

    /// Publishes and answers, and connects again where the connection is lost.
    pub(in crate::transport) async fn run(mut self) {
        let (mut backoff, mut problems) = (Backoff::default(), ProblemLog::default());
        loop {
            let PublisherSettings { url, credentials, .. } = &self.settings;
            let problem = match url.connect(&self.tls, credentials.name()).await {
                Ok(connection) => {
                    backoff = Backoff::default();
                    self.serve(connection).await
                }
                Err(problem) => problem,
            };
            self.on_lost();
            if let Some(line) = problems.line(Instant::now(), &problem) {
                (self.settings.log)(&format!("NATS: {line}; trying again"));
            }
            tokio::time::sleep(backoff.wait(drawn_share())).await;
        }
    }

    fn on_lost(&mut self) {
        let mut state = self.shared.state();
        state.counts.broker_losses += 1;
        if let Some(outbox) = &mut state.broker {
            outbox.broker = None;
        }
    }

    /// Until the connection is lost: why.
    async fn serve(&mut self, mut connection: Connection) -> String {
        let client = connection.client.clone();
        if let Err(gone) = client.subscribe(ALL_REQUESTS).await {
            return gone;
        }
        {
            let mut state = self.shared.state();
            state.counts.broker_connections += 1;
            if let Some(outbox) = &mut state.broker {
                outbox.broker = Some(client);
            }
        }
        self.answer(&mut connection).await
    }

    /// Answers requests, and counts the broker's refusals, until the connection is lost: why.
    async fn answer(&mut self, connection: &mut Connection) -> String {
        let client = connection.client.clone();
        let mut forget = tokio::time::interval(FORGET_INTERVAL);
        loop {
            let heard = tokio::select! {
                heard = connection.next() => heard,
                _ = forget.tick() => {
                    self.registrations.forget(self.shared.clock.now());
                    continue;
                }
            };
            let message = match heard {
                BrokerEvent::Message(message) => message,
                BrokerEvent::Refused(what) => {
                    let refusals = {
                        let counts = &mut self.shared.state().counts;
                        counts.broker_refusals += 1;
                        counts.broker_refusals
                    };
                    // Each record would be refused.
                    if refusals.is_power_of_two() {
                        (self.settings.log)(&format!(
                            "NATS: {what}: compare the broker's configuration with `cellcc assist permissions`"
                        ));
                    }
                    continue;
                }
                BrokerEvent::Late => {
                    self.shared.state().counts.broker_requests_dropped += 1;
                    continue;
                }
                BrokerEvent::Lost(reason) => return reason,
            };
            let Some(answer_to) = message.reply else { continue };
            for answer in self.registrations.answers(&message.subject, &answer_to, &message.payload) {
                let Ok(text) = serde_json::to_vec(&answer) else { continue };
                if let Err(gone) = client.publish(&answer_to, None, &text).await {
                    return gone;
                }
            }
        }
    }
}

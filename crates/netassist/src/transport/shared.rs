//! The common part of both transports at the service's end: the core with its clock, the evidence for registrations, and the
//! audit log.

use super::counts::ServerCounts;
use super::nats::Outbox;
use super::quic::Connected;
use super::tracking::Tracking;
use crate::audit::{AuditEntry, Event};
use crate::clock::ServiceClock;
use crate::live_flows::tracked_flows;
use crate::sample::Sample;
use crate::service::{ClientId, Consent, Presented, Publication, Reply, Service};
use crate::verifier::{Statement, StatementError, Verifier};
use cellcc_assist::AdviceRecord;
use cellcc_netassist_client::PeerName;
use cellcc_netassist_client::protocol::{Answer, RECORDS_PER_DATAGRAM, Request};
use cellcc_netassist_client::statement::{CONSENT, PASS, Purpose};
use cellcc_units::{Span, Time};
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::mpsc;

/// Interval of regular looks at connection tracking.
const FLOWS_INTERVAL: Span = Span::from_secs(5);

/// A client has begun more in turn than the audit log takes.
#[derive(Debug)]
pub(crate) struct TooOften;

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) clock: ServiceClock,
    state: Mutex<State>,
    /// The service's own.
    name: PeerName,
    verifier: Verifier,
    /// Connection tracking, where flows are looked for.
    flows: Option<Tracking>,
    audit: mpsc::UnboundedSender<AuditEntry>,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) service: Service,
    /// The connections of those clients that have one of their own.
    pub(super) connections: HashMap<ClientId, Connected>,
    pub(super) broker: Option<Outbox>,
    pub(super) counts: ServerCounts,
    /// The source that has sent unusable data last, and the time.
    pub(super) troubled_source: Option<(String, Time)>,
    /// When a source last sent something that can be used, if only that its cell is empty; at first, when the service began.
    pub(super) heard_at: Time,
    /// When the last sample became a record; likewise.
    pub(super) measured_at: Time,
}

impl Shared {
    pub(super) fn new(
        service: Service,
        clock: ServiceClock,
        name: PeerName,
        verifier: Verifier,
        flows: Option<Tracking>,
        audit: mpsc::UnboundedSender<AuditEntry>,
    ) -> Self {
        let state = State {
            service,
            connections: HashMap::new(),
            broker: None,
            counts: ServerCounts::default(),
            troubled_source: None,
            heard_at: clock.now(),
            measured_at: clock.now(),
        };
        Self { clock, state: Mutex::new(state), name, verifier, flows, audit }
    }

    pub(super) fn name(&self) -> &PeerName {
        &self.name
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A client is there; `None` where there are too many.
    pub(super) fn connect(&self, name: PeerName, address: IpAddr) -> Option<ClientId> {
        self.state().service.connect(self.clock.now(), name, address)
    }

    pub(super) fn disconnect(&self, id: ClientId) {
        let mut state = self.state();
        state.connections.remove(&id);
        state.service.disconnect(id);
        self.pass_on_audit(&mut state);
    }

    /// Publishes the reports that follow from a source's samples; a message of an empty cell has none.
    pub(super) fn samples(&self, samples: &[Sample]) {
        let mut state = self.state();
        let publications: Vec<_> = samples.iter().filter_map(|sample| state.service.sample(sample)).collect();
        state.heard_at = self.clock.now();
        if !publications.is_empty() {
            state.measured_at = state.heard_at;
        }
        state.publish(&publications);
    }

    /// Does due work repeatedly.
    pub(super) async fn tick(&self) {
        let mut next_flows = self.clock.now();
        loop {
            let wake = self.state().service.next_wake().min(next_flows);
            tokio::time::sleep_until(self.clock.instant(wake).into()).await;
            let now = self.clock.now();
            if now >= next_flows {
                next_flows = now + FLOWS_INTERVAL;
                self.look_at_flows(now);
            }
            let mut state = self.state();
            let due = state.service.poll(now, self.clock.unix());
            state.publish(&due.publications);
            for (id, answer) in due.answers {
                state.tell(id, answer);
            }
            self.pass_on_audit(&mut state);
        }
    }

    /// Answers a client's request with grants and refusals, for every transport.
    pub(super) fn reply(&self, id: ClientId, asked: &Request) -> Reply {
        let now = self.clock.now();
        let presented = match asked {
            Request::Subscribe { consent: Some(text), .. } => match self.verify(&CONSENT, text) {
                Ok(Statement { signer, named, until }) => {
                    Presented::Signed(Consent { user: signer, server: named, until })
                }
                Err(_) => Presented::Forged,
            },
            _ => Presented::None,
        };
        if matches!(asked, Request::Subscribe { .. }) && presented == Presented::None {
            self.look_at_flows(now);
        }
        let mut state = self.state();
        let reply = state.service.request(now, id, asked, &presented);
        self.pass_on_audit(&mut state);
        reply
    }

    /// The name in an operator's pass for this service, and until when it holds, since 1970.
    pub(super) fn pass(&self, text: &str) -> Option<(PeerName, Time)> {
        let statement = self.verify(&PASS, text).ok()?;
        (statement.named == self.name).then_some((statement.signer, statement.until))
    }

    /// A statement signed for this purpose, and valid by the machine's clock.
    fn verify(&self, purpose: &Purpose, text: &str) -> Result<Statement, StatementError> {
        self.verifier.verify(self.clock.unix(), purpose, text)
    }

    /// Writes into the audit log an event that no connection of the core's has caused; if it exceeds the allowance, the event
    /// must not happen.
    pub(super) fn note(&self, client: PeerName, address: IpAddr, event: Event) -> Result<(), TooOften> {
        if !self.state().service.may_begin(self.clock.now(), &client) {
            return Err(TooOften);
        }
        let _ = self.audit.send(AuditEntry::new(self.clock.unix(), client, address, event));
        Ok(())
    }

    fn look_at_flows(&self, now: Time) {
        if let Some(text) = self.flows.as_ref().and_then(|flows| flows.read(now)) {
            self.state().service.see_flows(now, tracked_flows(&text));
        }
    }

    fn pass_on_audit(&self, state: &mut State) {
        for entry in state.service.take_audit(self.clock.unix()) {
            // Without a receiver the service ends.
            let _ = self.audit.send(entry);
        }
    }
}

impl State {
    /// Sends a client an answer that it has not requested. Behind a broker it learns of it with its next request.
    fn tell(&mut self, id: ClientId, answer: Answer) {
        let Some(connected) = self.connections.get(&id) else { return };
        self.counts.slow += u64::from(connected.tell(answer).is_err());
    }

    fn publish(&mut self, publications: &[Publication]) {
        let mut batches: HashMap<ClientId, Vec<u8>> = HashMap::new();
        for publication in publications {
            let bytes = publication.record.encode();
            if let Some(broker) = &self.broker {
                broker.publish(publication, &bytes, &mut self.counts);
            }
            for id in &publication.to {
                let batch = batches.entry(*id).or_default();
                batch.extend(bytes);
                if batch.len() == RECORDS_PER_DATAGRAM * AdviceRecord::SIZE {
                    let full = std::mem::take(batch);
                    self.send(*id, full);
                }
            }
        }
        for (id, batch) in batches {
            if !batch.is_empty() {
                self.send(id, batch);
            }
        }
    }

    fn send(&mut self, id: ClientId, batch: Vec<u8>) {
        let Some(connected) = self.connections.get(&id) else { return };
        let count = (batch.len() / AdviceRecord::SIZE) as u64;
        match connected.send(batch) {
            Ok(()) => self.counts.records += count,
            Err(_) => self.counts.records_dropped += count,
        }
    }
}

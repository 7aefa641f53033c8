//! The flows of a Scenario over real UDP sockets, each one connection: the driver `quic` runs this through the emulator.
//!
//! | to find | look in |
//! |---|---|
//! | the settings that both ends of a flow share | `plan` |
//! | noq's settings | `transport` |
//! | the sending end: the application's data, and the scheme's values in each bin | `sending` |
//! | the receiving end | `receiving` |
//! | one thread for all senders, one for all receivers, and whether the processor limited them | `side` |

mod plan;
mod receiving;
mod sending;
mod side;

use crate::certificate::Tls;
use cellcc_assist::Reports;
use cellcc_control::{Registry, Scheme};
use cellcc_experiment::{
    FlowOutcome, Randomness, Recordings, ResolveError, RunError, Scenario, Support, TracedPath, UdpBackend,
    UdpOutcome, UdpRun, UserReports, schemes_of,
};
use cellcc_link::TraceCache;
use cellcc_quic::{Clock, Congestion};
use plan::Plan;
use receiving::Receiver;
use sending::Sender;
use side::Side;
use std::sync::Arc;

/// Runs flows over QUIC sockets, with the schemes of a registry in noq.
#[derive(Debug)]
pub struct QuicBackend {
    registry: Registry,
    links: TraceCache,
    recordings: Recordings,
}

impl QuicBackend {
    /// A backend with the schemes of `registry`.
    pub fn new(registry: Registry) -> Self {
        Self { registry, links: TraceCache::default(), recordings: Recordings::default() }
    }

    /// Records the events of all flows.
    pub fn with_recordings(self, recordings: Recordings) -> Self {
        Self { recordings, ..self }
    }

    /// The network's reports for each flow.
    fn reports(
        &self,
        scenario: &Scenario,
        schemes: &[Scheme],
    ) -> Result<Vec<Option<Reports<TracedPath>>>, ResolveError> {
        let capacities = scenario.capacities(&self.links)?;
        let schemes = schemes.iter().enumerate();
        schemes.map(|(index, scheme)| Support::QUIC.reports(scenario, index, scheme, &capacities)).collect()
    }
}

impl UdpBackend for QuicBackend {
    fn resolve(&self, scenario: &mut Scenario) -> Result<(), ResolveError> {
        Support::QUIC.check(scenario)?;
        let schemes = schemes_of(scenario, &self.registry)?;
        for (flow, scheme) in scenario.flows.iter_mut().zip(&schemes) {
            Congestion::over_mapping_sockets(scheme.clone())
                .map_err(|error| ResolveError(error.to_string()))?;
            flow.scheme = scheme.text().into();
        }
        self.reports(scenario, &schemes).map(drop)
    }

    fn run(&self, run: UdpRun<'_>) -> Result<UdpOutcome, RunError> {
        let UdpRun { scenario, endpoints, queues, epoch, until } = run;
        let clock = Clock::new(epoch);
        let failed = |error: ResolveError| RunError(error.to_string());
        let schemes = schemes_of(scenario, &self.registry).map_err(failed)?;
        let schemes = self.recordings.of(scenario, schemes);
        let reports = self.reports(scenario, &schemes).map_err(failed)?;
        let tls = Tls::new().map_err(|error| RunError(format!("cannot make a certificate: {error}")))?;
        let mut senders = Vec::new();
        let mut receivers = Vec::new();
        for (index, ((scheme, reports), ends)) in schemes.into_iter().zip(reports).zip(endpoints).enumerate()
        {
            let plan = Plan::new(scenario, index, clock, until);
            let seed = scenario.seed_of(Randomness::Flow(index));
            let congestion =
                Congestion::over_mapping_sockets(scheme).map_err(|error| RunError(error.to_string()))?;
            let window = scenario.initial_window(&scenario.flows[index]);
            let congestion = congestion.with_seed(seed).with_epoch(epoch).with_initial_window(window);
            let to =
                ends.sender.local_addr().map_err(|error| RunError(format!("flow {}: {error}", index + 1)))?;
            receivers.push(
                Receiver {
                    config: plan::client(&tls),
                    plan: plan.clone(),
                    socket: ends.receiver,
                    registry: self.registry.clone(),
                    to,
                }
                .run(),
            );
            let congestion = congestion.with_rtt_samples();
            let user = scenario.flows[index].user;
            let reports =
                reports.map(|reports| UserReports::new(reports, user, scenario, Arc::clone(&queues)));
            let config = plan::server(&tls, &congestion, &plan);
            senders.push(Sender { plan, socket: ends.sender, congestion, config, reports }.run());
        }
        let (sent, received) = std::thread::scope(|scope| {
            let receivers = side::start(scope, "cellcc-receivers", receivers);
            let senders = side::start(scope, "cellcc-senders", senders);
            (senders.and_then(side::join), receivers.and_then(side::join))
        });
        let failed = |error: std::io::Error| RunError(format!("cannot run QUIC's two ends: {error}"));
        conclude(scenario, sent.map_err(failed)?, received.map_err(failed)?)
    }
}

fn conclude(
    scenario: &Scenario,
    sent: Side<sending::Sent>,
    received: Side<receiving::Received>,
) -> Result<UdpOutcome, RunError> {
    let mut notes = vec![
        "QUIC (noq) in real time: a full packet has 1500 bytes, 28 of them IP's and UDP's; all packets are ECT(0), those of L4S schemes ECT(1)".into(),
    ];
    notes.extend(sent.limit("senders"));
    notes.extend(received.limit("receivers"));
    let mut flows = Vec::new();
    for (index, (sent, received)) in sent.flows.into_iter().zip(received.flows).enumerate() {
        let flow = format!("flow {} (`{}`)", index + 1, scenario.flows[index].scheme);
        let failed = |error| RunError(format!("{flow}: {error}"));
        let (sent, received) = (sent.map_err(failed)?, received.map_err(failed)?);
        if !sent.connected {
            notes.push(format!("{flow}: the connection did not come about in time"));
        }
        notes.extend(sent.notes.into_iter().filter(|note| !notes.contains(note)).collect::<Vec<_>>());
        flows.push(FlowOutcome {
            meter: sent.meter,
            completed_at: sent.completed_at,
            frames: received.frames,
            delay_target_ms: sent.delay_target_ms,
            ecn_validation: sent.ecn_validation,
            received_packets: received.packets,
        });
    }
    Ok(UdpOutcome { flows, notes })
}

//! Features of a Scenario that each driver supports.

use crate::{AckPolicy, DEFAULT_DRIVER, FlowSetup, LossDetection, ResolveError, Scenario, Source};
use cellcc_link::{DropTail, Queue};

/// Prefix of the names of noq's own congestion controllers: `noq:cubic`.
pub const NOQ: &str = "noq:";

/// Features that a driver supports; every driver supports those that are not named here.
#[derive(Debug, Clone, Copy)]
pub struct Support {
    /// The driver's name in Scenarios.
    pub driver: &'static str,
    /// Reports of the network can travel on acknowledgements.
    pub in_band: bool,
    /// TCP's loss detection.
    pub rack: bool,
    /// Receivers as TCP has them: delayed acknowledgements, receive offload.
    pub tcp_receivers: bool,
    /// Queues that filter acknowledgements.
    pub ack_filter: bool,
    /// Receivers that lie about losses.
    pub concealed_loss: bool,
    /// Congestion controllers of noq's own.
    pub noq_controllers: bool,
    /// Sources whose rate follows the scheme's.
    pub adaptive_sources: bool,
    /// Metrics that leave the beginning of a run out.
    pub warm_up: bool,
}

impl Support {
    /// The simulator.
    pub const SIM: Self = Self {
        driver: DEFAULT_DRIVER,
        in_band: true,
        rack: true,
        tcp_receivers: true,
        ack_filter: true,
        concealed_loss: true,
        noq_controllers: false,
        adaptive_sources: true,
        warm_up: true,
    };
    /// QUIC in virtual time. It encrypts acknowledgements; a base station writes in front of them, as in SCONE.
    pub const QUIC_VIRTUAL: Self = Self {
        driver: "quic-virtual",
        rack: false,
        tcp_receivers: false,
        ack_filter: false,
        concealed_loss: false,
        adaptive_sources: false,
        noq_controllers: true,
        ..Self::SIM
    };
    /// QUIC over real sockets.
    pub const QUIC: Self =
        Self { driver: "quic", in_band: false, noq_controllers: false, warm_up: false, ..Self::QUIC_VIRTUAL };
    /// The kernel's TCP.
    pub const KERNEL: Self = Self {
        driver: "kernel",
        in_band: false,
        ack_filter: false,
        concealed_loss: false,
        adaptive_sources: false,
        warm_up: false,
        ..Self::SIM
    };

    /// Refuses features that the driver would otherwise ignore silently.
    ///
    /// # Errors
    /// The key, and what to write.
    pub fn check(self, scenario: &Scenario) -> Result<(), ResolveError> {
        let mut schemes = scenario.flows.iter().map(|flow| &flow.scheme);
        if let Some(noqs) = schemes.find(|scheme| scheme.starts_with(NOQ))
            && !self.noq_controllers
        {
            let driver = Self::QUIC_VIRTUAL.driver;
            return Err(ResolveError(format!(
                "`{noqs}` is a congestion controller of noq, which {self} does not run; write --driver {driver}"
            )));
        }
        let endpoint = &scenario.endpoint;
        let filters = |queue: &Queue| matches!(queue, Queue::DropTail(DropTail { ack_filter: true, .. }));
        let adaptive = scenario.flows.iter().find(|flow| matches!(flow.source, Source::Video { .. }));
        let own_window = |flow: &&FlowSetup| {
            flow.scheme.starts_with(NOQ) && flow.initial_window.or(endpoint.initial_window).is_some()
        };
        let asked = [
            scenario.flows.iter().find(own_window).map(|flow| {
                format!("initial_window: `{}` with {self} has a first window of its own; leave it out", flow.scheme)
            }),
            adaptive.filter(|_| !self.adaptive_sources).map(|flow| {
                format!("{} is the simulator's, and {self} sends frames of one size; write frames(rate,deadline)", flow.source)
            }),
            (!scenario.warm_up.is_zero() && !self.warm_up).then(|| {
                format!("warm_up = \"{}\", and {self} measures all of a run; leave --warm-up out", scenario.warm_up)
            }),
            (endpoint.recovery == LossDetection::Rack && !self.rack)
                .then(|| format!("endpoint.recovery = \"rack\" is TCP's, and {self} runs QUIC; write \"quic\"")),
            (matches!(endpoint.ack_policy(), AckPolicy::Delayed(_)) && !self.tcp_receivers)
                .then(|| format!("endpoint.acks = \"delayed\" is TCP's, and {self} runs QUIC; write \"quic\"")),
            (endpoint.offload.is_some() && !self.tcp_receivers)
                .then(|| format!("endpoint.offload is the simulator's, and {self} runs QUIC; leave it out")),
            (endpoint.over_udp && !self.tcp_receivers)
                .then(|| format!("endpoint.over_udp tells TCP's schemes from others, and {self} runs all over QUIC; leave it out")),
            (endpoint.conceals_loss && !self.concealed_loss)
                .then(|| format!("endpoint.conceals_loss is the simulator's, and the receivers of {self} are honest; leave it out")),
            ([scenario.path.queue, scenario.path.reverse.queue].iter().any(filters) && !self.ack_filter).then(|| {
                format!(
                    "ack-filter is the simulator's, and the links of {self} do not read acknowledgements; leave it out of the queue"
                )
            }),
        ];
        match asked.into_iter().flatten().next() {
            None => Ok(()),
            Some(refused) => Err(ResolveError(format!("{refused}, or write --driver sim"))),
        }
    }
}

impl std::fmt::Display for Support {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the driver `{}`", self.driver)
    }
}

//! What the network tells a scheme that asks for advice: reports made of the run's traces, as the Scenario has them.

use super::{TraceAdvice, TracePath};
use crate::congestion::{ADVICE_IN_BAND, unmet};
use cellcc_control::{AdviceRequest, AdviceSource, Scheme};
use cellcc_experiment::{NetAssist, NetAssistRoute, NetAssistSource, Randomness, ResolveError, Scenario};
use cellcc_link::Capacities;
use cellcc_units::Ratio;
use std::sync::Arc;

/// A driver that has reports made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reporter {
    /// Its name in Scenarios.
    pub(crate) driver: &'static str,
    /// Whether it has the counters of the users' queues for [`TraceAdvice::poll_counted`].
    pub(crate) sees_queues: bool,
}

impl Reporter {
    /// Reports for flow `index`; `None` where its scheme asks for none.
    ///
    /// # Errors
    /// What the Scenario asks for and reports made of a trace cannot do; a flow's user that is not there.
    pub(crate) fn reports(
        self,
        scenario: &Scenario,
        index: usize,
        scheme: &Scheme,
        capacities: &Capacities,
    ) -> Result<Option<TraceAdvice>, ResolveError> {
        if let Some(unmet) = unmet(scheme) {
            return Err(self.refusal(scheme, unmet));
        }
        let Some(request) = scheme.advice_request() else { return Ok(None) };
        scenario.check_users()?;
        self.check(scenario, scheme, &request)?;
        let flow = &scenario.flows[index];
        let NetAssist { period, delay, loss, .. } = scenario.netassist;
        let path = TracePath {
            uplink: Some(Arc::clone(&capacities.reverse)),
            packet: scenario.endpoint.packet(),
            ack: scenario.endpoint.header,
            flows: u32::try_from(scenario.flows.len()).unwrap_or(u32::MAX),
            first_report: flow.start,
            period,
            delay,
            loss,
            seed: scenario.seed_of(Randomness::Assistance(index)),
            ..TracePath::new(
                Arc::clone(&capacities.forward[flow.user]),
                source(scenario, &request),
                scenario.path.rtt + flow.extra_rtt,
            )
        };
        Ok(Some(TraceAdvice::new(path.asked(&request))))
    }

    /// Refuses what would otherwise be left out silently.
    fn check(
        self,
        scenario: &Scenario,
        scheme: &Scheme,
        request: &AdviceRequest,
    ) -> Result<(), ResolveError> {
        let asked = &scenario.netassist;
        let is_in_band = request.route.is_none() && asked.route == NetAssistRoute::InBand;
        let is_cell = scenario.cell.is_some();
        let is_causal = source(scenario, request) == AdviceSource::Causal;
        let refused = [
            (is_in_band, ADVICE_IN_BAND),
            (asked.scale != Ratio::ONE, "netassist.scale"),
            (!asked.outages.is_empty(), "netassist.outages"),
            (self.sees_queues && is_causal && asked.channel_known, "netassist.channel_known"),
            (is_cell && !self.sees_queues, "advice in a cell: nobody sees into its queues"),
            (is_cell && !is_causal, "oracle in a cell: a trace does not tell what the others leave"),
            (!scenario.path.extra_delay.is_empty(), "advice with an extra delay"),
        ];
        match refused.into_iter().find(|(applies, _)| *applies) {
            None => Ok(()),
            Some((_, what)) => Err(self.refusal(scheme, what)),
        }
    }

    fn refusal(self, scheme: &Scheme, what: &str) -> ResolveError {
        ResolveError(format!(
            "scheme `{}`: the driver `{}` has no {what}; leave that out, or the scheme to the driver `sim`",
            scheme.text(),
            self.driver
        ))
    }
}

/// The scheme's, or the Scenario's where it leaves that open.
fn source(scenario: &Scenario, request: &AdviceRequest) -> AdviceSource {
    request.source.unwrap_or(match scenario.netassist.source {
        NetAssistSource::Causal => AdviceSource::Causal,
        NetAssistSource::Oracle => AdviceSource::Oracle,
    })
}

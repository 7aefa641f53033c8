//! What the network tells a scheme that asks for advice: reports made of the run's trace, as the Scenario has them.

use cellcc_control::{AdviceRequest, AdviceRoute, AdviceSource, Scheme};
use cellcc_experiment::{NetAssist, NetAssistRoute, NetAssistSource, Randomness, ResolveError, Scenario};
use cellcc_link::Shelf;
use cellcc_units::Ratio;
use std::sync::Arc;

use crate::advice::{TraceAdvice, TracePath};

/// Reports for flow `index`; `None` where its scheme asks for none.
///
/// # Errors
/// What the Scenario asks for and reports made of a trace cannot do.
pub(super) fn reports(
    scenario: &Scenario,
    index: usize,
    scheme: &Scheme,
    links: &Shelf,
) -> Result<Option<TraceAdvice>, ResolveError> {
    let Some(request) = scheme.advice_request() else { return Ok(None) };
    check(scenario, scheme, &request)?;
    let capacities = scenario.capacities(links)?;
    let NetAssist { source, period, delay, loss, .. } = scenario.netassist;
    let source = match source {
        NetAssistSource::Causal => AdviceSource::Causal,
        NetAssistSource::Oracle => AdviceSource::Oracle,
    };
    let path = TracePath {
        uplink: Some(Arc::clone(&capacities.reverse)),
        packet: scenario.endpoint.packet(),
        ack: scenario.endpoint.header,
        flows: u32::try_from(scenario.flows.len()).unwrap_or(u32::MAX),
        period,
        delay,
        loss,
        seed: scenario.seed_of(Randomness::Assistance(index)),
        ..TracePath::new(Arc::clone(&capacities.forward[0]), source, scenario.path.rtt)
    };
    Ok(Some(TraceAdvice::new(path.asked(&request))))
}

/// Refuses what would otherwise be left out silently.
fn check(scenario: &Scenario, scheme: &Scheme, request: &AdviceRequest) -> Result<(), ResolveError> {
    let asked = &scenario.netassist;
    let is_in_band = match request.route {
        Some(route) => route == AdviceRoute::InBand,
        None => asked.route == NetAssistRoute::InBand,
    };
    let refused = [
        (is_in_band, "advice in band: nobody writes on QUIC's acknowledgements"),
        (asked.scale != Ratio::ONE, "netassist.scale"),
        (!asked.outages.is_empty(), "netassist.outages"),
        (scenario.cell.is_some(), "advice in a cell: nobody sees into its queues"),
        (!scenario.path.extra_delay.is_empty(), "advice with an extra delay"),
    ];
    match refused.into_iter().find(|(applies, _)| *applies) {
        None => Ok(()),
        Some((_, what)) => Err(ResolveError(format!(
            "scheme `{}`: the driver `quic` has no {what}; leave that out, or the scheme to the driver `sim`",
            scheme.text()
        ))),
    }
}

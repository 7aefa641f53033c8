//! Network assistance on a Scenario's path: the sources of its reports.

use crate::{Randomness, ResolveError, Scenario, Support};
use cellcc_assist::{AssistedPath, NetAssist, ReportFault, ReportedFlow, Reports};
use cellcc_control::{AdviceRoute, Scheme};
use cellcc_link::{Capacities, Capacity, Delay, Loss};
use cellcc_units::{Rate, Ratio, Span, Time};
use std::sync::Arc;

/// A path whose links are known as traces.
#[derive(Debug, Clone)]
pub struct TracedPath {
    /// Capacity of the user's downlink.
    pub downlink: Arc<Capacity>,
    /// Capacity of the user's uplink; `None`: packets on it take no time.
    pub uplink: Option<Arc<Capacity>>,
    /// The smallest RTT without the two links.
    pub network: Delay,
    /// Decides which reports are lost, ...
    pub loss: Loss,
    /// ... which arrive twice, ...
    pub duplication: Loss,
    /// ... and which are overtaken.
    pub reordering: Loss,
}

impl TracedPath {
    /// A downlink alone, whose reports all arrive, once and in order.
    pub fn of_downlink(downlink: Arc<Capacity>, network: Delay) -> Self {
        let never = || Loss::new(Ratio::ZERO, 0);
        Self { downlink, uplink: None, network, loss: never(), duplication: never(), reordering: never() }
    }
}

impl AssistedPath for TracedPath {
    fn downlink(&self, from: Time, to: Time) -> Rate {
        self.downlink.rate_in(from, to)
    }

    fn uplink(&self, from: Time, to: Time) -> Rate {
        self.uplink.as_ref().map_or(Rate::ZERO, |uplink| uplink.rate_in(from, to))
    }

    fn network_rtt(&self, now: Time) -> Span {
        let uplink = self.uplink.as_ref().map_or(Span::ZERO, |uplink| uplink.delay_at(now));
        self.network.at(now) + self.downlink.delay_at(now) + uplink
    }

    fn strikes(&mut self, fault: ReportFault) -> bool {
        match fault {
            ReportFault::Loss => self.loss.strikes(),
            ReportFault::Duplication => self.duplication.strikes(),
            ReportFault::Reordering => self.reordering.strikes(),
        }
    }
}

impl Support {
    /// The reports for flow `index`; `None` where its scheme asks for none.
    ///
    /// # Errors
    /// A request of the Scenario that this driver does not support; a user that is not there.
    pub fn reports(
        self,
        scenario: &Scenario,
        index: usize,
        scheme: &Scheme,
        capacities: &Capacities,
    ) -> Result<Option<Reports<TracedPath>>, ResolveError> {
        let Some(request) = scheme.advice_request() else { return Ok(None) };
        scenario.check_users()?;
        let settings = scenario.netassist.requested(&request);
        self.check_route(scheme, &settings)?;
        let flow = &scenario.flows[index];
        let fault = |share, randomness| Loss::new(share, scenario.seed_of(randomness));
        let path = TracedPath {
            downlink: Arc::clone(&capacities.forward[flow.user]),
            uplink: Some(Arc::clone(&capacities.reverse)),
            network: scenario.forward_delay()?.and(&scenario.reverse_delay()?).plus(flow.extra_rtt),
            loss: fault(settings.loss, Randomness::Assistance(index)),
            duplication: fault(settings.duplicated, Randomness::AssistanceDuplication(index)),
            reordering: fault(settings.reordered, Randomness::AssistanceReordering(index)),
        };
        let reported = ReportedFlow {
            packet: scenario.endpoint.packet(),
            ack: scenario.endpoint.header,
            start: flow.start,
            stop: flow.stop.unwrap_or(Time::NEVER),
        };
        Ok(Some(Reports::new(settings, path, reported)))
    }

    /// Refuses a route that the driver would otherwise ignore silently.
    fn check_route(self, scheme: &Scheme, settings: &NetAssist) -> Result<(), ResolveError> {
        if settings.route != AdviceRoute::InBand || self.in_band {
            return Ok(());
        }
        Err(ResolveError(format!(
            "scheme `{}`: the driver `{}` has no advice in band (route=in-band): no node of its path writes on \
             acknowledgements; leave that out, or use the driver `sim`",
            scheme.text(),
            self.driver
        )))
    }
}

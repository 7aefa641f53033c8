//! The row `limit`: what a sender that knew the future would get from the link. It has a packet at the link in the
//! very moment in which the link can begin to serve it, so that nothing is wasted and nothing waits.

use cellcc_experiment::{Delivery, FlowMeter, RunError, Scenario, Watch};
use cellcc_link::{Capacity, Delay, ServiceClock};
use cellcc_units::{Span, Time};
use std::sync::Arc;

/// Packets between two looks of a [`Watch`]: some milliseconds of computing.
const PACKETS_BETWEEN_LOOKS: u64 = 1 << 14;

/// Measures the limit of `capacity` under a Scenario's conditions, behind this delay.
pub(crate) fn measure(
    scenario: &Scenario,
    capacity: &Arc<Capacity>,
    delay: &Delay,
    watch: &dyn Watch,
) -> Result<FlowMeter, RunError> {
    let mut meter = FlowMeter::new(scenario.endpoint.series_bin);
    let mut clock = ServiceClock::new(Arc::clone(capacity));
    let back = scenario.path.rtt.saturating_sub(scenario.path.rtt / 2);
    let bytes = scenario.endpoint.packet();
    let end = Time::ZERO + scenario.duration;
    let mut free_at = Time::ZERO;
    let mut warms_up = !scenario.warm_up.is_zero();
    for packet in 1_u64.. {
        // Ready from the beginning: the link is never idle, and several packets leave in one opportunity.
        let departed_at = clock.finish(Time::ZERO, bytes);
        if departed_at > end {
            break;
        }
        if packet.is_multiple_of(PACKETS_BETWEEN_LOOKS) && !watch.goes_on(departed_at) {
            return Err(RunError::stopped(departed_at));
        }
        if warms_up && departed_at >= scenario.measured_from() {
            meter.end_warm_up(scenario.measured_from());
            warms_up = false;
        }
        let queued_at = service_begins(capacity, free_at, departed_at);
        let arrived_at = departed_at + delay.at(departed_at);
        meter.on_sent(false);
        meter.on_delivery(&Delivery { bytes, sent_at: queued_at, queued_at, departed_at, arrived_at });
        meter.on_rtt(arrived_at + back, arrived_at.since(queued_at) + back);
        free_at = departed_at;
    }
    Ok(meter)
}

/// The latest moment from which the link still serves a whole packet by `departed_at`: after a pause, not before it.
fn service_begins(capacity: &Capacity, free_at: Time, departed_at: Time) -> Time {
    /// A service shorter than this has no pause worth looking for.
    const PAUSE: Span = Span::from_millis(1);
    const PRECISION: Span = Span::from_micros(1);
    if capacity.is_opportunities() {
        // At the opportunity that takes the packet: nothing waits.
        return departed_at;
    }
    if departed_at.since(free_at) < PAUSE {
        return free_at;
    }
    let whole = capacity.bytes_between(free_at, departed_at);
    let (mut early, mut late) = (free_at, departed_at);
    while late.since(early) > PRECISION {
        let middle = early + late.since(early) / 2;
        if capacity.bytes_between(middle, departed_at) >= whole { early = middle } else { late = middle }
    }
    early
}

#[cfg(test)]
mod tests {
    use super::*;
    use cellcc_experiment::{DEFAULT_DRIVER, Endpoint, LIMIT, NetAssist, Offset, Path};
    use cellcc_units::Bytes;

    #[test]
    fn every_opportunity_of_a_millisecond_is_used() {
        let capacity = Arc::new(Capacity::from_opportunities([3, 3, 3, 10, 10]).unwrap());
        let duration = Span::from_millis(1000);
        let scenario = Scenario {
            scheme: LIMIT.into(),
            variation: String::new(),
            driver: DEFAULT_DRIVER.into(),
            trace: String::new(),
            trace_sha256: String::new(),
            seed: 1,
            offset: Offset::Fixed,
            trace_offset: Span::ZERO,
            duration,
            warm_up: Span::ZERO,
            path: Path::default(),
            endpoint: Endpoint::default(),
            cell: None,
            netassist: NetAssist::default(),
            flows: Vec::new(),
        };
        let offered = capacity.bytes_between(Time::ZERO, Time::ZERO + duration);
        assert_eq!(offered, Bytes::new(500 * 1500));
        let delay = scenario.forward_delay().unwrap();
        let metrics = measure(&scenario, &capacity, &delay, &()).unwrap().metrics(offered, duration);
        assert_eq!(metrics.utilisation, 1.0);
        assert_eq!(metrics.queueing_delay_max_ms, Some(0.0));
        // It used to be some millions, from a nanosecond of waiting.
        assert_eq!(metrics.power, None);
    }
}

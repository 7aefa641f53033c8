//! The row `limit`: the results of senders that know the future. Each has a packet at the link in the very moment in
//! which the link can begin to serve it, so that nothing is wasted and nothing waits; and where it has to end, a last packet of as
//! many bytes as the link still carries by then.

use cellcc_experiment::{
    Delivery, FlowMeter, FlowSetup, LIMIT, MeasuredFlow, RunError, Scenario, Source, Watch,
};
use cellcc_link::{Capacity, Delay, ServiceClock};
use cellcc_units::{Bytes, Span, Time};
use std::sync::Arc;

/// Packets between two looks of a [`Watch`]: some milliseconds of computing.
const PACKETS_BETWEEN_LOOKS: u64 = 1 << 14;

/// Measures the limit of `capacity` under a Scenario's conditions, between these delays there and back, for these flows.
pub(crate) fn measure(
    scenario: &Scenario,
    flows: &[FlowSetup],
    capacity: &Arc<Capacity>,
    delays: [&Delay; 2],
    watch: &dyn Watch,
) -> Result<Vec<MeasuredFlow<'static>>, RunError> {
    let end = Time::ZERO + scenario.duration;
    let mut senders: Vec<Sender> = flows.iter().map(|flow| Sender::new(flow, scenario)).collect();
    let mut clock = ServiceClock::new(Arc::clone(capacity));
    let [mut there, mut back] = [delays[0].in_order(), delays[1].in_order()];
    let (mut ready, mut free_at) = (Time::ZERO, Time::ZERO);
    let mut warms_up = !scenario.warm_up.is_zero();
    for packet in 1_u64.. {
        let turns = (0..senders.len()).filter(|&index| !senders[index].is_done);
        let Some(turn) = turns.min_by_key(|&index| senders[index].turn(free_at)) else { break };
        let sender = &mut senders[turn];
        let start = sender.start;
        // Ready from the beginning: the link is never idle, and several packets leave in one opportunity.
        ready = ready.max(start);
        let Some(bytes) = sender.next(&clock, ready, end) else { continue };
        let departed_at = clock.finish(ready, bytes);
        if packet.is_multiple_of(PACKETS_BETWEEN_LOOKS) && !watch.goes_on(departed_at) {
            return Err(RunError::stopped(departed_at));
        }
        let queued_at = service_begins(capacity, free_at.max(start), departed_at);
        let arrived_at = departed_at + there(departed_at) + capacity.delay_at(departed_at);
        let back = back(arrived_at) + sender.extra_rtt;
        sender.acknowledged_at = sender.acknowledged_at.max(arrived_at + back);
        if warms_up && departed_at >= scenario.measured_from() {
            senders.iter_mut().for_each(|sender| sender.meter.end_warm_up(scenario.measured_from()));
            warms_up = false;
        }
        let Sender { meter, stop, .. } = &mut senders[turn];
        meter.on_sent(false);
        if departed_at <= *stop {
            meter.on_delivery(&Delivery { bytes, sent_at: queued_at, queued_at, departed_at, arrived_at });
        }
        meter.on_rtt(arrived_at + back, arrived_at.since(queued_at) + back);
        free_at = departed_at;
    }
    if warms_up {
        senders.iter_mut().for_each(|sender| sender.meter.end_warm_up(scenario.measured_from()));
    }
    Ok(senders.into_iter().map(|sender| sender.measured(end)).collect())
}

/// A sender that knows the future.
struct Sender {
    start: Time,
    stop: Time,
    /// Bytes that a sized source has still to send; `None` for a source without an end.
    left: Option<Bytes>,
    mss: Bytes,
    header: Bytes,
    extra_rtt: Span,
    meter: FlowMeter,
    /// The link carries for it until then: until it stops, or, for the data of a sized source sent by then, to the run's end.
    by: Time,
    /// Rest of the packet that the link was serving when it stopped.
    rest: Bytes,
    /// The time at which its last data are acknowledged.
    acknowledged_at: Time,
    is_done: bool,
    /// It has sent all that it had.
    is_through: bool,
}

impl Sender {
    fn new(setup: &FlowSetup, scenario: &Scenario) -> Self {
        let end = Time::ZERO + scenario.duration;
        let stop = setup.stop.unwrap_or(end).min(end);
        let left = match setup.source {
            Source::Sized(bytes) => Some(bytes),
            _ => None,
        };
        Self {
            start: setup.start,
            stop,
            left,
            mss: scenario.endpoint.mss,
            by: stop,
            rest: Bytes::ZERO,
            header: scenario.endpoint.header,
            extra_rtt: setup.extra_rtt,
            meter: FlowMeter::new(scenario.endpoint.series_bin),
            acknowledged_at: Time::ZERO,
            is_done: false,
            is_through: false,
        }
    }

    fn is_bulk(&self) -> bool {
        self.left.is_none()
    }

    /// The least is served next: the first arrival, and among those present, one that ends before one that takes the rest.
    fn turn(&self, free_at: Time) -> (Time, bool) {
        (self.start.max(free_at), self.is_bulk())
    }

    /// Its next packet; none where it has sent all, or the link carries nothing more in time.
    fn next(&mut self, clock: &ServiceClock, ready: Time, end: Time) -> Option<Bytes> {
        let whole = match std::mem::take(&mut self.rest) {
            rest if !rest.is_zero() => rest,
            _ if self.left == Some(Bytes::ZERO) => {
                (self.is_done, self.is_through) = (true, true);
                return None;
            }
            _ => {
                let payload = self.left.map_or(self.mss, |left| left.min(self.mss));
                self.left = self.left.map(|left| left - payload);
                payload + self.header
            }
        };
        let fits = |bytes| clock.clone().finish(ready, bytes) <= self.by;
        if fits(whole) {
            return Some(whole);
        }
        let (mut less, mut more) = (Bytes::ZERO, whole);
        while more - less > Bytes::new(1) {
            let middle = Bytes::new(less.get().midpoint(more.get()));
            if fits(middle) { less = middle } else { more = middle }
        }
        self.is_done = self.is_bulk() || self.by == end;
        (self.by, self.rest) = (end, whole - less);
        (!less.is_zero()).then_some(less)
    }

    /// In a run until `end`.
    fn measured(self, end: Time) -> MeasuredFlow<'static> {
        let (start, stop) = (self.start, self.stop);
        let completed_at = (self.is_through && self.acknowledged_at <= end).then_some(self.acknowledged_at);
        let stop = completed_at.unwrap_or(Time::NEVER).min(stop);
        let active = (start.min(stop), stop);
        MeasuredFlow { completed_at, ..MeasuredFlow::new(LIMIT, 0, active, self.meter) }
    }
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
            path: Path::default().into(),
            endpoint: Endpoint::default().into(),
            cell: None,
            netassist: NetAssist::default().into(),
            flows: Vec::new(),
        };
        let offered = capacity.bytes_between(Time::ZERO, Time::ZERO + duration);
        assert_eq!(offered, Bytes::new(500 * 1500));
        let delays = [scenario.forward_delay().unwrap(), scenario.reverse_delay().unwrap()];
        let flows = scenario.limit_flows().unwrap();
        let measured = measure(&scenario, &flows, &capacity, delays.each_ref(), &()).unwrap();
        let metrics = measured[0].meter.metrics(offered, duration);
        assert_eq!(metrics.utilisation, 1.0);
        assert_eq!(metrics.queueing_delay_max_ms, Some(0.0));
        // It used to be some millions, from a nanosecond of waiting.
        assert_eq!(metrics.power, None);
    }
}

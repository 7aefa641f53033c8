//! The event loop: whatever is due next happens, until the run ends.

use crate::application::Application;
use crate::frames::Frames;
use crate::paths::{self, AckPacket, Capacities, DataPacket, Forward};
use crate::receiver::{Acknowledgement, Receiver};
use crate::sender::Sender;
use cellcc_control::{Context, Scheme};
use cellcc_experiment::{Delivery, FlowMeter, ResolveError, Scenario, Source};
use cellcc_link::{Link, Poll};
use cellcc_units::{Bytes, Span, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Packets in flight at the start (RFC 6928, RFC 9002 section 7.2).
const INITIAL_WINDOW_PACKETS: u64 = 10;

/// Both ends of a flow, and what is measured of it.
pub(crate) struct Flow {
    pub(crate) user: usize,
    pub(crate) sender: Sender,
    pub(crate) receiver: Receiver,
    pub(crate) frames: Option<Frames>,
    pub(crate) meter: FlowMeter,
    /// Packets that leave the link after this are no part of the flow's throughput.
    counts_until: Time,
    /// The wake-up that stands in the queue of events; others of this flow are out of date.
    scheduled: Time,
}

impl Flow {
    /// From when to when the flow is active: until it stops, or a sized source is through.
    pub(crate) fn active(&self) -> (Time, Time) {
        let application = self.sender.application();
        let stop = self.sender.completed_at().unwrap_or(Time::NEVER).min(application.stop());
        (application.start().min(stop), stop)
    }

    fn next_wake(&self) -> Time {
        self.sender.next_wake().min(self.receiver.ack_due_at().unwrap_or(Time::NEVER))
    }
}

/// One run under way.
pub(crate) struct Engine {
    forward: Forward,
    reverse: Link<AckPacket>,
    pub(crate) flows: Vec<Flow>,
    wakes: BinaryHeap<Reverse<(Time, u32)>>,
    end: Time,
    bin: Span,
    packet: Bytes,
    ack_bytes: Bytes,
}

impl Engine {
    /// A run of a resolved Scenario with one scheme per flow.
    pub(crate) fn new(
        scenario: &Scenario,
        capacities: &Capacities,
        schemes: &[Scheme],
    ) -> Result<Self, ResolveError> {
        let endpoint = &scenario.endpoint;
        let end = Time::ZERO + scenario.duration;
        let flows = scenario.flows.iter().zip(schemes).enumerate().map(|(index, (setup, scheme))| {
            let context = Context {
                packet: endpoint.packet(),
                initial_window: endpoint.packet() * INITIAL_WINDOW_PACKETS,
                seed: paths::flow_seed(scenario, index),
            };
            let application = Application::new(setup, endpoint, end);
            Flow {
                user: setup.user,
                frames: match setup.source {
                    Source::Frames { deadline, .. } => Some(Frames::new(deadline)),
                    _ => None,
                },
                sender: Sender::new(scheme.build(&context), application, endpoint),
                receiver: Receiver::new(endpoint),
                meter: FlowMeter::new(endpoint.series_bin),
                counts_until: setup.stop.unwrap_or(end),
                scheduled: Time::NEVER,
            }
        });
        let mut engine = Self {
            forward: Forward::new(scenario, capacities)?,
            reverse: paths::reverse(scenario, capacities),
            flows: flows.collect(),
            wakes: BinaryHeap::new(),
            end,
            bin: endpoint.series_bin,
            packet: endpoint.packet(),
            ack_bytes: endpoint.header,
        };
        (0..engine.flows.len()).for_each(|index| engine.schedule(index));
        Ok(engine)
    }

    /// Runs to the end. `at_bin` is called with each flow when a bin of the series is over.
    pub(crate) fn run(&mut self, mut at_bin: impl FnMut(usize, &mut Flow)) {
        let mut bin = 0;
        let mut bin_ends_at = Time::ZERO + self.bin;
        loop {
            let arrival = self.forward.next_wake();
            let acknowledgement = self.reverse.next_wake();
            let wake = self.wakes.peek().map_or(Time::NEVER, |Reverse((time, _))| *time);
            let now = arrival.min(acknowledgement).min(wake);
            while bin_ends_at <= now.min(self.end) {
                for flow in &mut self.flows {
                    let limits = flow.sender.flow().limits();
                    flow.meter.sample_limits(bin, limits.window, self.packet, limits.pacing_rate);
                    at_bin(bin, flow);
                }
                bin += 1;
                bin_ends_at += self.bin;
            }
            if now > self.end {
                break;
            }
            if now == arrival {
                self.on_arrival(now);
            } else if now == acknowledgement {
                self.on_acknowledgement(now);
            } else {
                self.on_wake(now);
            }
        }
        self.count_departed();
    }

    fn on_arrival(&mut self, now: Time) {
        let Some(delivery) = self.forward.poll(now) else { return };
        let index = delivery.packet.flow as usize;
        self.measure(&delivery);
        let flow = &mut self.flows[index];
        if let Some(frames) = &mut flow.frames {
            frames.on_segment(now, delivery.packet.segment, flow.sender.application());
        }
        match flow.receiver.on_packet(now, delivery.packet.number) {
            Some(ack) => self.send_acknowledgement(now, index, ack),
            None => self.schedule(index),
        }
    }

    fn on_acknowledgement(&mut self, now: Time) {
        let Poll::Ready(delivery) = self.reverse.poll(now) else { return };
        let index = delivery.packet.flow as usize;
        let flow = &mut self.flows[index];
        let ack = delivery.packet.ack;
        let sample = flow.sender.on_acknowledgement(now, ack, flow.receiver.newly_acknowledged(ack));
        if let Some(rtt) = sample {
            flow.meter.on_rtt(now, rtt);
        }
        self.send_all(now, index);
        self.schedule(index);
    }

    fn on_wake(&mut self, now: Time) {
        let Some(Reverse((time, index))) = self.wakes.pop() else { return };
        let index = index as usize;
        if self.flows[index].scheduled != time {
            return; // An earlier wake-up took its place.
        }
        self.flows[index].scheduled = Time::NEVER;
        if self.flows[index].receiver.ack_due_at().is_some_and(|due| due <= now) {
            let ack = self.flows[index].receiver.acknowledge(now);
            self.send_acknowledgement(now, index, ack);
        }
        if self.flows[index].sender.next_wake() <= now {
            self.flows[index].sender.on_wake(now);
            self.send_all(now, index);
        }
        self.schedule(index);
    }

    fn send_all(&mut self, now: Time, index: usize) {
        let flow = &mut self.flows[index];
        while let Some(departure) = flow.sender.next_departure(now) {
            flow.meter.on_sent(departure.retransmission);
            let packet = DataPacket {
                flow: index as u32,
                bytes: departure.bytes,
                number: departure.number,
                segment: departure.segment,
                sent_at: now,
            };
            if self.forward.enqueue(now, flow.user, packet).is_err() {
                flow.meter.on_lost();
            }
        }
    }

    fn send_acknowledgement(&mut self, now: Time, index: usize, ack: Acknowledgement) {
        // One that is lost is made good by the next.
        let _ = self.reverse.enqueue(now, AckPacket { flow: index as u32, bytes: self.ack_bytes, ack });
    }

    /// Puts the flow's next wake-up in the queue, unless an earlier one stands there already.
    fn schedule(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        let wake = flow.next_wake();
        if wake < flow.scheduled {
            flow.scheduled = wake;
            self.wakes.push(Reverse((wake, index as u32)));
        }
    }

    fn measure(&mut self, delivery: &cellcc_link::Delivery<DataPacket>) {
        let flow = &mut self.flows[delivery.packet.flow as usize];
        if delivery.departed_at <= flow.counts_until {
            flow.meter.on_delivery(&Delivery {
                bytes: delivery.packet.bytes,
                sent_at: delivery.packet.sent_at,
                queued_at: delivery.queued_at,
                departed_at: delivery.departed_at,
                arrived_at: delivery.arrived_at,
            });
        }
    }

    /// Packets that left the link before the end count, although they arrive after it.
    fn count_departed(&mut self) {
        while let Some(delivery) = self.forward.poll(Time::NEVER) {
            if delivery.departed_at > self.end {
                break;
            }
            self.measure(&delivery);
        }
    }
}

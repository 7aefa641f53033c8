//! The event loop: whatever is due next happens, until the run ends.

use crate::assistance::{Assistance, Sight};
use crate::packets::{AckPacket, DataPacket};
use crate::receiver::{Acknowledgement, Receiver};
use crate::sender::Sender;
use cellcc_assist::active_flows;
use cellcc_control::{Advice, Arrival, Context, Observer, Scheme};
use cellcc_experiment::{
    Application, Delivery, FlowMeter, Frames, PathLinks, Randomness, ResolveError, Scenario, Source,
};
use cellcc_link::{Capacities, Forward, Link, Poll};
use cellcc_units::{Bytes, Span, Time};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};

/// Packets in flight at the start (RFC 6928, RFC 9002 section 7.2).
const INITIAL_WINDOW_PACKETS: u64 = 10;

/// Both ends of a flow, and what is measured of it.
pub(crate) struct Flow {
    pub(crate) user: usize,
    pub(crate) sender: Sender,
    pub(crate) receiver: Receiver,
    pub(crate) frames: Option<Frames>,
    pub(crate) meter: FlowMeter,
    assistance: Option<Assistance>,
    extra_rtt: Span,
    /// Acknowledgements on the part of the path that this flow does not share.
    on_extra_path: VecDeque<(Time, AckPacket)>,
    last_sent_at: Time,
    /// The user's flows, as the receiver-side component was told last.
    user_flows: u32,
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

    fn is_active(&self, now: Time) -> bool {
        let (start, stop) = self.active();
        start <= now && now < stop
    }

    /// What the controller and the receiver-side component show of their inside.
    pub(crate) fn observe(&self, observer: &mut dyn Observer) {
        self.sender.flow().controller().observe(observer);
        if let Some(component) = self.receiver.component() {
            component.observe(observer);
        }
    }

    fn arrived_by_extra_path(&mut self, now: Time) -> Option<AckPacket> {
        let (due, _) = self.on_extra_path.front()?;
        if *due > now {
            return None;
        }
        self.on_extra_path.pop_front().map(|(_, packet)| packet)
    }

    fn next_wake(&self) -> Time {
        let ends = self.sender.next_wake().min(self.receiver.next_wake());
        let extra = self.on_extra_path.front().map_or(Time::NEVER, |(due, _)| *due);
        ends.min(extra).min(self.assistance.as_ref().map_or(Time::NEVER, Assistance::next_wake))
    }
}

/// One run under way.
pub(crate) struct Engine {
    forward: Forward<DataPacket>,
    reverse: Link<AckPacket>,
    pub(crate) flows: Vec<Flow>,
    /// All that has arrived for each user.
    arrived: Vec<Bytes>,
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
        let assistance = |index, scheme: &Scheme| {
            let request = scheme.advice_request();
            request.map(|request| Assistance::new(scenario, capacities, index, &request)).transpose()
        };
        let flows = scenario.flows.iter().zip(schemes).enumerate().map(|(index, (setup, scheme))| {
            let context = Context {
                packet: endpoint.packet(),
                initial_window: endpoint.packet() * INITIAL_WINDOW_PACKETS,
                seed: scenario.seed_of(Randomness::Flow(index)),
            };
            let application = Application::new(setup, endpoint, end);
            Ok(Flow {
                user: setup.user,
                frames: match setup.source {
                    Source::Frames { deadline, .. } => Some(Frames::new(deadline)),
                    _ => None,
                },
                sender: Sender::new(scheme.build(&context), application, endpoint),
                receiver: Receiver::new(endpoint, scheme.build_receiver(&context)),
                meter: FlowMeter::new(endpoint.series_bin),
                assistance: assistance(index, scheme)?,
                extra_rtt: setup.extra_rtt,
                on_extra_path: VecDeque::new(),
                last_sent_at: setup.start,
                user_flows: 0,
                counts_until: setup.stop.unwrap_or(end),
                scheduled: Time::NEVER,
            })
        });
        let links = PathLinks::new(scenario, capacities)?;
        let mut engine = Self {
            forward: links.forward(),
            reverse: links.reverse(),
            flows: flows.collect::<Result<_, ResolveError>>()?,
            arrived: vec![Bytes::ZERO; capacities.forward.len()],
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
        let delivery = match self.forward.poll(now) {
            Poll::Ready(delivery) => delivery,
            Poll::Dropped(dropped) => return self.flows[dropped.packet.flow as usize].meter.on_lost(),
            Poll::Wake(_) | Poll::Idle => return,
        };
        let index = delivery.packet.flow as usize;
        self.measure(&delivery);
        let flow = &mut self.flows[index];
        if let Some(frames) = &mut flow.frames {
            frames.on_segment(now, delivery.packet.segment, flow.sender.application());
        }
        let user = flow.user;
        self.arrived[user] += delivery.packet.bytes;
        if flow.receiver.component().is_some() {
            flow.receiver.on_user_arrivals(now, self.arrived[user]);
            self.tell_user_flows(now, index);
        }
        let DataPacket { number, bytes, ecn, signal, .. } = delivery.packet;
        match self.flows[index].receiver.on_packet(&Arrival { now, number, bytes }, ecn, signal) {
            Some(ack) => self.send_acknowledgement(now, index, ack),
            None => self.schedule(index),
        }
    }

    fn on_acknowledgement(&mut self, now: Time) {
        let Poll::Ready(delivery) = self.reverse.poll(now) else { return };
        let index = delivery.packet.flow as usize;
        let flow = &mut self.flows[index];
        let advice = flow.assistance.as_mut().and_then(|it| it.on_acknowledgement(delivery.departed_at, now));
        if flow.extra_rtt.is_zero() {
            self.acknowledge(now, index, delivery.packet);
        } else {
            flow.on_extra_path.push_back((now + flow.extra_rtt, delivery.packet));
        }
        if let Some(advice) = advice {
            self.advise(now, index, &advice);
        }
        self.schedule(index);
    }

    /// An acknowledgement arrives at the sender.
    fn acknowledge(&mut self, now: Time, index: usize, packet: AckPacket) {
        let flow = &mut self.flows[index];
        let ack = packet.ack;
        // What comes with an acknowledgement is known when the window is set by it.
        if let Some(feedback) = packet.feedback {
            flow.sender.on_feedback(now, &feedback);
        }
        let sample = flow.sender.on_acknowledgement(now, ack, flow.receiver.newly_acknowledged(ack));
        if let Some(rtt) = sample {
            flow.meter.on_rtt(now, rtt);
        }
        self.send_all(now, index);
    }

    fn advise(&mut self, now: Time, index: usize, advice: &Advice) {
        self.flows[index].sender.on_advice(now, advice);
        self.send_all(now, index);
    }

    fn on_wake(&mut self, now: Time) {
        let Some(Reverse((time, index))) = self.wakes.pop() else { return };
        let index = index as usize;
        if self.flows[index].scheduled != time {
            return; // An earlier wake-up took its place.
        }
        self.flows[index].scheduled = Time::NEVER;
        self.assist(now, index);
        while let Some(packet) = self.flows[index].arrived_by_extra_path(now) {
            self.acknowledge(now, index, packet);
        }
        if self.flows[index].receiver.next_wake() <= now
            && let Some(ack) = self.flows[index].receiver.on_wake(now)
        {
            self.send_acknowledgement(now, index, ack);
        }
        if self.flows[index].sender.next_wake() <= now {
            self.flows[index].sender.on_wake(now);
            self.send_all(now, index);
        }
        self.schedule(index);
    }

    /// Makes the flow's network assistance report, and delivers what has arrived.
    fn assist(&mut self, now: Time, index: usize) {
        let Some(assistance) = &self.flows[index].assistance else { return };
        let sight = assistance.is_due(now).then(|| self.sight(now, self.flows[index].user));
        let Some(assistance) = &mut self.flows[index].assistance else { return };
        if let Some(sight) = sight {
            assistance.report(now, &sight);
        }
        if let Some(advice) = assistance.arrived(now) {
            self.advise(now, index, &advice);
        }
    }

    fn sight(&mut self, now: Time, user: usize) -> Sight {
        let service = self.forward.service(now, user);
        let sending = self.flows.iter().filter(|flow| flow.user == user && flow.is_active(now));
        let flows = active_flows(now, sending.map(|flow| flow.last_sent_at));
        let others: BTreeSet<usize> =
            self.flows.iter().map(|flow| flow.user).filter(|&other| other != user).collect();
        let busy = others.into_iter().filter(|&other| !self.forward.service(now, other).backlog.is_zero());
        Sight { service, flows, busy_users: 1 + busy.count() as u32 }
    }

    /// Tells the receiver-side component how many flows its user has, where that has changed.
    fn tell_user_flows(&mut self, now: Time, index: usize) {
        let user = self.flows[index].user;
        // The user knows what is open on its device, and not only what was seen of late, as the network does.
        let open = self.flows.iter().filter(|flow| flow.user == user && flow.is_active(now));
        let count = open.count() as u32;
        let flow = &mut self.flows[index];
        if flow.user_flows != count {
            flow.user_flows = count;
            flow.receiver.on_user_flows(now, count.max(1));
        }
    }

    fn send_all(&mut self, now: Time, index: usize) {
        let flow = &mut self.flows[index];
        while let Some(departure) = flow.sender.next_departure(now) {
            flow.meter.on_sent(departure.retransmission);
            flow.last_sent_at = now;
            let packet = DataPacket {
                flow: index as u32,
                ecn: departure.ecn,
                bytes: departure.bytes,
                number: departure.number,
                segment: departure.segment,
                sent_at: now,
                signal: departure.signal,
            };
            if self.forward.enqueue(now, flow.user, packet).is_err() {
                flow.meter.on_lost();
            }
        }
    }

    fn send_acknowledgement(&mut self, now: Time, index: usize, ack: Acknowledgement) {
        let feedback = self.flows[index].receiver.feedback(now);
        let message = feedback.as_ref().map_or(0, |feedback| feedback.as_bytes().len());
        let bytes = self.ack_bytes + Bytes::new(message as u64);
        // One that is lost is made good by the next.
        let _ = self.reverse.enqueue(now, AckPacket { flow: index as u32, bytes, ack, feedback });
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
        while self.forward.next_wake() < Time::NEVER {
            // What is held back to be reordered left the link in time, too.
            if let Poll::Ready(delivery) = self.forward.poll(Time::NEVER)
                && delivery.departed_at <= self.end
            {
                self.measure(&delivery);
            }
        }
    }
}

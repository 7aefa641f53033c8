//! The event loop: whatever is due next happens, until the run ends.

use super::flow::Flow;
use super::network::Datagram;
use cellcc_assist::{Counters, active_flows};
use cellcc_experiment::{PathLinks, RunError};
use cellcc_link::{Forward, Link, Poll, Service};
use cellcc_units::{Span, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// One run under way.
pub(super) struct Engine {
    forward: Forward<Datagram>,
    reverse: Link<Datagram>,
    pub(super) flows: Vec<Flow>,
    wakes: BinaryHeap<Reverse<(Time, usize)>>,
    end: Time,
    bin: Span,
}

impl Engine {
    /// A run of these flows over these links until `end`, with time series in bins of `bin`.
    pub(super) fn new(links: &PathLinks, flows: Vec<Flow>, end: Time, bin: Span) -> Self {
        Self { forward: links.forward(), reverse: links.reverse(), flows, wakes: BinaryHeap::new(), end, bin }
    }

    /// Runs to the end. `at_bin` is called with each flow when a bin of the series is over.
    pub(super) fn run(&mut self, mut at_bin: impl FnMut(usize, &mut Flow)) -> Result<(), RunError> {
        let mut bin = 0;
        let mut bin_ends_at = Time::ZERO + self.bin;
        for index in 0..self.flows.len() {
            self.on_flow_wake(Time::ZERO, index)?;
        }
        loop {
            let arrival = self.forward.next_wake();
            let returned = self.reverse.next_wake();
            let wake = self.wakes.peek().map_or(Time::NEVER, |Reverse((time, _))| *time);
            let now = arrival.min(returned).min(wake);
            while bin_ends_at <= now.min(self.end) {
                self.flows.iter_mut().for_each(|flow| at_bin(bin, flow));
                bin += 1;
                bin_ends_at += self.bin;
            }
            if now > self.end {
                break;
            }
            if now == arrival {
                self.on_arrival(now)?;
            } else if now == returned {
                self.on_return(now)?;
            } else {
                self.on_wake(now)?;
            }
        }
        self.count_departed();
        Ok(())
    }

    fn on_arrival(&mut self, now: Time) -> Result<(), RunError> {
        let delivery = match self.forward.poll(now) {
            Poll::Ready(delivery) => delivery,
            Poll::Dropped(dropped) => {
                self.flows[dropped.packet.flow].meter.on_lost();
                return Ok(());
            }
            Poll::Wake(_) | Poll::Idle => return Ok(()),
        };
        let index = delivery.packet.flow;
        self.tell_user_flows(now, index);
        let flow = &mut self.flows[index];
        flow.measure(&delivery);
        flow.on_arrival(now, delivery.packet, back(&mut self.reverse, now))?;
        self.schedule(now, index);
        Ok(())
    }

    fn on_return(&mut self, now: Time) -> Result<(), RunError> {
        let Poll::Ready(delivery) = self.reverse.poll(now) else { return Ok(()) };
        let index = delivery.packet.flow;
        let flow = &mut self.flows[index];
        flow.on_return(now, delivery.packet, forward(&mut self.forward, now, flow.user))?;
        self.schedule(now, index);
        Ok(())
    }

    fn on_wake(&mut self, now: Time) -> Result<(), RunError> {
        match self.wakes.pop() {
            // An earlier wake-up may have taken its place.
            Some(Reverse((time, index))) if self.flows[index].scheduled == time => {
                self.on_flow_wake(now, index)
            }
            _ => Ok(()),
        }
    }

    fn on_flow_wake(&mut self, now: Time, index: usize) -> Result<(), RunError> {
        if self.flows[index].wants_advice(now) {
            self.advise(now, index);
        }
        let flow = &mut self.flows[index];
        flow.scheduled = Time::NEVER;
        let user = flow.user;
        flow.on_wake(now, forward(&mut self.forward, now, user), back(&mut self.reverse, now))?;
        self.schedule(now, index);
        Ok(())
    }

    /// Lets the network look at the flow's user, and report to the flow's scheme.
    fn advise(&mut self, now: Time, index: usize) {
        let user = self.flows[index].user;
        let Service { served, busy, backlog } = self.forward.service(now, user);
        let sending = self.flows.iter().filter(|flow| flow.user == user && flow.is_active(now));
        let flows = active_flows(now, sending.map(|flow| flow.last_sent_at));
        self.flows[index].advise(now, Counters { served, busy, backlog }, flows);
    }

    /// Tells the receiver-side component how many flows its user has open.
    fn tell_user_flows(&mut self, now: Time, index: usize) {
        if !self.flows[index].runs_component() {
            return;
        }
        let user = self.flows[index].user;
        let open = self.flows.iter().filter(|flow| flow.user == user && flow.is_active(now)).count();
        self.flows[index].tell_user_flows(now, open.max(1) as u32);
    }

    /// Puts the flow's next wake-up in the queue, unless an earlier one stands there already.
    fn schedule(&mut self, now: Time, index: usize) {
        let flow = &mut self.flows[index];
        let wake = flow.next_wake(now);
        if wake < flow.scheduled {
            flow.scheduled = wake;
            self.wakes.push(Reverse((wake, index)));
        }
    }

    /// Packets that left the link before the end count, although they arrive after it.
    fn count_departed(&mut self) {
        while self.forward.next_wake() < Time::NEVER {
            // What is held back to be reordered left the link in time, too.
            if let Poll::Ready(delivery) = self.forward.poll(Time::NEVER)
                && delivery.departed_at <= self.end
            {
                self.flows[delivery.packet.flow].measure(&delivery);
            }
        }
    }
}

/// Hands datagrams to the link; tells whether it took them.
fn forward(link: &mut Forward<Datagram>, now: Time, user: usize) -> impl FnMut(Datagram) -> bool + '_ {
    move |datagram| link.enqueue(now, user, datagram).is_ok()
}

/// Hands datagrams to the link back. noq makes lost ones good.
fn back(link: &mut Link<Datagram>, now: Time) -> impl FnMut(Datagram) + '_ {
    move |datagram| drop(link.enqueue(now, datagram))
}

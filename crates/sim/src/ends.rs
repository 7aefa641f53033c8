//! Both ends of a flow: a sender with the scheme, and a receiver that acknowledges.

use crate::packets::{AckPacket, Acknowledgement, DataPacket};
use crate::receiver::Receiver;
use crate::sender::{Departure, Scratch, Sender};
use cellcc_control::{Advice, Context, Flow, Limits, Observed, Scheme};
use cellcc_experiment::virtual_time::{self, Network};
use cellcc_experiment::{Application, Frames, MediaOutcome, Randomness, RunError, Scenario, Source};
use cellcc_units::{Bytes, Time};

/// Both ends of a flow.
#[repr(C)]
pub struct Ends {
    /// [`Sender::next_wake`] after the last event of the sender: data that arrives does not change it.
    sender_wakes_at: Time,
    frames: Option<Box<Frames>>,
    ack_bytes: Bytes,
    receiver: Receiver,
    sender: Sender,
}

impl Ends {
    /// The ends of flow `index` of a Scenario.
    pub(crate) fn new(scenario: &Scenario, index: usize, scheme: &Scheme) -> Self {
        let (setup, endpoint) = (&scenario.flows[index], &*scenario.endpoint.below(scheme.info()));
        let context = Context::new(
            endpoint.packet(),
            scenario.initial_window(setup).of_packets(endpoint.packet()),
            scenario.seed_of(Randomness::Flow(index)),
        )
        .with_most_media(setup.source.most_media());
        let application = Application::new(setup, endpoint, Time::ZERO + scenario.duration)
            .seeded(scenario.seed_of(Randomness::Frames(index)));
        let mut sender = Sender::new(scheme.build(&context), application, endpoint);
        Self {
            sender_wakes_at: sender.next_wake(),
            sender,
            receiver: Receiver::new(
                endpoint,
                scenario.path.rtt + setup.extra_rtt,
                scheme.build_receiver(&context),
            ),
            frames: match setup.source {
                Source::Frames { deadline, .. } | Source::Video { deadline, .. } => {
                    Some(Box::new(Frames::new(deadline, scenario.measured_from())))
                }
                _ => None,
            },
            ack_bytes: endpoint.header,
        }
    }

    /// The sender's accounting.
    pub fn flow(&self) -> &Flow {
        self.sender.flow()
    }

    /// Sends all allowed packets; every event of the sender ends with this.
    fn send_all(&mut self, network: &mut Network<'_, Self>) {
        while let Some(Departure { packet, retransmission }) = self.sender.next_departure(network.now()) {
            network.send_data(packet, retransmission);
        }
        self.sender_wakes_at = self.sender.next_wake();
    }

    /// Inlined, as is [`Receiver::on_packet`]: calls would cost each packet one in a hundred of its instructions.
    #[inline(always)]
    fn acknowledge(&mut self, network: &mut Network<'_, Self>, ack: Acknowledgement) {
        let feedback = self.receiver.feedback(network.now());
        let bytes = self.ack_bytes + feedback.map_or(Bytes::ZERO, |(_, bytes)| bytes);
        network.send_ack(AckPacket { bytes, ack, feedback: feedback.map(|(number, _)| number) });
    }
}

impl virtual_time::Ends for Ends {
    type Data = DataPacket;
    type Ack = AckPacket;
    type Scratch = Scratch;

    #[inline]
    fn on_data(
        &mut self,
        network: &mut Network<'_, Self>,
        sent_at: Time,
        data: DataPacket,
    ) -> Result<(), RunError> {
        let now = network.now();
        if let Some(frames) = &mut self.frames
            && !self.receiver.discards(sent_at, &data)
        {
            frames.on_segment(now, data.segment, self.sender.application());
        }
        if let Some(ack) = self.receiver.on_packet(now, sent_at, &data) {
            self.acknowledge(network, ack);
        }
        Ok(())
    }

    fn on_ack(&mut self, network: &mut Network<'_, Self>, packet: AckPacket) -> Result<(), RunError> {
        let now = network.now();
        // The feedback on an acknowledgement is known when it sets the window.
        if let Some(message) = packet.feedback.and_then(|number| self.receiver.take_feedback(number)) {
            self.sender.on_message(now, &message);
        }
        let numbers = self.receiver.newly_acknowledged(packet.ack);
        if let Some(rtt) = self.sender.on_acknowledgement(now, packet.ack, numbers, network.scratch()) {
            network.meter().on_rtt(now, rtt);
        }
        self.send_all(network);
        Ok(())
    }

    fn on_advice(&mut self, network: &mut Network<'_, Self>, advice: &Advice) {
        self.sender.on_advice(network.now(), advice);
        self.send_all(network);
    }

    fn on_wake(&mut self, network: &mut Network<'_, Self>) -> Result<(), RunError> {
        let now = network.now();
        if self.receiver.next_wake() <= now
            && let Some(ack) = self.receiver.on_wake(now)
        {
            self.acknowledge(network, ack);
        }
        if self.sender_wakes_at <= now {
            self.sender.on_wake(now, network.scratch());
            self.send_all(network);
        }
        Ok(())
    }

    #[inline]
    fn next_wake(&self, _now: Time) -> Time {
        self.sender_wakes_at.min(self.receiver.next_wake())
    }

    #[inline]
    fn has_receiver_component(&self) -> bool {
        self.receiver.component().is_some()
    }

    fn on_user_flows(&mut self, now: Time, flows: u32) {
        self.receiver.on_user_flows(now, flows);
    }

    fn on_user_arrivals(&mut self, now: Time, arrived: Bytes) {
        self.receiver.on_user_arrivals(now, arrived);
    }

    fn application(&self) -> &Application {
        self.sender.application()
    }

    fn completed_at(&self) -> Option<Time> {
        self.sender.completed_at()
    }

    fn frames(&self, end: Time) -> Option<(u64, f64)> {
        self.frames.as_ref().and_then(|frames| frames.outcome(self.sender.application(), end))
    }

    fn media(&self, end: Time) -> Option<MediaOutcome> {
        self.frames.as_ref()?.media_outcome(self.sender.application(), end)
    }

    fn limits(&self) -> Limits {
        self.sender.flow().limits()
    }

    fn decisions(&self) -> u64 {
        self.sender.flow().decisions()
    }

    fn observe(&self, observed: &mut Observed) {
        self.sender.flow().controller().observe(observed);
        if let Some(component) = self.receiver.component() {
            component.observe(observed);
        }
    }

    fn notes(&self) -> Vec<String> {
        self.sender.note().into_iter().collect()
    }
}

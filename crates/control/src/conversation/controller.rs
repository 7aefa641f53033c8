//! The vocabulary `controller`: what a [`Controller`] is told, and what it decides. A field more in the contract is a word
//! more in a list here, and another version of the format.

use super::coding::{Coded, Decoder, Encoder, Malformed};
use super::fields::{coded_enum, coded_struct, show_list};
use crate::contract::{Ack, Controller, Ecn, EcnEcho, Event, Limits, Loss, Packet, RateSample, Sent, Tag};
use crate::message::{Feedback, Verdict};
use crate::rtt::Rtt;
use cellcc_assist::{Advice, AdviceClass, MinRttParts};
use cellcc_units::{Bytes, Time};

/// The name of this vocabulary.
pub(super) const VOCABULARY: &str = "controller";

/// Slots of what is in no struct.
const NOW: usize = 0;
const CALL: usize = 1;
const PACKETS: usize = 3;

/// What a controller is told.
#[derive(Debug, Clone, Copy)]
pub enum Call<'a> {
    /// Nothing yet: it has just been built.
    Built,
    /// [`Controller::on_sent`].
    Sent(Sent),
    /// [`Controller::on_ack`].
    Ack(Ack<'a>),
    /// [`Controller::on_loss`].
    Loss(Loss<'a>),
    /// [`Controller::on_event`].
    Event(Event),
    /// [`Controller::on_feedback`].
    Feedback(Received),
    /// [`Controller::on_advice`].
    Advice(Advice),
    /// [`Controller::on_timer`].
    Timer,
}

/// What a controller is told of its receiver-side component.
#[derive(Debug, Clone, Copy)]
pub struct Received {
    /// The message.
    pub feedback: Feedback,
    /// No more bytes can have arrived there.
    pub sent: Bytes,
}

/// What a controller decides.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Decision {
    /// What it left on the packet that left last.
    pub tag: Tag,
    /// What the sender may do.
    pub limits: Limits,
    /// When it wants to be called.
    pub next_timer: Option<Time>,
    /// What it found in the last feedback.
    pub verdict: Option<Verdict>,
    /// The ECN codepoint that it asks for.
    pub ecn: Ecn,
}

/// One event of a conversation.
#[derive(Debug, Clone, Copy)]
pub struct Turn<'a> {
    /// When.
    pub now: Time,
    /// What the controller was told.
    pub call: Call<'a>,
    /// What it decided then.
    pub decision: Decision,
}

coded_enum!(Call<'_> {
    0: Built, 1: Sent(sent), 2: Ack(ack), 3: Loss(loss), 4: Event(event), 5: Feedback(feedback), 6: Advice(advice), 7: Timer,
});
coded_struct!(2: Sent { now in NOW, number, bytes, inflight, app_limited, signal, packet_size });
coded_struct!(3: Ack<'_> {
    now in NOW, bytes, rtt_sample, rate, inflight_before, inflight, delivered, cwnd_limited, round, round_start, in_recovery,
    ecn, packet_size,
} without { packets: &[], rtt: &Rtt::NONE });
coded_struct!(4: Loss<'_> { now in NOW, bytes, lost, inflight, new_episode, persistent, packet_size } without { packets: &[] });
coded_struct!(5: Packet {
    number, sent_at, bytes, tag, delivered, delivered_at, first_sent_at, inflight, lost, marked, app_limited,
});
coded_struct!(6: Rtt { latest, min, smoothed, variation });
coded_struct!(7: RateSample { delivered, send_interval, ack_interval, lost, marked, app_limited });
coded_struct!(8: EcnEcho { ect0, ect1, ce });
coded_enum!(Ecn { 0: NotEct, 1: Ect0, 2: Ect1, 3: Ce });
coded_enum!(Event {
    0: RecoveryLeft,
    1: CongestionMarked,
    2: SpuriousLoss,
    3: IdleRestart,
    4: AppLimited,
    5: Forgotten(packet),
});
coded_struct!(9: Received { feedback, sent });
coded_struct!(10: Advice { bandwidth, class, min_rtt, flows, backlog, period, age });
coded_enum!(AdviceClass { 0: Backlogged, 1: Partial, 2: Idle });
coded_struct!(11: MinRttParts { network, downlink, uplink });
coded_struct!(12: Decision { tag, limits, next_timer, verdict, ecn });
coded_enum!(Verdict { 0: Taken, 1: Stale, 2: Malformed, 3: Untrue });
coded_struct!(13: Limits { window, pacing_rate, send_quantum, budget, signal });

impl Call<'_> {
    /// The name of its kind.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Built => "built",
            Self::Sent(_) => "sent",
            Self::Ack(_) => "ack",
            Self::Loss(_) => "loss",
            Self::Event(_) => "event",
            Self::Feedback(_) => "feedback",
            Self::Advice(_) => "advice",
            Self::Timer => "timer",
        }
    }

    /// The present size of a full packet, where the event tells it; never zero from a flow.
    fn packet_size(&self) -> Option<Bytes> {
        match self {
            Self::Sent(sent) => Some(sent.packet_size),
            Self::Ack(ack) => Some(ack.packet_size),
            Self::Loss(loss) => Some(loss.packet_size),
            _ => None,
        }
    }

    /// All that the controller is told beside the time, by name, with units.
    pub fn inputs(&self) -> Vec<(&'static str, String)> {
        let mut fields = match self {
            Self::Built | Self::Timer => Vec::new(),
            Self::Sent(sent) => sent.fields(),
            Self::Ack(ack) => ack.fields(),
            Self::Loss(loss) => loss.fields(),
            Self::Event(event) => vec![("event", event.show())],
            Self::Feedback(received) => received.fields(),
            Self::Advice(advice) => advice.fields(),
        };
        fields.retain(|(name, _)| *name != "now");
        match self {
            Self::Ack(ack) => fields.extend([("packets", show_list(ack.packets)), ("rtt", ack.rtt.show())]),
            Self::Loss(loss) => fields.push(("packets", show_list(loss.packets))),
            _ => {}
        }
        fields
    }
}

impl Decision {
    /// All that is decided, by name, with units.
    pub fn fields(&self) -> Vec<(&'static str, String)> {
        let mut fields = self.limits.fields();
        let others = Coded::fields(self).into_iter().filter(|(name, _)| *name != "limits");
        fields.extend(others);
        fields
    }
}

impl Turn<'_> {
    pub(super) fn encode(&self, out: &mut Encoder) {
        self.now.encode(NOW, out);
        self.call.encode(CALL, out);
        match &self.call {
            Call::Ack(ack) => {
                out.list(PACKETS, ack.packets);
                ack.rtt.encode(0, out);
            }
            Call::Loss(loss) => out.list(PACKETS, loss.packets),
            _ => {}
        }
        self.decision.encode(0, out);
    }
}

/// A [`Turn`] that has been read, with what it borrows beside it.
#[derive(Debug)]
pub(super) struct ReadTurn {
    turn: Turn<'static>,
    packets: Vec<Packet>,
    rtt: Rtt,
}

impl ReadTurn {
    pub(super) fn decode(input: &mut Decoder<'_>) -> Result<Self, Malformed> {
        let now = Time::decode(NOW, input)?;
        let call = Call::decode(CALL, input)?;
        if call.packet_size().is_some_and(Bytes::is_zero) {
            return Err(Malformed("packets of no bytes, by which schemes divide"));
        }
        let (mut packets, mut rtt) = (Vec::new(), Rtt::NONE);
        if let Call::Ack(_) | Call::Loss(_) = call {
            packets = input.list(PACKETS)?;
            if packets.is_empty() {
                return Err(Malformed("an event of no packets"));
            }
        }
        if let Call::Ack(_) = call {
            rtt = Rtt::decode(0, input)?;
        }
        let decision = Decision::decode(0, input)?;
        Ok(Self { turn: Turn { now, call, decision }, packets, rtt })
    }

    pub(super) fn turn(&self) -> Turn<'_> {
        let call = match self.turn.call {
            Call::Ack(ack) => Call::Ack(Ack { packets: &self.packets, rtt: &self.rtt, ..ack }),
            Call::Loss(loss) => Call::Loss(Loss { packets: &self.packets, ..loss }),
            other => other,
        };
        Turn { call, ..self.turn }
    }
}

/// A controller, and what it last answered where an event has an answer.
pub(super) struct Driven {
    pub(super) controller: Box<dyn Controller>,
    pub(super) tag: Tag,
    pub(super) verdict: Option<Verdict>,
}

impl Driven {
    pub(super) fn new(controller: Box<dyn Controller>) -> Self {
        Self { controller, tag: Tag::default(), verdict: None }
    }

    /// Tells the controller.
    pub(super) fn tell(&mut self, now: Time, call: &Call<'_>) {
        let controller = &mut self.controller;
        match call {
            Call::Built => {}
            Call::Sent(sent) => self.tag = controller.on_sent(sent),
            Call::Ack(ack) => controller.on_ack(ack),
            Call::Loss(loss) => controller.on_loss(loss),
            Call::Event(event) => controller.on_event(now, *event),
            Call::Feedback(received) => {
                self.verdict = Some(controller.on_feedback(now, &received.feedback, received.sent));
            }
            Call::Advice(advice) => controller.on_advice(now, advice),
            Call::Timer => controller.on_timer(now),
        }
    }

    pub(super) fn decision(&self) -> Decision {
        let &Self { ref controller, tag, verdict } = self;
        let (limits, next_timer, ecn) = (controller.limits(), controller.next_timer(), controller.ecn());
        Decision { tag, limits, next_timer, verdict, ecn }
    }
}

//! The vocabulary `controller`: the inputs and decisions of a [`Controller`]. Serde writes the contract's types in the
//! order of their fields: a change of them is another version of the format.

use super::file::Malformed;
use crate::advice::Advice;
use crate::contract::{Ack, Controller, Ecn, Event, Loss, Packet, Sent, Tag};
use crate::limits::Limits;
use crate::message::{ArrivalReport, Feedback, Verdict};
use crate::rtt::Rtt;
use cellcc_units::{Bytes, Time};
use serde::{Deserialize, Serialize};

/// The name of this vocabulary.
pub(super) const VOCABULARY: &str = "controller";

/// An input of a controller.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
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
    /// [`Controller::on_arrivals`].
    Arrivals(#[serde(skip, default = "ArrivalReport::none")] &'a ArrivalReport),
}

/// Feedback from the receiver-side component to a controller.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Received {
    /// The message.
    pub feedback: Feedback,
    /// No more bytes can have arrived there.
    pub sent: Bytes,
}

/// A decision of a controller.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// Its tag on the packet that left last.
    pub tag: Tag,
    /// The limits of the sender.
    pub limits: Limits,
    /// When it wants to be called.
    pub next_timer: Option<Time>,
    /// Its finding on the last feedback.
    pub verdict: Option<Verdict>,
    /// The ECN codepoint that it asks for.
    pub ecn: Ecn,
}

/// One event of a log.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Entry<'a> {
    /// The time of the event, on the driver's clock.
    pub now: Time,
    /// The input of the controller.
    pub call: Call<'a>,
    /// Its decision after it.
    pub decision: Decision,
}

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
            Self::Arrivals(_) => "arrivals",
        }
    }

    /// The present size of a full packet, where the event has it; never zero from a flow.
    fn packet_size(&self) -> Option<Bytes> {
        match self {
            Self::Sent(sent) => Some(sent.packet_size),
            Self::Ack(ack) => Some(ack.packet_size),
            Self::Loss(loss) => Some(loss.packet_size),
            _ => None,
        }
    }

    /// All that the controller is given, except the time: names and values, with units.
    pub fn inputs(&self) -> Vec<(String, String)> {
        let mut inputs = match self {
            Self::Built | Self::Timer => Vec::new(),
            Self::Sent(sent) => fields(sent),
            Self::Ack(ack) => fields(ack),
            Self::Loss(loss) => fields(loss),
            Self::Event(event) => vec![("event".into(), show(event))],
            Self::Feedback(received) => fields(received),
            Self::Advice(advice) => fields(advice),
            Self::Arrivals(report) => fields(report),
        };
        inputs.retain(|(name, _)| *name != "now");
        let (packets, rtt, _) = self.borrowed();
        inputs.extend((!packets.is_empty()).then(|| ("packets".into(), show(&packets))));
        inputs.extend(rtt.map(|rtt| ("rtt".into(), show(&rtt))));
        inputs
    }

    /// The parts that serde leaves out of an event, because the event borrows them.
    fn borrowed(&self) -> (&[Packet], Option<Rtt>, Option<&ArrivalReport>) {
        match self {
            Self::Ack(ack) => (ack.packets, Some(*ack.rtt), None),
            Self::Loss(loss) => (loss.packets, None, None),
            Self::Arrivals(report) => (&[], None, Some(report)),
            _ => (&[], None, None),
        }
    }
}

impl Decision {
    /// All that is decided: names and values, with units.
    pub fn fields(&self) -> Vec<(String, String)> {
        let others = fields(self).into_iter().filter(|(name, _)| name != "limits");
        fields(&self.limits).into_iter().chain(others).collect()
    }
}

impl Entry<'_> {
    /// As it is written: an [`OwnEntry`].
    pub(super) fn written(&self) -> impl Serialize {
        (self, self.call.borrowed())
    }
}

/// An [`Entry`] read from a log, with owned parts.
#[derive(Debug, Deserialize)]
pub(super) struct OwnEntry {
    entry: Entry<'static>,
    borrowed: (Vec<Packet>, Option<Rtt>, Option<ArrivalReport>),
}

impl OwnEntry {
    /// # Errors
    /// No flow has such an event.
    pub(super) fn checked(self) -> Result<Self, Malformed> {
        let call = &self.entry.call;
        if call.packet_size().is_some_and(Bytes::is_zero) {
            return Err(Malformed("packets of zero bytes, and schemes divide by the size"));
        }
        if matches!(call, Call::Ack(_) | Call::Loss(_)) && self.borrowed.0.is_empty() {
            return Err(Malformed("an event of no packets"));
        }
        Ok(self)
    }

    pub(super) fn entry(&self) -> Entry<'_> {
        let (packets, rtt, report) = &self.borrowed;
        let call = match self.entry.call {
            Call::Ack(ack) => Call::Ack(Ack { packets, rtt: rtt.as_ref().unwrap_or(&Rtt::NONE), ..ack }),
            Call::Loss(loss) => Call::Loss(Loss { packets, ..loss }),
            Call::Arrivals(_) => Call::Arrivals(report.as_ref().unwrap_or(ArrivalReport::none())),
            other => other,
        };
        Entry { call, ..self.entry }
    }
}

/// A controller, and its last answer to an event that has one.
pub(super) struct Driven {
    pub(super) controller: Box<dyn Controller>,
    pub(super) tag: Tag,
    pub(super) verdict: Option<Verdict>,
}

impl Driven {
    pub(super) fn new(controller: Box<dyn Controller>) -> Self {
        Self { controller, tag: Tag::default(), verdict: None }
    }

    /// Gives the event to the controller.
    pub(super) fn give(&mut self, now: Time, call: &Call<'_>) {
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
            Call::Arrivals(report) => controller.on_arrivals(now, report),
        }
    }

    pub(super) fn decision(&self) -> Decision {
        let &Self { ref controller, tag, verdict } = self;
        let (limits, next_timer, ecn) = (controller.limits(), controller.next_timer(), controller.ecn());
        Decision { tag, limits, next_timer, verdict, ecn }
    }
}

// Values in words: a struct's fields by name, exact, with units.

/// The fields of a struct, in their order.
pub(super) fn fields(value: &impl Serialize) -> Vec<(String, String)> {
    let json = json(value);
    let inside = json.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or_default();
    let mut depth = 0_u32;
    let parts = inside.split(|c| {
        match c {
            '{' | '[' => depth += 1,
            '}' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    });
    let fields = parts.filter_map(|part| part.split_once("\":"));
    fields.map(|(name, value)| (name.trim_start_matches('"').into(), words(value))).collect()
}

/// `yes`, `1.5kB`, `{number=3 bytes=1.5kB}`, `[{...} {...}]`; `-` for nothing.
pub(super) fn show(value: &impl Serialize) -> String {
    words(&json(value))
}

/// No text in a log has a character that JSON would escape: all are quantities, names of variants and hexadecimal digits.
fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

fn words(json: &str) -> String {
    match json {
        "true" => "yes".into(),
        "false" => "no".into(),
        "null" => "-".into(),
        _ => {
            let named = json.replace("\":true", "=yes").replace("\":false", "=no").replace("\":null", "=-");
            named.replace("\":", "=").replace(',', " ").replace('"', "")
        }
    }
}

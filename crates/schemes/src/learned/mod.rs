//! Learned policies as schemes: `learned(model=FILE)`, and with their authors' weights `orca` and `indigo`.
//!
//! 1. A file holds a network and a card that says what it observes, how it acts, and how often.
//! 2. From the first acknowledgement on, the results of an interval are counted: throughput, losses, round-trip times.
//! 3. At its end the network sees the last intervals, and gives an action.
//! 4. The action is a window, a rate, or a factor of CUBIC's window.
//! 5. Where a network gives no finite number, nothing is done in that interval: the window stays, and CUBIC goes on. The Record has
//!    a note of how often.
//!
//! ```text
//!          first ACK              slow start is over (Orca alone)
//!  waiting ---------> slow start ---------------------------------> deciding --+
//!     |                                                               ^        | interval over:
//!     |  first ACK (the others)                                       |        | observe, infer, act
//!     +---------------------------------------------------------------+--------+
//! ```
//!
//! Sources: Abbasloo, Yen and Chao, SIGCOMM 2020, and Soheil-ab/Orca at cafaf9a; Yan et al., USENIX ATC 2018, and
//! StanfordSNR/indigo at 463d89b. The sender below an agent: [`Sender`]; its observations: [`Meter`], [`Agent`].
//!
//! **Differences from the papers.**
//! - Orca's agent answers at once. In its authors' program, the agent looks for a state every 10 ms, so that a decision takes some
//!   30 ms, and the window that it multiplies is that of before.
//! - Orca counts an RTT sample for every second packet, as Linux's receiver gives it, whatever the receiver here does.
//! - Indigo's window is bytes in flight, where its program counts the packets since the newest that was acknowledged.

mod agent;
mod meter;
mod model;
mod network;
mod sender;
#[cfg(test)]
mod tests;

use cellcc_control::{
    Ack, Context, Controller, Event, Limits, Loss, Observer, Parameter, Rtt, Scheme, SchemeInfo, Sent,
    ShownValue, Tag,
};
use cellcc_units::{Bytes, Span, Time};
use model::{Card, Model, ModelFile};
use network::Memory;
use sender::POLL;
use std::sync::Arc;

pub use agent::{Agent, AgentKind};
pub use meter::{Interval, Meter};
pub use model::{Decides, LARGEST_MODEL, ReadModel};
pub use sender::{Sender, Steering};

/// The values that it exposes.
const SHOWS: [ShownValue; 3] = [
    ShownValue::number("action", "the network's last action: a number, or which of its actions"),
    ShownValue::number("decisions", "intervals that the network decided"),
    ShownValue::number(
        "faults",
        "intervals in which the network gave no finite number, and nothing was done",
    ),
];

/// The schemes whose models `read` reads, for a [`Registry`](cellcc_control::Registry):
///
/// ```
/// use cellcc_schemes::learned;
/// use cellcc_units::input;
///
/// let mut registry = cellcc_schemes::registry();
/// for scheme in learned::schemes(|path| input::read(path, learned::LARGEST_MODEL)) {
///     registry.register(scheme);
/// }
/// let error = registry.parse("orca(model=no/such/file)").unwrap_err();
/// assert!(error.to_string().contains("cannot be read"));
/// ```
pub fn schemes(read: ReadModel) -> [SchemeInfo; 3] {
    [
        scheme(
            "learned",
            "a policy of a neural network, from a file",
            "the file's card",
            ModelFile { read, own: None },
        ),
        scheme(
            "orca",
            "CUBIC whose window a network multiplies every 20 ms",
            "Abbasloo, Yen and Chao, SIGCOMM 2020",
            ModelFile { read, own: Some(Card::orca) },
        ),
        scheme(
            "indigo",
            "a window that a recurrent network halves, doubles or moves by 10 packets every 10 ms",
            "Yan et al., USENIX ATC 2018",
            ModelFile { read, own: Some(Card::indigo) },
        ),
    ]
}

/// A policy outside a flow: its network's outputs, one observation after the other.
#[derive(Debug, Clone)]
pub struct Policy {
    model: Arc<Model>,
    memory: Memory,
}

impl Policy {
    /// That of one of [`schemes`]; `None`: of another.
    pub fn of(scheme: &Scheme) -> Option<Self> {
        let unread = ModelFile { read: |_| Ok(Vec::new()), own: None };
        let model = scheme.arguments().get(&parameter(unread))?.model;
        Some(Self { model, memory: Memory::default() })
    }

    /// Number of values in an observation.
    pub fn width(&self) -> usize {
        let (features, history) = self.model.card.agent.shape();
        features * history
    }

    /// The network's outputs: an action, or a score for each.
    ///
    /// # Panics
    /// Where the observation has another width.
    pub fn outputs(&mut self, observation: &[f32]) -> &[f32] {
        assert_eq!(observation.len(), self.width(), "an observation of another agent");
        self.model.network.forward(&mut self.memory, observation)
    }
}

fn parameter(takes: ModelFile) -> Parameter<ModelFile> {
    Parameter {
        name: "model".into(),
        takes,
        default: None,
        meaning:
            "the file of the network and of its card; `FILE@DIGITS` where its SHA-256 has to begin with these"
                .into(),
        source: "it must be given".into(),
    }
}

fn scheme(name: &'static str, summary: &'static str, source: &'static str, takes: ModelFile) -> SchemeInfo {
    let model = parameter(takes);
    let parameters = vec![model.clone().into()];
    SchemeInfo::new(name, summary, source, move |arguments, context| {
        let named = arguments.get(&model).expect("a parameter without a default is always given");
        Box::new(Learned::new(named.model, context))
    })
    .parameters(parameters)
    .shows(&SHOWS)
    .shows(&cellcc_control::growth::SHOWS)
}

/// A flow that a network steers.
struct Learned {
    model: Arc<Model>,
    memory: Memory,
    agent: Agent,
    meter: Meter,
    sender: Sender,
    sent: Bytes,
    /// End of the interval; none before the first acknowledgement, and in slow start.
    due: Option<Time>,
    action: f64,
    decisions: u64,
    faults: u64,
}

impl Learned {
    fn new(model: Arc<Model>, context: &Context) -> Self {
        let kind = model.card.agent;
        Self {
            memory: Memory::default(),
            agent: Agent::new(kind, context.packet, context.initial_window, Rtt::INITIAL.as_secs_f64()),
            meter: kind.meter(),
            sender: kind.sender(context),
            sent: Bytes::ZERO,
            due: None,
            action: 0.0,
            decisions: 0,
            faults: 0,
            model,
        }
    }

    fn begin_interval(&mut self, now: Time) {
        let length = self.model.card.decides.interval(self.meter.min_rtt());
        self.meter.begin(now, length, self.sent);
        self.due = Some(now + length);
    }

    fn decide(&mut self, now: Time) {
        let interval = self.meter.interval(now, self.sent, self.sender.window());
        self.agent.observe(&interval);
        let outputs = self.model.network.forward(&mut self.memory, self.agent.observation());
        self.decisions += 1;
        match self.agent.choose(outputs) {
            Some(action) => {
                self.action = action;
                self.sender.steer(self.agent.act(action));
            }
            None => {
                // An LSTM's memory of it would spoil all later outputs.
                self.memory = Memory::default();
                self.faults += 1;
            }
        }
        self.begin_interval(now);
    }
}

impl Controller for Learned {
    /// The bytes that had left before it.
    fn on_sent(&mut self, sent: &Sent) -> Tag {
        let before = self.sent.get();
        self.sent += sent.bytes;
        before
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.meter.on_ack(ack, self.sent);
        self.sender.on_ack(ack);
        if self.due.is_none() && !self.sender.is_in_slow_start() {
            let (window, rtt) = (self.sender.limits().window, ack.rtt.min());
            self.agent = Agent::new(self.model.card.agent, ack.packet_size, window, rtt.as_secs_f64());
            self.begin_interval(ack.now);
        }
    }

    fn on_loss(&mut self, loss: &Loss<'_>) {
        self.meter.on_loss(loss);
        self.sender.on_loss(loss);
    }

    fn on_event(&mut self, now: Time, event: Event) {
        self.sender.on_event(now, event);
    }

    fn next_timer(&self) -> Option<Time> {
        self.due.or_else(|| self.sender.next_timer())
    }

    fn on_timer(&mut self, now: Time) {
        if self.sender.is_in_slow_start() {
            self.sender.on_timer(now);
            match self.sender.is_in_slow_start() {
                true => self.meter.begin(now, Span::ZERO, self.sent),
                false => self.decide(now),
            }
            return;
        }
        if self.due.is_none_or(|due| now < due) {
            return;
        }
        if self.model.card.agent.waits_for_acks() && !self.meter.has_samples() {
            self.due = Some(now + POLL);
            return;
        }
        self.decide(now);
    }

    fn limits(&self) -> Limits {
        self.sender.limits()
    }

    fn observe(&self, observer: &mut dyn Observer) {
        observer.value("action", "", self.action);
        observer.value("decisions", "", self.decisions as f64);
        observer.value("faults", "", self.faults as f64);
        self.sender.observe(observer);
        if self.faults > 0 {
            observer.note(&format!(
                "the network of {:?} gave no finite number in {} of {} intervals, in which nothing was done",
                self.model.card.agent, self.faults, self.decisions
            ));
        }
    }
}

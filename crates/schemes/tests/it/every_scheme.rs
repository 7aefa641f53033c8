//! Properties of every scheme under every sequence of events that a driver may report.

use cellcc_control::Registry;
use cellcc_control::{
    Advice, AdviceClass, ArrivalReport, Context, Ecn, Event, Feedback, Flow, Limits, MinRttParts, Observer,
    Packet, ReportedPacket, ShownValue,
};
use cellcc_schemes::learned::{self, AgentKind};
use cellcc_units::input::InputError;
use cellcc_units::{Bytes, Rate, Span, Time};
use proptest::prelude::*;
use safetensors::tensor::TensorView;
use safetensors::{Dtype, serialize};
use std::path::Path;

const CONTEXT: Context = Context::new(Bytes::new(1500), Bytes::new(15_000), 7);

/// A driver's next report.
#[derive(Debug, Clone)]
enum Step {
    Wait(u64),
    /// This many packets leave, whether the limits allow it or not: a limit may fall below the data in flight.
    Send(usize),
    /// Packets from the front of the outstanding ones arrive, some passed over.
    Ack {
        skip: usize,
        count: usize,
        with_sample: bool,
    },
    Lose {
        count: usize,
        persistent: bool,
    },
    /// The packets lost last arrive after all.
    LateArrival,
    Timer,
    IdleRestart,
    AppLimited,
    WindowLimited,
    /// The network says something of the bottleneck: bytes per second, nanoseconds of RTT and of age, flows.
    Advice(u64, u64, u64, u32),
    /// The receiver-side component sends these bytes.
    Feedback(Vec<u8>),
    /// The receiver-side component says when packets arrived: from this number on, so many, this many nanoseconds ago.
    Arrivals(u64, usize, u64),
    /// Full packets have another size.
    PacketSize(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let nanos = prop_oneof![
        Just(0),
        1u64..1000,
        1_000u64..50_000_000,
        50_000_000u64..20_000_000_000,
        Just(u64::MAX / 4)
    ];
    prop_oneof![
        4 => nanos.prop_map(Step::Wait),
        6 => (1usize..40).prop_map(Step::Send),
        6 => (0usize..3, 1usize..40, prop::bool::weighted(0.9))
            .prop_map(|(skip, count, with_sample)| Step::Ack { skip, count, with_sample }),
        2 => (1usize..20, prop::bool::weighted(0.2))
            .prop_map(|(count, persistent)| Step::Lose { count, persistent }),
        1 => Just(Step::LateArrival),
        1 => Just(Step::Timer),
        1 => Just(Step::IdleRestart),
        1 => Just(Step::AppLimited),
        4 => Just(Step::WindowLimited),
        2 => (0..u64::MAX, 0..u64::MAX, 0..u64::MAX, any::<u32>(), 0u32..60)
            .prop_map(|(rate, rtt, age, flows, shift)| Step::Advice(rate >> shift, rtt >> shift, age >> shift, flows)),
        2 => (0u64..20_000_000, 0u64..200_000_000, 0u64..50_000_000, 0u32..5)
            .prop_map(|(rate, rtt, age, flows)| Step::Advice(rate, rtt, age, flows)),
        1 => feedback().prop_map(Step::Feedback),
        2 => (0u64..100, 0usize..40, 0u64..100_000_000)
            .prop_map(|(begin, count, age)| Step::Arrivals(begin, count, age)),
        1 => (1200u64..=9000).prop_map(Step::PacketSize),
    ]
}

/// RBBR's begins with its type, NATCP's has two bytes; and others.
fn feedback() -> impl Strategy<Value = Vec<u8>> {
    let rate = prop::collection::vec(any::<u8>(), 1..40)
        .prop_map(|rest| [&[0x80, 0, 0x5b, 0xb4][..], &rest].concat());
    prop_oneof![
        rate,
        prop::collection::vec(any::<u8>(), 2),
        prop::collection::vec(any::<u8>(), 1..=Feedback::CAPACITY)
    ]
}

struct Driver {
    flow: Flow,
    /// The smallest size of full packets so far: a scheme may not know the last yet.
    least_packet: Bytes,
    now: Time,
    outstanding: Vec<Packet>,
    lost: Vec<Packet>,
}

impl Driver {
    fn new(scheme: &str, seed: u64) -> Self {
        let scheme = registry().parse(scheme).expect("a listed scheme");
        let flow = Flow::new(
            scheme.build(&Context::new(CONTEXT.packet, CONTEXT.initial_window, seed)),
            CONTEXT.packet,
        );
        Self {
            flow,
            least_packet: CONTEXT.packet,
            now: Time::ZERO,
            outstanding: Vec::new(),
            lost: Vec::new(),
        }
    }

    fn take(&mut self, from: usize, count: usize) -> Vec<Packet> {
        let from = from.min(self.outstanding.len());
        let to = (from + count).min(self.outstanding.len());
        self.outstanding.drain(from..to).collect()
    }

    fn report(&mut self, step: &Step) {
        match step.clone() {
            Step::Wait(nanos) => self.now += Span::from_nanos(nanos),
            Step::Send(count) => {
                for number in 0..count {
                    // Not every packet is full.
                    let bytes = if number % 5 == 4 { Bytes::new(40) } else { CONTEXT.packet };
                    let packet = self.flow.on_sent(self.now, bytes);
                    self.outstanding.push(packet);
                }
            }
            Step::Ack { skip, count, with_sample } => {
                let packets = self.take(skip, count);
                if let Some(newest) = packets.last() {
                    let sample = with_sample.then(|| self.now.since(newest.sent_at));
                    self.flow.on_ack(self.now, &packets, sample, None);
                }
            }
            Step::Lose { count, persistent } => {
                self.lost = self.take(0, count);
                match persistent {
                    true => self.flow.on_persistent_congestion(self.now, &self.lost),
                    false => self.flow.on_loss(self.now, &self.lost),
                };
            }
            Step::LateArrival => {
                let bytes = self.lost.drain(..).map(|packet| packet.bytes).sum::<Bytes>();
                if !bytes.is_zero() {
                    self.flow.on_late_arrival(self.now, bytes);
                    self.flow.on_event(self.now, Event::SpuriousLoss);
                }
            }
            Step::Timer => {
                if let Some(timer) = self.flow.next_timer() {
                    self.now = self.now.max(timer);
                    self.flow.on_timer(self.now);
                }
            }
            Step::IdleRestart => {
                if self.outstanding.is_empty() {
                    self.flow.on_event(self.now, Event::IdleRestart);
                }
            }
            Step::AppLimited => self.flow.mark_app_limited(self.now),
            Step::WindowLimited => self.flow.mark_window_limited(),
            Step::Advice(rate, rtt, age, flows) => {
                self.flow.on_advice(self.now, &advice(rate, rtt, age, flows))
            }
            Step::Feedback(bytes) => {
                let feedback = Feedback::new(&bytes).expect("1 to 47 bytes");
                self.flow.on_feedback(self.now, &feedback, self.flow.sent());
            }
            Step::Arrivals(begin, count, age) => {
                let packet = |index: usize| {
                    let arrived_at =
                        Time::from_nanos(self.now.as_nanos().saturating_sub(age / (1 + index as u64)));
                    (index % 7 != 3).then_some(ReportedPacket {
                        arrived_at,
                        ecn: if index % 5 == 4 { Ecn::Ce } else { Ecn::Ect1 },
                    })
                };
                let packets = (0..count).map(packet).collect();
                self.flow.on_arrivals(self.now, &ArrivalReport { begin, sent_at: self.now, packets });
            }
            Step::PacketSize(bytes) => {
                self.least_packet = self.least_packet.min(Bytes::new(bytes));
                self.flow.set_packet_size(Bytes::new(bytes));
            }
        }
    }
}

fn advice(rate: u64, rtt: u64, age: u64, flows: u32) -> Advice {
    let mut advice =
        Advice::new(Rate::from_bytes_per_sec(rate), AdviceClass::Backlogged, Span::from_millis(50));
    advice.min_rtt = Some(MinRttParts { network: Span::from_nanos(rtt), ..MinRttParts::default() });
    advice.flows = flows;
    advice.backlog = Bytes::new(rate);
    advice.with_age(Span::from_nanos(age))
}

/// Checks against the values in the scheme's registry entry.
struct Known<'a>(&'a [ShownValue]);

impl Known<'_> {
    fn find(&self, name: &str) -> &ShownValue {
        let known = self.0.iter().find(|shown| shown.name == name);
        known.unwrap_or_else(|| panic!("{name} is not among what the scheme's entry says it shows"))
    }
}

impl Observer for Known<'_> {
    fn value(&mut self, name: &'static str, unit: &'static str, value: f64) {
        assert!(value.is_finite(), "{name} is {value}");
        let name = if unit.is_empty() { name.to_owned() } else { format!("{name}_{unit}") };
        assert!(self.find(&name).states.is_empty(), "{name} is a state, and is shown as a number");
    }

    fn state(&mut self, name: &'static str, names: &'static [&'static str], number: usize) {
        assert_eq!(self.find(name).states, names);
        assert!(number < names.len(), "{name} is {number}");
    }
}

fn run(scheme: &str, seed: u64, steps: &[Step]) -> Vec<Limits> {
    let mut driver = Driver::new(scheme, seed);
    let shows = registry().parse(scheme).expect("a known scheme").info().shows.clone();
    let mut all = Vec::new();
    for step in steps {
        driver.report(step);
        let limits = driver.flow.limits();
        assert!(
            limits.window >= driver.least_packet,
            "{scheme}: a window of {} stops the flow",
            limits.window
        );
        assert!(
            limits.pacing_rate.is_none_or(|rate| !rate.is_zero()),
            "{scheme}: a rate of zero stops the flow"
        );
        let outstanding: Bytes = driver.outstanding.iter().map(|packet| packet.bytes).sum();
        assert_eq!(driver.flow.inflight(), outstanding, "{scheme}: in flight is what is outstanding");
        driver.flow.controller().observe(&mut Known(&shows));
        all.push(limits);
    }
    all
}

/// Every scheme with its defaults, and with every switch and choice in every position.
fn schemes() -> Vec<String> {
    let mut texts = Vec::new();
    for info in cellcc_schemes::registry().schemes() {
        texts.push(info.name.to_string());
        for parameter in &info.parameters {
            texts.extend(
                parameter.words.iter().map(|value| format!("{}({}={value})", info.name, parameter.name)),
            );
        }
    }
    texts.extend(AGENTS.map(|agent| format!("learned(model={agent})")));
    texts
}

const AGENTS: [&str; 5] = ["plain", "bounded", "orca", "aurora", "indigo"];

fn registry() -> Registry {
    let mut registry = cellcc_schemes::registry();
    learned::schemes(policy).into_iter().for_each(|scheme| registry.register(scheme));
    registry
}

/// A policy of the agent that the path names, whose weights are as good as random.
fn policy(path: &Path) -> Result<Vec<u8>, InputError> {
    let agent = path.to_str().expect("a name");
    let (features, history) = agent.parse::<AgentKind>().expect("an agent").shape();
    let (inputs, outputs) = (features * history, if agent == "indigo" { 5 } else { 1 });
    let weights: Vec<u8> =
        (0..inputs * outputs).flat_map(|i| ((i * 37 % 101) as f32 / 50.0 - 1.0).to_le_bytes()).collect();
    let bias = vec![0; 4 * outputs];
    let tensors = [("out.w", vec![inputs, outputs], &weights), ("out.b", vec![outputs], &bias)]
        .map(|(name, shape, bytes)| (name, TensorView::new(Dtype::F32, shape, bytes).expect("a tensor")));
    let card = [
        ("agent", agent),
        ("interval", "20ms"),
        ("layers", "dense out"),
        ("data", "none"),
        ("seed", "1"),
        ("cellcc", "1"),
    ];
    let card = card.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
    Ok(serialize(tensors, Some(card)).expect("a file"))
}

proptest! {
    #[test]
    fn no_sequence_of_events_breaks_a_scheme(steps in prop::collection::vec(step(), 1..200), seed in any::<u64>()) {
        for scheme in schemes() {
            let first = run(&scheme, seed, &steps);
            let second = run(&scheme, seed, &steps);
            prop_assert_eq!(first, second, "{}: the same events and seed give the same limits", scheme);
        }
    }
}

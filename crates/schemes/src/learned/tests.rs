//! Policies with known weights, so that their decisions can be predicted.

use super::model::Model;
use super::network::{Memory, Network, Step, Tensor};
use super::{Agent, AgentKind, Interval, LARGEST_MODEL, schemes};
use crate::testing::{CONTEXT, Path};
use cellcc_control::{Observer, Registry, Scheme};
use cellcc_units::{Bytes, Rate, Span, input};
use safetensors::tensor::TensorView;
use safetensors::{Dtype, serialize};
use std::io::Write as _;
use tempfile::NamedTempFile;

const MS: Span = Span::from_millis(1);
const PLAIN: [(&str, &str); 6] = [
    ("cellcc", "1"),
    ("agent", "plain"),
    ("interval", "20ms"),
    ("layers", "dense out"),
    ("data", "none"),
    ("seed", "1"),
];

/// A file of these tensors, whose card is `PLAIN` with these changes.
fn file(card: &[(&str, &str)], tensors: &[(&str, &[usize], Vec<f32>)]) -> Vec<u8> {
    let bytes: Vec<Vec<u8>> = tensors
        .iter()
        .map(|(_, _, values)| values.iter().flat_map(|value| value.to_le_bytes()).collect())
        .collect();
    let views = tensors.iter().zip(&bytes).map(|((name, shape, _), bytes)| {
        (*name, TensorView::new(Dtype::F32, shape.to_vec(), bytes).expect("as many numbers as its shape has"))
    });
    let card =
        PLAIN.iter().chain(card).map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    serialize(views, Some(card)).expect("a file")
}

/// A network that gives these numbers whatever it sees.
fn constant_file(card: &[(&str, &str)], inputs: usize, outputs: &[f32]) -> Vec<u8> {
    let weights = vec![0.0; inputs * outputs.len()];
    file(card, &[("out.w", &[inputs, outputs.len()], weights), ("out.b", &[outputs.len()], outputs.to_vec())])
}

fn kept(content: &[u8]) -> NamedTempFile {
    let mut file = NamedTempFile::new().expect("a file");
    file.write_all(content).expect("written");
    file
}

fn registry() -> Registry {
    let mut registry = crate::registry();
    schemes(|path| input::read(path, LARGEST_MODEL)).into_iter().for_each(|scheme| registry.register(scheme));
    registry
}

fn scheme(name: &str, content: &[u8]) -> Scheme {
    let file = kept(content);
    registry().parse(&format!("{name}(model={})", file.path().display())).expect("a policy")
}

fn refusal(name: &str, content: &[u8]) -> String {
    let file = kept(content);
    registry()
        .parse(&format!("{name}(model={})", file.path().display()))
        .expect_err("a damaged policy")
        .to_string()
}

#[test]
fn the_window_follows_the_action_after_each_interval() {
    let content = constant_file(&[("interval", "50ms")], 6, &[0.5]);
    let mut path = Path::of(&scheme("learned", &content), Rate::from_mbit_per_sec(120.0), MS * 40);
    // The first acknowledgement comes after some 40 ms; then the window is 2^(1/2) times itself every 50 ms.
    path.run_for(MS * 80);
    assert_eq!(path.window(), 10.0);
    path.run_for(MS * 170);
    assert!(
        (path.window() - 10.0 * libm::pow(2.0, 2.0)).abs() < 0.01,
        "{} after four intervals",
        path.window()
    );
    assert_eq!(path.shows("decisions"), Some(4.0));
}

#[test]
fn a_bounded_agent_sees_shares_and_keeps_delay_and_window_where_nothing_was_acknowledged() {
    let mut agent = Agent::new(AgentKind::Bounded, Bytes::new(1500), Bytes::new(15_000), 0.05);
    let busy = Interval {
        length_s: 0.05,
        sent_bytes: 9_000,
        delivered_bytes: 3_000,
        lost_bytes: 1_000,
        rtt_mean_s: Some(0.1),
        rtt_change_s: 0.1,
        min_rtt_s: 0.05,
        window_bytes: 12_000,
        ..Interval::default()
    };
    agent.observe(&busy);
    let silent = Interval { length_s: 0.05, sent_bytes: 1_500, min_rtt_s: 0.05, ..Interval::default() };
    agent.observe(&silent);
    // A queue of one RTT is a half; a window of four times the delivery in an RTT is 2 of 4 octaves.
    let expected = [1.0, 0.25, 0.25, 0.5, 1.0, 0.5, 0.0, 0.0, 0.0, 0.5, 0.0, 0.5];
    assert_eq!(agent.observation()[12..], expected);
    assert_eq!(agent.observation()[..12], [0.0; 12]);
}

#[test]
fn indigos_best_scored_action_moves_its_window_by_ten_packets() {
    let content = constant_file(&[("agent", "indigo"), ("interval", "10ms")], 9, &[0.0, -1.0, 0.5, 2.0, 1.0]);
    let mut path = Path::of(&scheme("indigo", &content), Rate::from_mbit_per_sec(1200.0), MS * 40);
    path.run_until(|path| path.shows("decisions") == Some(5.0));
    assert_eq!((path.window(), path.shows("action")), (60.0, Some(3.0)));
}

#[test]
fn what_a_network_remembers_and_scales_is_as_its_formulas_have_it() {
    let tensors = |name: &str| {
        let (shape, values): (&[usize], &[f32]) = match name {
            "l.w" => (&[3, 4], &[0.1, 0.2, 0.3, 0.4, -0.5, 0.6, -0.7, 0.8, 0.9, -1.0, 1.1, -1.2]),
            "l.b" => (&[4], &[0.01, 0.02, 0.03, 0.04]),
            "n.mean" => (&[1], &[0.25]),
            "n.var" => (&[1], &[0.08]),
            "n.gamma" => (&[1], &[3.0]),
            "n.beta" => (&[1], &[-0.5]),
            _ => return Ok(None),
        };
        Ok(Some(Tensor { shape: shape.to_vec(), values: values.to_vec() }))
    };
    let steps = [Step::Lstm("l".into()), Step::Norm("n".into(), 0.01), Step::LeakyRelu(0.2), Step::Tanh];
    let network = Network::new(&steps, 2, &tensors).unwrap();
    let mut memory = Memory::default();
    let sigmoid = |value: f64| 1.0 / (1.0 + libm::exp(-value));
    let (mut cell, mut output) = (0.0, 0.0);
    for input in [[1.0, 2.0], [-3.0, 0.5], [0.0, -1.0]] {
        let gate = |w: [f64; 3], b: f64| w[0] * input[0] + w[1] * input[1] + w[2] * output + b;
        let (i, j) = (gate([0.1, -0.5, 0.9], 0.01), gate([0.2, 0.6, -1.0], 0.02));
        let (f, o) = (gate([0.3, -0.7, 1.1], 0.03), gate([0.4, 0.8, -1.2], 0.04));
        cell = cell * sigmoid(f + 1.0) + sigmoid(i) * libm::tanh(j);
        output = libm::tanh(cell) * sigmoid(o);
        let scaled = 3.0 * (output - 0.25) / (0.08_f64 + 0.01).sqrt() - 0.5;
        let expected = libm::tanh(if scaled < 0.0 { 0.2 * scaled } else { scaled });
        let given = network.forward(&mut memory, &input.map(|value| value as f32))[0];
        assert!((f64::from(given) - expected).abs() < 1e-6, "{given} for {expected}");
    }
}

#[test]
fn a_network_that_gives_no_number_does_nothing_and_the_record_says_how_often() {
    // Both halves overflow where the window is beyond 1.14 bandwidth-delay products, and their difference is no number.
    let mut large = vec![0.0; 12];
    large[10..].fill(3e38);
    let content = file(
        &[("layers", "dense in, dense out")],
        &[
            ("in.w", &[6, 2], large),
            ("in.b", &[2], vec![0.0; 2]),
            ("out.w", &[2, 1], vec![1.0, -1.0]),
            ("out.b", &[1], vec![0.0]),
        ],
    );
    // Ten packets on a path that holds three.
    let mut path = Path::of(&scheme("learned", &content), Rate::from_mbit_per_sec(1.2), MS * 20);
    path.run_for(MS * 2000);
    let (faults, decisions) = (path.shows("faults").unwrap(), path.shows("decisions").unwrap());
    assert!(faults > 50.0 && faults <= decisions, "{faults} of {decisions}");
    assert_eq!(path.window(), 10.0);
    struct Notes(Vec<String>);
    impl Observer for Notes {
        fn value(&mut self, _name: &'static str, _unit: &'static str, _value: f64) {}
        fn note(&mut self, text: &str) {
            self.0.push(text.into());
        }
    }
    let mut notes = Notes(Vec::new());
    path.flow.controller().observe(&mut notes);
    assert!(
        notes.0[0].contains(&format!("no finite number in {faults} of {decisions} intervals")),
        "{:?}",
        notes.0
    );
}

#[test]
fn orcas_agent_is_not_asked_in_slow_start_and_what_is_sent_is_paced_at_a_window_per_smoothed_rtt() {
    // It would cut the window to a quarter each time.
    let content = constant_file(&[("agent", "orca"), ("layers", "dense out, tanh")], 70, &[-20.0]);
    let mut path = Path::of(&scheme("orca", &content), Rate::from_mbit_per_sec(120.0), MS * 40);
    path.run_until(|path| path.window() > 100.0);
    assert_eq!(path.shows("decisions"), Some(0.0));
    let limits = path.flow.limits();
    let rtt = path.flow.rtt().smoothed();
    let paced = limits.pacing_rate.expect("paced").bytes_in(rtt);
    assert!(paced >= limits.window, "{paced} a smoothed RTT at a window of {}", limits.window);
    path.run_until(|path| path.shows("decisions") > Some(20.0));
    assert!(path.shows("ssthresh").is_some(), "HyStart has ended slow start");
    assert!(path.window() < 40.0, "{}: the agent cuts, and CUBIC grows", path.window());
}

#[test]
fn orcas_slow_start_has_no_more_in_flight_than_linux_receiver_allows() {
    let content = constant_file(&[("agent", "orca")], 70, &[0.0]);
    let mut path = Path::of(&scheme("orca", &content), Rate::from_mbit_per_sec(12.0), MS * 40);
    let mut most = 0.0_f64;
    for _ in 0..150 {
        path.run_for(MS);
        most = most.max(path.inflight());
    }
    // 40 packets arrive in an RTT of an empty queue: four times as many, and 32. The loop alone leads to thousands.
    assert!((100.0..=4.0 * 45.0 + 32.0).contains(&most), "{most} packets");
}

#[test]
fn a_model_that_is_damaged_or_does_not_fit_is_refused_with_what_is_wrong() {
    let with = |key, value| constant_file(&[(key, value)], 6, &[0.5]);
    let mut cut = with("seed", "1");
    cut.truncate(cut.len() - 3);
    let not_finite = constant_file(&[], 6, &[f32::NAN]);
    let wide = constant_file(&[], 7, &[0.5]);
    let two = constant_file(&[], 6, &[0.5, 0.5]);
    let overflows = file(
        &[("layers", "dense in, dense out")],
        &[
            ("in.w", &[6, 1], vec![3e38; 6]),
            ("in.b", &[1], vec![0.0]),
            ("out.w", &[1, 1], vec![1.0]),
            ("out.b", &[1], vec![0.0]),
        ],
    );
    for (content, problem) in [
        (cut, "is damaged: incomplete metadata"),
        (b"12Mbit/s".to_vec(), "is no file of safetensors"),
        (with("agent", "orka"), "`agent`: there is no \"orka\"; there are plain, bounded"),
        (with("interval", "20"), "its card's `interval`"),
        (with("layers", "dense out, softmax"), "`softmax` is not one of dense NAME"),
        (with("layers", "dense out, norm obs 0.1"), "no tensor `obs.mean`"),
        (with("data", ""), "lacks `data`"),
        (with("cellcc", "2"), "version \"2\", and this program reads version 1"),
        (not_finite, "`out.b` holds a number that is not finite"),
        (wide, "`out.w` has the shape [7, 1], and [6, 1] is wanted"),
        (two, "its network gives 2 numbers, and Plain acts by 1"),
        (overflows, "no finite number where all that it sees is 1"),
    ] {
        let error = refusal("learned", &content);
        assert!(error.contains(problem), "{error}");
        assert!(error.contains("docs/algorithms/learned.md"), "{error}: what to do");
    }
    let error = refusal("orca", &with("seed", "1"));
    assert!(error.contains("acts as Plain, and Orca is wanted"), "{error}");
}

#[test]
fn every_cut_of_a_file_is_refused_and_none_panics() {
    let whole = constant_file(&[], 6, &[0.5]);
    assert!(Model::read(&whole, None).is_ok());
    for length in 0..whole.len() {
        assert!(Model::read(&whole[..length], None).is_err(), "{length} of {} bytes", whole.len());
    }
}

#[test]
fn a_scheme_says_which_file_it_has_and_takes_no_other_in_its_place() {
    let (one, other) = (kept(&constant_file(&[], 6, &[0.5])), kept(&constant_file(&[], 6, &[0.25])));
    let registry = registry();
    let text = registry.parse(&format!("learned(model={})", one.path().display())).unwrap().text().to_owned();
    assert_eq!(registry.parse(&text).unwrap().text(), text, "it reads as itself");
    let (_, digits) = text.trim_end_matches(')').rsplit_once('@').expect("digits");
    let error = registry.parse(&format!("learned(model={}@{digits})", other.path().display())).unwrap_err();
    assert!(error.to_string().contains(&format!("not with {digits}: it is another file")), "{error}");
    let error = registry.parse("learned").unwrap_err();
    assert_eq!(
        error.to_string(),
        "scheme `learned` needs model=the safetensors file of a policy; docs/algorithms/learned.md says where weights are, and how a \
         file of them is made"
    );
    let error = registry.parse("learned(model=/no/such/file)").unwrap_err();
    assert!(error.to_string().contains("the file cannot be read"), "{error}");
}

#[test]
fn the_same_events_give_the_same_decisions_in_every_flow() {
    let scheme =
        scheme("orca", &constant_file(&[("agent", "orca"), ("layers", "dense out, tanh")], 70, &[0.01]));
    let run = || {
        let mut path = Path::of(&scheme, Rate::from_mbit_per_sec(12.0), MS * 40).with_queue(60);
        path.run_for(MS * 3000);
        (path.window(), path.shows("decisions"), path.lost())
    };
    assert_eq!(run(), run());
    assert_eq!(scheme.build(&CONTEXT).limits().window, CONTEXT.initial_window);
}

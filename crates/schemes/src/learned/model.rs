//! A policy's file, and how a scheme's argument names one.
//!
//! The file is one of safetensors, whose metadata is the [`Card`]. All that can be wrong with it is found when it is read: before a
//! run.

use super::agent::AgentKind;
use super::network::{Memory, Network, Step, Tensor};
use cellcc_control::kind::ValueKind;
use cellcc_units::{Bytes, Span, input::InputError};
use safetensors::{Dtype, SafeTensors};
use sha2::{Digest, Sha256};
use std::{fmt, path::Path, str::FromStr, sync::Arc};

/// The largest file of a policy: a hundred times Orca's.
pub const LARGEST_MODEL: Bytes = Bytes::new(32_000_000);

/// Reads the file of a policy, of [`LARGEST_MODEL`] at most. Schemes read no files: a program that lets its user name one brings
/// this along.
pub type ReadModel = fn(&Path) -> Result<Vec<u8>, InputError>;

/// Number of hexadecimal digits of a file's SHA-256 in the text of a scheme: among a thousand files, two share them with a
/// probability of 1 in 10^4.
const DIGITS: usize = 8;
/// Where a reader finds content to do next.
const PAGE: &str = "docs/algorithms/learned.md says where weights are, and how a file of them is made";

/// A policy that was read and fits.
#[derive(Debug)]
pub(super) struct Model {
    pub(super) card: Card,
    pub(super) network: Network,
    digits: String,
}

impl Model {
    /// Reads a file. `own`: the card of a preset, whose published weights have none.
    ///
    /// # Errors
    /// A description of the defect in the file.
    pub(super) fn read(content: &[u8], own: Option<Card>) -> Result<Self, String> {
        let damaged = |error| format!("it is no file of safetensors, or is damaged: {error}");
        let (_, header) = SafeTensors::read_metadata(content).map_err(damaged)?;
        let tensors = SafeTensors::deserialize(content).map_err(damaged)?;
        let text = |key: &str| header.metadata().as_ref()?.get(key).cloned();
        let card = match (Card::read(&text)?, own) {
            (Some(card), Some(own)) if card.agent != own.agent => {
                let (is, wanted) = (card.agent, own.agent);
                return Err(format!(
                    "its card says that it acts as {is:?}, and {wanted:?} is wanted: use learned(model=...)"
                ));
            }
            (Some(card), _) | (None, Some(card)) => card,
            (None, None) => return Err("its metadata hold no card (no key `cellcc`)".into()),
        };
        let (features, history) = card.agent.shape();
        let inputs = features * history;
        let network = Network::new(&card.layers, inputs, &|name| tensor(&tensors, name))?;
        let model = Self { digits: digits(content), card, network };
        model.check(inputs)?;
        Ok(model)
    }

    /// Refuses a network of the wrong width, and one that gives no numbers.
    fn check(&self, inputs: usize) -> Result<(), String> {
        let (gives, wanted) = (self.network.outputs(), self.card.agent.outputs());
        if gives != wanted {
            return Err(format!(
                "its network gives {gives} numbers, and {:?} acts by {wanted}",
                self.card.agent
            ));
        }
        for value in [0.0, 1.0] {
            let mut memory = Memory::default();
            if self
                .network
                .forward(&mut memory, &vec![value; inputs])
                .iter()
                .any(|output| !output.is_finite())
            {
                return Err(format!("its network gives no finite number where all that it sees is {value}"));
            }
        }
        Ok(())
    }
}

fn digits(content: &[u8]) -> String {
    Sha256::digest(content).iter().take(DIGITS / 2).map(|byte| format!("{byte:02x}")).collect()
}

/// The tensor of this name, where there is one.
fn tensor(tensors: &SafeTensors<'_>, name: &str) -> Result<Option<Tensor>, String> {
    let Ok(view) = tensors.tensor(name) else { return Ok(None) };
    if view.dtype() != Dtype::F32 {
        return Err(format!("its tensor `{name}` holds {:?}; write F32", view.dtype()));
    }
    let (numbers, _) = view.data().as_chunks();
    Ok(Some(Tensor {
        shape: view.shape().to_vec(),
        values: numbers.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect(),
    }))
}

/// A policy by the name of its file.
#[derive(Clone)]
pub(super) struct NamedModel {
    path: String,
    pub(super) model: Arc<Model>,
}

/// Its content says which it is.
impl fmt::Debug for NamedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.model.digits)
    }
}

/// The kind of a parameter that names the file of a policy: `FILE`, or `FILE@DIGITS` with the first digits of its SHA-256. The
/// canonical text has the digits, so that a Record identifies its weights, and is not run again with others.
#[derive(Clone)]
pub(super) struct ModelFile {
    pub(super) read: ReadModel,
    pub(super) own: Option<fn() -> Card>,
}

impl ModelFile {
    fn open(&self, text: &str) -> Result<NamedModel, String> {
        let is_digits =
            |text: &&str| text.len() == DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let split = text.rsplit_once('@').filter(|(_, digits)| is_digits(digits));
        let (path, wanted) = split.map_or((text, None), |(path, digits)| (path, Some(digits)));
        let content = (self.read)(Path::new(path)).map_err(|error| format!("the file {error}"))?;
        let model = Model::read(&content, self.own.map(|card| card()))
            .map_err(|problem| format!("{problem}. {PAGE}"))?;
        if let Some(wanted) = wanted.filter(|wanted| *wanted != model.digits) {
            return Err(format!(
                "its SHA-256 begins with {}, not with {wanted}: it is another file; leave `@{wanted}` out to use it",
                model.digits
            ));
        }
        Ok(NamedModel { path: path.into(), model: Arc::new(model) })
    }
}

impl ValueKind for ModelFile {
    type Value = Option<NamedModel>;

    fn read(&self, text: &str) -> Option<Self::Value> {
        self.open(text).ok().map(Some)
    }

    fn problem(&self, text: &str) -> Option<String> {
        self.open(text).err()
    }

    fn text(&self, value: &Self::Value) -> String {
        value.as_ref().map_or_else(String::new, |named| format!("{}@{}", named.path, named.model.digits))
    }

    fn canonical(&self, _text: &str, value: &Self::Value) -> String {
        self.text(value)
    }

    fn expected(&self) -> String {
        format!("the safetensors file of a policy; {PAGE}")
    }
}

/// Length of the interval between two decisions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Decides {
    /// So long.
    After(Span),
    /// This many minimum round-trip times.
    AfterRtts(f64),
}

/// No interval is shorter: the grain of traces.
const SHORTEST: Span = Span::from_millis(1);

impl Decides {
    /// The interval, where the least RTT so far is this.
    pub fn interval(self, min_rtt: Span) -> Span {
        match self {
            Self::After(span) => span,
            Self::AfterRtts(count) => min_rtt.mul_f64(count).max(SHORTEST),
        }
    }
}

impl FromStr for Decides {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(count) = text.strip_suffix("rtt") {
            let count: Option<f64> = count.trim().parse().ok().filter(|count| (0.1..=100.0).contains(count));
            return count.map(Self::AfterRtts).ok_or_else(|| {
                format!("{text:?}: write a time such as 20ms, or round-trip times from 0.1rtt to 100rtt")
            });
        }
        let span: Span = text.parse().map_err(|error| format!("{error}"))?;
        if (SHORTEST..=Span::from_secs(60)).contains(&span) {
            return Ok(Self::After(span));
        }
        Err(format!("{text:?} is out of range; write 1ms to 60s, such as 20ms"))
    }
}

/// The card of a policy: the metadata of its file, text by key.
///
/// | key | content |
/// |---|---|
/// | `cellcc` | the version of this form: `1` |
/// | `agent` | whose observations and actions: `plain`, `bounded`, `orca`, `aurora`, `indigo` |
/// | `interval` | between two decisions: a time, `20ms`, or minimum round-trip times, `1rtt` |
/// | `layers` | the steps of the network: [`Step`], with commas between them |
/// | `data` | its training data |
/// | `seed` | of the training |
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Card {
    pub(super) agent: AgentKind,
    pub(super) decides: Decides,
    pub(super) layers: Vec<Step>,
    /// Its training data, and the seed, for the reader of a Record.
    pub(super) training: String,
}

/// The version of the form.
const VERSION: &str = "1";

impl Card {
    /// Reads a card. `None`: the file has none.
    ///
    /// # Errors The missing or invalid part.
    pub(super) fn read(text: &dyn Fn(&str) -> Option<String>) -> Result<Option<Self>, String> {
        let Some(version) = text("cellcc") else { return Ok(None) };
        if version != VERSION {
            return Err(format!(
                "its card has version {version:?}, and this program reads version {VERSION}; take a newer program, or write the file again"
            ));
        }
        let needed = |key: &str| {
            text(key).filter(|text| !text.is_empty()).ok_or_else(|| format!("its card lacks `{key}`"))
        };
        let of = |key: &str, problem: String| format!("its card's `{key}`: {problem}");
        Ok(Some(Self {
            agent: needed("agent")?.parse().map_err(|problem| of("agent", problem))?,
            decides: needed("interval")?.parse().map_err(|problem| of("interval", problem))?,
            layers: layers(&needed("layers")?).map_err(|problem| of("layers", problem))?,
            training: format!("{}, seed {}", needed("data")?, needed("seed")?),
        }))
    }

    /// Orca's, whose published weights have no card: params.json and agent.py of its code at cafaf9a. The batch norms' epsilon is
    /// TensorFlow's own.
    pub(super) fn orca() -> Self {
        Self::authors(
            AgentKind::Orca,
            "20ms",
            "dense fc1, norm bn1 0.001, leaky_relu 0.2, dense fc2, norm bn2 0.001, leaky_relu 0.2, dense out, tanh",
        )
    }

    /// Indigo's: dagger/models.py of its code at 463d89b.
    pub(super) fn indigo() -> Self {
        Self::authors(AgentKind::Indigo, "10ms", "lstm lstm, dense out")
    }

    fn authors(agent: AgentKind, interval: &str, steps: &str) -> Self {
        Self {
            agent,
            decides: interval.parse().expect("an interval"),
            layers: layers(steps).expect("steps"),
            training: "its authors'".into(),
        }
    }
}

/// Reads steps.
fn layers(text: &str) -> Result<Vec<Step>, String> {
    let number = |text: &str, from: f32| text.parse().ok().filter(|number| (from..=1.0).contains(number));
    let step = |text: &str| {
        let words: Vec<_> = text.split_whitespace().collect();
        match words[..] {
            ["dense", name] => Some(Step::Dense(name.into())),
            ["lstm", name] => Some(Step::Lstm(name.into())),
            ["norm", name, epsilon] => Some(Step::Norm(name.into(), number(epsilon, 0.0)?)),
            ["leaky_relu", slope] => Some(Step::LeakyRelu(number(slope, 0.0)?)),
            ["relu"] => Some(Step::LeakyRelu(0.0)),
            ["tanh"] => Some(Step::Tanh),
            _ => None,
        }
    };
    let read = |text: &str| {
        step(text).ok_or_else(|| {
            format!(
                "`{}` is not one of dense NAME, lstm NAME, norm NAME EPSILON, leaky_relu SLOPE, relu, tanh",
                text.trim()
            )
        })
    };
    text.split(',').map(read).collect()
}

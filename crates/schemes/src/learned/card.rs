//! What a policy's file says of itself, in the metadata of its safetensors: text by key.
//!
//! | key | what |
//! |---|---|
//! | `cellcc` | the version of this form: `1` |
//! | `agent` | whose observations and actions: `plain`, `bounded`, `orca`, `aurora`, `indigo` |
//! | `interval` | between two decisions: a time, `20ms`, or minimum round-trip times, `1rtt` |
//! | `layers` | the steps of the network: [`Step`], with commas between them |
//! | `data` | what it was trained on |
//! | `seed` | of the training |

use super::agent::{AgentKind, Decides};
use super::network::Step;

/// The card of a policy.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Card {
    pub(super) agent: AgentKind,
    pub(super) decides: Decides,
    pub(super) layers: Vec<Step>,
    /// What it was trained on, and the seed, for the reader of a Record.
    pub(super) training: String,
}

/// The version of the form.
const VERSION: &str = "1";

impl Card {
    /// Reads a card. `None`: the file has none.
    ///
    /// # Errors
    /// What is missing or wrong.
    pub(super) fn read(text: &dyn Fn(&str) -> Option<String>) -> Result<Option<Self>, String> {
        let Some(version) = text("cellcc") else { return Ok(None) };
        if version != VERSION {
            return Err(format!(
                "its card has version {version:?}, and this program reads version {VERSION}; take a newer program, or write the file anew"
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

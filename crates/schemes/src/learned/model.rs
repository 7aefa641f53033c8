//! A policy's file, and how a scheme's argument names one.
//!
//! The file is one of safetensors, whose metadata is the [`Card`]. All that can be wrong with it is found when it is read: before a
//! run.

use super::card::Card;
use super::network::{Memory, Network, Tensor};
use cellcc_control::kind::Kind;
use cellcc_units::Bytes;
use cellcc_units::input::InputError;
use safetensors::{Dtype, SafeTensors};
use sha2::{Digest, Sha256};
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// What a file of a policy may hold at most: a hundred times Orca's.
pub const LARGEST_MODEL: Bytes = Bytes::new(32_000_000);

/// Reads the file of a policy, of [`LARGEST_MODEL`] at most. Schemes read no files: a program that lets its user name one brings
/// this along.
pub type ReadModel = fn(&Path) -> Result<Vec<u8>, InputError>;

/// How many hexadecimal digits of a file's SHA-256 stand in the text of a scheme: two of a thousand files are alike with a chance of
/// 1 in 10^4.
const DIGITS: usize = 8;
/// Where a reader finds what to do next.
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
    /// What is wrong with the file.
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

/// The kind of a parameter that names the file of a policy: `FILE`, or `FILE@DIGITS` with what its SHA-256 begins with. The
/// canonical text has the digits, so that a Record says which weights it is of, and is not run again with others.
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

impl Kind for ModelFile {
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

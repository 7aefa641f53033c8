//! The schemes that can be named: those that come with cellcc, and those that Python has registered.

use crate::error::InputError;
use crate::scheme::{Problem, PythonScheme};
use cellcc_control::{Registry, SchemeInfo};
use cellcc_experiment::PlanFile;
use cellcc_version::VERSION;
use pyo3::prelude::*;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Those of this process that Python has registered.
static REGISTERED: Mutex<Vec<Arc<PythonScheme>>> = Mutex::new(Vec::new());

fn registered() -> MutexGuard<'static, Vec<Arc<PythonScheme>>> {
    REGISTERED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Adds a scheme written in Python; one of the same name that Python registered is replaced. `parameters`: the names of
/// the keyword arguments of `build`, with their defaults. `word` names its code in the version of Records.
#[pyfunction]
pub(crate) fn register(
    name: String,
    summary: String,
    parameters: Vec<(String, f64)>,
    word: String,
    build: Py<PyAny>,
) -> PyResult<()> {
    let is_name = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_lowercase())
            && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c))
    };
    if let Some(text) =
        std::iter::once(&name).chain(parameters.iter().map(|(key, _)| key)).find(|text| !is_name(text))
    {
        return Err(InputError::new_err(format!(
            "`{text}` is no name; write a lower-case letter first, then letters, digits, - and _"
        )));
    }
    if cellcc_experiment::registry().schemes().iter().any(|known| known.name == name) {
        return Err(InputError::new_err(format!("`{name}` is a scheme of cellcc; choose another name")));
    }
    let mut all = registered();
    all.retain(|known| known.name != name);
    all.push(Arc::new(PythonScheme { name, summary, parameters, word, build }));
    Ok(())
}

/// The registry for these conditions, and the version of the code of their results: cellcc's, and where they name a scheme
/// written in Python, a word for each. `problem` takes the first scheme's exception.
pub(crate) fn registry_for(file: &PlanFile, problem: &Arc<Problem>) -> (Registry, String) {
    let (mut registry, mut version) = (cellcc_experiment::registry(), VERSION.to_owned());
    let texts = || file.schemes.iter().chain([&file.background]);
    let is_word = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    for scheme in registered().iter() {
        registry.register(scheme.info(problem));
        if texts().any(|text| text.split(|c| !is_word(c)).any(|word| word == scheme.name)) {
            version.push_str(&format!(", {} {}", scheme.name, scheme.word));
        }
    }
    (registry, version)
}

/// The registry in which schemes written in Python stand in the place of others, by pairs of the other's name and theirs, and the version
/// of the code of their results.
pub(crate) fn registry_in_place(
    pairs: &[(String, String)],
    problem: &Arc<Problem>,
) -> PyResult<(Registry, String)> {
    let (mut registry, mut version) = (cellcc_experiment::registry(), VERSION.to_owned());
    for (name, own) in pairs {
        let there_is_no = |name: &String| InputError::new_err(format!("there is no scheme `{name}` here"));
        let other = registry.schemes().iter().find(|known| known.name == *name);
        let other = other.ok_or_else(|| there_is_no(name))?;
        let all = registered();
        let scheme = all.iter().find(|known| known.name == *own).ok_or_else(|| there_is_no(own))?;
        let info = scheme.in_place_of(other, problem);
        registry.register(info);
        version.push_str(&format!(", {name} {}", scheme.word));
    }
    Ok((registry, version))
}

/// Every scheme with its parameters and presets, as JSON.
#[pyfunction]
pub(crate) fn schemes() -> String {
    let (registry, _) = registry_for(&PlanFile::default(), &Arc::default());
    let all: Vec<Value> = registry.schemes().iter().map(|info| described(info)).collect();
    Value::from(all).to_string()
}

fn described(info: &SchemeInfo) -> Value {
    let parameters = info.parameters.iter().map(|parameter| {
        json!({
            "name": parameter.name,
            "default": parameter.default,
            "takes": parameter.expected,
            "meaning": parameter.meaning,
            "source": parameter.source,
        })
    });
    let presets = info.presets.iter().map(|preset| {
        json!({
            "name": format!("{}={}", preset.parameter, preset.name),
            "summary": preset.summary,
            "source": preset.source,
            "sets": preset.values().collect::<std::collections::BTreeMap<_, _>>(),
        })
    });
    json!({
        "name": info.name,
        "summary": info.summary,
        "source": info.source,
        "parameters": parameters.collect::<Vec<_>>(),
        "presets": presets.collect::<Vec<_>>(),
    })
}

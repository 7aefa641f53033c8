//! `cellcc schemes`: the list; for one scheme every parameter and preset.

use crate::exit::{Exit, print};
use crate::grid;
use crate::terminal;
use cellcc_control::{HeldAgainst, Preset, SchemeInfo, ShownValue};
use cellcc_report::TableFormat;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cellcc schemes
  cellcc schemes reminis")]
pub(crate) struct Args {
    /// Describe this scheme with its parameters and presets.
    name: Option<String>,
    /// Output format.
    #[arg(long, default_value = "table", value_parser = grid::format_parser())]
    format: TableFormat,
}

#[derive(Serialize)]
struct SchemeObject<'a> {
    scheme: &'a str,
    summary: &'a str,
    source: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    held_against: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_for: Option<&'a str>,
    parameters: Vec<ParameterObject<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    presets: Vec<PresetObject<'a>>,
}

#[derive(Serialize)]
struct ParameterObject<'a> {
    parameter: &'a str,
    default: &'a str,
    takes: &'a str,
    meaning: &'a str,
    source: &'a str,
}

#[derive(Serialize)]
struct PresetObject<'a> {
    preset: String,
    summary: &'a str,
    source: &'a str,
    sets: BTreeMap<&'a str, &'a str>,
}

pub(crate) fn run(args: &Args) -> Result<(), Exit> {
    let registry = cellcc_experiment::registry();
    let one;
    let mut all = registry.schemes().iter().map(AsRef::as_ref);
    let schemes: Vec<&SchemeInfo> = match &args.name {
        Some(name) => match all.find(|info: &&SchemeInfo| info.name == *name) {
            Some(info) => vec![info],
            None => {
                one = registry.parse(name).map_err(Exit::input)?;
                vec![one.info()]
            }
        },
        None => all.collect(),
    };
    match args.format {
        TableFormat::Table if args.name.is_none() => print(&listed(&schemes, terminal::width())),
        TableFormat::Table => print(&described(&schemes)),
        other => {
            let objects: Vec<_> = schemes.iter().copied().map(object).collect();
            let header = ["scheme", "parameter", "default", "takes", "meaning", "source"];
            print(&grid::render(other, &header, &flat(&objects), &objects)?)
        }
    }
}

fn object(info: &SchemeInfo) -> SchemeObject<'_> {
    let parameters = info.parameters.iter().map(|parameter| ParameterObject {
        parameter: &parameter.name,
        default: &parameter.default,
        takes: &parameter.expected,
        meaning: &parameter.meaning,
        source: &parameter.source,
    });
    let presets = info.presets.iter().map(|preset| PresetObject {
        preset: argument(preset),
        summary: &preset.summary,
        source: &preset.source,
        sets: preset.values().collect(),
    });
    SchemeObject {
        scheme: &info.name,
        summary: &info.summary,
        source: &info.source,
        held_against: info.held_against.map(|held| held.by),
        not_for: info.held_against.map(|held| held.not_for),
        parameters: parameters.collect(),
        presets: presets.collect(),
    }
}

/// How a preset is chosen: `preset=robust`.
fn argument(preset: &Preset) -> String {
    format!("{}={}", preset.parameter, preset.name)
}

/// A row for the scheme itself, one for each parameter, and one for each preset.
fn flat(schemes: &[SchemeObject<'_>]) -> Vec<Vec<String>> {
    let row = |cells: [&str; 6]| cells.map(String::from).to_vec();
    let of = |scheme: &SchemeObject<'_>| {
        let parameters = scheme
            .parameters
            .iter()
            .map(|p| row([scheme.scheme, p.parameter, p.default, p.takes, p.meaning, p.source]));
        let presets = scheme.presets.iter().map(|preset| {
            let meaning = format!("{}; {}", preset.summary, sets(preset.sets.iter().map(|(k, v)| (*k, *v))));
            row([scheme.scheme, &preset.preset, "", "", &meaning, preset.source])
        });
        std::iter::once(row([scheme.scheme, "", "", "", scheme.summary, scheme.source]))
            .chain(parameters)
            .chain(presets)
            .collect::<Vec<_>>()
    };
    schemes.iter().flat_map(of).collect()
}

/// A line or two for each scheme.
fn listed(schemes: &[&SchemeInfo], width: usize) -> String {
    let longest = schemes.iter().map(|info| info.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for info in schemes {
        let summary = cellcc_report::wrapped(&info.summary, width.saturating_sub(longest + 2));
        for (index, line) in summary.lines().enumerate() {
            let name = if index == 0 { &*info.name } else { "" };
            let _ = writeln!(text, "{name:longest$}  {line}");
        }
    }
    text.push_str("\n`cellcc schemes NAME` describes one with its parameters and presets, `--format json` all of them.\n");
    text
}

/// For reading: no table, because a meaning is a sentence.
fn described(schemes: &[&SchemeInfo]) -> String {
    let mut text = String::new();
    for info in schemes {
        let _ = writeln!(text, "{}\n  {}\n  Source: {}", info.name, info.summary, info.source);
        if let Some(HeldAgainst { by, not_for }) = info.held_against {
            let _ = writeln!(text, "  Held against {by}\n  Not for {not_for}");
        }
        if let Some(rule) = rule(info) {
            let _ = writeln!(text, "  {rule}");
        }
        for parameter in &info.parameters {
            let _ = writeln!(
                text,
                "\n  {}={}\n      {}\n      Takes {}. Source: {}",
                parameter.name, parameter.default, parameter.meaning, parameter.expected, parameter.source
            );
            describe_presets(&mut text, info, &parameter.name);
        }
        if !info.shows.is_empty() {
            text.push_str("\n  In series and plots:\n");
        }
        for ShownValue { name, meaning, states, .. } in &info.shows {
            let states = if states.is_empty() { String::new() } else { format!(": {}", states.join(", ")) };
            let _ = writeln!(text, "      {name}: {meaning}{states}");
        }
        text.push('\n');
    }
    text
}

/// The meaning of the preset names, for a scheme with a preset of its paper.
fn rule(info: &SchemeInfo) -> Option<String> {
    let (paper, default) = (info.papers_preset()?, info.default_preset()?);
    let key = &paper.parameter;
    let authors = if info.presets.iter().any(|preset| preset.name == "authors") {
        format!("{key}=authors the authors' program, ")
    } else {
        String::new()
    };
    Some(format!(
        "{key}=paper is the paper's text, {authors}and the default, {}, the one to run.",
        argument(default)
    ))
}

/// Below a parameter: the value that each preset gives it, and the presets that it chooses.
fn describe_presets(text: &mut String, info: &SchemeInfo, parameter: &str) {
    let value = |preset: &Preset| {
        let (_, value) = preset.values().find(|(key, _)| *key == parameter)?;
        Some(format!("{} with {}", value, argument(preset)))
    };
    let values: Vec<_> = info.presets.iter().filter_map(value).collect();
    if !values.is_empty() {
        let _ = writeln!(text, "      If not given: {}", values.join(", "));
    }
    for preset in info.presets.iter().filter(|preset| preset.parameter == parameter) {
        let _ = writeln!(
            text,
            "      - {}: {}; {}. Source: {}",
            argument(preset),
            preset.summary,
            sets(preset.values()),
            preset.source
        );
    }
}

fn sets<'a>(values: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let values: Vec<_> = values.map(|(key, value)| format!("{key}={value}")).collect();
    if values.is_empty() { "sets nothing".into() } else { format!("sets {}", values.join(", ")) }
}

//! `cellcc schemes`: every scheme with every parameter.

use crate::exit::{Exit, print};
use crate::grid;
use cellcc_control::{Registry, SchemeInfo};
use cellcc_report::TableFormat;
use serde::Serialize;
use std::fmt::Write as _;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only this scheme.
    name: Option<String>,
    /// How to print them.
    #[arg(long, default_value = "table", value_parser = grid::format_parser())]
    format: TableFormat,
}

#[derive(Serialize)]
struct SchemeObject {
    scheme: &'static str,
    summary: &'static str,
    source: &'static str,
    parameters: Vec<ParameterObject>,
}

#[derive(Serialize)]
struct ParameterObject {
    parameter: &'static str,
    default: &'static str,
    takes: String,
    meaning: &'static str,
    source: &'static str,
}

pub(crate) fn run(args: &Args) -> Result<(), Exit> {
    let registry = Registry::default();
    let schemes: Vec<SchemeInfo> = match &args.name {
        Some(name) => vec![*registry.parse(name).map_err(Exit::input)?.info()],
        None => registry.schemes().to_vec(),
    };
    match args.format {
        TableFormat::Table => print(&described(&schemes)),
        other => {
            let objects: Vec<_> = schemes.iter().map(object).collect();
            let header = ["scheme", "parameter", "default", "takes", "meaning", "source"];
            print(&grid::render(other, &header, &flat(&objects), &objects)?)
        }
    }
}

fn object(info: &SchemeInfo) -> SchemeObject {
    let parameters = info.parameters.iter().map(|parameter| ParameterObject {
        parameter: parameter.name,
        default: parameter.default,
        takes: parameter.kind.expected(),
        meaning: parameter.meaning,
        source: parameter.source,
    });
    SchemeObject {
        scheme: info.name,
        summary: info.summary,
        source: info.source,
        parameters: parameters.collect(),
    }
}

/// A row a parameter, after one for the scheme itself.
fn flat(schemes: &[SchemeObject]) -> Vec<Vec<String>> {
    let row = |cells: [&str; 6]| cells.map(String::from).to_vec();
    let of = |scheme: &SchemeObject| {
        let parameters = scheme
            .parameters
            .iter()
            .map(|p| row([scheme.scheme, p.parameter, p.default, &p.takes, p.meaning, p.source]));
        std::iter::once(row([scheme.scheme, "", "", "", scheme.summary, scheme.source]))
            .chain(parameters)
            .collect::<Vec<_>>()
    };
    schemes.iter().flat_map(of).collect()
}

/// For reading: no table, because a meaning is a sentence.
fn described(schemes: &[SchemeInfo]) -> String {
    let mut text = String::new();
    for info in schemes {
        let _ = writeln!(text, "{}\n  {}\n  Source: {}", info.name, info.summary, info.source);
        for parameter in info.parameters {
            let _ = writeln!(
                text,
                "\n  {}={}\n      {}\n      Takes {}. Source: {}",
                parameter.name,
                parameter.default,
                parameter.meaning,
                parameter.kind.expected(),
                parameter.source
            );
        }
        text.push('\n');
    }
    text
}

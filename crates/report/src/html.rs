//! The report: one HTML file with everything in it.

use crate::comparison::{Comparison, distinct, of_schemes};
use crate::data::Data;
use crate::drawing::markup::escape;
use crate::flows;
use crate::harm;
use crate::relative::{self, HeldAgainst, Relative};
use crate::tables::column::columns;
use crate::tables::grid::{self, Cell, Grid, GridRow};
use crate::tables::text_table::{footnotes, headline};
use crate::tables::wrap::parts;
use cellcc_experiment::{DEFAULT_DRIVER, Record, SCHEMA_VERSION, TRANSFER};
use cellcc_units::Span;
use std::collections::BTreeSet;

const TEMPLATE: &str = include_str!("../assets/report.html");
const STYLE: &str = include_str!("../assets/report.css");
const SCRIPT: &str = include_str!("../assets/report.js");
const ECHARTS: &str = include_str!("../assets/echarts.common.min.js");

/// Distinct values of a condition that the heading names; more are counted.
const MOST_NAMED: usize = 3;

/// Where a page stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Placed<'a> {
    /// By itself.
    Alone,
    /// With other files next to it.
    InFolder,
    /// With runs that may go on: it shows their progress, and follows them.
    Live(&'a str),
}

pub(crate) fn html(title: &str, records: &[Record], held_against: HeldAgainst, placed: Placed) -> String {
    let comparison = Comparison::new(records);
    let shown = columns(records);
    let data = Data::new(&comparison, &shown, held_against, placed != Placed::Alone);
    let progress = if let Placed::Live(progress) = placed { progress } else { "" };
    let json = serde_json::to_string(&data).expect("the data have only string keys");
    let averages = grid::averages(&comparison, &shown, None);
    let Relative { tables: relative, changes } = relative::relative(&comparison, held_against);
    let flows = flows::grid(&comparison);
    let harm = harm::harm(&comparison);
    let mut notes = footnotes(&comparison, std::iter::once(&averages).chain(&flows).chain(&relative));
    notes.extend((!harm.is_empty()).then(|| harm::NOTE.into()));
    let fidelity = relative::fidelity(&comparison);
    fill(
        TEMPLATE,
        &[
            ("title", &escape(title)),
            ("conditions", &escape(&conditions(records))),
            ("progress", &escape(progress)),
            ("headline", &escape(&headline(&comparison).unwrap_or_default())),
            ("averages", &escape(&averages.caption)),
            ("table", &table(&averages)),
            ("flows", &(titled_tables(&harm) + &titled_tables(flows.as_slice()))),
            ("relative", &(list(&changes) + &relative_tables(&relative) + &titled_tables(&fidelity))),
            ("notes", &list(&notes)),
            ("left_out", &list(&data.left_out)),
            ("in_grey", &escape(&in_grey(held_against))),
            ("made_of", &escape(&made_of(records))),
            ("style", STYLE),
            // "<" opens a tag that could end the script; as \u003c it is the same JSON.
            ("data", &json.replace('<', "\\u003c")),
            ("echarts", ECHARTS),
            ("script", SCRIPT),
        ],
    )
}

/// The meaning of grey points, where there are some.
fn in_grey(held_against: HeldAgainst) -> String {
    match held_against {
        HeldAgainst::Results(_, name) => format!("Grey: the same in {name}."),
        HeldAgainst::Nothing | HeldAgainst::Scheme(_) => String::new(),
    }
}

/// Puts each text in place of its `{{name}}`, once; the texts themselves are not searched.
fn fill(template: &str, texts: &[(&str, &str)]) -> String {
    let mut page =
        String::with_capacity(texts.iter().map(|(_, text)| text.len()).sum::<usize>() + template.len());
    for part in template.split("{{") {
        match part.split_once("}}") {
            Some((name, rest)) => {
                page.push_str(texts.iter().find(|(key, _)| *key == name).map_or("", |(_, text)| text));
                page.push_str(rest);
            }
            None => page.push_str(part),
        }
    }
    page
}

/// The common settings of all runs, in one line. Transfers without an RTT have no planned path.
fn conditions(records: &[Record]) -> String {
    let has_path = |run: &Record| is_planned(run) || !run.scenario.path.rtt.is_zero();
    let of_paths = |value: fn(&Record) -> String| different(records, has_path, value);
    let mut parts = Vec::new();
    if of_schemes(records).any(has_path) {
        parts.push(format!("base RTT {}", of_paths(|run| run.scenario.path.rtt.to_string())));
        parts.push(format!("queue {}", of_paths(|run| run.scenario.path.queue.to_string())));
    }
    if records.iter().any(|run| !run.scenario.path.loss.is_zero()) {
        parts.push(format!("random loss {}", of_paths(|run| run.scenario.path.loss.to_string())));
    }
    parts.push(format!("{} per run", lengths(records)));
    let traces: BTreeSet<_> = records.iter().map(|run| &run.scenario.trace).collect();
    parts.push(match traces.len() {
        1 => "1 trace".into(),
        count => format!("{count} traces"),
    });
    parts.push(different(records, |_| true, |run| driver(&run.driver).to_owned()));
    parts.join(" · ")
}

/// The driver in a word that needs no manual.
fn driver(name: &str) -> &str {
    if name == DEFAULT_DRIVER { "simulator" } else { name }
}

/// The source of the Records: the version, and the seeds where they were planned.
fn made_of(records: &[Record]) -> String {
    let version = different(records, |_| true, |run| run.version.clone());
    let seeds = different(records, is_planned, |run| run.scenario.seed.to_string());
    let seed = if seeds.is_empty() { seeds } else { format!(" · seed {seeds}") };
    format!("cellcc {version} · schema {SCHEMA_VERSION}{seed}")
}

fn is_planned(run: &Record) -> bool {
    run.scenario.driver != TRANSFER
}

/// The different known values of the schemes' runs, or their number.
fn different(records: &[Record], is_known: fn(&Record) -> bool, value: fn(&Record) -> String) -> String {
    let values = distinct(of_schemes(records).filter(|run| is_known(run)).map(value));
    if values.len() > MOST_NAMED { format!("{} different", values.len()) } else { values.join(", ") }
}

/// How long runs are: each length, or of many the shortest and the longest.
fn lengths(records: &[Record]) -> String {
    let lengths: BTreeSet<Span> = of_schemes(records).map(|run| run.scenario.duration).collect();
    match (lengths.first(), lengths.last()) {
        (Some(shortest), Some(longest)) if lengths.len() > MOST_NAMED => format!("{shortest} to {longest}"),
        _ => lengths.iter().map(Span::to_string).collect::<Vec<_>>().join(", "),
    }
}

fn table(grid: &Grid) -> String {
    let keys = grid.of.iter().map(|key| format!("<th scope=\"col\">{}</th>", escape(key)));
    let columns = grid.columns.iter().map(|(title, unit)| {
        format!("<th scope=\"col\">{}<small>{}</small></th>", escape(title), escape(unit))
    });
    let head: String = keys.chain(columns).collect();
    let cell = |cell: &Cell| {
        let below = cell.below.as_ref().map(|below| format!("<small>{}</small>", below.text()));
        format!("<td>{}{}</td>", cell.value, below.unwrap_or_default())
    };
    let row = |row: &GridRow| {
        let class = if row.is_limit { " class=\"limit\"" } else { "" };
        let values: String = row.of[1..].iter().map(|value| format!("<td>{}</td>", escape(value))).collect();
        let cells: String = row.cells.iter().map(cell).collect();
        format!("<tr{class}><th scope=\"row\">{}</th>{values}{cells}</tr>", name(&row.of[0]))
    };
    let rows: String = grid.rows.iter().map(row).collect();
    format!("<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>")
}

/// A name that a browser breaks between its parts, and within one only where that is too long.
fn name(text: &str) -> String {
    parts(text).map(|part| format!("<span>{}</span>", escape(part))).collect()
}

fn relative_tables(tables: &[Grid]) -> String {
    let note = format!("<div class=\"notes\">{}</div>", list(&[relative::NOTE.into()]));
    titled_tables(tables) + if tables.is_empty() { "" } else { &note }
}

fn titled_tables(tables: &[Grid]) -> String {
    let titled = |grid: &Grid| {
        let (caption, table) = (escape(&grid.caption), table(grid));
        format!(
            "<h3>{caption}</h3><div class=\"scroll cards\" tabindex=\"0\" role=\"region\" aria-label=\"{caption}\">{table}</div>"
        )
    };
    tables.iter().map(titled).collect()
}

fn list(items: &[String]) -> String {
    let items: String = items.iter().map(|item| format!("<li>{}</li>", escape(item))).collect();
    if items.is_empty() { String::new() } else { format!("<ul>{items}</ul>") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_filled_in_is_not_looked_at_again() {
        assert_eq!(fill("a{{x}}b{{y}}", &[("x", "{{y}}"), ("y", "2")]), "a{{y}}b2");
    }
}

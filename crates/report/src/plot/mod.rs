//! The figure of a paper: its reader chooses the quantities of the axes, the schemes, their order and their names.

mod kinds;

pub use kinds::PlotKind;

use crate::comparison::{Comparison, Row, distinct, label_by};
use crate::conditions::last_part;
use crate::figure::{Figure, Paper};
use crate::tables::grid::varied_keys;
use crate::{ReportError, TableColumn};
use cellcc_experiment::{Record, row_name, same_scheme, varied};
use cellcc_units::{ParseError, instead};
use kinds::{Across, across, facet};
use std::str::FromStr;

/// The key of a run's trace for `only`.
const TRACE: &str = "trace";

/// The content of a figure, and its paper. The command and the Python package make it of the same words.
#[derive(Debug, Clone, Default)]
pub struct Plot {
    /// A column of the table (`rtt-p95`), or a condition that is varied (`path.rtt`, or `rtt`); not for every kind.
    pub x: Option<String>,
    /// Columns of the table: one plot each, one below the other; none named: the schemes' gain.
    pub y: Vec<TableColumn>,
    /// `None`: points, or over a varied condition lines.
    pub kind: Option<PlotKind>,
    /// A varied condition that has a plot for each value, side by side.
    pub facet: Option<String>,
    /// These schemes, in this order; none named: all, in the order of the plan.
    pub schemes: Vec<Named>,
    /// Only these values of the varied conditions, and of the trace: `path.queue=65pkt`, `trace=walk`.
    pub only: Vec<Named>,
    /// The title of the horizontal axis; none: its quantity.
    pub x_title: Option<String>,
    /// The titles of the vertical axes, from above; none: their quantities.
    pub y_titles: Vec<String>,
    /// The averages alone.
    pub no_intervals: bool,
    /// Its size, and that of its letters.
    pub paper: Paper,
    /// The content of the font file that its letters are from.
    pub font: Option<Vec<u8>>,
    /// The version and the command that made it, for the file's metadata.
    pub made_by: String,
}

/// A scheme and its name in a figure, `reminis(dtt=2x)=Reminis`, or a condition and its value, `path.queue=65pkt`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    of: String,
    name: Option<String>,
}

impl FromStr for Named {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        // The arguments of a scheme also have signs of equality.
        let arguments = text.rfind(')').map_or(0, |at| at + 1);
        let (of, name) = match text[arguments..].find('=').map(|at| text.split_at(arguments + at)) {
            Some((of, name)) => (of, Some(name[1..].trim().to_owned())),
            None => (text, None),
        };
        if of.trim().is_empty() || name.as_deref() == Some("") {
            return Err(ParseError::new(
                text,
                "a name, or one and another after a sign of equality, such as `reminis(dtt=2x)=Reminis`",
            ));
        }
        Ok(Self { of: of.trim().into(), name })
    }
}

impl Plot {
    /// The figure of these runs.
    ///
    /// # Errors
    /// A scheme or a condition that they have not; more rows than a reader tells apart; a paper without room for it.
    pub fn figure(&self, title: &str, records: &[Record]) -> Result<Figure, ReportError> {
        let mut comparison = Comparison::new(records);
        self.keep(&mut comparison)?;
        let across = self.x.as_deref().map(|given| across(&comparison, self.kind, given)).transpose()?;
        let facet = self.facet.as_deref().map(|given| facet(&comparison, given)).transpose()?;
        let along = if let Some(Across::Condition(key)) = across { Some(key) } else { None };
        let is_of_lines = self.kind.is_none() && along.is_some();
        comparison.set_placed(facet.into_iter().chain(along.filter(|_| !is_of_lines)).collect());
        self.rename(&mut comparison);
        let mut figure = self.of_kind(&comparison, across)?;
        figure.title = format!("{title}: {}", figure.title);
        if let Some(key) = along {
            figure.panels.iter_mut().for_each(|panel| panel.x.title = titled(key));
        }
        self.dress(&mut figure);
        // Lines stand side by side for the second condition as they are.
        if let Some(facet) = facet.filter(|_| !is_of_lines) {
            figure = comparison.faceted(&[facet], figure);
        }
        figure.set_apart();
        if figure.panels.iter().all(|panel| panel.marks.is_empty()) {
            return Err(ReportError::Plot("no run has a value for the axes".into()));
        }
        match crate::drawing::svg::too_small(&figure, &self.paper) {
            Some(problem) => Err(ReportError::Plot(format!("the figure has no room: {problem}"))),
            None => Ok(figure),
        }
    }

    /// The content of the figure's file of this kind: `svg`, and where this build has them `pdf` and `png`.
    ///
    /// # Errors
    /// Another kind; a file that is not a font, or a font where this build cannot read one.
    pub fn file(&self, figure: &Figure, kind: &str) -> Result<Vec<u8>, ReportError> {
        let svg = figure.svg_on(&self.paper);
        match kind {
            "svg" => self.in_own_font(svg).map(String::into_bytes),
            #[cfg(feature = "png")]
            "png" => crate::drawing::png::png(&svg, self.font.as_deref()),
            #[cfg(feature = "pdf")]
            "pdf" => crate::drawing::pdf::pdf(&svg, self.font.as_deref(), [&figure.title, &self.made_by]),
            _ => {
                let pdf = if cfg!(feature = "pdf") { ", pdf" } else { "" };
                let png = if cfg!(feature = "png") { ", png" } else { "" };
                let problem = format!("no figure is written as `{kind}`; this build writes svg{pdf}{png}");
                Err(ReportError::Plot(problem))
            }
        }
    }

    #[cfg(feature = "png")]
    fn in_own_font(&self, svg: String) -> Result<String, ReportError> {
        let Some(font) = &self.font else { return Ok(svg) };
        let family = crate::drawing::markup::escape(&crate::drawing::png::family(font)?);
        Ok(svg.replace("font-family=\"sans-serif\"", &format!("font-family=\"{family}, sans-serif\"")))
    }

    #[cfg(not(feature = "png"))]
    fn in_own_font(&self, svg: String) -> Result<String, ReportError> {
        if self.font.is_some() { Err(ReportError::Plot("this build reads no fonts".into())) } else { Ok(svg) }
    }

    /// Keeps the chosen rows, in the chosen order and under the chosen names.
    fn keep(&self, comparison: &mut Comparison) -> Result<(), ReportError> {
        let known = varied_keys(comparison);
        for Named { of, name } in &self.only {
            if of == TRACE {
                let name = name.as_deref().unwrap_or("");
                let names: Vec<&str> = comparison.traces.iter().map(|trace| trace.name).collect();
                comparison.traces.retain(|trace| [trace.name, trace.key].contains(&name));
                if comparison.traces.is_empty() {
                    let there_is = instead(name, "the traces are", &names.join(", "));
                    return Err(ReportError::Plot(format!("--only {of}={name}: no run is on it{there_is}")));
                }
                continue;
            }
            let key = known.iter().find(|key| is_called(key, of));
            let pair = key.map(String::as_str).zip(name.as_deref());
            let has = |row: &Row| pair.is_some_and(|pair| varied(row.variation).contains(&pair));
            if !comparison.rows.iter().any(has) {
                let name = name.as_deref().unwrap_or("");
                let there_is = match key {
                    Some(key) => {
                        let values = comparison.rows.iter().flat_map(|row| varied(row.variation));
                        let values = values.filter(|(other, _)| other == key).map(|(_, value)| value);
                        instead(name, "its values are", &distinct(values).join(", "))
                    }
                    None => instead(of, "varied are", &known.join(", ")),
                };
                return Err(ReportError::Plot(format!("--only {of}={name}: no run has it{there_is}")));
            }
            // The limit's row has no variation where it is the same under all.
            let rows = comparison.rows.iter().copied();
            let rows = rows.filter(|row| row.variation.is_empty() || has(row)).collect();
            comparison.set_rows(rows);
        }
        if self.schemes.is_empty() {
            return Ok(());
        }
        let mut rows = Vec::new();
        for Named { of, .. } in &self.schemes {
            let before = rows.len();
            rows.extend(comparison.rows.iter().copied().filter(|row| is_named(row.scheme, row.driver, of)));
            if rows.len() == before {
                let mut known: Vec<String> = comparison.lines.iter().map(|line| line.label.clone()).collect();
                known.dedup();
                return Err(ReportError::Scheme("scheme", of.chars().take(80).collect(), known.join(", ")));
            }
        }
        comparison.set_rows(rows);
        Ok(())
    }

    /// Gives schemes the names that they are to have.
    fn rename(&self, comparison: &mut Comparison) {
        for (row, key) in comparison.rows.iter().zip(&mut comparison.keys) {
            let named = self.schemes.iter().find(|named| is_named(row.scheme, row.driver, &named.of));
            let Some(name) = named.and_then(|named| named.name.as_deref()) else { continue };
            let (old, new) = (label_by(row.scheme, row.driver), row_name(name, row.driver, ""));
            key.label = key.label.replacen(&old, &new, 1);
            comparison.lines[key.group].label = new;
        }
    }

    /// Titles, and no intervals where none are wanted.
    fn dress(&self, figure: &mut Figure) {
        let columns = figure.columns.max(1);
        for (at, panel) in figure.panels.iter_mut().enumerate() {
            if let Some(title) = &self.x_title {
                panel.x.title.clone_from(title);
            }
            if let Some(title) = self.y_titles.get(at / columns) {
                panel.y.title.clone_from(title);
            }
            if self.no_intervals {
                panel.marks.iter_mut().for_each(|mark| mark.intervals.clear());
            }
        }
        figure.hold_intervals();
    }
}

/// A condition as the title of an axis: `Queue`, `RTT`.
fn titled(key: &str) -> String {
    let words = last_part(key).replace('_', " ").replace("rtt", "RTT");
    let mut letters = words.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// True where `text` names the condition: `path.rtt`, or `rtt`.
fn is_called(key: &str, text: &str) -> bool {
    key == text || last_part(key) == text
}

/// True where `text` names the scheme, or the scheme of one driver.
fn is_named(scheme: &str, driver: &str, text: &str) -> bool {
    same_scheme(scheme, text) || same_scheme(&label_by(scheme, driver), text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schemes_name_stands_behind_its_arguments() {
        let named = |text: &str| text.parse::<Named>().map(|named| (named.of, named.name));
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(named("reminis(dtt=2x)=Reminis, 2x"), Ok(("reminis(dtt=2x)".into(), some("Reminis, 2x"))));
        assert_eq!(named("reminis(dtt=2x)"), Ok(("reminis(dtt=2x)".into(), None)));
        assert_eq!(named(" cubic = CUBIC "), Ok(("cubic".into(), some("CUBIC"))));
        assert!(named("=CUBIC").is_err() && named("cubic=").is_err() && named(" ").is_err());
    }
}

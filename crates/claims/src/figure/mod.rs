//! Figures of the papers: quantities over one another, over names or over time, and the values that the paper has there.

mod drawn;
#[cfg(test)]
mod tests;

pub use drawn::{DrawnFigure, Points, PointsOf};

use crate::ClaimError;
use crate::claim_file::{at, expression, group, near};
use crate::expression::{Expression, ExpressionError};
use serde::Deserialize;
use toml::Spanned;

/// A figure of a paper, to be drawn from runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Its name: `REM-Fig-12`.
    pub id: String,
    /// The file that it is in, without its ending: `reminis`.
    pub group: String,
    /// Place in the paper.
    pub source: String,
    /// Its content in words.
    pub says: String,
    /// A further remark.
    pub note: String,
    /// Its lines or points; empty: there is one.
    pub lines: Vec<Line>,
    /// Its plots.
    pub panels: Vec<Panel>,
    place: (String, usize),
}

/// One of the things that a figure compares.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(from = "LineText")]
pub struct Line {
    /// Its name.
    pub name: String,
    /// The text in the place of `$s`.
    s: String,
    /// Its data set, where that is another one than that of its neighbours.
    data: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum LineText {
    Plain(String),
    Named { name: String, s: String, data: Option<String> },
}

impl From<LineText> for Line {
    fn from(text: LineText) -> Self {
        match text {
            LineText::Plain(s) => Self { name: s.clone(), s, data: None },
            LineText::Named { name, s, data } => Self { name, s, data },
        }
    }
}

/// A plot.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    /// The title, which sets it apart from its neighbours.
    pub title: String,
    /// Titles of the horizontal and the vertical axis, with units.
    pub axes: [String; 2],
    /// True for each of these axes that is logarithmic.
    pub log: [bool; 2],
    /// Labels at 0, 1, 2 and so on of the horizontal axis; empty: numbers, or time.
    pub names: Vec<String>,
    x: Option<Quoted>,
    y: Quoted,
    capacity: Option<Quoted>,
    paper: Vec<Paper>,
}

/// An expression and its text.
type Quoted = (String, Expression);

/// Values of the paper: points; one coordinate alone is a line along the other axis.
#[derive(Debug, Clone, PartialEq)]
struct Paper {
    line: Option<usize>,
    says: String,
    x: Option<Quoted>,
    y: Option<Quoted>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FigureText {
    id: String,
    source: String,
    says: String,
    #[serde(default)]
    note: String,
    #[serde(default)]
    lines: Vec<Line>,
    panels: Vec<PanelText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PanelText {
    #[serde(default)]
    title: String,
    axes: [String; 2],
    #[serde(default)]
    log: Log,
    #[serde(default)]
    names: Vec<String>,
    x: Option<Spanned<String>>,
    y: Spanned<String>,
    capacity: Option<Spanned<String>>,
    #[serde(default)]
    paper: Vec<PaperText>,
}

#[derive(Deserialize, Default, Clone, Copy, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Log {
    #[default]
    None,
    X,
    Y,
    XY,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PaperText {
    line: Option<String>,
    #[serde(default)]
    says: String,
    x: Option<Spanned<String>>,
    y: Option<Spanned<String>>,
}

impl Figure {
    /// Reads the figure that begins at this line of a file of claims.
    pub(crate) fn read(file: &str, text: &str, line: usize, given: FigureText) -> Result<Self, ClaimError> {
        let wrong = |problem: String| at(file, line, format!("{}: {problem}", given.id));
        let one = |value: Spanned<String>| -> Result<Quoted, ClaimError> {
            let expression = expression(file, text, &given.id, &value)?;
            Ok((value.into_inner(), expression))
        };
        let some = |value: Option<Spanned<String>>| value.map(one).transpose();
        let panel = |panel: PanelText| {
            if panel.x.is_some() && !panel.names.is_empty() {
                return Err(wrong("a panel has `x`, `names`, or neither of them to be over time".into()));
            }
            let paper = |value: PaperText| {
                let place = |name: &String| given.lines.iter().position(|line| line.name == *name);
                let line = value
                    .line
                    .as_ref()
                    .map(|name| place(name).ok_or_else(|| wrong(format!("`{name}` is not among its lines"))));
                let (x, y) = (some(value.x)?, some(value.y)?);
                if x.is_none() && y.is_none() {
                    return Err(wrong("a value of the paper has `x`, `y` or both".into()));
                }
                Ok(Paper { line: line.transpose()?, says: value.says, x, y })
            };
            Ok(Panel {
                title: panel.title,
                axes: panel.axes,
                log: [matches!(panel.log, Log::X | Log::XY), matches!(panel.log, Log::Y | Log::XY)],
                names: panel.names,
                x: some(panel.x)?,
                y: one(panel.y)?,
                capacity: some(panel.capacity)?,
                paper: panel.paper.into_iter().map(paper).collect::<Result<_, _>>()?,
            })
        };
        let panels = given.panels.into_iter().map(panel).collect::<Result<_, _>>()?;
        Ok(Self {
            id: given.id.clone(),
            group: group(file),
            source: given.source,
            says: given.says,
            note: given.note,
            lines: given.lines.clone(),
            panels,
            place: (file.to_owned(), line),
        })
    }

    /// The data sets that it is about.
    pub fn data(&self) -> Vec<&str> {
        let mut data: Vec<&str> = self.lines.iter().filter_map(|line| line.data.as_deref()).collect();
        for (_, expression) in self.panels.iter().flat_map(Panel::all) {
            expression.each_run(&mut |run| data.extend(run.data.as_deref()));
        }
        data.sort_unstable();
        data.dedup();
        data
    }

    /// Everything that it computes, each with its text.
    pub(crate) fn quantities(&self) -> Vec<(&str, Expression)> {
        let all = self.panels.iter().flat_map(Panel::all);
        all.flat_map(|(text, expression)| {
            self.each_line().map(move |line| (text.as_str(), of_line(expression, line)))
        })
        .collect()
    }

    fn each_line(&self) -> impl Iterator<Item = Option<&Line>> {
        self.lines.iter().map(Some).chain(self.lines.is_empty().then_some(None))
    }

    pub(crate) fn error(&self, text: &str, error: &ExpressionError) -> ClaimError {
        let (file, line) = &self.place;
        at(file, *line, format!("{}, in `{}`: {error}", self.id, near(text, error.at)))
    }
}

impl Panel {
    fn all(&self) -> impl Iterator<Item = &Quoted> {
        let paper = self.paper.iter().flat_map(|value| value.x.iter().chain(&value.y));
        self.x.iter().chain([&self.y]).chain(&self.capacity).chain(paper)
    }
}

/// The expression with the `$s` and the data set of a line.
fn of_line(expression: &Expression, line: Option<&Line>) -> Expression {
    let Some(Line { s, data, .. }) = line else { return expression.clone() };
    let expression = expression.with("s", s);
    data.as_ref().map_or_else(|| expression.clone(), |data| expression.of_data(data))
}

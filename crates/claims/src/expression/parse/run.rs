//! Values taken from runs.

use super::{Parsed, Parser};
use crate::expression::items::{Items, metric};
use crate::expression::{Expression, ExpressionError, Reduction, RunValue, What};
use cellcc_units::split_outside_parentheses;

impl<'a> Parser<'a> {
    /// `metric(scheme; items)`.
    pub(super) fn run(&mut self, at: usize, name: &str) -> Parsed {
        let is_of_columns = Reduction::NAMES.contains(&name);
        let metric = if is_of_columns { None } else { Some(metric(at, name)?) };
        self.expect("(")?;
        let scheme = match self.scheme {
            Some(scheme) => scheme.to_owned(),
            None => self.cursor.text_until(&[';', ')']).to_owned(),
        };
        if scheme.is_empty() {
            return Err(self.cursor.error(format!("`{name}` names no scheme: `{name}(cubic)`")));
        }
        let mut items = Items::default();
        if self.scheme.is_some() || self.cursor.take(";") {
            let begin = self.cursor.at;
            let text = self.cursor.text_until(&[')']);
            for item in split_outside_parentheses(text, ',') {
                items.add(begin, item.trim())?;
            }
        }
        self.expect(")")?;
        if let Some(window) = self.over_window()? {
            items.add(at, window)?;
        }
        let what = match metric {
            Some(metric) => metric,
            None => What::Columns(items.columns(at, name)?),
        };
        let Items { conditions, other, window, .. } = items;
        if matches!(what, What::Metric { .. }) && (other.is_some() || window.is_some()) {
            let problem = format!(
                "`{name}` covers the whole run; a part of it has {} over a column, such as `window_mean(cubic; rtt_ms, 10s..20s)`",
                Reduction::NAMES.join(", ")
            );
            return Err(ExpressionError::new(at, problem));
        }
        let data = self.data.clone();
        Ok(Expression::Run(RunValue { at, data, what, scheme, conditions, under: None }))
    }

    /// A metric of the run; over a part of it, the mean of a column, or for `utilisation` the share of the capacity carried.
    pub(super) fn of_run(&mut self, at: usize, name: &str, scheme: &str) -> Parsed {
        let what = match self.over_window()? {
            None => metric(at, name)?,
            Some(window) => {
                let mut items = Items::default();
                items.add(at, window)?;
                let function = if name == "utilisation" { "window_use" } else { "window_mean" };
                items.add(at, name)?;
                What::Columns(items.columns(at, function)?)
            }
        };
        let (scheme, data, conditions) = (scheme.to_owned(), None, Vec::new());
        Ok(Expression::Run(RunValue { at, data, what, scheme, conditions, under: None }))
    }

    /// `over FROM..TO`, after the value that it limits to a part of the run.
    fn over_window(&mut self) -> Result<Option<&'a str>, ExpressionError> {
        if self.scheme.is_none() || !self.cursor.take_word("over") {
            return Ok(None);
        }
        self.cursor.skip_space();
        let window = self.cursor.while_in(|c| c.is_ascii_alphanumeric() || ".+-".contains(c));
        if !window.contains("..") {
            return Err(self.cursor.error("a part of the run is missing, such as `over 10s..20s`"));
        }
        self.cursor.at += window.len();
        Ok(Some(window))
    }
}

//! Quantities that the row and the column of a cell select together. A selection is words:
//!
//! ```text
//! verus(r=2)                 a scheme; several stand for several numbers in the cell
//! path.queue=33pkt           a varied condition, or a part of it
//! trace=City*                a trace, * for anything; a driver is driver=quic-virtual, a seed seed=1
//! rtt_mean_ms                a scalar of Records: its mean over the runs that row and column select
//! flow1.throughput_mbit_s    that of one flow
//! max:rtt_mean_ms            the largest of those runs, or min:
//! rtt_p95_ms/cubic           the ratio to cubic's on the same trace, under the same conditions
//! cubic/rtt_p95_ms           the inverse of it
//! rtt_p95_ms/cubic[path.queue=33pkt]  the ratio to cubic's under that condition, on the same trace
//! saved:rtt_p95_ms/cubic     by how many per cent it is below cubic's
//! percent:loss_ratio         times 100
//! means:rtt_p95_ms/cubic     the ratio of the means over traces, and not the mean of the ratios
//! gap:utilisation/cubic..bbr how far along from cubic's mean over traces to bbr's: 0 is cubic, 1 bbr
//! interval:...               the two ends of the 95 % interval of any of these
//! ?                          a number in the cell that is not checked
//! $=oracle                   in a row: `$` in a column's words is this, as in natcp(source=$)
//! ```
//!
//! A cell's first numbers are compared, as many as are selected; later ones, such as the paper's, are not. A number agrees where
//! it is the new one rounded to the digits that are shown.

use crate::expression::{self, Aggregate, Expression, Operator, RunValue, What};
use crate::metrics;

/// A number in a cell, or two.
#[derive(Debug, Clone, PartialEq)]
pub enum CellValue {
    /// It is not checked.
    Unchecked,
    /// It is this.
    Value(Expression),
    /// Two numbers: the ends of the interval of this.
    Interval(Expression),
}

const PREFIXES: [&str; 7] = ["min:", "max:", "saved:", "percent:", "means:", "gap:", "interval:"];

/// The quantities of a cell's numbers, from the runs of `data`.
///
/// # Errors
/// A selection without a scalar or a scheme, or words that are no quantity.
pub fn values(row: &str, column: &str, data: &str) -> Result<Vec<CellValue>, String> {
    let selection = Selection::new(row, column, data)?;
    let mut values = Vec::new();
    if selection.schemes.is_empty() {
        return Ok(vec![CellValue::Unchecked; selection.metrics.len()]);
    }
    for scheme in &selection.schemes {
        for metric in &selection.metrics {
            values.push(match metric.as_str() {
                "?" => CellValue::Unchecked,
                metric => selection.value(scheme, metric)?,
            });
        }
    }
    Ok(values)
}

struct Selection<'a> {
    data: &'a str,
    schemes: Vec<String>,
    metrics: Vec<String>,
    conditions: Vec<(String, String)>,
}

impl<'a> Selection<'a> {
    fn new(row: &str, column: &str, data: &'a str) -> Result<Self, String> {
        let inserted: String = row.split(' ').filter_map(|word| word.strip_prefix("$=")).collect();
        let words = row.split(' ').filter(|word| !word.starts_with("$=")).map(str::to_owned);
        let words =
            words.chain(column.replace('$', &inserted).split(' ').map(str::to_owned).collect::<Vec<_>>());
        let (mut schemes, mut found, mut conditions) = (Vec::new(), Vec::new(), Vec::new());
        for word in words.filter(|word| !word.is_empty()) {
            match word.split_once('=') {
                Some((key, value)) if is_condition(key) => {
                    conditions.push((key.to_owned(), value.to_owned()))
                }
                _ if word == "?" || is_metric(&word) => found.push(word),
                _ => schemes.push(word),
            }
        }
        if found.is_empty() {
            return Err("names no scalar of Records".into());
        }
        if schemes.is_empty() && found.iter().any(|word| word != "?") {
            return Err("names no scheme".into());
        }
        Ok(Self { data, schemes, metrics: found, conditions })
    }

    fn value(&self, scheme: &str, word: &str) -> Result<CellValue, String> {
        let rest = without_prefixes(word);
        let prefixes = &word[..word.len() - rest.len()];
        let has = |prefix: &str| prefixes.contains(prefix);
        let value_of = if has("interval:") { CellValue::Interval } else { CellValue::Value };
        if has("means:") || has("gap:") {
            let figure = self.of_means(scheme, rest, has("gap:"))?;
            return Ok(value_of(figure));
        }
        let mut one = match split_ratio(rest) {
            (key, None) => self.run(scheme, key, None)?,
            (key, Some(base)) if is_scalar(key) => {
                divided(self.run(scheme, key, None)?, self.base(key, base)?)
            }
            (base, Some(key)) => divided(self.base(key, base)?, self.run(scheme, key, None)?),
        };
        if has("saved:") {
            one = times_100(Expression::Number(1.0).then(Operator::Subtract, one));
        }
        if has("percent:") {
            one = times_100(one);
        }
        let aggregate = match () {
            () if has("max:") => Aggregate::Max,
            () if has("min:") => Aggregate::Min,
            () => Aggregate::Mean,
        };
        Ok(value_of(Expression::Aggregate(aggregate, Box::new(one))))
    }

    fn of_means(&self, scheme: &str, rest: &str, is_gap: bool) -> Result<Expression, String> {
        let (key, bases) = split_ratio(rest);
        let bases = bases.ok_or_else(|| format!("`{rest}` is held against nothing: `means:{rest}/cubic`"))?;
        let mean = |one: Expression| Expression::Aggregate(Aggregate::Mean, Box::new(one));
        let own = mean(self.run(scheme, key, None)?);
        if !is_gap {
            return Ok(divided(own, mean(self.base(key, bases)?)));
        }
        let (first, last) = bases
            .split_once("..")
            .ok_or_else(|| format!("`gap:{rest}` goes from one scheme to another: `cubic..bbr`"))?;
        let (first, last) = (mean(self.base(key, first)?), mean(self.base(key, last)?));
        let above = own.then(Operator::Subtract, first.clone());
        Ok(divided(above, last.then(Operator::Subtract, first)))
    }

    /// A scheme that is held against, under a condition in brackets where there is one.
    fn base(&self, key: &str, text: &str) -> Result<Expression, String> {
        match text.strip_suffix(']').and_then(|text| text.split_once('[')) {
            None => self.run(text, key, None),
            Some((scheme, condition)) => {
                let (condition, value) = condition
                    .split_once('=')
                    .ok_or_else(|| format!("`{condition}` is no condition such as path.queue=33pkt"))?;
                self.run(scheme, key, Some(vec![(condition.to_owned(), value.to_owned())]))
            }
        }
    }

    fn run(
        &self,
        scheme: &str,
        key: &str,
        under: Option<Vec<(String, String)>>,
    ) -> Result<Expression, String> {
        let what: What = expression::metric(0, key).map_err(|error| error.to_string())?;
        let (data, scheme) = (Some(self.data.to_owned()), scheme.to_owned());
        let conditions = self.conditions.clone();
        Ok(Expression::Run(RunValue { at: 0, data, what, scheme, conditions, under }))
    }
}

fn divided(one: Expression, other: Expression) -> Expression {
    one.then(Operator::Divide, other)
}

fn times_100(one: Expression) -> Expression {
    Expression::Number(100.0).then(Operator::Multiply, one)
}

/// `path.queue`, `trace`; no scheme's parameter, as that stands in parentheses.
fn is_condition(key: &str) -> bool {
    let is_part = |c: char| c.is_ascii_lowercase() || c == '_' || c == '.';
    let has_dot = key.contains('.') && key.chars().all(is_part);
    has_dot || ["trace", "driver", "seed", "duration", "background"].contains(&key)
}

fn without_prefixes(word: &str) -> &str {
    PREFIXES.iter().find_map(|prefix| word.strip_prefix(prefix)).map_or(word, without_prefixes)
}

/// At the `/` that is not part of a unit in parentheses, as in `fixed-rate(rate=5Mbit/s)`.
fn split_ratio(word: &str) -> (&str, Option<&str>) {
    let mut depth = 0_usize;
    for (at, letter) in word.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            '/' if depth == 0 => return (&word[..at], Some(&word[at + 1..])),
            _ => {}
        }
    }
    (word, None)
}

fn is_scalar(key: &str) -> bool {
    let key = key.strip_prefix("flow").and_then(|rest| rest.split_once('.')).map_or(key, |(_, key)| key);
    metrics::is_known(key)
}

fn is_metric(word: &str) -> bool {
    let (one, other) = split_ratio(without_prefixes(word));
    is_scalar(one) || other.is_some_and(is_scalar)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(row: &str, column: &str) -> Vec<CellValue> {
        values(row, column, "d").unwrap()
    }

    fn expression(text: &str) -> CellValue {
        let one = expression::parse(&format!("d: {text}")).unwrap();
        CellValue::Value(one.changed(&[], &|run| run.at = 0))
    }

    #[test]
    fn a_row_and_a_column_make_a_quantity_together() {
        assert_eq!(shown("verus(r=2)", "rtt_mean_ms")[0], expression("mean(rtt_mean_ms(verus(r=2)))"));
        assert_eq!(
            shown("$=2 trace=City*", "$*cubic percent:flow1.loss_ratio path.queue=3pkt")[0],
            expression("mean(100 * flow1.loss_ratio(2*cubic; trace=City*, path.queue=3pkt))")
        );
        assert_eq!(
            shown("a(rate=5Mbit/s)", "max:saved:rtt_p95_ms/b")[0],
            expression("max(100 * (1 - rtt_p95_ms(a(rate=5Mbit/s)) / rtt_p95_ms(b)))")
        );
        assert_eq!(shown("a", "b/power")[0], expression("mean(power(b) / power(a))"));
        assert_eq!(shown("a", "means:power/b")[0], expression("mean(power(a)) / mean(power(b))"));
        assert_eq!(
            shown("a", "gap:power/b..c")[0],
            expression("(mean(power(a)) - mean(power(b))) / (mean(power(c)) - mean(power(b)))")
        );
    }

    #[test]
    fn several_schemes_and_scalars_are_several_numbers() {
        let found = shown("a b", "power ? interval:means:power/c");
        assert_eq!(found.len(), 6);
        assert_eq!(found[1], CellValue::Unchecked);
        assert!(matches!(shown("a", "interval:power")[..], [CellValue::Interval(_)]));
        assert_eq!(shown("?", "trace=a"), [CellValue::Unchecked]);
        assert!(matches!(found[5], CellValue::Interval(_)));
    }

    #[test]
    fn what_the_words_do_not_say_is_named() {
        assert!(values("a", "b", "d").unwrap_err().contains("no scalar"));
        assert!(values("power", "path.queue=3pkt", "d").unwrap_err().contains("no scheme"));
        assert!(values("a", "gap:power/b", "d").unwrap_err().contains("cubic..bbr"));
    }
}

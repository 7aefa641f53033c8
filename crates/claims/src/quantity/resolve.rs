//! From an expression to numbers: finds its runs, and checks that its parts go together.

use super::node::{ANY, Node};
use super::select::{Selection, Units};
use crate::expression::{Aggregate, Expression, ExpressionError, Over, RunValue, What};
use crate::metrics;
use crate::runs::DataRuns;

/// Shape of the value of a part of an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Number,
    /// A number for each trace of this group.
    Traces(usize),
    /// This many numbers.
    List(usize),
}

/// More numbers than this (terms, and the pairs of a list) are no quantity: each is computed for 1999 resamples of the traces.
const MOST_NUMBERS: usize = 10_000;

type Resolved = Result<(Node, Shape), ExpressionError>;

/// The expression, written out, with the numbers of its runs; and the number of traces of each of its groups. `each`: a number
/// for each trace needs no aggregate.
pub(super) fn resolve(
    expression: &Expression,
    data: Option<&str>,
    runs: &DataRuns,
    units: Units,
    each: bool,
) -> Result<(Node, Vec<usize>), ExpressionError> {
    let mut resolver =
        Resolver { selection: Selection::new(runs, data, units), over: Vec::new(), numbers: 0 };
    let found = resolver.part(expression)?;
    let node = match found.1 {
        Shape::List(_) => found.0,
        Shape::Traces(_) if each => found.0,
        Shape::Number | Shape::Traces(_) => resolver.number(expression, found)?,
    };
    Ok((node, resolver.selection.group_sizes()))
}

struct Resolver<'a> {
    selection: Selection<'a>,
    /// The values of varied conditions at this place.
    over: Vec<(String, String)>,
    /// Numbers so far.
    numbers: usize,
}

impl Resolver<'_> {
    fn part(&mut self, expression: &Expression) -> Resolved {
        self.count(expression, 1)?;
        match expression {
            Expression::Number(number) => Ok((Node::Number(*number), Shape::Number)),
            Expression::Run(run) => {
                let (group, values) = self.selection.values(run, &self.over)?;
                let range = match &run.what {
                    What::Metric { key, .. } => metrics::range(key),
                    What::Columns(_) => None,
                };
                Ok((Node::Leaf(group, values, range.unwrap_or(ANY)), Shape::Traces(group)))
            }
            Expression::Each(function, one) => {
                let (node, shape) = self.part(one)?;
                Ok((Node::Each(*function, Box::new(node)), shape))
            }
            Expression::Chain(first, links) => {
                let (first, mut shape) = self.part(first)?;
                let mut nodes = Vec::new();
                for (operator, other) in links {
                    let (node, of_other) = self.part(other)?;
                    shape = joined(expression, shape, of_other)?;
                    nodes.push((*operator, node));
                }
                Ok((Node::Chain(Box::new(first), nodes), shape))
            }
            Expression::Aggregate(aggregate, one) => self.aggregate(*aggregate, one),
            Expression::Correlation(one, other) => {
                let ((a, shape_a), (b, shape_b)) = (self.part(one)?, self.part(other)?);
                joined(expression, shape_a, shape_b)?;
                Ok((Node::Correlation(Box::new(a), Box::new(b)), Shape::Number))
            }
            Expression::List(items) => self.list(items.iter().map(|item| (item, None))),
            Expression::Pairs(list) => match self.part(list)? {
                (node, Shape::List(count)) => {
                    let pairs = count.saturating_mul(count.saturating_sub(1)) / 2;
                    self.count(expression, pairs)?;
                    Ok((Node::Pairs(Box::new(node)), Shape::List(pairs)))
                }
                _ => Err(error(
                    expression,
                    "`pairs` takes a list: `pairs([a, b, c])` or `pairs(over(s in [...]: ...))`",
                )),
            },
            Expression::Over { over: Over::Condition(key), body } => {
                let values = self.selection.values_of(key, body, place(expression))?;
                self.list(values.iter().map(|value| (&**body, Some((key.clone(), value.clone())))))
            }
            Expression::Over { over: Over::Texts { .. }, .. } => Err(error(expression, "a variable is left")),
        }
    }

    /// Counts this many further numbers.
    fn count(&mut self, expression: &Expression, numbers: usize) -> Result<(), ExpressionError> {
        self.numbers = self.numbers.saturating_add(numbers);
        if self.numbers > MOST_NUMBERS {
            return Err(error(expression, &format!("this stands for more than {MOST_NUMBERS} numbers")));
        }
        Ok(())
    }

    fn aggregate(&mut self, aggregate: Aggregate, one: &Expression) -> Resolved {
        let (node, shape) = self.part(one)?;
        if shape == Shape::Number {
            return Err(error(
                one,
                "this is one number already: an aggregate takes one number per trace, or a list",
            ));
        }
        Ok((Node::Aggregate(aggregate, Box::new(node)), Shape::Number))
    }

    /// A list of these, each under a value of a varied condition; lists in it become part of it.
    fn list<'e>(
        &mut self,
        items: impl Iterator<Item = (&'e Expression, Option<(String, String)>)>,
    ) -> Resolved {
        let (mut nodes, mut count) = (Vec::new(), 0);
        for (item, under) in items {
            let before = self.over.len();
            self.over.extend(under);
            let found = self.part(item)?;
            self.over.truncate(before);
            match found {
                (node, Shape::List(inner)) => {
                    nodes.push(node);
                    count += inner;
                }
                found => {
                    nodes.push(self.number(item, found)?);
                    count += 1;
                }
            }
        }
        Ok((Node::List(nodes), Shape::List(count)))
    }

    /// One number; that of a single run needs no aggregate.
    fn number(&self, expression: &Expression, (node, shape): (Node, Shape)) -> Result<Node, ExpressionError> {
        match shape {
            Shape::Traces(group) if self.selection.group_size(group) == 1 => {
                Ok(Node::Aggregate(Aggregate::Mean, Box::new(node)))
            }
            Shape::Traces(group) => {
                let count = self.selection.group_size(group);
                let problem = format!(
                    "this is a number for each of {count} traces (or, of one trace, seeds); write which is meant, such as `mean(...)`"
                );
                Err(error(expression, &problem))
            }
            Shape::Number | Shape::List(_) => Ok(node),
        }
    }
}

fn joined(expression: &Expression, one: Shape, other: Shape) -> Result<Shape, ExpressionError> {
    match (one, other) {
        (Shape::Number, shape) | (shape, Shape::Number) => Ok(shape),
        (one, other) if one == other => Ok(one),
        (Shape::Traces(_), Shape::Traces(_)) => Err(error(
            expression,
            "the data sets of the two sides have different traces: write an aggregate of each, such as `mean(...) / mean(...)`",
        )),
        _ => Err(error(
            expression,
            "a list and one number per trace do not go together: write an aggregate of the latter",
        )),
    }
}

fn error(expression: &Expression, problem: &str) -> ExpressionError {
    ExpressionError::new(place(expression), problem)
}

/// Place of the first run of an expression.
fn place(expression: &Expression) -> usize {
    let mut first = None;
    expression.each_run(&mut |run: &RunValue| first = first.or(Some(run.at)));
    first.unwrap_or(0)
}

//! Text to [`Expression`], by recursive descent.

mod run;

use super::cursor::Cursor;
use super::items::COMPARISONS;
use super::{Aggregate, Expression, ExpressionError, Function, Operator, Over};
use cellcc_units::{DEEPEST, MOST_BYTES, MOST_TERMS, split_outside_parentheses};
use std::collections::BTreeMap;

/// Reads a quantity.
///
/// # Errors
/// The first place at which the text is not a quantity, and what to write there.
pub fn parse(text: &str) -> Result<Expression, ExpressionError> {
    parsed(text, None)
}

/// Reads a quantity of one run, whose scheme it leaves out: `window_max(rtt_ms) over 2s..9s <= 120`.
///
/// # Errors
/// As [`parse`].
pub(crate) fn parse_of_run(text: &str, scheme: &str) -> Result<Expression, ExpressionError> {
    parsed(text, Some(scheme))
}

fn parsed(text: &str, scheme: Option<&str>) -> Result<Expression, ExpressionError> {
    let mut parser = Parser {
        cursor: Cursor::new(text),
        scheme,
        data: None,
        lists: BTreeMap::new(),
        depth: 0,
        values: 1,
        terms: 0,
    };
    if text.len() > MOST_BYTES {
        return Err(parser.cursor.error(format!("more than {MOST_BYTES} bytes in one expression")));
    }
    while parser.cursor.take_word("let") {
        parser.definition()?;
    }
    let expression = parser.or()?;
    parser.cursor.skip_space();
    match parser.cursor.rest() {
        "" => Ok(expression),
        _ => Err(parser.cursor.error(format!("{} follows a complete expression", parser.cursor.shown()))),
    }
}

struct Parser<'a> {
    cursor: Cursor<'a>,
    /// The scheme of every run, where the text leaves it out.
    scheme: Option<&'a str>,
    /// The data set of the text that follows.
    data: Option<String>,
    lists: BTreeMap<&'a str, Vec<String>>,
    depth: usize,
    /// Number of times that variables repeat the expression at this place.
    values: usize,
    /// Terms so far, each counted as often as variables repeat it.
    terms: usize,
}

type Parsed = Result<Expression, ExpressionError>;

impl<'a> Parser<'a> {
    /// `NAME = [item, ...];`
    fn definition(&mut self) -> Result<(), ExpressionError> {
        self.cursor.skip_space();
        let name = self.cursor.name();
        self.cursor.at += name.len();
        self.expect("=")?;
        let items = self.texts()?;
        self.expect(";")?;
        self.lists.insert(name, items);
        Ok(())
    }

    fn or(&mut self) -> Parsed {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.cursor.error(format!("more than {DEEPEST} brackets in one another")));
        }
        let mut left = self.and()?;
        while self.cursor.take_word("or") {
            left = left.then(Operator::Or, self.and()?);
        }
        self.depth -= 1;
        Ok(left)
    }

    fn and(&mut self) -> Parsed {
        let mut left = self.comparison()?;
        while self.cursor.take_word("and") {
            left = left.then(Operator::And, self.comparison()?);
        }
        Ok(left)
    }

    /// Counts this many further terms.
    fn count(&mut self, terms: usize) -> Result<(), ExpressionError> {
        self.terms = self.terms.saturating_add(terms);
        if self.terms > MOST_TERMS {
            return Err(self.cursor.error(format!("more than {MOST_TERMS} terms in one expression")));
        }
        Ok(())
    }

    /// `a < b < c` is `a < b and b < c`.
    fn comparison(&mut self) -> Parsed {
        let mut last = self.sum()?;
        let mut whole: Option<Expression> = None;
        let mut terms_of_last = 0;
        while let Some((_, operator)) = COMPARISONS.into_iter().find(|(sign, _)| self.cursor.take(sign)) {
            // The operand in the middle is there twice.
            self.count(terms_of_last)?;
            let before = self.terms;
            let next = self.sum()?;
            terms_of_last = self.terms - before;
            let one = last.then(operator, next.clone());
            whole = Some(match whole {
                None => one,
                Some(before) => before.then(Operator::And, one),
            });
            last = next;
        }
        Ok(whole.unwrap_or(last))
    }

    fn sum(&mut self) -> Parsed {
        let mut left = self.product()?;
        loop {
            let operator = match () {
                () if self.cursor.take("+") => Operator::Add,
                () if self.cursor.take("-") => Operator::Subtract,
                () => return Ok(left),
            };
            left = left.then(operator, self.product()?);
        }
    }

    fn product(&mut self) -> Parsed {
        let mut left = self.sign()?;
        loop {
            let operator = match () {
                () if self.cursor.take("*") => Operator::Multiply,
                () if self.cursor.take("/") => Operator::Divide,
                () => return Ok(left),
            };
            left = left.then(operator, self.sign()?);
        }
    }

    fn sign(&mut self) -> Parsed {
        self.cursor.skip_space();
        self.data_set();
        let mut is_negative = false;
        while self.cursor.take("-") {
            is_negative = !is_negative;
        }
        let one = self.primary()?;
        Ok(if is_negative { Expression::Each(Function::Minus, Box::new(one)) } else { one })
    }

    fn primary(&mut self) -> Parsed {
        self.cursor.skip_space();
        self.data_set();
        self.count(self.values)?;
        let rest = self.cursor.rest();
        if rest.starts_with('(') {
            return self.bracketed(Self::or);
        }
        if rest.starts_with('[') {
            return self.list();
        }
        if rest.starts_with(|c: char| c.is_ascii_digit()) {
            return self.number();
        }
        let (at, name) = (self.cursor.at, self.cursor.name());
        if name.is_empty() {
            return Err(self
                .cursor
                .error(format!("{} is not the beginning of a quantity", self.cursor.shown())));
        }
        self.cursor.at += name.len();
        self.cursor.skip_space();
        if !self.cursor.rest().starts_with('(') {
            if let Some(scheme) = self.scheme {
                return self.of_run(at, name, scheme);
            }
            let problem = format!("`{name}` has no subject; write one, such as `{name}(cubic)`");
            return Err(ExpressionError::new(at, problem));
        }
        match name {
            "over" => self.bracketed(Self::over),
            "pairs" => Ok(Expression::Pairs(Box::new(self.bracketed(Self::or)?))),
            "spearman" => self.bracketed(|parser| {
                let first = parser.or()?;
                parser.expect(",")?;
                Ok(Expression::Correlation(Box::new(first), Box::new(parser.or()?)))
            }),
            _ => self.called(at, name),
        }
    }

    fn called(&mut self, at: usize, name: &str) -> Parsed {
        if let Some((_, aggregate)) = Aggregate::NAMES.into_iter().find(|(known, _)| *known == name) {
            return self.bracketed(|parser| {
                // `min(a, b)` is that of a list.
                let first = parser.or()?;
                let mut items = vec![first];
                while parser.cursor.take(",") {
                    items.push(parser.or()?);
                }
                let of = if items.len() == 1 { items.remove(0) } else { Expression::List(items) };
                Ok(Expression::Aggregate(aggregate, Box::new(of)))
            });
        }
        if let Some((_, function)) = Function::NAMES.into_iter().find(|(known, _)| *known == name) {
            return Ok(Expression::Each(function, Box::new(self.bracketed(Self::or)?)));
        }
        self.run(at, name)
    }

    /// `DATA:`, where it comes next.
    fn data_set(&mut self) {
        let name =
            self.cursor.while_in(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_');
        let is_name = name.starts_with(|c: char| c != '-');
        if is_name && self.cursor.rest()[name.len()..].starts_with(':') {
            self.data = Some(name.to_owned());
            self.cursor.at += name.len() + 1;
            self.cursor.skip_space();
        }
    }

    /// Reads parentheses with `inside`; a data set named in them holds to their end.
    fn bracketed(&mut self, inside: impl FnOnce(&mut Self) -> Parsed) -> Parsed {
        self.expect("(")?;
        let data = self.data.clone();
        let inner = inside(self)?;
        self.data = data;
        self.expect(")")?;
        Ok(inner)
    }

    fn number(&mut self) -> Parsed {
        let text = self.cursor.while_in(|c| c.is_ascii_digit() || c == '.');
        let number: f64 =
            text.parse().map_err(|_| self.cursor.error(format!("`{text}` is not a number such as 1.25")))?;
        self.cursor.at += text.len();
        let unit = match () {
            () if self.cursor.take("%") => 100.0,
            () if self.cursor.take_word("ms") => 1_000.0,
            () if self.cursor.take_word("us") => 1_000_000.0,
            () if self.cursor.take_word("ns") => 1_000_000_000.0,
            () => {
                self.cursor.take_word("s");
                1.0
            }
        };
        Ok(Expression::Number(number / unit))
    }

    fn list(&mut self) -> Parsed {
        self.expect("[")?;
        let mut items = vec![self.or()?];
        while self.cursor.take(",") {
            items.push(self.or()?);
        }
        self.expect("]")?;
        Ok(Expression::List(items))
    }

    /// A list of texts, in brackets or by its name.
    fn texts(&mut self) -> Result<Vec<String>, ExpressionError> {
        self.cursor.skip_space();
        let name = self.cursor.name();
        if let Some(items) = self.lists.get(name) {
            self.cursor.at += name.len();
            return Ok(items.clone());
        }
        self.expect("[")?;
        let inside = self.cursor.text_until(&[']']);
        let items = split_outside_parentheses(inside, ',').map(|item| item.trim().to_owned()).collect();
        self.expect("]")?;
        Ok(items)
    }

    /// `path.queue: body`, `s in [a, b]: body`.
    fn over(&mut self) -> Parsed {
        self.cursor.skip_space();
        let name = self.cursor.name();
        if name.is_empty() {
            let problem = "`over` takes a varied condition, `over(path.queue: ...)`, or a list, `over(s in [cubic, bbr]: ...)`";
            return Err(self.cursor.error(problem));
        }
        self.cursor.at += name.len();
        let over = if self.cursor.take_word("in") {
            Over::Texts { name: name.to_owned(), values: self.texts()? }
        } else {
            Over::Condition(name.to_owned())
        };
        self.expect(":")?;
        let outside = self.values;
        if let Over::Texts { values, .. } = &over {
            self.values = self.values.saturating_mul(values.len());
        }
        let body = Box::new(self.or()?);
        self.values = outside;
        Ok(Expression::Over { over, body })
    }

    fn expect(&mut self, sign: &str) -> Result<(), ExpressionError> {
        if self.cursor.take(sign) {
            return Ok(());
        }
        Err(self.cursor.error(format!("`{sign}` is missing before {}", self.cursor.shown())))
    }
}

#[cfg(test)]
mod tests;

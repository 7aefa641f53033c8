//! Tables of pages whose cells are quantities: the short form of the language, and the comparison of a cell with its text.
//!
//! A comment before a table says how to check it:
//!
//! ```text
//! <!-- checked: COMMAND
//! rows: SELECTION | SELECTION | ...
//! columns: SELECTION | SELECTION | ... -->
//! <!-- unchecked: REASON -->
//! ```
//!
//! `COMMAND` is a `cellcc compare`, or the name of a data set. `rows` and `columns` give the selection of each, in the table's
//! order, or `-` if it is not checked, such as a column of names. Several comments before a table check a part each. [`cell`]
//! has the words of a selection. A number in running text is checked by `1.65<!-- REM-04 -->`, with the value of that claim.

pub mod cell;
mod number;
mod words;

pub use words::words;

use number::{agrees, in_form_of, numbers};
use std::collections::BTreeMap;
use std::fmt;
use thiserror::Error;

/// A comment that says nothing that can be checked, with its place.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct PageError(String);

/// A page, and its checked parts.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    /// Its name.
    pub name: String,
    /// The tables.
    pub checks: Vec<Check>,
    /// Numbers in running text.
    pub mentions: Vec<Mention>,
    /// Tables that are not checked, and why.
    pub unchecked: Vec<(usize, String)>,
    /// Lines of tables without a comment.
    pub bare: Vec<usize>,
    lines: Vec<String>,
}

/// A comment and the rows of its table.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    /// Its line.
    pub line: usize,
    /// The command that gives the runs, or the name of a data set.
    pub command: String,
    rows: Vec<String>,
    columns: Vec<String>,
    /// The line of the table's first row below its header.
    first_row: usize,
}

/// A number in running text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mention {
    /// Its line.
    pub line: usize,
    /// The claim whose value it is.
    pub claim: String,
}

/// A cell that is checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// Its line.
    pub line: usize,
    index: usize,
    /// The selections of its row and its column.
    pub what: String,
    /// The quantity of each of its numbers, in order.
    pub values: Vec<cell::CellValue>,
}

/// A number that no longer agrees with the runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drift {
    /// The place and the problem, for a message.
    pub text: String,
    /// By more than one in the last digit: not rounding, but something else.
    pub is_large: bool,
}

impl fmt::Display for Drift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = if self.is_large { "DRIFTED" } else { "drifted in the last digit" };
        write!(f, "{how}: {}", self.text)
    }
}

const CHECKED: &str = "<!-- checked: ";
const UNCHECKED: &str = "<!-- unchecked: ";
const END: &str = "-->";

/// True if the text that follows is shown, and is not a comment: a fenced block or a span of code has begun.
fn is_code(before: &str) -> bool {
    before.ends_with('`') || before.lines().filter(|line| line.starts_with("```")).count() % 2 == 1
}

impl Page {
    /// Reads a page.
    ///
    /// # Errors
    /// A comment without `rows:`, `columns:` or a table, or with another number of rows than its table.
    pub fn read(name: &str, text: &str) -> Result<Self, PageError> {
        let lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
        let mut page = Self {
            name: name.to_owned(),
            checks: Vec::new(),
            mentions: Vec::new(),
            unchecked: Vec::new(),
            bare: Vec::new(),
            lines,
        };
        let mut commented = Vec::new();
        let mut from = 0;
        while let Some(start) = text[from..].find("<!-- ").map(|at| from + at) {
            if is_code(&text[..start]) {
                from = start + 1;
                continue;
            }
            let Some(length) = text[start..].find(END) else { break };
            let (comment, line) = (&text[start..start + length], line_of(text, start));
            from = start + length + END.len();
            if let Some(head) = comment.strip_prefix(CHECKED) {
                let check = page.check(line, line_of(text, from), head.trim())?;
                commented.push(check.first_row);
                page.checks.push(check);
            } else if let Some(why) = comment.strip_prefix(UNCHECKED) {
                commented.extend(page.table_after(line_of(text, from)));
                page.unchecked.push((line, why.trim().to_owned()));
            } else {
                page.mention(text, start, comment);
            }
        }
        let is_row = |index: usize| page.lines[index].starts_with('|');
        let begins =
            (0..page.lines.len()).filter(|&index| is_row(index) && (index == 0 || !is_row(index - 1)));
        let bare = begins.filter(|index| !commented.contains(&(index + 3)));
        page.bare = bare.map(|index| index + 1).collect();
        Ok(page)
    }

    fn check(&self, line: usize, end: usize, text: &str) -> Result<Check, PageError> {
        let wrong = |problem: &str| PageError(format!("{}:{line}: {problem}", self.name));
        let (command, selections) = text.split_once("\nrows:").ok_or_else(|| {
            wrong("this comment has no `rows:`; a table is checked by `rows:` and `columns:`")
        })?;
        let (rows, columns) =
            selections.split_once("\ncolumns:").ok_or_else(|| wrong("this comment has no `columns:`"))?;
        let first_row = self.table_after(end).ok_or_else(|| wrong("no table follows this comment"))?;
        let check = Check {
            line,
            command: command.replace("\\\n", " ").replace('\n', " ").trim().to_owned(),
            rows: cells(&rows.replace('\n', " ")),
            columns: cells(&columns.replace('\n', " ")),
            first_row,
        };
        let count = self.lines[first_row - 1..].iter().take_while(|line| line.starts_with('|')).count();
        if count != check.rows.len() {
            return Err(wrong(&format!("{} rows in the comment, {count} in the table", check.rows.len())));
        }
        Ok(check)
    }

    /// The line of the first row below the header of the table that follows a line; other comments and empty lines may stand between.
    fn table_after(&self, line: usize) -> Option<usize> {
        let mut in_comment = false;
        for (index, text) in self.lines.iter().enumerate().skip(line) {
            if text.starts_with('|') {
                return Some(index + 3);
            }
            in_comment = (in_comment || text.starts_with("<!--")) && !text.contains(END);
            if !text.is_empty() && !in_comment && !text.ends_with(END) {
                return None;
            }
        }
        None
    }

    /// Notes the number right before a comment that is the id of a claim, such as `REM-04`.
    fn mention(&mut self, text: &str, start: usize, comment: &str) {
        let claim = comment.trim_start_matches("<!--").trim();
        let (letters, digits) = claim.split_once('-').unwrap_or(("", ""));
        let is_id = !letters.is_empty() && letters.bytes().all(|b| b.is_ascii_uppercase());
        if !is_id || digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return;
        }
        let begin = text[..start].rfind('\n').map_or(0, |at| at + 1);
        let is_number = numbers(&text[begin..start]).pop().is_some_and(|number| begin + number.end == start);
        if is_number {
            self.mentions.push(Mention { line: line_of(text, start), claim: claim.to_owned() });
        }
    }

    /// The checked cells of a table, with their quantities.
    ///
    /// # Errors
    /// A row or a column that selects nothing.
    pub fn cells(&self, check: &Check, data: &str) -> Result<Vec<Cell>, PageError> {
        let mut found = Vec::new();
        for (offset, row) in check.rows.iter().enumerate() {
            let line = check.first_row + offset;
            let count = cells(&self.lines[line - 1]).len();
            for (index, column) in check.columns.iter().enumerate().take(count) {
                if row == "-" || column == "-" {
                    continue;
                }
                let what = format!("{row}, {column}");
                let values = cell::values(row, column, data)
                    .map_err(|problem| PageError(format!("{}:{line}: {what}: {problem}", self.name)))?;
                found.push(Cell { line, index, what, values });
            }
        }
        Ok(found)
    }

    /// Compares a cell with the numbers of the runs (none: not checked; NaN: no such number), and replaces the ones that drifted.
    pub fn compare(&mut self, cell: &Cell, values: &[Option<f64>]) -> Vec<Drift> {
        let line = self.lines[cell.line - 1].clone();
        let Some((begin, end)) = cell_at(&line, cell.index) else { return Vec::new() };
        let place = format!("{}:{}: {}", self.name, cell.line, cell.what);
        let (text, drifts) = compared(&line[begin..end], values, &place);
        self.lines[cell.line - 1] = format!("{}{text}{}", &line[..begin], &line[end..]);
        drifts
    }

    /// Compares a number in running text with the value of its claim, and replaces it where it drifted.
    pub fn compare_mention(&mut self, mention: &Mention, value: f64) -> Vec<Drift> {
        let line = self.lines[mention.line - 1].clone();
        let place = format!("{}:{}: {}", self.name, mention.line, mention.claim);
        // An earlier number in this line may have been replaced.
        let comment = format!("<!-- {} -->", mention.claim);
        let Some(at) = line.find(&comment) else { return Vec::new() };
        let Some(number) = numbers(&line[..at]).pop() else { return Vec::new() };
        let (text, drifts) = compared(&line[number.start..number.end], &[Some(value)], &place);
        self.lines[mention.line - 1] = format!("{}{text}{}", &line[..number.start], &line[number.end..]);
        drifts
    }

    /// The page with the drifted numbers replaced.
    pub fn text(&self) -> String {
        self.lines.join("\n")
    }
}

/// A text with the drifted numbers replaced, and the drifts.
fn compared(text: &str, values: &[Option<f64>], place: &str) -> (String, Vec<Drift>) {
    let shown = numbers(text);
    let mut replaced: BTreeMap<usize, String> = BTreeMap::new();
    let mut drifts = Vec::new();
    for (index, value) in values.iter().enumerate() {
        let Some(value) = *value else { continue };
        let drift = match shown.get(index) {
            _ if value.is_nan() => (format!("{place}: there is no such number now"), true),
            None => {
                let (has, needs) = (shown.len(), values.len());
                (format!("{place}: `{}` has {has} numbers, {needs} are checked", text.trim()), true)
            }
            Some(number) => {
                let old = &text[number.start..number.end];
                let Some(is_large) = agrees(old, value) else { continue };
                let now = in_form_of(old, value);
                let problem =
                    format!("{place}: {old} in the text, {} now", number::with_one_more(old, value));
                replaced.insert(index, now);
                (problem, is_large)
            }
        };
        drifts.push(Drift { text: drift.0, is_large: drift.1 });
    }
    let (mut new, mut at) = (String::new(), 0);
    for (index, number) in shown.iter().enumerate() {
        new.push_str(&text[at..number.start]);
        new.push_str(replaced.get(&index).map_or(&text[number.start..number.end], String::as_str));
        at = number.end;
    }
    new.push_str(&text[at..]);
    (new, drifts)
}

fn cells(line: &str) -> Vec<String> {
    line.trim().trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
}

/// Byte range of the cell at this index in a line of a table.
fn cell_at(line: &str, index: usize) -> Option<(usize, usize)> {
    // Before the first cell is the line's first bar.
    let mut bars = line.match_indices('|').map(|(at, _)| at).skip(index);
    Some((bars.next()? + 1, bars.next()?))
}

fn line_of(text: &str, byte: usize) -> usize {
    text[..byte].matches('\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# Results\n\n<!-- checked: cellcc compare --schemes a \\\n  --traces 3g\nrows: a | -\ncolumns: - | throughput_mbit_s \
                        rtt_mean_ms -->\n<!-- unchecked: no reason -->\n\n| window | Mbit/s, ms |\n|---|---|\n| 10 | 5.7, **21.0** (paper: 7) |\n\
                        | 20 | by hand |\n\nIt is 1.65<!-- REM-04 --> times.\n\n| bare |\n|---|\n| 1 |\n";

    fn drifts(values: &[Option<f64>]) -> (Vec<String>, String) {
        let mut page = Page::read("p.md", PAGE).unwrap();
        let cells = page.cells(&page.checks[0].clone(), "data").unwrap();
        assert_eq!((cells.len(), cells[0].line, cells[0].values.len()), (1, 11, 2));
        let drifts = page.compare(&cells[0], values).iter().map(ToString::to_string).collect();
        (drifts, page.text())
    }

    #[test]
    fn a_comment_is_for_the_table_that_follows_and_a_table_without_one_is_named() {
        let page = Page::read("p.md", PAGE).unwrap();
        assert_eq!(page.checks[0].command, "cellcc compare --schemes a    --traces 3g");
        assert_eq!((page.unchecked.len(), page.bare.as_slice()), (1, &[16][..]));
        assert_eq!((page.mentions.len(), page.mentions[0].claim.as_str()), (1, "REM-04"));
    }

    #[test]
    fn a_comment_that_is_shown_as_code_checks_nothing() {
        let page =
            Page::read("p.md", &format!("`<!-- checked: sa`\n```markdown\n<!-- checked: a\n```\n{PAGE}"))
                .unwrap();
        assert_eq!((page.checks.len(), page.checks[0].line), (1, 7));
    }

    #[test]
    fn a_number_that_drifted_is_named_with_its_line_and_what_it_is_now() {
        assert_eq!(drifts(&[Some(5.74), Some(20.96)]).0, Vec::<String>::new());
        let (found, text) = drifts(&[Some(5.81), Some(42.0)]);
        assert_eq!(
            found[0],
            "drifted in the last digit: p.md:11: a, throughput_mbit_s rtt_mean_ms: 5.7 in the text, 5.81 now"
        );
        assert!(
            found[1].starts_with("DRIFTED: ") && found[1].ends_with("21.0 in the text, 42.00 now"),
            "{found:?}"
        );
        assert!(text.contains("| 10 | 5.8, **42.0** (paper: 7) |"), "{text}");
        assert!(drifts(&[None, Some(f64::NAN)]).0[0].contains("no such number"));
        assert!(drifts(&[None, None, None, None, Some(1.0)]).0[0].contains("has 3 numbers, 5 are checked"));
    }

    #[test]
    fn a_number_in_running_text_is_that_of_a_claim() {
        let mut page = Page::read("p.md", PAGE).unwrap();
        let mention = page.mentions[0].clone();
        assert!(page.compare_mention(&mention, 1.651).is_empty());
        assert_eq!(
            page.compare_mention(&mention, 2.0)[0].to_string(),
            "DRIFTED: p.md:14: REM-04: 1.65 in the text, 2.000 now"
        );
        assert!(page.text().contains("It is 2.00<!-- REM-04 --> times."));
    }

    #[test]
    fn a_comment_that_does_not_fit_its_table_is_refused() {
        let wrong =
            |from: &str, to: &str| Page::read("p.md", &PAGE.replace(from, to)).unwrap_err().to_string();
        assert_eq!(wrong("rows: a | -", "rows: a"), "p.md:3: 1 rows in the comment, 2 in the table");
        assert!(wrong("| window", "text\n| window").contains("no table follows"));
        assert!(wrong("\nrows: a | -", "").contains("no `rows:`"));
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(text in "\\PC*", pieces in proptest::collection::vec(
            proptest::sample::select(vec!["<!-- ", "checked: ", "-->", "\n", "|", "rows:", "columns:", "a", "1.5", "REM-1", "---", " "]), 0..40,
        )) {
            let _ = Page::read("p.md", &text);
            if let Ok(mut page) = Page::read("p.md", &pieces.concat()) {
                for check in page.checks.clone() {
                    for cell in page.cells(&check, "x").unwrap_or_default() {
                        page.compare(&cell, &[Some(1.0)]);
                    }
                }
            }
        }
    }
}

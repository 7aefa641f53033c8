//! Tables that are not made of Records: schemes, traces.

use crate::exit::Exit;
use crate::terminal;
use cellcc_report::{TableFormat, plain_table};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde::Serialize;

/// Reads `--format`.
pub(crate) fn format_parser() -> impl TypedValueParser<Value = TableFormat> {
    PossibleValuesParser::new(["table", "json", "csv", "markdown"])
        .try_map(|text| text.parse::<TableFormat>())
}

/// `--format`, and `--json`, its name before.
#[derive(Debug, clap::Args)]
pub(crate) struct TextOrJson {
    /// Output format.
    #[arg(long, default_value = "text", value_parser = ["text", "json"])]
    format: String,
    /// An alias of --format json.
    #[arg(long, hide = true)]
    json: bool,
}

impl TextOrJson {
    pub(crate) fn is_json(&self) -> bool {
        self.json || self.format == "json"
    }
}

/// A header and rows as `format`; JSON from `objects`, which say the same with numbers as numbers.
pub(crate) fn render(
    format: TableFormat,
    header: &[&str],
    rows: &[Vec<String>],
    objects: &[impl Serialize],
) -> Result<String, Exit> {
    match format {
        TableFormat::Json => serde_json::to_string_pretty(objects).map_err(Exit::failed),
        TableFormat::Csv => {
            let mut writer = csv::Writer::from_writer(Vec::new());
            writer.write_record(header).map_err(Exit::failed)?;
            for row in rows {
                writer.write_record(row).map_err(Exit::failed)?;
            }
            let bytes = writer.into_inner().map_err(|error| Exit::failed(error.to_string()))?;
            String::from_utf8(bytes).map_err(Exit::failed)
        }
        TableFormat::Table => Ok(plain_table(header, rows, Some(usize::from(terminal::narrow_width())))),
        TableFormat::Markdown => Ok(plain_table(header, rows, None)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_word_of_a_table_is_cut() {
        let header = ["user", "class", "down, Mbit/s", "what the column tells at length"];
        let row = [
            "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff",
            "backlogged",
            "12.25",
            "some words that may be broken",
        ];
        let rows = vec![row.map(String::from).to_vec(); 2];
        let text = render(TableFormat::Table, &header, &rows, &[(); 0]).map_err(|_| ()).expect("a table");
        for word in header.iter().chain(&row).flat_map(|cell| cell.split_whitespace()) {
            assert!(text.contains(word), "{word}: {text}");
        }
    }
}

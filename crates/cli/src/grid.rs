//! Tables that are not made of Records: schemes, traces.

use crate::exit::Exit;
use crate::terminal;
use cellcc_report::TableFormat;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use comfy_table::{ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle, Width, presets};
use serde::Serialize;

/// Reads `--format`.
pub(crate) fn format_parser() -> impl TypedValueParser<Value = TableFormat> {
    PossibleValuesParser::new(["table", "json", "csv", "markdown"])
        .try_map(|text| text.parse::<TableFormat>())
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
        TableFormat::Table => {
            let mut table = Table::new();
            table.load_style(TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─')));
            table.set_content_arrangement(ContentArrangement::Dynamic).set_width(terminal::narrow_width());
            table.set_header(header.iter().copied());
            // One space between columns is enough where there are many.
            let padding = u16::from(header.len() <= 6);
            for (index, column) in table.column_iter_mut().enumerate() {
                column.set_padding((0, padding));
                // Never truncate: users copy names and addresses from here.
                let cells = rows.iter().map(|row| row[index].as_str()).chain([header[index]]);
                let longest = cells.flat_map(str::split_whitespace).map(|word| word.chars().count()).max();
                let longest = longest.unwrap_or(0) as u16 + padding;
                column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(longest)));
            }
            Ok(filled(table, header, rows))
        }
        TableFormat::Markdown => {
            let mut table = Table::new();
            table.load_style(presets::ASCII_MARKDOWN).set_content_arrangement(ContentArrangement::Disabled);
            let escaped: Vec<Vec<String>> =
                rows.iter().map(|row| row.iter().map(|cell| cell.replace('|', "\\|")).collect()).collect();
            Ok(filled(table, header, &escaped))
        }
    }
}

fn filled(mut table: Table, header: &[&str], rows: &[Vec<String>]) -> String {
    table.set_header(header.iter().copied());
    table.add_rows(rows.iter().cloned());
    table.trim_fmt()
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

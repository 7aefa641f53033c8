//! A table of CSV as Parquet: each column has the common kind of its values.

use crate::ReportError;
use csv::{ReaderBuilder, StringRecord};
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{Type, TypePtr};
use std::sync::Arc;

/// Rows that are read in one go: as DuckDB writes them.
const GROUP: usize = 122_880;
/// Texts, whatever they look like: an id may have no letter.
const TEXTS: [&str; 4] = ["id", "scheme", "trace", "variation"];

/// The kind of a column; an empty cell is no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Count,
    Number,
    Text,
}

/// The content of a Parquet file with the rows of the CSV.
pub(crate) fn parquet(csv: &str) -> Result<Vec<u8>, ReportError> {
    write(csv).map_err(|error| ReportError::Parquet(error.to_string()))
}

fn write(csv: &str) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let mut reader = ReaderBuilder::new().from_reader(csv.as_bytes());
    let names = reader.headers()?.clone();
    let rows: Vec<StringRecord> = reader.into_records().collect::<Result<_, _>>()?;
    let kinds: Vec<Kind> = names.iter().enumerate().map(|(at, name)| kind(name, at, &rows)).collect();
    let fields = names.iter().zip(&kinds).map(|(name, kind)| field(name, *kind)).collect::<Result<_, _>>()?;
    let schema = Arc::new(Type::group_type_builder("cellcc").with_fields(fields).build()?);
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut file = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties))?;
    for rows in rows.chunks(GROUP) {
        let mut group = file.next_row_group()?;
        let mut at = 0;
        while let Some(mut column) = group.next_column()? {
            cells(&mut column, kinds[at], rows.iter().map(|row| &row[at]))?;
            column.close()?;
            at += 1;
        }
        group.close()?;
    }
    Ok(file.into_inner()?)
}

fn kind(name: &str, at: usize, rows: &[StringRecord]) -> Kind {
    let cells = || rows.iter().map(|row| &row[at]).filter(|cell| !cell.is_empty());
    if TEXTS.contains(&name) || cells().next().is_none() {
        Kind::Text
    } else if cells().all(|cell| cell.parse::<i64>().is_ok()) {
        Kind::Count
    } else if cells().all(|cell| cell.parse::<f64>().is_ok()) {
        Kind::Number
    } else {
        Kind::Text
    }
}

fn field(name: &str, kind: Kind) -> parquet::errors::Result<TypePtr> {
    let (physical, logical) = match kind {
        Kind::Count => (Physical::INT64, None),
        Kind::Number => (Physical::DOUBLE, None),
        Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
    };
    let builder = Type::primitive_type_builder(name, physical).with_repetition(Repetition::OPTIONAL);
    builder.with_logical_type(logical).build().map(Arc::new)
}

fn cells<'a>(
    column: &mut SerializedColumnWriter,
    kind: Kind,
    cells: impl Iterator<Item = &'a str> + Clone,
) -> parquet::errors::Result<usize> {
    // 1 where there is a value, and then its value.
    let known: Vec<i16> = cells.clone().map(|cell| i16::from(!cell.is_empty())).collect();
    let values = cells.filter(|cell| !cell.is_empty());
    match kind {
        Kind::Count => {
            let values: Vec<i64> = values.filter_map(|cell| cell.parse().ok()).collect();
            column.typed::<Int64Type>().write_batch(&values, Some(&known), None)
        }
        Kind::Number => {
            let values: Vec<f64> = values.filter_map(|cell| cell.parse().ok()).collect();
            column.typed::<DoubleType>().write_batch(&values, Some(&known), None)
        }
        Kind::Text => {
            let values: Vec<ByteArray> = values.map(ByteArray::from).collect();
            column.typed::<ByteArrayType>().write_batch(&values, Some(&known), None)
        }
    }
}

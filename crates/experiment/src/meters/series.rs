//! Time series in bins of one width, which the plots show.

use cellcc_units::Span;
use std::fmt::Write as _;

/// The time series of a run: columns of one value per bin.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Series {
    /// The width of a bin.
    pub bin: Span,
    /// The columns; all have the same length.
    pub columns: Vec<Column>,
}

/// One quantity over time.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// The quantity, its unit at the end: `capacity_mbit_s`, `flow0.rtt_ms`, `flow0.reminis.mu`.
    pub name: String,
    /// One value per bin; NaN for a missing one.
    pub values: Vec<f32>,
}

impl Series {
    /// The column of this name.
    pub fn column(&self, name: &str) -> Option<&[f32]> {
        self.columns.iter().find(|column| column.name == name).map(|column| column.values.as_slice())
    }

    /// CSV: a header, then one row per bin, `time_s` (the bin's beginning) first; empty where a value is absent.
    pub fn to_csv(&self) -> String {
        let rows = self.columns.iter().map(|column| column.values.len()).max().unwrap_or(0);
        let mut text = String::from("time_s");
        for column in &self.columns {
            text.push(',');
            text.push_str(&column.name);
        }
        text.push('\n');
        for row in 0..rows {
            let _ = write!(text, "{}", (self.bin * row as u64).as_secs_f64());
            for column in &self.columns {
                match column.values.get(row) {
                    Some(value) if !value.is_nan() => {
                        let _ = write!(text, ",{value}");
                    }
                    _ => text.push(','),
                }
            }
            text.push('\n');
        }
        text
    }

    /// Reads the output of [`to_csv`](Self::to_csv).
    ///
    /// # Errors
    /// The number of the first line that is not of that form.
    pub fn from_csv(text: &str, bin: Span) -> Result<Self, usize> {
        let mut lines = text.lines();
        let header = lines.next().and_then(|line| line.strip_prefix("time_s")).ok_or(1_usize)?;
        let mut columns: Vec<_> =
            header.split(',').skip(1).map(|name| Column { name: name.into(), values: Vec::new() }).collect();
        for (index, line) in lines.enumerate() {
            let mut cells = line.split(',').skip(1);
            for column in &mut columns {
                let cell = cells.next().ok_or(index + 2)?;
                let value = if cell.is_empty() { Ok(f32::NAN) } else { cell.parse() };
                column.values.push(value.map_err(|_| index + 2)?);
            }
        }
        Ok(Self { bin, columns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back() {
        let series = Series {
            bin: Span::from_millis(100),
            columns: vec![
                Column { name: "capacity_mbit_s".into(), values: vec![1.5, 0.1] },
                Column { name: "flow0.rtt_ms".into(), values: vec![20.0, f32::INFINITY] },
            ],
        };
        assert_eq!(series.to_csv(), "time_s,capacity_mbit_s,flow0.rtt_ms\n0,1.5,20\n0.1,0.1,inf\n");
        assert_eq!(Series::from_csv(&series.to_csv(), series.bin), Ok(series));
    }

    #[test]
    fn a_torn_line_is_named() {
        assert_eq!(Series::from_csv("time_s,a,b\n0,1,2\n0.1,1", Span::from_millis(100)), Err(3));
    }
}

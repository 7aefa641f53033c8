//! A repeated table: the common part of the `watch` commands.

use crate::exit::{Exit, print_after};
use crate::grid;
use cellcc_report::TableFormat;
use cellcc_units::Span;
use serde::Serialize;
use std::io::IsTerminal;
use std::time::Duration;

/// On a terminal: the cursor to the corner, and nothing below it (ECMA-48).
const CLEAR: &str = "\x1b[H\x1b[J";

#[derive(Debug, clap::Args)]
pub(crate) struct Repeat {
    /// Time between updates.
    #[arg(long, value_name = "TIME", default_value = "1s")]
    every: Span,
    /// Show the table once.
    #[arg(long)]
    pub(crate) once: bool,
    /// Output format.
    #[arg(long, default_value = "table", value_parser = grid::format_parser())]
    format: TableFormat,
}

impl Repeat {
    /// The time between two tables.
    pub(crate) fn every(&self) -> Duration {
        Duration::from_nanos(self.every.as_nanos())
    }

    /// Prints the table, on a terminal in place of the one before; the arguments are those of [`grid::render`].
    pub(crate) fn show(
        &self,
        header: &[&str],
        rows: &[Vec<String>],
        objects: &[impl Serialize],
    ) -> Result<(), Exit> {
        let clear = if std::io::stdout().is_terminal() && !self.once { CLEAR } else { "" };
        print_after(clear, &grid::render(self.format, header, rows, objects)?)
    }
}

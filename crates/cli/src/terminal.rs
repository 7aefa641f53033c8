//! The terminal that results are printed to.

use cellcc_report::DEFAULT_WIDTH;
use terminal_size::{Width, terminal_size_of};

/// The same for tables that are meant to be read, wherever that is: 80 where there is no terminal.
pub(crate) fn narrow_width() -> u16 {
    terminal_size_of(std::io::stdout()).map_or(80, |(Width(width), _)| width)
}

/// Columns of text that standard output has room for; where it is no terminal, as many as its reader may expect.
pub(crate) fn width() -> usize {
    terminal_size_of(std::io::stdout()).map_or(DEFAULT_WIDTH, |(Width(width), _)| usize::from(width))
}

//! The terminal that results are printed to, and its shell.

use cellcc_report::DEFAULT_WIDTH;
use std::io::IsTerminal as _;
use std::path::Path;
use terminal_size::{Width, terminal_size_of};

/// The width of tables for people, wherever they read: 80 without a terminal.
pub(crate) fn narrow_width() -> u16 {
    terminal_size_of(std::io::stdout()).map_or(80, |(Width(width), _)| width)
}

/// Columns of text that standard output has room for; where it is no terminal, as many as its reader may expect.
pub(crate) fn width() -> usize {
    terminal_size_of(std::io::stdout()).map_or(DEFAULT_WIDTH, |(Width(width), _)| usize::from(width))
}

/// True where standard output is a terminal whose user has not refused colours (<https://no-color.org>).
pub(crate) fn has_colours() -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    std::io::stdout().is_terminal()
        && !is_set("NO_COLOR")
        && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// A path as a shell takes it.
pub(crate) fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%".contains(c);
    if text.chars().all(is_plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

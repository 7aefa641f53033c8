//! Tables for a terminal, for Markdown and for programs.

pub(crate) mod column;
pub(crate) mod grid;
pub(crate) mod number;
pub(crate) mod rows;
pub(crate) mod text_table;
pub(crate) mod wrap;

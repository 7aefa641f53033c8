//! Tables, figures and the page, from Records that no run made.

mod browser;
mod fabricated;
mod report;
mod table;

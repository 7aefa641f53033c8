//! Tables, figures and the page, from Records that no run made.

mod averages;
mod browser;
mod fabricated;
mod report;
mod table;
mod transfers;

//! Tables, figures and the page, from Records that no run made.

mod averages;
mod browser;
mod export;
mod fabricated;
mod films;
mod plot;
mod report;
mod runs;
mod table;
mod transfers;

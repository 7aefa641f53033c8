//! Internal, exact version: any release may change this crate (docs/architecture.md, "Promised crates").
//!
//! The papers' claims as data: one language of quantities over Records, and verdicts. Pure: this crate reads no file and runs
//! nothing. `cellcc reproduce` does both (docs/how-to/reproduce.md).
//!
//! | noun | meaning |
//! |---|---|
//! | [`DataSet`] | a Scenario, its recordings by name, changed settings, and those of a smaller scale |
//! | [`Environment`] | a test bed: settings for the data sets of some papers |
//! | [`Quantity`] | an [`Expression`](expression::Expression) whose runs have been found: a number, or several |
//! | [`Claim`] | a paper's statement, its place, and how a quantity is compared with it |
//! | [`Figure`] | a figure of a paper: quantities over one another or over time, and the paper's values |
//! | [`Judged`] | the verdict, the value and its interval |
//! | [`cases`] | requirements on a congestion controller: cases, and verdicts on a subject |
//! | [`page`] | a table of a page: each cell is also a quantity, and is compared with the text |

pub mod cases;
mod claim;
mod claim_file;
mod data_set;
mod environment;
pub mod expression;
mod figure;
mod judge;
mod kind;
mod metrics;
pub mod page;
mod quantity;
mod reason;
mod recordings;
mod runs;
mod scorecard;
mod series;
mod state;

pub use claim::{Claim, Claims};
pub use claim_file::ClaimError;
pub use data_set::{DataSet, OneOrMany, Scale};
pub use environment::Environment;
pub use figure::{DrawnFigure, Figure, Line, Panel, Points, PointsOf};
pub use judge::{Judged, Needs};
pub use kind::{Kind, Verdict};
pub use quantity::{Quantity, Units};
pub use reason::Reason;
pub use recordings::Recordings;
pub use runs::{DataRuns, Outcome, Run};
pub use scorecard::{Counts, markdown, paper_title, reasons_markdown, short_markdown};
pub use state::{State, StateError};

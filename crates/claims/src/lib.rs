//! What the papers say, as data: one language of quantities over Records, and verdicts. Pure: no file is read and nothing is run
//! here. `cellcc reproduce` does both (docs/how-to/reproduce.md).
//!
//! | noun | what it is |
//! |---|---|
//! | [`DataSet`] | a Scenario, its recordings by name, what is set differently, what a smaller scale changes |
//! | [`Quantity`] | an [`Expression`](expression::Expression) whose runs have been found: a number, or several |
//! | [`Claim`] | what a paper says, where, and how a quantity is held against it |
//! | [`Figure`] | a figure of a paper: quantities over one another or over time, and the paper's values |
//! | [`Judged`] | the verdict, the value and its interval |
//! | [`cases`] | what a congestion controller must do: cases, and verdicts on a subject |
//! | [`page`] | a table of a page: each cell is a quantity too, and is held against the text |

pub mod cases;
mod claim;
mod claim_file;
mod data_set;
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
pub use figure::{DrawnFigure, Figure, Line, Panel, Points, PointsOf};
pub use judge::{Judged, Needs};
pub use kind::{Kind, Verdict};
pub use quantity::{Quantity, Units};
pub use reason::Reason;
pub use recordings::Recordings;
pub use runs::{DataRuns, Outcome, Run};
pub use scorecard::{Counts, markdown, paper_title, reasons_markdown, short_markdown};
pub use state::{State, StateError};

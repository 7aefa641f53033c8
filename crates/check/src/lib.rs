//! Tests for a congestion controller with noq's interface: noq 1.4 runs it over emulated links in virtual time, and the cases
//! of `cellcc check` judge its observable behaviour on the network.
//!
//! ```no_run
//! use std::sync::Arc;
//! # type MyConfig = noq_proto::congestion::CubicConfig;
//!
//! # fn tests() {
//! let report = cellcc_check::Suite::network()
//!     .without("bbr/15")      // It is no BBR, and takes longer to find a faster link.
//!     .run("mine", Arc::new(MyConfig::default()));
//! report.write_junit("target/cellcc.xml").unwrap();
//! assert!(report.passed(), "{report}");
//!
//! let run = cellcc_check::link("10Mbit/s").rtt("100ms").queue("2bdp").bulk()
//!     .run(Arc::new(MyConfig::default()), "20s").unwrap();
//! assert!(run.utilisation("5s..") > 0.9 && run.queueing_delay_p95_ms() < 200.0);
//! # }
//! ```
//!
//! A controller is `Arc<dyn ControllerFactory + Send + Sync>` of noq-proto 1.4; that of another minor version is another type.
//! Controllers of quinn cannot be run: their acknowledgements take an estimator of the RTT that only quinn-proto can make.
//! Run the tests with `--release`, or with `opt-level = 1` under `[profile.dev.package."*"]`: all cases then take half a minute of
//! a processor. Unoptimised, noq takes ten times as long; [`Suite::quick`] is for that.
//!
//! | to find | look in |
//! |---|---|
//! | all cases, and those of one test | [`Suite`] |
//! | results | [`Report`] |
//! | a link of your own | [`link`] |
//! | the cases: a Scenario and conditions each | the folder `cases` of the package `cellcc-claims` |

mod link;
mod report;
mod subject;
mod suite;

pub use cellcc_claims::cases::{Finding, Ruling};
pub use link::{Link, Measured, link};
pub use report::Report;
pub use suite::Suite;

/// A factory of the controllers under test.
pub type Factory = std::sync::Arc<dyn noq_proto::congestion::ControllerFactory + Send + Sync>;

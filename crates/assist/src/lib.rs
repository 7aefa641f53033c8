//! Internal, exact version: any release may change this crate (docs/architecture.md, "Promised crates").
//!
//! The one model of network assistance: from a base station's measurements of one user to a sender's reports.
//!
//! | to find | look in |
//! |---|---|
//! | one report | [`Advice`](cellcc_control::Advice) |
//! | the user's bandwidth, and how far it can be trusted | [`Estimator`] |
//! | the state of a user over time, handovers and silence included | [`UserModel`] |
//! | a period's measurements from a queue's counters | [`Counters`], [`Period`] |
//! | those from a host's traffic, without a base station | [`PassiveReader`] |
//! | how many flows the user has | [`active_flows`] |
//! | source, period, route, loss, outages: the table `[netassist]` | [`NetAssist`] |
//! | the reports of a flow: made, lost, delivered | [`Reports`] |
//! | reports at times that are known beforehand | [`Timetable`] |
//! | the NATCP authors' files | [`FeedbackFile`] |
//! | the 64 bytes of a report on the wire | [`AdviceRecord`] |
//! | a slow ceiling in the IETF's packet | [`scone`] |
//! | which records that arrive are new, and how old they are | [`Arrivals`] |
//!
//! Pure: no clock, no sockets. Measurements and times come in as arguments.

mod arrivals;
mod estimator;
mod natcp_file;
mod passive;
mod record;
mod reports;
pub mod scone;
mod settings;
mod timetable;
mod user_model;

pub use arrivals::{Arrivals, Refusal};
pub use estimator::{
    Counters, Estimate, Estimator, Evidence, INITIAL_WINDOW, Observation, PacketTime, Period,
};
pub use natcp_file::{FeedbackError, FeedbackFile, FeedbackPath, FeedbackProblem};
pub use passive::{PassiveCounters, PassivePeriod, PassiveReader, PassiveRtt};
pub use record::AdviceRecord;
pub use reports::{AssistedPath, ReportFault, ReportedFlow, Reports, UnseenReports, UserState};
pub use settings::{NetAssist, Outage};
pub use timetable::Timetable;
pub use user_model::{BaseRtt, Counted, Knowledge, UserModel, active_flows};

//! A source's sample of one user: the common form of all sources.

use crate::identity::SourceName;
use cellcc_assist::Knowledge;
use cellcc_units::Time;

/// A source's sample of one user and one period.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// The source's name of the user.
    pub user: SourceName,
    /// The cell that the user is in; another one than before is a handover.
    pub cell: u32,
    /// When the period ended, on the service's clock.
    pub until: Time,
    /// The measurement in it.
    pub measured: Knowledge,
}

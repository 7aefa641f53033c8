//! What a source tells of one user: the one form in which all sources end.

use crate::identity::SourceName;
use cellcc_assist::Knowledge;
use cellcc_units::Time;

/// What a source tells of one user and one period.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// What the source calls the user.
    pub user: SourceName,
    /// The cell that the user is in; another one than before is a handover.
    pub cell: u32,
    /// When the period ended, on the service's clock.
    pub until: Time,
    /// What was measured in it.
    pub measured: Knowledge,
}

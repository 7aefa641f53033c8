//! What a source tells of one user: the one form in which all sources end.

use crate::identity::SourceName;
use cellcc_assist::{Advice, Observation};
use cellcc_units::{Rate, Span, Time};

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
    pub measured: Measured,
}

/// How much a source knows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Measured {
    /// What a base station has counted: the estimator says what follows.
    Counted(Counted),
    /// What an oracle knows.
    Known(Advice),
}

/// What a base station has counted of a user, or a host on the way to it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Counted {
    /// The downlink.
    pub downlink: Observation,
    /// The rate that was received of the user.
    pub uplink: Rate,
    /// From a request of the user to send until its data were decoded; `None` where it sent none.
    pub uplink_delay: Option<Span>,
    /// The smallest round-trip time.
    pub base_rtt: BaseRtt,
}

/// The smallest round-trip time that a source knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BaseRtt {
    /// Between the servers' gateway and the base station; `None` while it is not known.
    ToBaseStation(Option<Span>),
    /// To the user, the radio link included.
    ToUser(Span),
}

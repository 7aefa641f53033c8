//! Needs of a user, measured on two processors of an AMD EPYC.

/// Cost of one kind of process, by `cellcc-measure netassist` through a broker with 4,000 users and one server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProcessCost {
    /// Processor time for each record, in microseconds.
    pub(crate) us_per_record: f64,
    pub(crate) bytes_per_user: u64,
    /// Memory of the process with three users, in MiB, by `cellcc-measure moving-users`.
    pub(crate) program_mib: f64,
}

/// Makes records and hands them to a broker.
pub(crate) const DAEMON: ProcessCost =
    ProcessCost { us_per_record: 3.1, bytes_per_user: 3500, program_mib: 14.0 };
/// Takes records and passes them on once.
pub(crate) const BROKER: ProcessCost =
    ProcessCost { us_per_record: 7.3, bytes_per_user: 2900, program_mib: 17.5 };
/// Hears records.
pub(crate) const SERVER: ProcessCost =
    ProcessCost { us_per_record: 3.7, bytes_per_user: 14_600, program_mib: 12.4 };

//! Schemes added to the kernel's TCP, while the caller runs a Scenario's flows over it.

use crate::{ResolveError, RunError, Scenario, UserQueues};
use cellcc_units::Time;
use std::fmt::Debug;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

/// Adds schemes to the kernel's TCP. It ignores the kernel's own.
pub trait TcpBackend: Debug + Sync {
    /// Checks the flows whose schemes belong to this backend, loads these into the kernel, and replaces their names with
    /// the canonical ones.
    ///
    /// # Errors
    /// A feature that the kernel's form of a scheme lacks, or the kernel's reason to refuse it, with the remedy.
    fn resolve(&self, scenario: &mut Scenario) -> Result<(), ResolveError>;

    /// The kernel's name for a scheme; `None` where this backend does not have it.
    fn kernel_name(&self, scheme: &str) -> Option<&'static str>;

    /// Sets the schemes of a resolved Scenario as its flows have them, before the first flow connects.
    ///
    /// # Errors
    /// The kernel does not take a setting.
    fn prepare(&self, scenario: &Scenario) -> Result<(), RunError>;

    /// Passes the network's reports on the flows' paths to the kernel, and returns at [`TcpRun::until`], or at once where no
    /// flow requests them.
    ///
    /// # Errors
    /// The kernel does not take a report.
    fn assist(&self, run: TcpRun<'_>) -> Result<(), RunError>;
}

/// A run that has begun.
#[derive(Debug, Clone, Copy)]
pub struct TcpRun<'a> {
    /// A resolved Scenario.
    pub scenario: &'a Scenario,
    /// The address of each flow's receiver.
    pub peers: &'a [IpAddr],
    /// The users' queues.
    pub queues: &'a Arc<dyn UserQueues>,
    /// [`Time::ZERO`].
    pub epoch: Instant,
    /// Time to return: the Scenario's end.
    pub until: Time,
}

/// The kernel's own schemes, and no others.
impl TcpBackend for () {
    fn resolve(&self, _: &mut Scenario) -> Result<(), ResolveError> {
        Ok(())
    }

    fn kernel_name(&self, _: &str) -> Option<&'static str> {
        None
    }

    fn prepare(&self, _: &Scenario) -> Result<(), RunError> {
        Ok(())
    }

    fn assist(&self, _: TcpRun<'_>) -> Result<(), RunError> {
        Ok(())
    }
}

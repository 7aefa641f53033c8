//! Destinations of the event logs of a driver's flows.

use crate::Scenario;
use cellcc_control::Scheme;
use std::fmt;
use std::io::Write;
use std::sync::Arc;

/// Destinations of the flows' event logs ([`cellcc_control::event_log`]), if there are any.
#[derive(Clone, Default)]
pub struct Recordings(Option<Arc<Open>>);

/// Opens the event log of the flow with this index in a resolved Scenario.
type Open = dyn Fn(&Scenario, usize) -> Box<dyn Write + Send> + Send + Sync;

impl Recordings {
    /// Every flow is recorded: `open` gives the destination for a flow of a resolved Scenario, by its index.
    pub fn new(open: impl Fn(&Scenario, usize) -> Box<dyn Write + Send> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(open)))
    }

    /// The schemes of a Scenario's flows, as a driver builds them.
    pub fn of(&self, scenario: &Scenario, schemes: Vec<Scheme>) -> Vec<Scheme> {
        let Some(open) = &self.0 else { return schemes };
        let flows = schemes.into_iter().enumerate();
        flows.map(|(index, scheme)| scheme.recorded(open(scenario, index))).collect()
    }
}

impl fmt::Debug for Recordings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Recordings").field(&self.0.is_some()).finish()
    }
}

//! A cache of opened traces: a plan names the same ones many times.

use crate::{Capacity, CapacitySpec, Source, SpecError, synthetic};
use cellcc_units::Span;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Opens the capacity of a [`CapacitySpec`], synthetic links included, and keeps it.
#[derive(Debug, Default)]
pub struct TraceCache {
    opened: Mutex<BTreeMap<String, Source>>,
}

/// The capacities of a run's links.
#[derive(Debug, Clone)]
pub struct Capacities {
    /// Capacity of the link, or of each user of the cell.
    pub forward: Vec<Arc<Capacity>>,
    /// Capacity of the reverse path.
    pub reverse: Arc<Capacity>,
    /// The other content of the forward path's files, for the reader of results.
    pub notes: Vec<String>,
}

impl Capacities {
    /// Shifts the beginning by `offset`.
    #[must_use]
    pub fn beginning_at(&self, offset: Span) -> Self {
        let later = |capacity: &Arc<Capacity>| Arc::new(capacity.beginning_at(offset));
        let forward = self.forward.iter().map(later).collect();
        Self { forward, reverse: later(&self.reverse), notes: self.notes.clone() }
    }
}

impl TraceCache {
    /// The capacity that this text describes.
    ///
    /// # Errors
    /// Why it cannot be opened; a name that is unknown is answered with those that are known.
    pub fn open(&self, text: &str) -> Result<Source, SpecError> {
        if let Some(source) = self.opened.lock().unwrap_or_else(PoisonError::into_inner).get(text) {
            return Ok(source.clone());
        }
        let source = text.parse::<CapacitySpec>().and_then(|spec| spec.open(synthetic::link))?;
        self.opened.lock().unwrap_or_else(PoisonError::into_inner).insert(text.into(), source.clone());
        Ok(source)
    }

    /// The capacities of a run: the forward path of each user, and the reverse path, which has no limit where
    /// `reverse` is empty.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_all<'a>(
        &self,
        forward: impl Iterator<Item = &'a String>,
        reverse: &str,
    ) -> Result<Capacities, SpecError> {
        let forward = forward.map(|text| self.open(text)).collect::<Result<Vec<_>, _>>()?;
        let reverse = match reverse {
            "" => Arc::new(Capacity::unlimited()),
            text => self.open(text)?.capacity,
        };
        let notes = forward.iter().flat_map(|source| source.notes.iter().cloned()).collect();
        Ok(Capacities {
            forward: forward.into_iter().map(|source| source.capacity).collect(),
            reverse,
            notes,
        })
    }
}

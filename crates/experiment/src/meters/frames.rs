//! Frames with a deadline, as the receiver sees them.

use crate::Application;
use cellcc_units::{Span, Time};
use std::collections::{BTreeMap, BTreeSet};

/// Which frames arrived whole and in time.
#[derive(Debug, Clone)]
pub struct Frames {
    deadline: Span,
    /// Distinct segments received of each frame that is not whole yet.
    partial: BTreeMap<u64, BTreeSet<u64>>,
    in_time: u64,
    /// Frames created before this do not count.
    from: Time,
}

impl Frames {
    /// No frame has arrived yet; each has `deadline` from its creation. Those created before `from` do not count.
    pub fn new(deadline: Span, from: Time) -> Self {
        Self { deadline, partial: BTreeMap::new(), in_time: 0, from }
    }

    /// A segment arrives, for the first time or again.
    pub fn on_segment(&mut self, now: Time, segment: u64, application: &Application) {
        let Some((frame, segments)) = application.frame_of(segment) else { return };
        if now > application.frame_created_at(frame) + self.deadline {
            self.partial.remove(&frame); // Late already: nothing can save it.
            return;
        }
        let arrived = self.partial.entry(frame).or_default();
        arrived.insert(segment);
        if arrived.len() as u64 == segments {
            // A repeated segment after this opens an entry that never fills again; it is small.
            self.partial.remove(&frame);
            self.in_time += u64::from(application.frame_created_at(frame) >= self.from);
        }
    }

    /// Frames whose deadline fell before `end`, and the share of them that missed it. None where there was no frame.
    pub fn outcome(&self, application: &Application, end: Time) -> Option<(u64, f64)> {
        let due = (0..).take_while(|&frame| {
            let created = application.frame_created_at(frame);
            created < application.stop() && created + self.deadline <= end
        });
        let due = due.filter(|&frame| application.frame_created_at(frame) >= self.from).count() as u64;
        let missed = due.saturating_sub(self.in_time);
        (due > 0).then(|| (due, missed as f64 / due as f64))
    }
}

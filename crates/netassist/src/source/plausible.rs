//! Which rates of a source are believed: one rule for all that send messages.
//!
//! 1. No rate above the cell's.
//! 2. A rate ten times that of the user's period before, and more than a hundredth of the cell's, only if the next period also
//!    has such a rate: a single wild number is dropped.
//! 3. A user who was at rest (no more than an initial window in a period) is compared with the fastest user so far: a transfer that
//!    begins is the normal case, and no jump.

use super::Reading;
use crate::entries::MAX_USERS;
use crate::identity::SourceName;
use crate::sample::Sample;
use cellcc_assist::{INITIAL_WINDOW, Knowledge};
use cellcc_units::Rate;
use std::collections::HashMap;

/// The rate of the widest carrier of NR for all of its users (3GPP TS 38.306, section 4.1.2: some 10 Gbit/s).
pub const FASTEST_CELL: Rate = Rate::from_bytes_per_sec(10_000_000_000 / 8);
/// A jump by more than this factor has to be confirmed. Ours: a user's rate changes by less while it lasts.
const JUMP: u64 = 10;
/// Below this share of the cell's rate, jumps are not checked. Ours.
const SMALL_SHARE: f64 = 0.01;

/// The default rate of a cell.
pub(crate) fn fastest_cell() -> Rate {
    FASTEST_CELL
}

/// The limits of a source's values. Pure.
#[derive(Debug)]
pub struct Plausible {
    cell_rate: Rate,
    /// The rate of each user's last period; zero if the user was at rest.
    before: HashMap<SourceName, Rate>,
    /// The fastest rate that was believed.
    fastest: Rate,
}

impl Default for Plausible {
    fn default() -> Self {
        Self::in_cells_of(FASTEST_CELL)
    }
}

impl Plausible {
    /// For cells that carry at most this.
    pub fn in_cells_of(cell_rate: Rate) -> Self {
        Self { cell_rate, before: HashMap::new(), fastest: Rate::ZERO }
    }

    /// Leaves out implausible values.
    pub fn sift(&mut self, reading: &mut Reading) {
        let Reading { samples, left_out } = reading;
        samples.retain(|sample| match self.doubt(sample) {
            Some(reason) => {
                left_out.add(&reason);
                false
            }
            None => true,
        });
    }

    fn doubt(&mut self, sample: &Sample) -> Option<String> {
        let Knowledge::Counted(counted) = &sample.measured else { return None };
        let downlink = Rate::from_transfer(counted.downlink.served, counted.downlink.period);
        let name = &sample.user;
        let fastest = downlink.max(counted.uplink);
        if fastest > self.cell_rate {
            return Some(format!("{fastest} for {name}: a cell carries at most {}", self.cell_rate));
        }
        if self.before.len() >= MAX_USERS {
            self.before.clear();
        }
        let lasting = if counted.downlink.served > INITIAL_WINDOW { downlink } else { Rate::ZERO };
        let before = self.before.insert(name.clone(), lasting).filter(|before| !before.is_zero());
        let known = before.unwrap_or(self.fastest);
        let unquestioned = known.mul_f64(JUMP as f64).max(self.cell_rate.mul_f64(SMALL_SHARE));
        if downlink > unquestioned {
            return Some(format!(
                "{downlink} for {name} after {known}: believed once the next period confirms it"
            ));
        }
        self.fastest = self.fastest.max(downlink);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entries::LeftOut;
    use crate::identity::RadioName;
    use cellcc_assist::{BaseRtt, Counted, Evidence, Observation};
    use cellcc_units::{Bytes, Span, Time};

    fn sample(rnti: u16, mbit: f64) -> Sample {
        let period = Span::from_millis(50);
        let downlink = Observation {
            period,
            served: Rate::from_mbit_per_sec(mbit).bytes_in(period),
            busy: period,
            backlog: Bytes::ZERO,
            channel: None,
            packet: Bytes::new(1500),
            evidence: Evidence::Queue,
        };
        let base_rtt = BaseRtt::ToBaseStation(None);
        let counted = Counted { downlink, uplink: Rate::ZERO, uplink_delay: None, base_rtt };
        Sample {
            user: SourceName::Radio(RadioName { pci: 1, rnti }),
            cell: 1,
            until: Time::ZERO,
            measured: Knowledge::Counted(counted),
        }
    }

    fn sifted(plausible: &mut Plausible, mbit: f64) -> (usize, LeftOut) {
        sifted_of(plausible, 7, mbit)
    }

    fn sifted_of(plausible: &mut Plausible, rnti: u16, mbit: f64) -> (usize, LeftOut) {
        let mut reading = Reading { samples: vec![sample(rnti, mbit)], left_out: LeftOut::default() };
        plausible.sift(&mut reading);
        (reading.samples.len(), reading.left_out)
    }

    /// 900 Gbit/s among 26 Mbit/s went to every server.
    #[test]
    fn a_rate_that_no_cell_carries_is_left_out_and_named_however_often_it_comes() {
        let mut plausible = Plausible::default();
        assert_eq!(sifted(&mut plausible, 26.0).0, 1);
        for _ in 0..3 {
            let (kept, left_out) = sifted(&mut plausible, 900_000.0);
            assert_eq!((kept, left_out.count), (0, 1));
            let reason = left_out.first.unwrap();
            assert!(reason.contains("RNTI 7 of cell 1") && reason.contains("10Gbit/s"), "{reason}");
        }
        assert_eq!(sifted(&mut Plausible::in_cells_of(Rate::from_mbit_per_sec(20.0)), 26.0).0, 0);
    }

    #[test]
    fn a_wild_number_among_others_is_left_out_and_a_rate_that_stays_is_believed() {
        let mut plausible = Plausible::default();
        let kept = [0.4, 26.0, 9000.0, 26.0, 400.0, 400.0, 90.0].map(|mbit| sifted(&mut plausible, mbit).0);
        assert_eq!(kept, [1, 1, 0, 1, 0, 1, 1]);
    }

    /// In a cell of 12 Mbit/s, 24 of 30 transfers lost their first period.
    #[test]
    fn a_transfer_that_begins_is_believed_once_any_user_was_as_fast() {
        let mut plausible = Plausible::in_cells_of(Rate::from_mbit_per_sec(12.0));
        let mut kept = |rnti, mbits: &[f64]| {
            mbits.iter().filter(|mbit| sifted_of(&mut plausible, rnti, **mbit).0 == 1).count()
        };
        assert_eq!(kept(7, &[0.1, 5.5, 5.5, 5.5]), 3, "the very first has nothing to be compared with");
        for _ in 0..30 {
            assert_eq!(kept(7, &[0.0, 0.1, 5.5, 5.5]), 4, "after a pause");
        }
        assert_eq!(kept(8, &[5.5, 5.5]), 2, "another user, or the same one with another RNTI");
    }

    #[test]
    fn a_wild_number_for_a_user_at_rest_is_left_out() {
        let mut plausible = Plausible::default();
        let kept = [26.0, 0.0, 9000.0, 0.1, 26.0].map(|mbit| sifted(&mut plausible, mbit).0);
        assert_eq!(kept, [1, 1, 0, 1, 1]);
    }
}

//! How fast the window moves: faster the longer it has moved one way.

use cellcc_units::Time;

/// Keeps the numbers finite; a window that grows by a million packets a round is on no path.
const MAX_VELOCITY: f64 = (1_u64 << 20) as f64;

/// Which way the window moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Up,
    Down,
}

/// The velocity (paper, section 2.1, step 4).
#[derive(Debug)]
pub(super) struct Velocity {
    velocity: f64,
    /// None before the first comparison.
    direction: Option<Direction>,
    /// Rounds with the same direction as the one before.
    same: u32,
    /// When the window was last compared, and what it was then.
    compared: Option<(Time, f64)>,
}

impl Default for Velocity {
    fn default() -> Self {
        Self { velocity: 1.0, direction: None, same: 0, compared: None }
    }
}

impl Velocity {
    pub(super) fn get(&self) -> f64 {
        self.velocity
    }

    /// When the round began that is not over yet.
    pub(super) fn compared_at(&self) -> Option<Time> {
        self.compared.map(|(at, _)| at)
    }

    /// A round is over. It doubles once the direction was the same as in the round before for `rounds_before_doubling` rounds.
    pub(super) fn compare(&mut self, now: Time, window: f64, rounds_before_doubling: u32) {
        let Some((_, before)) = self.compared.replace((now, window)) else { return };
        let direction = if window > before { Direction::Up } else { Direction::Down };
        if self.direction != Some(direction) {
            self.turn(direction);
            return;
        }
        self.same = self.same.saturating_add(1);
        if self.same >= rounds_before_doubling {
            self.velocity = (self.velocity * 2.0).min(MAX_VELOCITY);
        }
    }

    /// The velocity for a step in `direction`: what was gathered in the other one does not count, and the round begins anew.
    pub(super) fn towards(&mut self, direction: Direction, now: Time, window: f64) -> f64 {
        if self.velocity > 1.0 && self.direction != Some(direction) {
            self.turn(direction);
            self.compared = Some((now, window));
        }
        self.velocity
    }

    fn turn(&mut self, direction: Direction) {
        self.direction = Some(direction);
        self.velocity = 1.0;
        self.same = 0;
    }
}

//! When each user is looked at: once in each period, at the user's own time.

use crate::identity::{Identities, UserIndex};
use cellcc_units::{Span, Time};

/// Users in the order of their turns within a period.
#[derive(Debug)]
pub(super) struct Turns {
    period: Span,
    order: Vec<(Span, UserIndex)>,
    /// When the present round began, and whose turn in it is next.
    round: Time,
    next: usize,
}

impl Turns {
    /// The first round begins now.
    pub(super) fn new(now: Time, identities: &Identities, period: Span) -> Self {
        let turn = |index| (identities.key(index).offset_in(period), index);
        let mut order: Vec<_> = identities.all().map(turn).collect();
        order.sort_unstable();
        Self { period, order, round: now, next: 0 }
    }

    /// When the next turn is.
    pub(super) fn next_wake(&self) -> Time {
        self.order.get(self.next).map_or(Time::NEVER, |(offset, _)| self.round + *offset)
    }

    /// The user whose turn is next, if it is due. Rounds that were missed are left out.
    pub(super) fn due(&mut self, now: Time) -> Option<UserIndex> {
        if self.next_wake() > now {
            return None;
        }
        let (_, index) = *self.order.get(self.next)?;
        self.next += 1;
        if self.next == self.order.len() {
            self.next = 0;
            self.round += self.period;
            let missed = now.since(self.round).as_nanos() / self.period.as_nanos();
            self.round += self.period * missed;
        }
        Some(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::User;

    const PERIOD: Span = Span::from_millis(50);

    fn turns(users: usize) -> Turns {
        let user = |index: usize| User {
            name: format!("user-{index}"),
            addresses: Vec::new(),
            radio: Vec::new(),
            supi: None,
        };
        Turns::new(Time::ZERO, &Identities::new((0..users).map(user).collect(), &[7; 32]).unwrap(), PERIOD)
    }

    #[test]
    fn each_user_has_a_turn_in_each_period_at_its_own_time() {
        let mut turns = turns(20);
        let mut times = vec![Vec::new(); 20];
        for _ in 0..60 {
            let at = turns.next_wake();
            assert_eq!(turns.due(at - Span::from_nanos(1)), None);
            times[turns.due(at).unwrap().0].push(at);
        }
        for times in &times {
            assert_eq!((times[1].since(times[0]), times[2].since(times[1])), (PERIOD, PERIOD));
        }
        assert!(times.iter().any(|user| user[0] != times[0][0]));
    }

    #[test]
    fn turns_that_were_missed_are_left_out() {
        let mut turns = turns(20);
        let late = Time::ZERO + PERIOD * 1000;
        let due = std::iter::from_fn(|| turns.due(late)).count();
        assert!((20..=40).contains(&due), "{due}: one each, and perhaps that of the present round");
        assert!(turns.next_wake() > late && turns.next_wake() <= late + PERIOD);
    }

    #[test]
    fn nobody_has_no_turn() {
        let mut nobody = turns(0);
        assert_eq!((nobody.next_wake(), nobody.due(Time::ZERO + PERIOD)), (Time::NEVER, None));
    }
}

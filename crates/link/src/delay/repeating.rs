//! The delay of a link's own: it belongs to the link's capacity and repeats on its own period.

use cellcc_units::{Span, Time};

/// A delay that changes in steps and repeats, in addition to the path's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Repeating {
    /// The beginning of each step within the period, in nanoseconds, and its delay. The first begins at 0.
    steps: Vec<(u64, Span)>,
    /// Length of all steps in nanoseconds, above zero.
    period: u64,
}

impl Repeating {
    /// Each delay (second) for a time (first); `None` where there is no delay in them.
    pub(crate) fn new(lengths: &[(Span, Span)]) -> Option<Self> {
        let (mut steps, mut period) = (Vec::<(u64, Span)>::new(), 0);
        for &(length, delay) in lengths.iter().filter(|(length, _)| !length.is_zero()) {
            if steps.last().is_none_or(|&(_, last)| last != delay) {
                steps.push((period, delay));
            }
            period += length.as_nanos();
        }
        steps.iter().any(|(_, delay)| !delay.is_zero()).then_some(Self { steps, period })
    }

    /// The delay of a packet that leaves the link at `time`.
    pub(crate) fn at(&self, time: Time) -> Span {
        let within = time.as_nanos() % self.period;
        self.steps[self.steps.partition_point(|&(start, _)| start <= within) - 1].1
    }

    /// The part from `offset` on that lasts for `duration` and then repeats; it may go round.
    pub(crate) fn part(&self, offset: u64, duration: u64) -> Option<Self> {
        let (mut lengths, mut at) = (Vec::new(), offset);
        while at < offset + duration {
            let round = at - at % self.period;
            let next = self.steps.partition_point(|&(start, _)| start <= at - round);
            let end = round + self.steps.get(next).map_or(self.period, |&(start, _)| start);
            let end = end.min(offset + duration);
            lengths.push((Span::from_nanos(end - at), self.steps[next - 1].1));
            at = end;
        }
        Self::new(&lengths)
    }

    /// Shifts the beginning by `offset`.
    pub(crate) fn beginning_at(&self, offset: u64) -> Option<Self> {
        self.part(offset % self.period, self.period)
    }

    /// The longest delay.
    pub(crate) fn longest(&self) -> Span {
        self.steps.iter().map(|&(_, delay)| delay).max().unwrap_or(Span::ZERO)
    }

    /// Feeds `sink` the input of a content hash.
    pub(crate) fn canonical(&self, mut sink: impl FnMut(&[u8])) {
        sink(b"delay, repeating");
        for (start, delay) in &self.steps {
            sink(&start.to_le_bytes());
            sink(&delay.as_nanos().to_le_bytes());
        }
        sink(&self.period.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Span {
        Span::from_millis(millis)
    }

    #[test]
    fn a_part_of_a_repeating_delay_is_the_whole_one_later() {
        let whole = Repeating::new(&[(ms(3), ms(20)), (ms(5), ms(0)), (ms(2), ms(7))]).unwrap();
        assert_eq!(
            [0, 2, 3, 7, 8, 9, 10].map(|at| whole.at(Time::ZERO + ms(at))),
            [20, 20, 0, 0, 7, 7, 20].map(ms)
        );
        assert_eq!(whole.longest(), ms(20));
        for offset in 0..25 {
            let later = whole.beginning_at(ms(offset).as_nanos()).unwrap();
            for at in 0..30 {
                let at = Time::ZERO + ms(at);
                assert_eq!(later.at(at), whole.at(at + ms(offset)), "{offset} ms later");
            }
        }
        let part = whole.part(ms(8).as_nanos(), ms(4).as_nanos()).unwrap();
        assert_eq!([0, 1, 2, 3, 4].map(|at| part.at(Time::ZERO + ms(at))), [7, 7, 20, 20, 7].map(ms));
        assert_eq!(whole.part(ms(4).as_nanos(), ms(3).as_nanos()), None);
    }
}

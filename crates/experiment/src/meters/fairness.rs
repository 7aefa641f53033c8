//! Fairness of flows on a link: in each whole second in which at least two of them are active throughout.

use cellcc_units::{Span, Time};

/// Seconds for which a flow keeps to its fair share before it counts as converged, and how near it keeps: Dong et al., PCC
/// (NSDI 2015), section 4.2.2.
const CONVERGED_FOR: usize = 5;
const NEAR_SHARE: f64 = 0.25;

/// Data that flows delivered in the seconds that they shared.
#[derive(Debug, Clone, PartialEq)]
pub struct Fairness {
    /// The bytes of each flow per second; `None` for a flow that was not active throughout. Empty in a second that no
    /// two flows shared.
    shared: Vec<Vec<Option<f64>>>,
}

impl Fairness {
    /// Fairness of flows that delivered these bytes by second, each active from and until these times.
    pub fn new(bytes_by_second: &[Vec<u64>], active: &[(Time, Time)]) -> Self {
        let seconds = bytes_by_second.iter().map(Vec::len).max().unwrap_or(0);
        let in_second = |second: usize| {
            let from = Time::ZERO + Span::from_secs(second as u64);
            let to = Time::ZERO + Span::from_secs(second as u64 + 1);
            let flows = bytes_by_second.iter().zip(active);
            let bytes: Vec<Option<f64>> = flows
                .map(|(bytes, (start, stop))| {
                    let delivered = bytes.get(second).map_or(0.0, |&bytes| bytes as f64);
                    (*start <= from && to <= *stop).then_some(delivered)
                })
                .collect();
            if bytes.iter().flatten().count() < 2 { Vec::new() } else { bytes }
        };
        Self { shared: (0..seconds).map(in_second).collect() }
    }

    /// Jain's index by second; none where no two flows share it, or where nothing was delivered.
    pub fn jain_by_second(&self) -> impl Iterator<Item = Option<f64>> {
        self.shared.iter().map(|bytes| {
            let (count, sum, squares) = bytes
                .iter()
                .flatten()
                .fold((0.0, 0.0, 0.0), |(n, sum, squares), x| (n + 1.0, sum + x, squares + x * x));
            (squares > 0.0).then(|| sum * sum / (count * squares))
        })
    }

    /// The mean of [`jain_by_second`](Self::jain_by_second). `None` where no second has one.
    pub fn jain_index(&self) -> Option<f64> {
        let indices: Vec<f64> = self.jain_by_second().flatten().collect();
        (!indices.is_empty()).then(|| indices.iter().sum::<f64>() / indices.len() as f64)
    }

    /// Seconds from a flow's `start` until it comes within a quarter of its fair share, an equal part of the data of the second's
    /// flows, and stays there for five seconds. `None` where it never does.
    pub fn convergence_time_s(&self, flow: usize, start: Time) -> Option<f64> {
        let is_near = |bytes: &Vec<Option<f64>>| {
            let (count, sum) =
                bytes.iter().flatten().fold((0.0, 0.0), |(count, sum), x| (count + 1.0, sum + x));
            let mine = bytes.get(flow).copied().flatten();
            mine.is_some_and(|mine| sum > 0.0 && (mine * count / sum - 1.0).abs() <= NEAR_SHARE)
        };
        let near: Vec<bool> = self.shared.iter().map(is_near).collect();
        let second = near.windows(CONVERGED_FOR).position(|window| window.iter().all(|near| *near))?;
        Some(second as f64 - start.since(Time::ZERO).as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: u64) -> Time {
        Time::ZERO + Span::from_secs(secs)
    }

    #[test]
    fn fairness_counts_only_seconds_that_are_shared() {
        let bytes = [vec![10, 10, 10], vec![0, 10, 0]];
        let jain = |second: [(Time, Time); 2]| Fairness::new(&bytes, &second).jain_index();
        assert_eq!(jain([(at(0), at(3)), (at(1), at(2))]), Some(1.0));
        assert_eq!(jain([(at(0), at(3)), (at(2), at(3))]), Some(0.5));
        assert_eq!(Fairness::new(&bytes[..1], &[(at(0), at(3))]).jain_index(), None);
    }

    #[test]
    fn a_late_flow_converges_when_it_has_kept_to_its_share_for_five_seconds() {
        let first = vec![100, 100, 90, 70, 60, 55, 50, 50, 50, 50, 50, 50];
        let late = vec![0, 0, 10, 30, 40, 45, 50, 20, 50, 50, 50, 50];
        let active = [(at(0), at(12)), (at(2), at(12))];
        let fairness = Fairness::new(&[first.clone(), late], &active);
        // From second 4 on its share is at least 40 %, except in second 7; from 8 on only four seconds are left.
        assert_eq!(fairness.convergence_time_s(1, at(2)), None);
        let steady = vec![0, 0, 10, 30, 40, 45, 50, 50, 50, 50, 50, 50];
        let fairness = Fairness::new(&[first, steady], &active);
        assert_eq!(fairness.convergence_time_s(1, at(2)), Some(2.0));
        let by_second: Vec<_> = fairness.jain_by_second().collect();
        assert_eq!((by_second[1], by_second[7]), (None, Some(1.0)));
    }
}

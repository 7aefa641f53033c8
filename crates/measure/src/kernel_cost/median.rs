//! A median, and how well it is known.

/// A median with its 95 % interval.
#[derive(Debug, Clone, Copy)]
pub(super) struct Median {
    pub(super) value: f64,
    /// Half the width of the interval between the order statistics that hold the median in 95 % of cases, whatever the
    /// distribution; infinite for fewer than six values, which cannot say.
    pub(super) half_width: f64,
}

impl Median {
    pub(super) fn of(values: &[f64]) -> Self {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let count = sorted.len();
        let value = match count {
            0 => f64::NAN,
            count if count % 2 == 1 => sorted[count / 2],
            count => (sorted[count / 2 - 1] + sorted[count / 2]) / 2.0,
        };
        let half_width =
            outside(count).map_or(f64::INFINITY, |left| (sorted[count - 1 - left] - sorted[left]) / 2.0);
        Self { value, half_width }
    }

    pub(super) fn is_within(&self, half_width: f64) -> bool {
        self.half_width < half_width
    }
}

/// How many values on either side are outside of the interval: the most for which so few coin tosses (binomial, 1/2) show
/// heads in at most 2.5 % of cases.
fn outside(count: usize) -> Option<usize> {
    let mut probability = 0.5_f64.powi(count as i32);
    let mut cumulative = probability;
    let mut left = None;
    for heads in 0..count {
        if cumulative > 0.025 {
            break;
        }
        left = Some(heads);
        probability *= (count - heads) as f64 / (heads + 1) as f64;
        cumulative += probability;
    }
    left
}

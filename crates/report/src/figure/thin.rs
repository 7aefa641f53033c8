//! Long series made short, and long lists.

/// `values` in at most `most` points (at least 2): each bucket of neighbours gives its smallest and its largest value,
/// in the order in which they came, so that no peak is lost. Second: how many of the old steps a new one takes.
/// A bucket without numbers gives NaN.
pub(crate) fn thin(values: &[f32], most: usize) -> (Vec<f32>, f64) {
    if values.len() <= most.max(2) {
        return (values.to_vec(), 1.0);
    }
    let buckets = (most / 2).max(1);
    let width = values.len().div_ceil(buckets);
    let mut thinned = Vec::with_capacity(2 * buckets);
    for bucket in values.chunks(width) {
        let (mut low, mut high) = (None::<usize>, None::<usize>);
        for (index, value) in bucket.iter().enumerate().filter(|(_, value)| !value.is_nan()) {
            if low.is_none_or(|low| *value < bucket[low]) {
                low = Some(index);
            }
            if high.is_none_or(|high| *value > bucket[high]) {
                high = Some(index);
            }
        }
        match (low, high) {
            (Some(low), Some(high)) => thinned.extend([bucket[low.min(high)], bucket[low.max(high)]]),
            _ => thinned.extend([f32::NAN; 2]),
        }
    }
    (thinned, width as f64 / 2.0)
}

/// At most `most` of `count` indices, spread evenly, the first one always.
pub(crate) fn spread(count: usize, most: usize) -> Vec<usize> {
    let kept = count.min(most);
    (0..kept).map(|index| index * count / kept).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thinned_series_keeps_every_peak_and_the_length_of_time() {
        let mut values = vec![1.0_f32; 1800];
        values[777] = 50.0;
        values[1200] = -3.0;
        let (thinned, step) = thin(&values, 300);
        assert!(thinned.len() <= 300);
        assert_eq!(thinned.iter().copied().fold(f32::MIN, f32::max), 50.0);
        assert_eq!(thinned.iter().copied().fold(f32::MAX, f32::min), -3.0);
        assert_eq!(step * thinned.len() as f64, 1800.0);
    }

    #[test]
    fn a_rising_series_rises_still() {
        let values: Vec<f32> = (0..1000).map(|value| value as f32).collect();
        assert!(thin(&values, 100).0.is_sorted());
    }

    #[test]
    fn a_short_series_stays_as_it_is_and_a_gap_stays_a_gap() {
        assert_eq!(thin(&[1.0, 2.0], 10), (vec![1.0, 2.0], 1.0));
        assert!(thin(&[f32::NAN; 10], 2).0.iter().all(|value| value.is_nan()));
    }

    #[test]
    fn indices_are_spread_evenly() {
        assert_eq!(spread(60, 4), [0, 15, 30, 45]);
        assert_eq!(spread(3, 12), [0, 1, 2]);
        assert!(spread(0, 12).is_empty());
    }
}

//! Sums in bins of time.

use cellcc_units::{Span, Time};

/// Sums of `N` quantities, and how many there were, in bins of time.
#[derive(Debug, Clone)]
#[repr(C)]
pub(super) struct Bins<const N: usize> {
    /// The end of the last bin: most values fall into that one, and need no division.
    end: Time,
    width: Span,
    last: Bin<N>,
    before: Vec<Bin<N>>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Bin<const N: usize> {
    pub(super) sums: [u64; N],
    pub(super) count: u64,
}

impl<const N: usize> Bin<N> {
    const EMPTY: Self = Self { sums: [0; N], count: 0 };
}

impl<const N: usize> Bins<N> {
    pub(super) fn new(width: Span) -> Self {
        Self { end: Time::ZERO, width, last: Bin::EMPTY, before: Vec::new() }
    }

    /// Makes room for this number of bins.
    pub(super) fn reserve(&mut self, bins: usize) {
        self.before.reserve_exact(bins);
    }

    #[inline]
    pub(super) fn add(&mut self, at: Time, values: [u64; N]) {
        if at >= self.end {
            self.begin_bins(at);
        }
        let behind = self.end.since(at).as_nanos() - 1;
        let bin = if behind < self.width.as_nanos() { &mut self.last } else { self.earlier(behind) };
        bin.count += 1;
        for (sum, value) in bin.sums.iter_mut().zip(values) {
            *sum += value;
        }
    }

    /// Begins bins up to that of `at`.
    #[cold]
    fn begin_bins(&mut self, at: Time) {
        while at >= self.end {
            if self.end > Time::ZERO {
                self.before.push(self.last);
            }
            self.last = Bin::EMPTY;
            self.end += self.width;
        }
    }

    /// The bin that lies `behind` nanoseconds before the end of the last one, and is not the last one.
    #[cold]
    fn earlier(&mut self, behind: u64) -> &mut Bin<N> {
        let index = self.before.len() - (behind / self.width.as_nanos()) as usize;
        &mut self.before[index]
    }

    pub(super) fn all(&self) -> Vec<Bin<N>> {
        let last = (self.end > Time::ZERO).then_some(self.last);
        self.before.iter().copied().chain(last).collect()
    }

    /// The mean of quantity `which`, in nanoseconds, as milliseconds for each bin; NaN in an empty one.
    pub(super) fn mean_millis(&self, which: usize) -> Vec<f32> {
        let mean = |bin: &Bin<N>| (bin.sums[which] as f64 / bin.count as f64 / 1e6) as f32;
        self.all().iter().map(mean).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_goes_to_its_own_bin_even_when_it_comes_late() {
        let mut bins = Bins::new(Span::from_millis(100));
        for (ms, value) in [(50, 1), (250, 2), (99, 4), (100, 8)] {
            bins.add(Time::ZERO + Span::from_millis(ms), [value]);
        }
        assert_eq!(bins.all().iter().map(|bin| bin.sums[0]).collect::<Vec<_>>(), [5, 8, 2]);
    }
}

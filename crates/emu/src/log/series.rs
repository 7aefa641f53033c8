//! Delays over time in a bounded number of points.

/// The delays of all packets that left the link within a short time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DelayRange {
    /// The shortest, in milliseconds.
    pub least_ms: u64,
    /// The longest.
    pub most_ms: u64,
}

/// Delays over time: a range for every so many milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DelaySeries {
    /// When the first range begins, in milliseconds.
    pub start_ms: u64,
    /// How long each range is, in milliseconds.
    pub width_ms: u64,
    /// `None` where no packet left.
    pub ranges: Vec<Option<DelayRange>>,
}

/// More ranges than a picture has points.
const MOST_RANGES: u64 = 4096;

impl DelaySeries {
    pub(super) fn new(start_ms: u64) -> Self {
        Self { start_ms, width_ms: 1, ranges: Vec::new() }
    }

    pub(super) fn add(&mut self, at_ms: u64, delay_ms: u64) {
        let since = at_ms.saturating_sub(self.start_ms);
        while since / self.width_ms >= MOST_RANGES {
            self.ranges = self.ranges.chunks(2).map(|pair| pair.iter().copied().fold(None, joined)).collect();
            self.width_ms *= 2;
        }
        let index = (since / self.width_ms) as usize; // below MOST_RANGES
        if index >= self.ranges.len() {
            self.ranges.resize(index + 1, None);
        }
        let one = Some(DelayRange { least_ms: delay_ms, most_ms: delay_ms });
        self.ranges[index] = joined(self.ranges[index], one);
    }
}

fn joined(a: Option<DelayRange>, b: Option<DelayRange>) -> Option<DelayRange> {
    let (Some(x), Some(y)) = (a, b) else { return a.or(b) };
    Some(DelayRange { least_ms: x.least_ms.min(y.least_ms), most_ms: x.most_ms.max(y.most_ms) })
}

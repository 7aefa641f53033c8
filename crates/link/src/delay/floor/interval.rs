//! How much to send in one interval.

/// Points of the grid.
const POINTS: usize = 32;
/// Golden-section steps: the root of the sent amount to 0.1 % of that of the grid's end.
const SEARCH_STEPS: usize = 14;

/// Queues from the empty one to `end` in bytes, denser towards the empty one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Grid {
    pub(super) end: f64,
}

impl Grid {
    pub(super) fn queues(self) -> impl Iterator<Item = f64> {
        (0..POINTS).map(move |point| self.queue(point))
    }

    fn queue(self, point: usize) -> f64 {
        let place = point as f64 / (POINTS - 1) as f64;
        self.end * place * place
    }

    /// Between two points; beyond the end as steep as there.
    fn interpolate(self, values: &[f64], queue: f64) -> f64 {
        let below = ((libm::sqrt(queue / self.end) * (POINTS - 1) as f64) as usize).min(POINTS - 2);
        let share = (queue - self.queue(below)) / (self.queue(below + 1) - self.queue(below));
        values[below] + share * (values[below + 1] - values[below])
    }
}

/// An interval, and the cost after it.
pub(super) struct Interval<'a> {
    /// Bytes that the link carries in each step.
    pub(super) steps: &'a [f64],
    /// The cost of a queue at the interval's end, on the grid.
    pub(super) after: &'a [f64],
    /// Price of a sent byte, in steps.
    pub(super) price: f64,
    pub(super) grid: Grid,
}

impl Interval<'_> {
    /// The best amount to send for this queue at the beginning: golden-section search, since the cost is convex, over the root
    /// of the amount, so that small amounts are found as exactly as large ones.
    pub(super) fn best(&self, queue: f64) -> f64 {
        const GOLDEN: f64 = 0.618_033_988_749_894_9;
        let (mut low, mut high) = (0.0, 1.0);
        let sent = |root: f64| self.grid.end * root * root;
        let cost = |root: f64| self.cost(queue, sent(root));
        let (mut left, mut right) = (1.0 - GOLDEN, GOLDEN);
        let (mut at_left, mut at_right) = (cost(left), cost(right));
        for _ in 0..SEARCH_STEPS {
            if at_left <= at_right {
                (high, right, at_right) = (right, left, at_left);
                left = high - GOLDEN * (high - low);
                at_left = cost(left);
            } else {
                (low, left, at_left) = (left, right, at_right);
                right = low + GOLDEN * (high - low);
                at_right = cost(right);
            }
        }
        let best = (low + high) / 2.0;
        if self.cost(queue, 0.0) <= cost(best) { 0.0 } else { sent(best) }
    }

    /// The cost of sending this much, here and after it.
    pub(super) fn cost(&self, queue: f64, sent: f64) -> f64 {
        let passed = pass(self.steps, queue, sent);
        passed.waited - self.price * sent + self.grid.interpolate(self.after, passed.queue)
    }
}

/// An interval's effect on a queue.
#[derive(Debug, Clone, Copy)]
pub(super) struct Passed {
    /// Bytes times steps.
    pub(super) waited: f64,
    /// Bytes, at the end.
    pub(super) queue: f64,
}

/// An interval with this queue at its beginning, and this much sent evenly.
pub(super) fn pass(steps: &[f64], queue: f64, sent: f64) -> Passed {
    let arriving = sent / steps.len() as f64;
    steps.iter().fold(Passed { waited: 0.0, queue }, |passed, carried| {
        let queue = (passed.queue + arriving - carried).max(0.0);
        Passed { waited: passed.waited + queue, queue }
    })
}

//! The delay profile of `robust`: of all curves that never fall, the one nearest to the points. A larger window never
//! has a smaller delay on it, so that it has one window for every delay.

use super::curve::Curve;

/// Points pooled because they would fall otherwise: their mean stands at the mean of their windows.
#[derive(Clone, Copy)]
struct Block {
    window: f64,
    delay: f64,
    weight: f64,
}

/// The curve nearest to `points` ((window, delay in ms), weight above zero; by rising window): the blocks of isotonic
/// regression by pooling adjacent violators, joined by lines. Before the first it is flat. Beyond the last it rises
/// along the line from the origin, as the delay of a busy link does (its window over its rate), or along the line from the
/// first block to the last where that is steeper. None without a point.
pub(super) fn nearest(points: &[((f64, f64), f64)]) -> Option<Curve> {
    let blocks = pool(points);
    let (first, last) = (*blocks.first()?, *blocks.last()?);
    let mean_slope =
        if blocks.len() > 1 { (last.delay - first.delay) / (last.window - first.window) } else { 0.0 };
    let slope = mean_slope.max(last.delay / last.window);
    let mut next = 0;
    Some(Curve::tabulate(last.window as usize, slope, |window| {
        let window = window as f64;
        while next < blocks.len() && blocks[next].window < window {
            next += 1;
        }
        match (next.checked_sub(1).map(|left| blocks[left]), blocks.get(next)) {
            (None, _) => first.delay,
            (Some(_), None) => last.delay,
            (Some(left), Some(right)) => {
                let share = (window - left.window) / (right.window - left.window);
                left.delay + (right.delay - left.delay) * share
            }
        }
    }))
}

fn pool(points: &[((f64, f64), f64)]) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::with_capacity(points.len());
    for &((window, delay), weight) in points {
        let mut block = Block { window, delay, weight };
        while let Some(&before) = blocks.last().filter(|before| before.delay >= block.delay) {
            let weight = before.weight + block.weight;
            let mean = |a: f64, b: f64| (a * before.weight + b * block.weight) / weight;
            block = Block {
                window: mean(before.window, block.window),
                delay: mean(before.delay, block.delay),
                weight,
            };
            blocks.pop();
        }
        blocks.push(block);
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_curve_never_falls_and_stays_within_the_points(
            steps in prop::collection::vec((1u32..9, 20.0..600.0f64, 0.1..1.0f64), 1..100),
        ) {
            let mut x = 0;
            let points: Vec<_> =
                steps.iter().map(|&(step, y, weight)| { x += step; ((f64::from(x), y), weight) }).collect();
            let curve = nearest(&points).expect("a curve");
            let (low, high) = points.iter().fold((f64::MAX, f64::MIN), |(low, high), &((_, y), _)| (low.min(y), high.max(y)));
            for pair in curve.values().windows(2) {
                prop_assert!(pair[0] <= pair[1] + 1e-9);
            }
            for &value in curve.values() {
                prop_assert!((low - 1e-9..=high + 1e-9).contains(&value));
            }
            prop_assert!(curve.window(high * 2.0, u64::MAX).is_some(), "every delay has a window");
        }
    }

    #[test]
    fn a_hump_becomes_a_step_of_the_same_mean() {
        let points = [(1.0, 20.0), (2.0, 50.0), (3.0, 40.0), (4.0, 60.0)].map(|point| (point, 1.0));
        let curve = nearest(&points).expect("a curve");
        assert!((curve.delay(2.5) - 45.0).abs() < 8.0);
        assert!((curve.delay(1.0) - 20.0).abs() < 1e-9);
        assert!((curve.delay(4.0) - 60.0).abs() < 1e-9);
    }
}

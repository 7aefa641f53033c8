//! In one sentence: a scheme's gain over others.

use crate::comparison::{Comparison, Row};
use crate::tables::column::{RTT_MEAN, THROUGHPUT};
use cellcc_experiment::Record;

/// A delay this much shorter or longer counts as the same.
const ALIKE: f64 = 1.1;

/// The gain of `scheme` over each of `others`: in mean RTT, and at which share of their throughput, both means over the traces.
/// `None` where one of them has no runs with delays.
pub fn gain(records: &[Record], scheme: &str, others: &[&str]) -> Option<String> {
    let comparison = Comparison::new(records);
    let of = |scheme: &str| {
        let row = comparison.rows.iter().find(|row| row.scheme == scheme)?;
        Some((rtt_ms(&comparison, *row)?, comparison.mean(*row, |run| THROUGHPUT.value(run))?))
    };
    let (own_rtt, own_throughput) = of(scheme)?;
    let (mut compared, mut delays) = (Vec::new(), vec![format!("{scheme} {} ms", short(own_rtt))]);
    for other in others {
        let (rtt, throughput) = of(other)?;
        let share = own_throughput / throughput;
        compared.push(format!("{} {other} at {share:.2} of its throughput", compared_with(rtt / own_rtt)));
        delays.push(format!("{other} {} ms", short(rtt)));
    }
    (!compared.is_empty())
        .then(|| format!("{scheme}: {} (mean RTT: {}).", compared.join(", and "), delays.join(", ")))
}

fn rtt_ms(comparison: &Comparison, row: Row) -> Option<f64> {
    comparison.mean(row, |run| RTT_MEAN.value(run)).filter(|rtt| *rtt > 0.0)
}

/// How a delay compares with another one that is `times` as long.
fn compared_with(times: f64) -> String {
    if times >= ALIKE {
        format!("{} times less delay than", short(times))
    } else if times > 1.0 / ALIKE {
        "as much delay as".into()
    } else {
        format!("{} times the delay of", short(1.0 / times))
    }
}

/// Two digits, or all before the point.
fn short(value: f64) -> String {
    if value < 9.95 { format!("{value:.1}") } else { format!("{value:.0}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_is_less_alike_or_more() {
        assert_eq!(compared_with(70.4), "70 times less delay than");
        assert_eq!(compared_with(2.04), "2.0 times less delay than");
        assert_eq!(compared_with(1.0), "as much delay as");
        assert_eq!(compared_with(0.25), "4.0 times the delay of");
    }
}

//! Conditions between those of a plan that has not decided a harm: the grid of `[vary]`, made finer.

use super::vary::Vary;
use crate::PlanFile;
use toml::Value;

/// A grid of more conditions than this is not made by itself. Our choice: 4 rates x 3 RTTs x 3 queues are made finer once, to 100.
const MOST: usize = 128;

impl PlanFile {
    /// The plan with one value more between each two neighbours of `[vary]` that are numbers of one unit; the conditions there were
    /// stay, so that their runs count on. Nothing where no value lies between, or where the conditions would be more than
    /// the budget.
    pub fn finer(&self) -> Option<Self> {
        let lists = self.vary.0.iter().map(|(key, values)| (key.clone(), with_middles(values)));
        let finer = Self { vary: Vary(lists.collect()), ..self.clone() };
        let conditions = finer.variations().ok()?.len() * finer.traces.len();
        (finer.vary != self.vary && conditions <= MOST).then_some(finer)
    }
}

fn with_middles(values: &[Value]) -> Vec<Value> {
    let mut all: Vec<Value> = values.iter().take(1).cloned().collect();
    for pair in values.windows(2) {
        all.extend(middle(&pair[0], &pair[1]).filter(|between| !values.contains(between)));
        all.push(pair[1].clone());
    }
    all
}

/// The geometric mean, since conditions spread over orders of magnitude; a whole number where one lies between, as packets must be.
fn middle(one: &Value, other: &Value) -> Option<Value> {
    let ((one, unit), (other, same)) = (number(one)?, number(other)?);
    let mean = libm::sqrt(one * other);
    let is_between = |value: f64| one.min(other) < value && value < one.max(other);
    let found = if is_between(mean.round()) { mean.round() } else { (mean * 100.0).round() / 100.0 };
    (unit == same && is_between(found)).then(|| Value::String(format!("{found}{unit}")))
}

/// `0.5bdp` as 0.5 and `bdp`.
fn number(value: &Value) -> Option<(f64, &str)> {
    let text = value.as_str()?;
    let unit = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    Some((text[..unit].parse().ok()?, &text[unit..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finer(vary: &str) -> Option<Vec<String>> {
        let mut file: PlanFile = toml::from_str(&format!("[vary]\n{vary}\n")).unwrap();
        file.traces = vec!["3g".into(), "lte".into()];
        Some(file.finer()?.variations().unwrap().into_iter().map(|variation| variation.text).collect())
    }

    #[test]
    fn between_two_values_lies_their_geometric_mean_and_the_rest_stays() {
        assert_eq!(
            finer("'path.queue' = ['0.5bdp', '2bdp', '8bdp']").unwrap(),
            ["0.5bdp", "1bdp", "2bdp", "4bdp", "8bdp"].map(|queue| format!("path.queue={queue}"))
        );
        assert_eq!(finer("'path.loss' = ['1%', '2%']").unwrap()[1], "path.loss=1.41%");
        assert_eq!(finer("'path.queue' = ['33pkt', '65pkt']").unwrap()[1], "path.queue=46pkt");
        assert_eq!(finer("'path.rtt' = ['40ms', '10ms']\n'path.queue' = ['unlimited']").unwrap().len(), 3);
    }

    #[test]
    fn where_nothing_lies_between_or_the_grid_is_large_there_is_no_finer_one() {
        for vary in [
            "",
            "'path.queue' = ['8pkt', '1.5MB']",
            "'path.queue' = ['1pkt', '2pkt']",
            "'path.loss' = ['0%', '1%']",
            "'endpoint.ack_every' = [1, 4]",
            "'path.rtt' = ['1ms', '4ms', '16ms', '64ms', '256ms']\n'path.queue' = ['1bdp', '4bdp', '16bdp', '64bdp', '256bdp']",
        ] {
            assert_eq!(finer(vary), None, "{vary}");
        }
    }
}

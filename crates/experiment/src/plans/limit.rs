//! The row `limit`: a sender that knows the future, with the data of a row's flows at their times.

use crate::{FlowSetup, Mix, Scenario, Source};
use cellcc_units::{Span, Time, split_outside_parentheses};

/// The name of the run that shows what a sender that knew the future would get: `limit` of flows that have always something to send,
/// `limit:sized(1MB)` of one that has a megabyte, `limit@30s` of those that begin later.
pub const LIMIT: &str = "limit";

/// True of [`LIMIT`] and of the limit of certain flows.
pub fn is_limit(scheme: &str) -> bool {
    split_outside_parentheses(scheme, '+').all(|flow| {
        let name = flow.split_once('*').map_or(flow, |(_, name)| name);
        name.strip_prefix(LIMIT).is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '@', '~']))
    })
}

/// The limit of the flows of a Scenario, whose starts are not drawn yet.
pub(super) fn limit_of(scenario: &Scenario) -> String {
    let end = Time::ZERO + scenario.duration;
    let drawn_later = |flow: &FlowSetup| {
        if scenario.offset.is_fixed() { Span::ZERO } else { scenario.path.rtt + flow.extra_rtt }
    };
    // Its senders are always there and send all the time, unless their data have a certain size.
    let sender = |flow: &FlowSetup| {
        let source = if matches!(flow.source, Source::Sized(_)) { flow.source.clone() } else { Source::Bulk };
        let tells = matches!(source, Source::Sized(_)) || !scenario.offset.is_fixed();
        FlowSetup {
            scheme: LIMIT.into(),
            source,
            stop: flow.stop.filter(|stop| *stop < end),
            user: 0,
            extra_rtt: if tells { flow.extra_rtt } else { Span::ZERO },
            initial_window: None,
            ..flow.clone()
        }
    };
    let mut senders: Vec<FlowSetup> = scenario.flows.iter().map(sender).collect();
    if scenario.offset.is_fixed() {
        senders.sort_by_key(|flow| (flow.start, flow.source != Source::Bulk));
    }
    // A sender that another covers changes nothing. Only the last ones are dropped: the others keep the starts that are drawn.
    let covers = |one: &FlowSetup, other: &FlowSetup| {
        one.source == Source::Bulk
            && one.start + drawn_later(one) <= other.start.max(scenario.measured_from())
            && one.stop.is_none_or(|stop| other.stop.is_some_and(|other| other <= stop))
    };
    while let Some((last, others)) = senders.split_last()
        && others.iter().any(|one| covers(one, last))
    {
        senders.pop();
    }
    let mut texts: Vec<(usize, String)> = Vec::new();
    for text in senders.iter().map(text) {
        match texts.last_mut() {
            Some((count, last)) if *last == text => *count += 1,
            _ => texts.push((1, text)),
        }
    }
    let counted =
        texts.into_iter().map(|(count, text)| if count > 1 { format!("{count}*{text}") } else { text });
    counted.collect::<Vec<_>>().join("+")
}

/// The text of a flow in the form that [`Mix`] reads.
fn text(flow: &FlowSetup) -> String {
    let mut text = flow.scheme.clone();
    if flow.source != Source::Bulk {
        text += &format!(":{}", flow.source);
    }
    match flow.stop {
        Some(stop) => text += &format!("@{}..{stop}", flow.start),
        None if flow.start > Time::ZERO => text += &format!("@{}", flow.start),
        None => {}
    }
    if !flow.extra_rtt.is_zero() {
        text += &format!("~{}", flow.extra_rtt);
    }
    text
}

impl Scenario {
    /// The senders whose limit this is, with the starts that the seed draws.
    ///
    /// # Errors
    /// A scheme that is no limit's.
    pub fn limit_flows(&self) -> Result<Vec<FlowSetup>, crate::MixError> {
        let flows = Mix::parse(&self.scheme)?.flows;
        let mut demand = Self { flows, ..self.clone() };
        demand.draw_starts();
        Ok(demand.flows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux::tests::Accepting;
    use crate::{Plan, PlanFile};

    fn limits(scheme: &str, change: impl FnOnce(&mut PlanFile)) -> Vec<Scenario> {
        let mut file =
            PlanFile { schemes: vec![scheme.into()], traces: vec!["3g".into()], ..PlanFile::default() };
        change(&mut file);
        let runs = Plan::new(&file, &Accepting, "0").unwrap().runs.into_iter().map(|run| run.scenario);
        runs.filter(|run| is_limit(&run.scheme)).map(|run| run.0).collect()
    }

    #[test]
    fn a_row_has_the_limit_of_what_its_flows_send_and_when() {
        for (scheme, expected) in [
            ("cubic", "limit"),
            ("2*cubic+vegas@30s~30ms", "limit"),
            ("vegas@30s+cubic", "limit"),
            ("cubic+vegas:sized(1MB)@5s", "limit"),
            ("tide:sized(1MB)~30ms", "limit:sized(1MB)~30ms"),
            ("2*cubic:sized(1MB)@1s", "2*limit:sized(1MB)@1s"),
            ("cubic:rate(2Mbit/s)@5s..20s", "limit@5s..20s"),
            ("cubic@5s..20s+vegas@10s..90s", "limit@5s..20s+limit@10s"),
        ] {
            let limits = limits(scheme, |_| ());
            assert_eq!(
                limits.iter().map(|run| run.scheme.as_str()).collect::<Vec<_>>(),
                [expected],
                "{scheme}"
            );
        }
    }

    #[test]
    fn where_starts_are_drawn_the_limits_are_those_of_the_flows() {
        let random = |file: &mut PlanFile| file.offset = crate::Offset::Random;
        let [limit] = &limits("2*cubic", random)[..] else { panic!("one seed, one limit") };
        assert_eq!(limit.scheme, "2*limit");
        let mut row = Scenario { flows: Mix::parse("2*cubic").unwrap().flows, ..limit.clone() };
        row.draw_starts();
        let starts = |flows: &[FlowSetup]| flows.iter().map(|flow| flow.start).collect::<Vec<_>>();
        assert_eq!(starts(&limit.limit_flows().unwrap()), starts(&row.flows));
        let warmed_up = limits("2*cubic", |file| {
            random(file);
            file.warm_up = Span::from_secs(5);
        });
        assert_eq!(warmed_up[0].scheme, "limit", "both are there when it is measured");
    }
}

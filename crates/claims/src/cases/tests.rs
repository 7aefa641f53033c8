use super::*;

use cellcc_experiment::{
    Column, Driver, Metrics, Record, ResolveError, Resolved, RunError, Scenario, Series,
};
use cellcc_units::Span;

const CASES: &str =
    "says = 'x'\n[scenario]\ntraces = ['rate=10Mbit/s']\nduration = '4s'\n'endpoint.series_bin' = '1s'\n";

fn case(text: &str) -> Result<Suite, String> {
    Suite::read("cases/x.toml", &format!("{CASES}[[case]]\nname = '1'\nsays = 'y'\n{text}"))
        .map_err(|error| error.to_string())
}

/// Four seconds, with the state `drain` in the third; the RTT is higher on a trace with a step at 2 s.
struct Fake;

impl Driver for Fake {
    fn resolve(&self, _: &mut Scenario) -> Result<(), ResolveError> {
        Ok(())
    }

    fn run(&self, scenario: &Resolved) -> Result<Record, RunError> {
        assert_eq!(scenario.flows[0].scheme, "mine(x=1)");
        let rtt = if scenario.trace.starts_with("step=10Mbit/s@2s,") { 90.0 } else { 50.0 };
        let columns = [("flow0.state", [0.0, 0.0, 1.0, 0.0]), ("flow0.rtt_ms", [rtt; 4])];
        let columns = columns.map(|(name, values)| Column { name: name.into(), values: values.into() });
        let total = Metrics {
            throughput_mbit_s: if scenario.trace == "rate=1Mbit/s" { 0.0 } else { 9.0 },
            ..Metrics::default()
        };
        let series = Series { bin: Span::from_secs(1), columns: columns.into() };
        Ok(Record { total, series, ..record(scenario) })
    }
}

fn record(scenario: &Scenario) -> Record {
    Record {
        schema: 1,
        id: String::new(),
        version: String::new(),
        driver: "sim".into(),
        scenario: scenario.clone(),
        total: Metrics::default(),
        jain_index: None,
        flows: Vec::new(),
        notes: Vec::new(),
        real_time: None,
        series: Series::default(),
        curves: Vec::new(),
    }
}

fn subject() -> Subject {
    let shows = vec![ShownValue::state("state", "", &["startup", "drain"])];
    Subject { text: "mine(x=1)".into(), name: "mine".into(), shows }
}

fn findings(text: &str) -> Vec<Finding> {
    let suite = case(text).unwrap();
    let cases: Vec<&Case> = suite.cases.iter().collect();
    let run = |plan: cellcc_experiment::Plan| {
        let run = |run: &cellcc_experiment::PlannedRun| {
            (run.id, Fake.run(&run.scenario).map_err(|error| error.to_string()))
        };
        Ok::<_, ()>(plan.runs.iter().map(run).collect())
    };
    check(&cases, &subject(), &["sim".into()], &Fake, "0", run).unwrap()
}

fn rulings(text: &str) -> Vec<Ruling> {
    findings(text).iter().map(|finding| finding.ruling).collect()
}

#[test]
fn every_case_that_comes_with_cellcc_can_be_read() {
    let suites = suites().unwrap_or_else(|error| panic!("{error}"));
    assert!(suites.iter().map(|suite| suite.cases.len()).sum::<usize>() > 40);
}

#[test]
fn a_condition_holds_or_not_or_is_of_what_nobody_shows() {
    let text = "moments = { drain = 'state == drain' }\nconditions = [['rtt_ms over $drain.. <= 50', 'a'], ['$drain < 2s', 'b'], \
                ['mu over 0s.. > 1', 'c'], ['throughput_mbit_s == 9', 'd'], ['utilisation over 0s.. > 1', 'e']]";
    assert_eq!(rulings(text), [Ruling::Pass, Ruling::Fail, Ruling::Skip, Ruling::Pass, Ruling::Fail]);
    let found = findings(text);
    assert_eq!((found[1].value, found[1].bound), (Some(2.0), Some(2.0)));
    assert_eq!(found[2].why.as_deref(), Some("`mu` is not shown"));
    assert_eq!(ruling(&found), Ruling::Fail);
}

#[test]
fn a_case_is_for_any_subject_where_a_condition_needs_only_what_any_flow_has() {
    let is_for_any = |conditions: &str| {
        let moments = "moments = { drain = 'state == drain' }";
        case(&format!("{moments}\nconditions = [{conditions}]")).unwrap().cases[0].is_for_any()
    };
    assert!(is_for_any("['loss_ratio == 0', 'a'], ['mu over 0s.. > 1', 'b']"));
    assert!(is_for_any("['reached_s(rtt_ms <= 9) < 2s', 'a']"));
    assert!(!is_for_any(
        "['mu over 0s.. > 1', 'a'], ['$drain < 2s', 'b'], ['rtt_ms over $drain.. < 9', 'c']"
    ));
}

#[test]
fn a_moment_that_does_not_come_is_a_failure_and_one_that_is_not_shown_a_skip() {
    let text = |moment: &str| {
        format!(
            "moments = {{ at = '{moment}' }}\nconditions = [['$at < 9s', 'a'], ['throughput_mbit_s > 1', 'b']]"
        )
    };
    assert_eq!(rulings(&text("rtt_ms > 60")), [Ruling::Fail, Ruling::Pass]);
    assert_eq!(rulings(&text("mu > 60")), [Ruling::Skip, Ruling::Pass]);
    assert_eq!(rulings(&text("state == cruise")), [Ruling::Skip, Ruling::Pass]);
    // The second used to be read with nothing in the place of the first, and the run counted as an error.
    let two = "moments = { up = 'state == up', down = 'state == drain, $up..' }\nconditions = [['$down < 9s', 'a']]";
    assert_eq!(rulings(two), [Ruling::Skip]);
}

#[test]
fn a_second_run_has_its_change_where_the_first_found_the_moment() {
    let text = "moments = { drain = 'state == drain' }\nthen = { schemes = ['$s:bulk'], traces = ['step=10Mbit/s@$drain,1Mbit/s@9s'] }\n\
                conditions = [['rtt_ms over 3s.. == 90', 'a']]";
    assert_eq!(rulings(text), [Ruling::Pass]);
}

#[test]
fn a_run_in_which_nothing_arrives_is_an_error() {
    let found = findings("set = { traces = ['rate=1Mbit/s'] }\nconditions = [['loss_ratio == 0', 'a']]");
    assert_eq!((found.len(), found[0].ruling), (1, Ruling::Error));
    assert!(found[0].why.as_ref().unwrap().contains("stalled"));
}

#[test]
fn what_is_wrong_with_a_case_is_named_with_its_line() {
    for (text, expected) in [
        ("", "x.toml:6: x/1: it has no condition"),
        ("conditions = [['rtt_ms', 'a']]", "`rtt_ms` is no metric"),
        ("conditions = [['loss_ratio', 'a']]", "write one comparison"),
        ("conditions = [['loss_ratio over 2s < 1', 'a']]", "`over 10s..20s`"),
        ("set = { 'path.rt' = '1ms' }\nconditions = [['loss_ratio < 1', 'a']]", "rt"),
        ("moments = { a = 'rtt_ms' }\nconditions = [['loss_ratio < 1', 'a']]", "in the moment `a`"),
    ] {
        let error = case(text).unwrap_err();
        assert!(error.contains(expected), "`{expected}` is not in: {error}");
    }
}

#[test]
fn junit_counts_and_escapes() {
    let found = findings("conditions = [['throughput_mbit_s < 1', 'a < b & \"c\"']]");
    let xml = junit(&found, "mine", |_| "cellcc check 'mine'".into());
    assert!(xml.contains(r#"<testsuite name="x" tests="1" failures="1" errors="0" skipped="0">"#), "{xml}");
    assert!(xml.contains("throughput_mbit_s &lt; 1: 9 (a &lt; b &amp; &quot;c&quot;)"), "{xml}");
}

//! A run can be driven from outside: by time, or from one decision of a scheme to the next.

use cellcc_experiment::virtual_time::Ends;
use cellcc_experiment::{Driver, Plan, PlanFile, Record, Resolved, Scenario, Watch};
use cellcc_sim::SimDriver;
use cellcc_units::{Span, Time};
use std::sync::Mutex;

fn driver() -> SimDriver {
    SimDriver::new(cellcc_schemes::registry())
}

fn scenario(scheme: &str) -> Resolved {
    let file = PlanFile {
        schemes: vec![scheme.into()],
        traces: vec!["3g".into()],
        duration: Span::from_secs(5),
        ..PlanFile::default()
    };
    let plan = Plan::new(&file, &driver(), "test").expect("the test's plan is sound");
    plan.runs.into_iter().map(|run| run.scenario).find(|scenario| !scenario.flows.is_empty()).expect("a run")
}

fn text(record: &Record) -> String {
    serde_json::to_string(record).expect("text") + &format!("{:?}", record.series)
}

#[test]
fn a_run_in_steps_has_the_record_of_a_run_in_one_go() {
    for scheme in ["reminis+verus", "natcp", "rbbr"] {
        let scenario = scenario(scheme);
        let whole = text(&driver().run(&scenario).expect("the run succeeds"));
        // Steps that end within bins, at their ends, and on events.
        for step in [Span::from_micros(777), Span::from_millis(100), Span::from_secs(3)] {
            let mut run = driver().begin(&scenario).expect("the run begins");
            while !run.is_over() {
                let before = run.now();
                run.step_until(before + step).expect("the step succeeds");
                assert_eq!(run.now(), (before + step).min(Time::ZERO + scenario.duration));
            }
            assert_eq!(text(&run.finish().expect("the run succeeds")), whole, "{scheme} in steps of {step}");
        }
    }
}

/// Counts how often it is asked, and ends the run the `ends_at`th time.
struct Counting {
    asked: Mutex<Vec<Time>>,
    ends_at: usize,
}

impl Watch for Counting {
    fn goes_on(&self, now: Time) -> bool {
        let mut asked = self.asked.lock().expect("no panic");
        asked.push(now);
        asked.len() < self.ends_at
    }
}

#[test]
fn who_looks_on_changes_nothing_and_can_end_the_run() {
    for scheme in ["cubic", "limit"] {
        let mut scenario = Scenario::clone(&scenario("cubic"));
        scenario.trace = "rate=1Gbit/s".into();
        if scheme == "limit" {
            (scenario.scheme, scenario.flows) = (scheme.into(), Vec::new());
        }
        let scenario = Resolved::by(&driver(), scenario).expect("the test's Scenario is sound");
        let whole = text(&driver().run(&scenario).expect("the run succeeds"));
        let all = Counting { asked: Mutex::default(), ends_at: usize::MAX };
        let watched = driver().run_watched(&scenario, &all).expect("the run succeeds");
        assert_eq!(text(&watched), whole, "{scheme}");
        let asked = all.asked.into_inner().expect("no panic");
        // 400,000 packets, and an event or more for each.
        assert!(asked.len() > 20 && asked.is_sorted(), "{scheme}: {asked:?}");
        assert!(asked.last() <= Some(&(Time::ZERO + scenario.duration)));

        let impatient = Counting { asked: Mutex::default(), ends_at: 3 };
        let error = driver().run_watched(&scenario, &impatient).expect_err("it is ended");
        assert!(error.to_string().starts_with("stopped at "), "{error}");
        assert_eq!(impatient.asked.into_inner().expect("no panic"), asked[..3]);
    }
}

#[test]
fn a_run_stops_at_every_decision_of_the_flow_that_is_named() {
    let scenario = scenario("cubic+vegas");
    let mut run = driver().begin(&scenario).expect("the run begins");
    let mut decisions = 0;
    while run.step_to_decision(1).expect("the step succeeds") {
        let now = run.ends(1).decisions();
        assert!(now > decisions, "a step without a decision");
        decisions = now;
    }
    assert!(run.is_over());
    assert_ne!(decisions, 0);
    let whole = driver().run(&scenario).expect("the run succeeds");
    assert_eq!(text(&run.finish().expect("the run succeeds")), text(&whole));
}

/// Asked too early, a sender that has nothing to send yet tells its scheme that the application limits it.
#[test]
fn a_flow_that_has_not_begun_is_not_asked_for_packets() {
    let mut scenario = Scenario::clone(&scenario("cubic+vegas"));
    let start = Time::ZERO + Span::from_secs(1);
    scenario.flows[1].start = start;
    let scenario = Resolved::by(&driver(), scenario).expect("the test's Scenario is sound");
    let mut run = driver().begin(&scenario).expect("the run begins");
    run.step_until(start - Span::from_nanos(1)).expect("the step succeeds");
    assert_eq!(run.ends(1).decisions(), 0);
    run.step_until(start).expect("the step succeeds");
    assert_ne!(run.ends(1).decisions(), 0);
}

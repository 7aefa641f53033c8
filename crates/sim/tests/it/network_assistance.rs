//! NetAssist at the simulated base station, seen by a scheme that only records its advice.

use cellcc_control::{Ack, Advice, AdviceRequest, Context, Controller, Limits, Loss, Observer, SchemeInfo};
use cellcc_experiment::{AdviceRoute, CellSetup, Driver, NetAssist, Plan, PlanFile, Record, ReportSource};
use cellcc_sim::SimDriver;
use cellcc_units::{QueueLimit, Ratio, Span, Time};

/// A fixed window that shows the reports it gets.
fn listener() -> SchemeInfo {
    SchemeInfo::new("listener", "a fixed window that shows the reports it gets", "this test", |_, context| {
        Box::new(Listener { context: *context, heard: 0, last: None })
    })
    .with_advice(|_| AdviceRequest::default())
}

#[derive(Clone)]
struct Listener {
    context: Context,
    heard: u32,
    last: Option<(Time, Advice)>,
}

impl Controller for Listener {
    fn on_ack(&mut self, _ack: &Ack<'_>) {}

    fn on_loss(&mut self, _loss: &Loss<'_>) {}

    fn on_advice(&mut self, now: Time, advice: &Advice) {
        self.heard += 1;
        self.last = Some((now, *advice));
    }

    fn limits(&self) -> Limits {
        Limits::window_only(self.context.packet * 100)
    }

    fn observe(&self, observer: &mut dyn Observer) {
        let Some((at, advice)) = self.last else { return };
        observer.value("heard", "", f64::from(self.heard));
        observer.value("heard_at", "ms", at.since(Time::ZERO).as_millis_f64());
        observer.value("bandwidth", "mbit_s", advice.bandwidth.as_mbit_per_sec());
        if let Some(parts) = advice.min_rtt {
            observer.value("min_rtt", "ms", parts.total().as_millis_f64());
        }
        observer.value("age", "ms", advice.age.as_millis_f64());
        observer.value("flows", "", f64::from(advice.flows));
    }
}

/// 12 Mbit/s, and 24 after two seconds; one packet in service is 1 ms, or half.
const LINK: &str = "step=12Mbit/s@2s,24Mbit/s@8s";

fn listen(scheme: &str, change: impl FnOnce(&mut NetAssist)) -> Record {
    let mut registry = cellcc_schemes::registry();
    registry.register(listener());
    let driver = SimDriver::new(registry);
    let mut file = PlanFile {
        schemes: vec![scheme.into()],
        traces: vec![LINK.into()],
        duration: Span::from_secs(5),
        ..PlanFile::default()
    };
    change(&mut file.netassist);
    let plan = Plan::new(&file, &driver, "test").expect("the test's plan is sound");
    driver.run(&plan.runs[1].scenario).expect("the run succeeds")
}

/// Flow 0's value at the end of the 100-ms bin that ends at `millis`.
fn shown(record: &Record, name: &str, millis: usize) -> f64 {
    let column = record.series.column(&format!("flow0.{name}")).expect("shown");
    f64::from(column[millis / 100 - 1])
}

#[test]
fn the_causal_source_tells_what_was_served_and_so_a_change_one_period_late() {
    let record = listen("listener", |_| ());
    assert!((shown(&record, "bandwidth_mbit_s", 2000) / 12.0 - 1.0).abs() < 0.01);
    // The report of 2050 ms covers 2000 to 2050 ms.
    assert!((shown(&record, "bandwidth_mbit_s", 2100) / 24.0 - 1.0).abs() < 0.05);
    let heard = shown(&record, "heard", 5000);
    assert!((97.0..=99.0).contains(&heard), "one in 50 ms but for the first: {heard}");
}

#[test]
fn the_oracle_tells_what_is_to_come() {
    let at_2100 = |source| {
        let record = listen("listener", |netassist| {
            netassist.source = source;
            netassist.period = Span::from_millis(100);
        });
        shown(&record, "bandwidth_mbit_s", 2100)
    };
    // Both were made at 2000 ms, when the rate changed: one of the 100 ms after that, one of those before.
    assert!((at_2100(ReportSource::Oracle) / 24.0 - 1.0).abs() < 0.01);
    assert!((at_2100(ReportSource::Causal) / 12.0 - 1.0).abs() < 0.01);
}

#[test]
fn the_minimum_rtt_is_the_network_and_one_packet_at_the_reported_rate() {
    let record = listen("listener", |_| ());
    assert!((shown(&record, "min_rtt_ms", 2000) - 21.0).abs() < 0.02);
    assert!((shown(&record, "min_rtt_ms", 5000) - 20.5).abs() < 0.02);
}

#[test]
fn reports_on_acknowledgements_come_half_an_rtt_after_the_base_station_and_only_with_them() {
    let record = listen("listener", |netassist| netassist.route = AdviceRoute::InBand);
    // The report of 2050 ms rides on the next ACK and needs 10 ms from the base station to the server.
    let age = shown(&record, "age_ms", 2100);
    assert!((10.0..=11.0).contains(&age), "{age}");
}

#[test]
fn no_report_comes_in_an_outage_and_they_resume_after_it() {
    let outage = serde_json::from_str("\"1s..3s\"").expect("an outage");
    let record = listen("listener", |netassist| netassist.outages = vec![outage]);
    assert_eq!(shown(&record, "heard", 1100), shown(&record, "heard", 2900));
    assert!(shown(&record, "heard", 3200) > shown(&record, "heard", 2900));
}

#[test]
fn lost_reports_are_missing_and_wrong_ones_are_wrong() {
    let record = listen("listener", |netassist| {
        netassist.loss = Ratio::new(0.5);
        netassist.scale = Ratio::new(10.0);
    });
    let heard = shown(&record, "heard", 5000);
    assert!((35.0..=65.0).contains(&heard), "half of 98: {heard}");
    assert!((shown(&record, "bandwidth_mbit_s", 5000) / 240.0 - 1.0).abs() < 0.05);
}

#[test]
fn reports_become_wrong_when_the_scenario_says_so() {
    let record = listen("listener", |netassist| {
        netassist.wrong_from = Time::ZERO + Span::from_secs(3);
        netassist.scale = Ratio::ZERO;
        netassist.late = Span::from_millis(500);
    });
    let bandwidth = |millis| shown(&record, "bandwidth_mbit_s", millis);
    assert!(
        (bandwidth(3400) / 24.0 - 1.0).abs() < 0.01,
        "the first wrong one is on its way: {}",
        bandwidth(3400)
    );
    assert_eq!(bandwidth(3600), 0.0);
    assert!((shown(&record, "age_ms", 3600) / 501.0 - 1.0).abs() < 0.001);
}

#[test]
fn half_of_the_reports_come_twice_or_late() {
    let heard = |change: fn(&mut NetAssist)| shown(&listen("listener", change), "heard", 5000);
    let all = heard(|_| ());
    let twice = heard(|netassist| netassist.duplicated = Ratio::new(0.5));
    assert!((1.33..=1.67).contains(&(twice / all)), "half as much again: {twice}");
    // One that is late arrives on its own, between two others.
    let reordered = heard(|netassist| netassist.reordered = Ratio::new(0.5));
    assert!((all - 2.0..=all).contains(&reordered), "{reordered}");
}

#[test]
fn the_network_counts_the_flows_of_a_user_while_they_send() {
    let record = listen("listener+cubic@1s..3s", |_| ());
    let flows = [900, 2000, 4900].map(|millis| shown(&record, "flows", millis));
    assert_eq!(flows, [1.0, 2.0, 1.0]);
}

/// The second period after a change of cell is the first that the new NetAssist has measured whole; the third is the first with
/// its report.
const RECOVERY_PERIODS: usize = 3;

#[test]
fn in_another_cell_a_flow_has_its_rate_again_after_three_periods() {
    let driver = SimDriver::new(cellcc_schemes::registry());
    for (before, after) in [(5.0, 20.0), (20.0, 5.0)] {
        for scheme in ["natcp", "nacubic", "nabbr"] {
            let mut file = PlanFile {
                schemes: vec![scheme.into()],
                traces: vec![format!("step={before}Mbit/s@5s,{after}Mbit/s@5s")],
                duration: Span::from_secs(7),
                ..PlanFile::default()
            };
            file.endpoint.series_bin = Span::from_millis(50);
            file.netassist.handovers = vec![Time::ZERO + Span::from_secs(5)];
            let plan = Plan::new(&file, &driver, "test").expect("the test's plan is sound");
            let record = driver.run(&plan.runs[1].scenario).expect("the run succeeds");
            let shown = |name| record.series.column(name).expect("shown");
            // Bins of 50 ms; the change is at the beginning of the hundredth.
            let recovered = 100 + RECOVERY_PERIODS;
            let reported = f64::from(shown("flow0.advised_bandwidth_mbit_s")[recovered]);
            assert!((0.9..=1.1).contains(&(reported / after)), "{scheme} from {before}: reported {reported}");
            let rates = &shown("flow0.throughput_mbit_s")[recovered..recovered + 20];
            let rate = f64::from(rates.iter().sum::<f32>()) / rates.len() as f64;
            assert!(rate >= 0.9 * after, "{scheme} from {before}: {rate} Mbit/s");
        }
    }
}

/// Periods after which a flow must have found the capacity, and over which its rate is then compared.
const RATCHET_PERIODS: usize = 10;

/// A flow's rates in ten periods, from ten periods after a trickle's end, together, on a link or in a cell with one user more.
fn megabits(link: &str, rtt_ms: u64, cell: Option<&CellSetup>, scheme: &str, flow: usize) -> f32 {
    let driver = SimDriver::new(cellcc_schemes::registry());
    let mut file = PlanFile {
        schemes: vec![scheme.into()],
        traces: vec![link.into()],
        duration: Span::from_secs(12),
        cell: cell.cloned(),
        ..PlanFile::default()
    };
    file.path.rtt = Span::from_millis(rtt_ms);
    file.endpoint.series_bin = Span::from_millis(50);
    let plan = Plan::new(&file, &driver, "test").expect("the test's plan is sound");
    let run = plan.runs.iter().find(|run| !run.scenario.flows.is_empty()).expect("a run with flows");
    let record = driver.run(&run.scenario).expect("the run succeeds");
    let column = format!("flow{flow}.throughput_mbit_s");
    let rates = record.series.column(&column).expect("a flow");
    // Bins of 50 ms: the trickle ends with the two-hundredth.
    let found = 200 + RATCHET_PERIODS;
    rates[found..found + RATCHET_PERIODS].iter().sum()
}

#[test]
fn ten_periods_after_a_trickle_a_greedy_flow_has_what_one_has_that_was_greedy_all_along() {
    for link in ["5g-mmwave-walk", "5g-mmwave-drive", "lte-drive", "lte-static", "3g"] {
        let greedy = megabits(link, 20, None, "natcp", 0);
        let after_a_trickle = megabits(link, 20, None, "natcp:rate(0.2Mbit/s)@0s..10s+natcp@10s", 1);
        assert!(after_a_trickle >= 0.9 * greedy, "{link}: {after_a_trickle} of {greedy}");
    }
}

#[test]
fn in_a_cell_it_has_what_the_other_user_leaves_however_its_packets_fall_into_slots() {
    let cell = CellSetup { scheduler: "round-robin".into(), users: vec!["rate=20Mbit/s".into()] };
    let scheme = "natcp:rate(0.2Mbit/s)@0s..10s+natcp@10s+natcp:rate(1Mbit/s)#1";
    for rtt in [20, 25, 30, 35, 40] {
        let mean = f64::from(megabits("rate=20Mbit/s", rtt, Some(&cell), scheme, 1)) / RATCHET_PERIODS as f64;
        assert!(mean >= 0.9 * 19.0, "{rtt} ms: {mean} of 19");
    }
}

/// The flow's own minimum RTT was the queue that it found, and made a window that kept it: 1036 ms for as long as the flow ran.
#[test]
fn a_flow_that_begins_behind_a_full_queue_lets_it_drain() {
    let driver = SimDriver::new(cellcc_schemes::registry());
    for natcp in ["natcp", "natcp(guard=off)"] {
        let mut file = PlanFile {
            schemes: vec![format!("cubic@0s..10s+{natcp}@5s")],
            traces: vec!["rate=20Mbit/s".into()],
            duration: Span::from_secs(30),
            ..PlanFile::default()
        };
        file.path.rtt = Span::from_millis(40);
        file.path.queue = QueueLimit::Time(Span::from_secs(1)).into();
        let plan = Plan::new(&file, &driver, "test").expect("the test's plan is sound");
        let record = driver.run(&plan.runs[1].scenario).expect("the run succeeds");
        let rtts = record.series.column("flow1.rtt_ms").expect("shown");
        let late = &rtts[200..];
        // The guard probes now and then.
        let short = late.iter().filter(|&&rtt| rtt < 82.0).count();
        assert!(short >= late.len() * 9 / 10, "{natcp}: {late:?}");
    }
}

//! The driver in virtual time: real QUIC, the same result every time.

mod ends;
#[path = "virtual_time/wrong_feeds.rs"]
mod wrong_feeds;

use cellcc_experiment::{AdviceRoute, CellSetup, Driver, Metrics, Outage, Plan, PlanError, PlanFile, Record};
use cellcc_quic_drivers::{Protection, VirtualDriver};
use cellcc_sim::SimDriver;
use cellcc_test_support::KINDS;
use cellcc_units::{Ratio, Span, Time};
use std::fmt::Write;

fn driver() -> VirtualDriver {
    VirtualDriver::new(cellcc_schemes::registry())
}

fn plan(
    driver: &dyn Driver,
    schemes: &[&str],
    trace: &str,
    change: impl FnOnce(&mut PlanFile),
) -> Result<Plan, PlanError> {
    let mut file = PlanFile {
        schemes: schemes.iter().map(|text| text.to_string()).collect(),
        traces: vec![trace.into()],
        duration: "5s".parse().unwrap(),
        ..PlanFile::default()
    };
    change(&mut file);
    Plan::new(&file, driver, "test")
}

/// Runs each scheme (or mix) on one link and gives the Records.
fn run(
    driver: &dyn Driver,
    schemes: &[&str],
    trace: &str,
    change: impl FnOnce(&mut PlanFile),
) -> Vec<Record> {
    let plan = plan(driver, schemes, trace, change).expect("the test's plan is sound");
    of_plan(driver, &plan)
}

fn of_plan(driver: &dyn Driver, plan: &Plan) -> Vec<Record> {
    let runs = plan.runs.iter().filter(|run| !run.scenario.flows.is_empty());
    runs.map(|run| driver.run(&run.scenario).expect("the run succeeds")).collect()
}

/// The one Record of one scheme (or mix) at 12 Mbit/s.
fn one(scheme: &str, change: impl FnOnce(&mut PlanFile)) -> Record {
    run(&driver(), &[scheme], "rate=12Mbit/s", change).remove(0)
}

fn rtt_ms(metrics: &Metrics) -> f64 {
    metrics.rtt_mean_ms.expect("samples")
}

fn queueing_ms(metrics: &Metrics) -> f64 {
    metrics.queueing_delay_mean_ms.expect("packets")
}

fn text(record: &Record) -> String {
    serde_json::to_string(record).unwrap() + &format!("{:?}", record.series)
}

const WITHOUT_ADVICE: [&str; 15] = [
    "cubic",
    "newreno",
    "vegas",
    "westwood",
    "copa",
    "c2tcp",
    "vivace",
    "bbr2",
    "bbr3",
    "tide",
    "bbr",
    "rbbr",
    "reminis",
    "verus",
    "fixed-window(window=20pkt)",
];

#[test]
fn schemes_in_real_quic_on_a_constant_link() {
    let mut table = String::from("scheme                     Mbit/s  queueing ms  RTT ms  sent  lost\n");
    for record in run(&driver(), &WITHOUT_ADVICE, "rate=12Mbit/s", |_| ()) {
        let total = &record.total;
        let queueing = total.queueing_delay_mean_ms.unwrap_or(f64::NAN);
        let rtt = total.rtt_mean_ms.unwrap_or(f64::NAN);
        let (sent, lost) = (total.sent_packets, total.lost_packets);
        let rate = total.throughput_mbit_s;
        writeln!(
            table,
            "{:26} {rate:6.2}  {queueing:11.1}  {rtt:6.1}  {sent:4}  {lost:4}",
            record.scenario.scheme
        )
        .unwrap();
    }
    insta::assert_snapshot!(table);
}

#[test]
fn the_same_scenario_gives_the_same_record_to_the_byte() {
    let lossy = |file: &mut PlanFile| file.path.loss = "1%".parse().unwrap();
    let once = run(&driver(), &KINDS, "rate=12Mbit/s", lossy);
    let again = run(&driver(), &KINDS, "rate=12Mbit/s", lossy);
    for (once, again) in once.iter().zip(&again) {
        assert_eq!(text(once), text(again));
    }
}

#[test]
fn encryption_changes_nothing_that_is_measured() {
    let bare = run(&driver(), &["cubic"], "rate=12Mbit/s", |_| ());
    let tls = run(
        &VirtualDriver::with_protection(cellcc_schemes::registry(), Protection::Tls),
        &["cubic"],
        "rate=12Mbit/s",
        |_| (),
    );
    assert_eq!(text(&bare[0]), text(&tls[0]));
}

#[test]
fn a_sized_source_completes() {
    let records = run(&driver(), &["cubic:sized(1MB)"], "rate=12Mbit/s", |_| ());
    let took = records[0].total.completion_time_s.expect("it completes");
    // 0.67 s on the link, slow start, the handshake.
    assert!((0.7..1.2).contains(&took), "{took}");
}

#[test]
fn a_source_of_a_rate_sends_at_it_and_queues_nothing() {
    let total = one("cubic:rate(2Mbit/s)", |_| ()).total;
    assert!((1.95..2.1).contains(&total.throughput_mbit_s), "{}", total.throughput_mbit_s);
    assert!((20.0..23.0).contains(&rtt_ms(&total)), "{}", rtt_ms(&total));
}

#[test]
fn an_on_off_source_is_silent_half_of_the_time() {
    let record = one("vegas:on-off(1s,1s)", |file| file.duration = "6s".parse().unwrap());
    let column = record.series.column("flow0.throughput_mbit_s").expect("a column");
    // 100 ms after a change the queue is empty, or the window full.
    let mean = |from: usize| column[from..from + 8].iter().sum::<f32>() / 8.0;
    for second in [0, 20, 40] {
        assert!(mean(second + 2) > 8.0, "on: {column:?}");
        assert!(mean(second + 12) < 0.5, "off: {column:?}");
    }
}

#[test]
fn frames_are_in_time_where_the_link_is_fast_enough_and_late_where_not() {
    let frames = |link| {
        let total = run(&driver(), &["bbr:frames(4Mbit/s,100ms)"], link, |_| ()).remove(0).total;
        (total.frames.expect("an outcome"), total.deadline_miss_ratio.expect("an outcome"))
    };
    let (count, missed) = frames("rate=12Mbit/s");
    assert!(count > 100 && missed < 0.02, "{missed} of {count}");
    let (count, missed) = frames("rate=2Mbit/s");
    assert!(count > 100 && missed > 0.9, "{missed} of {count}");
}

const ASSISTED: [&str; 5] = ["natcp", "nacubic", "nacap", "tg", "nabbr"];

#[test]
fn schemes_with_the_networks_advice_next_to_the_simulator() {
    let mut table = String::from("source  scheme   Mbit/s    sim  RTT ms    sim\n");
    for source in ["causal", "oracle"] {
        let schemes = ASSISTED.map(|name| format!("{name}(source={source})"));
        let schemes = schemes.each_ref().map(String::as_str);
        let quic = run(&driver(), &schemes, "rate=12Mbit/s", |_| ());
        let sim = run(&simulator(), &schemes, "rate=12Mbit/s", |_| ());
        for ((name, quic), sim) in ASSISTED.iter().zip(&quic).zip(&sim) {
            let (quic, sim) = (&quic.total, &sim.total);
            writeln!(
                table,
                "{source}  {name:7}  {:6.2} {:6.2}  {:6.1} {:6.1}",
                quic.throughput_mbit_s,
                sim.throughput_mbit_s,
                rtt_ms(quic),
                rtt_ms(sim)
            )
            .unwrap();
        }
    }
    insta::assert_snapshot!(table);
}

/// NATCP with an oracle whose reports are as old as this, 20 s.
fn natcp(driver: &dyn Driver, link: &str, age_ms: u64, ack_every: u32) -> Record {
    let scheme = format!("natcp(source=oracle,delay={})", Span::from_millis(age_ms));
    run(driver, &[&scheme], link, |file| {
        file.duration = Span::from_secs(20);
        file.endpoint.ack_every = ack_every;
    })
    .remove(0)
}

fn simulator() -> SimDriver {
    SimDriver::new(cellcc_schemes::registry())
}

/// The mean RTT in QUIC by that in the simulator, with reports of these ages in ms.
fn rtt_ratio(link: &str, quics_age: u64, sims_age: u64, ack_every: u32) -> f64 {
    let quic = natcp(&driver(), link, quics_age, ack_every);
    rtt_ms(&quic.total) / rtt_ms(&natcp(&simulator(), link, sims_age, ack_every).total)
}

#[test]
fn natcp_with_an_oracle_has_the_simulators_rtt_within_a_twentieth() {
    // On a constant link old reports are as good as new ones, and only packets that leave before the first one count: QUIC
    // begins to send data when its handshake is through, after 20 ms.
    let cases =
        [("rate=12Mbit/s", 0, 0), ("rate=12Mbit/s", 20, 0), ("rate=12Mbit/s", 25, 5), ("lte-drive", 1, 1)];
    for (link, quics_age, sims_age) in cases {
        let ratio = rtt_ratio(link, quics_age, sims_age, 1);
        assert!((0.95..1.05).contains(&ratio), "{link}, {quics_age} and {sims_age} ms: {ratio}");
    }
}

#[test]
fn reports_that_come_during_the_handshake_spare_quic_the_queue_of_the_start() {
    // Reports with their default age: in the simulator ten packets leave before the first and are in the queue.
    // Within twice the tenth that the two are to agree on.
    for ack_every in [1, 2, 8] {
        let ratio = rtt_ratio("rate=12Mbit/s", 1, 1, ack_every);
        assert!((0.8..1.0).contains(&ratio), "{ratio} with {ack_every} packets an acknowledgement");
    }
}

#[test]
fn the_queue_of_the_start_stands_until_the_first_probe_however_often_packets_are_acknowledged() {
    // Ten packets leave before the first report, and NATCP paces at the link's rate until its guard probes after the second
    // interval, a second, and drains the probe's excess.
    for ack_every in [1, 2, 8] {
        let record = natcp(&driver(), "rate=12Mbit/s", 25, ack_every);
        let rtts = record.series.column("flow0.rtt_ms").expect("a column");
        let (early, late, after) = (rtts[5], rtts[95], rtts[150]);
        assert!((25.0..31.1).contains(&early), "ten packets of 1 ms: {early} ms at 0.5 s");
        for rtt in [late, after] {
            assert!(
                (21.0..21.1).contains(&rtt),
                "the queue of the start is gone: {rtt} ms, {ack_every} an ACK"
            );
        }
        assert!(record.total.utilisation > 0.99, "{}", record.total.utilisation);
        assert_eq!(record.total.lost_packets, 0);
    }
}

#[test]
fn two_flows_share_by_the_networks_count_and_by_the_users() {
    let through = |fairness: &str| {
        let mix = format!("2*natcp(fairness={fairness})");
        one(&mix, |file| file.netassist.source = cellcc_experiment::ReportSource::Oracle)
    };
    let alone = queueing_ms(&through("none").total);
    for fairness in ["network", "report"] {
        let record = through(fairness);
        for flow in &record.flows {
            let rate = flow.metrics.throughput_mbit_s;
            assert!((5.0..7.0).contains(&rate), "{fairness}: {rate}");
        }
        // Where each takes the link for its own, a whole bandwidth-delay product stands in the queue.
        let shared = queueing_ms(&record.total);
        assert!(shared < alone / 2.0, "{fairness}: {shared} ms, with nobody's count {alone} ms");
    }
}

#[test]
fn regulated_acknowledgements_are_refused_by_name() {
    let refused = plan(&driver(), &["natcp(fairness=acks)"], "rate=12Mbit/s", |_| ());
    let error = refused.expect_err("noq's receivers acknowledge when they do").to_string();
    assert!(error.contains("fairness=acks") && error.contains("driver `sim`"), "{error}");
}

#[test]
fn advice_in_band_arrives_with_acknowledgements() {
    let queue_ms = |route: AdviceRoute, text: &str| {
        let record = one(text, |file| file.netassist.route = route);
        assert!(record.total.utilisation > 0.9, "{text}: {}", record.total.utilisation);
        queueing_ms(&record.total)
    };
    let out_of_band = queue_ms(AdviceRoute::OutOfBand, "natcp");
    for text in ["natcp", "natcp(route=in-band)"] {
        let in_band = queue_ms(AdviceRoute::InBand, text);
        // Without advice CUBIC takes over, and has more than ten times the queue (below).
        assert!(in_band < 2.0 * out_of_band, "{text}: {in_band} ms, out of band {out_of_band} ms");
    }
}

#[test]
fn wrong_reports_missing_reports_and_longer_paths_reach_quic_too() {
    // The guard would find half of the truth.
    let halved = one("natcp(guard=off)", |file| file.netassist.scale = Ratio::new(0.5));
    assert!((5.0..6.1).contains(&halved.total.throughput_mbit_s), "{}", halved.total.throughput_mbit_s);
    let never = one("natcp", |file| {
        file.netassist.outages = vec![Outage { from: Time::ZERO, to: Time::ZERO + file.duration }];
    });
    assert!(queueing_ms(&never.total) > 10.0 * queueing_ms(&one("natcp", |_| ()).total), "CUBIC takes over");
    // A report that held the first second's minimum RTT on would halve the window from then on.
    let longer = one("natcp", |file| file.path.extra_delay = "0ms@1s,20ms@1s".into());
    assert!(longer.total.utilisation > 0.9, "{}", longer.total.utilisation);
}

#[test]
fn an_oracle_in_a_cell_tells_each_user_its_share() {
    let record = one("natcp(source=oracle)+natcp(source=oracle)#1", |file| {
        file.cell = Some(CellSetup { scheduler: "round-robin".into(), users: vec!["rate=12Mbit/s".into()] });
    });
    for flow in &record.flows {
        let rate = flow.metrics.throughput_mbit_s;
        assert!((5.0..6.5).contains(&rate), "{rate}");
    }
}

#[test]
fn a_mark_is_answered_as_a_loss_is_without_one() {
    let through = |queue: &str| {
        one("cubic", |file| {
            file.duration = "20s".parse().unwrap();
            file.path.queue = queue.parse().unwrap();
        })
        .total
    };
    let (marked, dropped, neither) = (through("codel(ecn)"), through("codel"), through("droptail(1000pkt)"));
    assert!(dropped.lost_packets > 0);
    assert_eq!((marked.lost_packets, marked.retransmitted_packets), (0, 0));
    let (marked, neither) = (queueing_ms(&marked), queueing_ms(&neither));
    assert!(marked < 0.1 * neither, "{marked} ms, {neither} ms");
}

#[test]
fn users_of_a_cell_have_their_share_and_their_advice() {
    // Without the guard, whose first probe drains the queue of the start. Then a round-robin cell gives CUBIC's user the slots
    // in which NATCP has nothing to send, and the reports to NATCP fall: 4.6 of 12 Mbit/s in 20 s.
    let record = one("cubic+natcp(guard=off)#1", |file| {
        file.cell = Some(CellSetup { scheduler: "round-robin".into(), users: vec!["rate=12Mbit/s".into()] });
    });
    let [cubic, natcp] = [0, 1].map(|index| &record.flows[index].metrics);
    for flow in [cubic, natcp] {
        assert!((5.0..6.5).contains(&flow.throughput_mbit_s), "{}", flow.throughput_mbit_s);
    }
    // Its own queue, and the other's does not count.
    assert!(rtt_ms(natcp) < 40.0 && rtt_ms(cubic) > 200.0, "{} ms, {} ms", rtt_ms(natcp), rtt_ms(cubic));
}

#[test]
fn packets_that_arrive_late_are_repeated_and_nothing_is_missing() {
    let record = one("cubic:sized(1MB)", |file| {
        file.path.reordered = "2%".parse().expect("a share");
        file.path.reordered_by = Span::from_millis(10);
    });
    let total = &record.total;
    assert_eq!(total.lost_packets, 0);
    assert!(total.retransmitted_packets > 0, "10 packets of the link are beyond the threshold of 3");
    assert!(total.completion_time_s.is_some());
}

#[test]
fn an_extra_rtt_is_the_flows_own() {
    let record = one("fixed-window(window=2pkt)+fixed-window(window=2pkt)~30ms", |_| ());
    let [near, far] = [0, 1].map(|index| rtt_ms(&record.flows[index].metrics));
    assert!((far - near - 30.0).abs() < 1.0, "{near} ms, {far} ms");
}

#[test]
fn transfers_go_on_after_ten_seconds_without_a_packet() {
    let records = run(&driver(), &KINDS, "rate=2Mbit/s", |file| {
        file.duration = Span::from_secs(35);
        file.path.extra_loss = "0%@5s,100%@10s,0%@20s".into();
        // 300 ms of the link.
        file.path.queue = "50pkt".parse().unwrap();
    });
    for record in records {
        let throughput = record.series.column("flow0.throughput_mbit_s").unwrap();
        // The queue is empty five seconds into the outage.
        assert_eq!(throughput[100..150].iter().sum::<f32>(), 0.0, "{}", record.scenario.scheme);
        // The probe timeout doubles, so a probe leaves at most ten seconds after the outage.
        let after_mbit = throughput[150..].iter().sum::<f32>() / 10.0;
        assert!(after_mbit > 4.0, "{}: {after_mbit} Mbit", record.scenario.scheme);
    }
}

/// Prague and other users of a queue of DualPI2, after slow start.
fn through_dualpi2(driver: &dyn Driver, schemes: &str, mbit: u64, rtt_ms: u64) -> Record {
    run(driver, &[schemes], &format!("rate={mbit}Mbit/s"), |file| {
        file.duration = Span::from_secs(40);
        file.warm_up = Span::from_secs(20);
        file.path.rtt = Span::from_millis(rtt_ms);
        file.path.queue = "dualpi2".parse().unwrap();
    })
    .remove(0)
}

#[test]
fn prague_in_quic_uses_the_link_with_a_short_queue_as_in_the_simulator() {
    let mut table = String::from("Mbit/s  RTT ms  q50 ms q99 ms    use  and in the simulator\n");
    for (mbit, rtt) in [(20, 20), (50, 20), (50, 40)] {
        let quic = through_dualpi2(&driver(), "prague", mbit, rtt);
        let sim = through_dualpi2(&simulator(), "prague", mbit, rtt);
        write!(table, "{mbit:6}  {rtt:6}").unwrap();
        for record in [&quic, &sim] {
            let total = &record.total;
            let delay = |ms: Option<f64>| ms.expect("packets");
            let (p50, p99) = (delay(total.queueing_delay_p50_ms), delay(total.queueing_delay_p99_ms));
            write!(table, "  {p50:6.2} {p99:6.2} {:6.3}", total.utilisation).unwrap();
            assert_eq!(total.lost_packets, 0);
        }
        table.push('\n');
        let p99 = |record: &Record| record.total.queueing_delay_p99_ms.expect("packets");
        assert!((p99(&quic) - p99(&sim)).abs() < 1.0, "{table}");
        let ratio = quic.total.throughput_mbit_s / sim.total.throughput_mbit_s;
        assert!((0.95..1.05).contains(&ratio), "{table}");
        assert!(!quic.notes.iter().any(|note| note.contains("ECT(1)")), "{:?}", quic.notes);
        let validation = [&quic, &sim].map(|record| record.flows[0].ecn_validation.as_deref());
        assert_eq!(validation, [Some("ok"), None]);
    }
    insta::assert_snapshot!(table);
}

#[test]
fn prague_in_quic_shares_dualpi2_with_cubic_and_waits_less() {
    let record = through_dualpi2(&driver(), "prague+cubic", 50, 40);
    let [prague, cubic] = &record.flows[..] else { panic!("two flows") };
    let share = prague.metrics.throughput_mbit_s / record.total.throughput_mbit_s;
    assert!((0.3..0.7).contains(&share), "{share}");
    let (prague, cubic) = (queueing_ms(&prague.metrics), queueing_ms(&cubic.metrics));
    assert!(prague < 2.0 && cubic > 5.0 * prague, "{prague} ms, {cubic} ms");
}

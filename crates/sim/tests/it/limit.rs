//! The row `limit`: no scheme carries more, uses more of the link, or is through earlier.

use cellcc_experiment::{Driver, Plan, PlanFile, Record, is_limit};
use cellcc_sim::SimDriver;
use cellcc_units::Span;
use proptest::prelude::*;

/// The Records of a plan: those of limits, and the others.
fn records(file: &PlanFile) -> (Vec<Record>, Vec<Record>) {
    let driver = SimDriver::new(cellcc_schemes::registry());
    let plan = Plan::new(file, &driver, "test").expect("the test's plan is sound");
    let records = plan.runs.iter().map(|run| driver.run(&run.scenario).expect("the run succeeds"));
    records.partition(|record| is_limit(&record.scenario.scheme))
}

/// Holds the rows of a plan of one scheme against their limits.
fn assert_none_beats_the_limit(file: &PlanFile) {
    let (limits, rows) = records(file);
    for row in rows {
        let limit =
            limits.iter().find(|limit| limit.scenario.seed == row.scenario.seed).unwrap_or(&limits[0]);
        let (of_row, of_limit) = (&row.total, &limit.total);
        let what = format!("{:?}\n{:?}\n{:?}", row.scenario, of_row, of_limit);
        assert!(of_row.utilisation <= 1.0, "{what}");
        // A flow's retransmissions count twice, and the sender that knows the future has none: with a given size, it sends less.
        if of_row.retransmitted_packets == 0 || !row.scenario.scheme.contains("sized") {
            assert!(of_row.utilisation <= of_limit.utilisation, "{what}");
            assert!(of_row.throughput_mbit_s <= of_limit.throughput_mbit_s, "{what}");
        }
        if let Some(completed_s) = of_row.completion_time_s {
            assert!(of_limit.completion_time_s.is_some_and(|limit_s| limit_s <= completed_s), "{what}");
        }
    }
}

fn plan(scheme: &str, trace: &str, seconds: u64) -> PlanFile {
    PlanFile {
        schemes: vec![scheme.into()],
        traces: vec![trace.into()],
        duration: Span::from_secs(seconds),
        ..PlanFile::default()
    }
}

/// 0.99979 of the link in the row of CUBIC, and 0.999 in that of the limit, which counted whole packets from another beginning.
#[test]
fn with_random_offsets_the_limit_begins_with_its_row() {
    for scheme in ["cubic", "rbbr", "2*cubic"] {
        let mut file = plan(scheme, "rate=1Mbit/s", 8);
        (file.seeds, file.offset) = ("1..8".parse().unwrap(), "random".parse().unwrap());
        assert_none_beats_the_limit(&file);
        let (limits, _) = records(&file);
        assert!(limits.len() == 8 && limits.iter().all(|limit| limit.total.utilisation > 0.999_998));
    }
}

/// A flow's throughput is over its own time, and the limit's was over the run: 15.7 Mbit/s, and 14.6 for the limit.
#[test]
fn the_limit_of_a_sized_flow_sends_as_much_and_is_through_first() {
    let (limits, rows) =
        records(&PlanFile { schemes: vec!["tide:sized(1MB)".into(), "cubic".into()], ..plan("", "3g", 10) });
    let [sized, bulk] = &limits[..] else { panic!("{}", limits.len()) };
    assert_eq!([&sized.scenario.scheme, &bulk.scenario.scheme], ["limit:sized(1MB)", "limit"]);
    assert!(rows[0].total.throughput_mbit_s > bulk.total.throughput_mbit_s, "it covers a fast second");
    assert!(rows[0].total.throughput_mbit_s < sized.total.throughput_mbit_s);
    assert!(rows[0].total.completion_time_s > sized.total.completion_time_s);
    assert_eq!(sized.total.sent_packets, 691, "a megabyte in packets of 1448 bytes");
}

/// The measured time begins within a packet, which used to count as a whole: 584 packets in 7 s that offer 583.
#[test]
fn after_a_warm_up_no_more_counts_than_the_link_has_offered_since() {
    for start_ms in 0..12 {
        let mut file = plan(&format!("cubic@{start_ms}ms"), "rate=1Mbit/s", 8);
        file.warm_up = Span::from_secs(1);
        assert_none_beats_the_limit(&file);
    }
}

#[derive(Debug, Clone)]
enum Link {
    Steps(Vec<(u32, u32)>),
    Opportunities(Vec<u32>),
}

fn any_link() -> impl Strategy<Value = Link> {
    let steps = proptest::collection::vec((0_u32..20_000, 10_u32..900), 2..12);
    let opportunities = proptest::collection::vec(1_u32..40, 3..60);
    prop_oneof![steps.prop_map(Link::Steps), opportunities.prop_map(Link::Opportunities)]
}

impl Link {
    /// As a Scenario names it.
    fn text(&self) -> String {
        match self {
            // The last rate stays: with a rate of zero a flow would never end.
            Self::Steps(steps) => {
                let step = |(kbit, ms): &(u32, u32)| format!("{kbit}kbit/s@{ms}ms");
                format!("step={},777kbit/s@1s", steps.iter().map(step).collect::<Vec<_>>().join(","))
            }
            Self::Opportunities(gaps) => {
                let mut at = 0;
                let lines: Vec<String> = gaps
                    .iter()
                    .map(|gap| {
                        at += gap - 1;
                        format!("{}\n", at + 1)
                    })
                    .collect();
                let path =
                    format!("{}/limit-{:?}.mahi", env!("CARGO_TARGET_TMPDIR"), std::thread::current().id());
                std::fs::write(&path, lines.concat()).expect("the build's folder can be written");
                path
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn no_scheme_beats_the_limit(
        link in any_link(),
        scheme in prop::sample::select(vec!["cubic", "newreno", "bbr", "tide", "fixed-window(window=50pkt)", "vegas"]),
        source in prop::sample::select(vec!["", ":sized(1B)", ":sized(14kB)", ":sized(150kB)", ":sized(1MB)", ":rate(2Mbit/s)"]),
        times in prop::sample::select(vec!["", "@0.3s", "@0.5s..1.7s", "~30ms"]),
        count in 1_usize..3,
        queue in prop::sample::select(vec!["unlimited", "20pkt", "codel(limit=100pkt)"]),
        rtt_ms in 1_u64..120,
        offset in prop::sample::select(vec!["fixed", "random"]),
        seed in 0_u64..1_000,
        mss in 100_u64..1_449,
    ) {
        let mut file = plan(&format!("{count}*{scheme}{source}{times}"), &link.text(), 3);
        file.path.rtt = Span::from_millis(rtt_ms);
        file.path.queue = queue.parse().unwrap();
        file.endpoint.mss = cellcc_units::Bytes::new(mss);
        (file.seeds, file.offset) = (seed.to_string().parse().unwrap(), offset.parse().unwrap());
        assert_none_beats_the_limit(&file);
    }
}

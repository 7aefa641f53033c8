//! BBR and its kin on paths that lose a large share of the packets, and after outages.

use crate::common::compare;
use cellcc_experiment::{LossDetection, PlanFile, Record, ReportSource};
use cellcc_units::{QueueLimit, Ratio, Span};

/// A minute of `scheme` for each seed of `seeds`, at 20 Mbit/s and 100 ms.
fn with_loss(scheme: &str, seeds: &str, change: impl FnOnce(&mut PlanFile)) -> Vec<Record> {
    let mut records = compare(&[scheme], "rate=20Mbit/s", |file| {
        file.seeds = seeds.parse().expect("seeds");
        file.path.rtt = Span::from_millis(100);
        file.path.queue = QueueLimit::Packets(166).into();
        change(file);
    });
    records.retain(|record| record.scenario.scheme == scheme);
    records
}

/// A column of the series, in ten bins a second.
fn column<'a>(record: &'a Record, name: &str) -> &'a [f32] {
    record.series.column(&format!("flow0.{name}")).expect("every run of it has this")
}

fn mean(values: &[f32]) -> f64 {
    values.iter().map(|&value| f64::from(value)).sum::<f64>() / values.len() as f64
}

/// Each round's losses used to begin a recovery of their own, which conserved packets: 12.8 Mbit/s became 5 within a minute.
#[test]
fn bbr_does_not_decay_where_fifteen_percent_of_the_packets_are_lost() {
    let records = with_loss("bbr", "1..6", |file| {
        file.path.loss = Ratio::new(0.15);
        file.endpoint.recovery = LossDetection::Rack;
    });
    for record in records {
        let rates = column(&record, "throughput_mbit_s");
        let (first, last) = (mean(&rates[..200]), mean(&rates[400..]));
        assert!(last >= 0.8 * first, "{first} Mbit/s, then {last}, seed {}", record.scenario.seed);
    }
}

/// A round of conservation used to count as one without growth: 3 of these 20 seeds ended Startup at a twentieth of the link.
#[test]
fn startup_fills_the_pipe_although_five_percent_of_the_packets_are_lost() {
    let records = with_loss("bbr", "1..20", |file| {
        file.duration = Span::from_secs(6);
        file.path.loss = Ratio::new(0.05);
    });
    for record in records {
        let ended = column(&record, "full_pipe").iter().position(|&full| full == 1.0).expect("Startup ends");
        let estimate = column(&record, "btl_bw_mbit_s")[ended];
        assert!(estimate > 15.0, "{estimate} Mbit/s at the end of Startup, seed {}", record.scenario.seed);
    }
}

/// Losses in every round used to hold the window at the data in flight half of the time, and three losses in a single round of
/// Startup to end it: 9 Mbit/s were left.
#[test]
fn bbr2_has_more_than_half_of_a_link_that_loses_one_percent() {
    let records = compare(&["bbr2"], "rate=100Mbit/s", |file| {
        file.seeds = "1..5".parse().expect("seeds");
        file.duration = Span::from_secs(30);
        file.path.rtt = Span::from_millis(100);
        file.path.queue = QueueLimit::Packets(833).into();
        file.path.loss = Ratio::new(0.01);
    });
    for record in records.iter().filter(|record| record.scenario.scheme == "bbr2") {
        let used = record.total.utilisation;
        assert!(used > 0.5, "{used} of the link, seed {}", record.scenario.seed);
    }
}

/// The outage used to become the minimum RTT. ProbeRTT then allowed four packets, with more than that lost and not yet known to be,
/// until a probe time-out of 12 s and more.
#[test]
fn after_an_outage_longer_than_the_minimum_rtt_is_believed_bbr_sends_again_at_once() {
    for outage in [12, 20, 30] {
        let trace = format!("step=20Mbit/s@20s,0Mbit/s@{outage}s,20Mbit/s@20s");
        let records = compare(&["nabbr", "bbr"], &trace, |file| {
            file.duration = Span::from_secs(40 + outage);
            file.path.rtt = Span::from_millis(40);
            file.path.queue = QueueLimit::Packets(20).into();
            file.netassist.source = ReportSource::Oracle;
        });
        for record in &records[1..] {
            let over = 20 + outage as usize;
            let rates = column(record, "throughput_mbit_s");
            let second = mean(&rates[10 * over + 10..10 * over + 20]);
            let scheme = &record.scenario.scheme;
            assert!(second > 15.0, "{scheme}: {second} Mbit/s a second after {outage} s without a link");
        }
    }
}

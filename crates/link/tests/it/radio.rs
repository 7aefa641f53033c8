//! Findings from recordings of a radio with known parameters.

use crate::generated::{Channel, HEADER, Pinged};
use cellcc_link::radio::{self, Findings, Grants, Pings, Recording};
use proptest::prelude::*;
use std::io::Write;
use std::path::Path;

fn recording(text: &str) -> Recording {
    radio::parse("recording", text.as_bytes()).unwrap()
}

fn refusal(text: &str) -> String {
    radio::parse("recording", text.as_bytes()).unwrap_err().to_string()
}

/// Eight logs of 60,000 blocks: a cell's downlink has as many in two hours.
fn grants(channel: Channel) -> Grants {
    let logs: Vec<_> = (0..8).map(|seed| recording(&channel.log(60_000, seed))).collect();
    let found = Findings::new(&logs);
    assert_eq!(found.pings, None);
    let (one, other) = if channel.format == "1_1" { (found.down, found.up) } else { (found.up, found.down) };
    assert_eq!(other, None);
    one.unwrap()
}

fn pings(pinged: Pinged, runs: u64) -> Pings {
    let runs: Vec<_> = (0..runs).map(|seed| recording(&pinged.run(seed))).collect();
    Findings::new(&runs).pings.unwrap()
}

/// Within a tenth of the truth: with fewer failures than a fit needs, a share has that error.
fn close(name: &str, found: f64, truth: f64) {
    assert!((found - truth).abs() < truth / 10.0, "{name}: {found}, and not {truth}");
}

#[test]
fn the_two_states_of_a_channel_come_out_of_its_grants() {
    let uplink = Channel {
        failed: 0.14,
        bad: 0.20,
        failed_when_bad: 0.45,
        memory_ms: 60.0,
        again_ms: 6,
        again_fails: 0.26,
        later_fails: 0.45,
        format: "0_1",
        ..Channel::FDD
    };
    for truth in [Channel::FDD, uplink, Channel { slots_per_frame: 20, ..Channel::FDD }] {
        let found = grants(truth);
        let states = found.states.unwrap();
        close("failed", states.failed_share, truth.failed);
        close("bad", states.bad_share, truth.bad);
        close("failed_when_bad", states.failed_when_bad_share, truth.failed_when_bad);
        close("memory", states.memory_ms.unwrap(), truth.memory_ms);
        close("again_fails", found.again_fails_share.unwrap(), truth.again_fails);
        close("later_fails", found.later_fails_share.unwrap(), truth.later_fails);
        assert_eq!(found.again_ms, Some(truth.again_ms as f64));
        assert_eq!((found.blocks, found.users), (8 * 60_000, 8));
    }
}

#[test]
fn a_channel_without_states_has_none() {
    let found = grants(Channel { bad: 0.0, ..Channel::FDD });
    let states = found.states.unwrap();
    assert_eq!((states.bad_share, states.memory_ms), (0.0, None));
    close("failed", states.failed_share, 0.06);
    let harq = found.harq.unwrap();
    let failed = (states.failed_share * 1e4).ceil() / 100.0;
    let expected = format!("slot=1ms, failed={failed}%, failed_when_bad={failed}%, again=7ms, again_fails=1");
    assert!(harq.starts_with(&expected), "{harq}");
}

/// Needs both transmissions, and finds a fifth too few.
#[test]
fn a_receiver_that_misses_grants_sees_how_many_blocks_fail() {
    let found = grants(Channel { missed: 0.2, ..Channel::FDD });
    close("all", found.again_share, 0.06);
    close("of those seen from the start", found.again_share_seen, 0.06 * 0.8);
}

#[test]
fn a_few_blocks_are_described_and_not_explained() {
    let found = Findings::new(&[recording(&Channel::FDD.log(500, 1))]).down.unwrap();
    assert_eq!((found.blocks, found.states, found.harq), (500, None, None));
}

#[test]
fn a_repetition_holds_back_what_comes_before_it_is_there() {
    // 60 blocks in 60 slots; the 11th is sent again 7 ms later: it waits 7 ms, and six others 6 to 1.
    let mut log = HEADER.to_owned();
    for slot in 0..60_u32 {
        let line = |frame: u32, process: u32, version: u32| {
            format!(
                "5.{:03},{frame},{},17,C-RNTI,1_1,9,{version},{},{process}\n",
                slot,
                slot % 10,
                slot / 16 % 2
            )
        };
        log += &line(1020 + slot / 10, slot % 16, 0).replace(",1024,", ",0,").replace(",1025,", ",1,");
        if slot == 17 {
            log += &format!("5.{slot:03},1021,7,17,C-RNTI,1_1,9,2,0,10\n");
        }
    }
    let found = Findings::new(&[recording(&log)]).down.unwrap();
    assert_eq!((found.grants, found.blocks, found.seconds), (61, 60, 0.059));
    assert_eq!((found.held_back_share, found.again_ms), (Some(7.0 / 60.0), Some(7.0)));
    assert_eq!(found.held_back_mean_ms, Some(28.0 / 60.0));
}

#[test]
fn a_cycle_of_requests_shows_in_pings_with_and_without_stamps() {
    // 213 ms meet every phase of every cycle within 25 pings; 200.7 ms sweep 18 ms, which is enough for cycles up to 20 ms.
    for (cycle_ms, interval_ms, stamps) in [
        (20.0, 200.7, true),
        (20.0, 200.7, false),
        (10.0, 200.7, true),
        (20.0, 213.0, true),
        (40.0, 213.0, true),
    ] {
        let cycle =
            pings(Pinged { cycle_ms, interval_ms, stamps, lost: 0.01, ..Pinged::ASKS }, 4).cycle.unwrap();
        assert_eq!(cycle.request_ms, Some(cycle_ms));
        let explained = cycle.periods.iter().find(|period| period.period_ms == cycle_ms).unwrap();
        assert!(explained.share > 0.9, "{explained:?}");
    }
}

#[test]
fn waits_without_a_cycle_show_none() {
    let found = pings(Pinged { has_cycle: false, wake_ms: 16.0, ..Pinged::ASKS }, 60);
    assert_eq!((found.cycle.unwrap().request_ms, found.access), (None, None));
}

#[test]
fn the_first_ping_says_what_waking_up_costs() {
    let found = pings(Pinged { wake_ms: 16.0, ..Pinged::ASKS }, 60);
    // The median of n waits that are uniform up to w has a standard error of w / (2 √(n + 2)): 1.3 ms, three times.
    let first = found.first.unwrap();
    assert!((first.p50_ms - 16.0).abs() < 3.8, "{first:?}");
    assert_eq!((first.runs, found.sent, found.lost_share), (60, 9_000, 0.0));
    let access = found.access.unwrap();
    assert!(access.starts_with("request=20ms, wake=1"), "{access}");
    assert_eq!(pings(Pinged::ASKS, 60).access.as_deref(), Some("request=20ms"));
}

#[test]
fn pings_without_a_clock_have_no_cycle_and_losses_are_counted_without_a_summary() {
    let text = Pinged { lost: 0.02, stamps: false, ..Pinged::ASKS }.run(3);
    let (replies, _) = text.split_once("\n--- ").unwrap();
    let whole = Findings::new(&[recording(&text)]).pings.unwrap();
    let cut = Findings::new(&[recording(replies)]).pings.unwrap();
    assert!(whole.cycle.is_some() && whole.lost_share > 0.0, "{whole:?}");
    assert_eq!((cut.cycle, cut.runs), (None, 1));
    assert!((cut.lost_share - whole.lost_share).abs() < 0.02);
}

#[test]
fn one_file_may_hold_many_runs_and_a_run_more_pings_than_16_bits_count() {
    let two = Pinged::ASKS.run(1) + &Pinged::ASKS.run(2);
    assert_eq!(Findings::new(&[recording(&two)]).pings.unwrap().runs, 2);
    let long: String = (1..=70_000_u32)
        .map(|number| format!("64 bytes from a: icmp_seq={} ttl=60 time=30 ms\n", number % 65_536))
        .collect();
    assert_eq!(Findings::new(&[recording(&long)]).pings.unwrap().sent, 70_000);
}

#[test]
fn dates_are_stamps_too() {
    let line = |second: u32| {
        format!(
            "[2025-03-15T12:34:{second}.5+00:00] 64 bytes from a: icmp_seq={second} time=30.{second} ms\n"
        )
    };
    let run: String = (10..60).map(line).collect();
    let runs: String = (0..3).map(|_| run.clone()).collect();
    assert!(Findings::new(&[recording(&runs)]).pings.unwrap().cycle.is_none()); // they vary by less than half a millisecond
    let wide: String = (10..60).map(|second| line(second).replace("=30.", "=3")).collect();
    let wide = Findings::new(&[recording(&(0..3).map(|_| wide.clone()).collect::<String>())]);
    assert!(wide.pings.unwrap().cycle.is_some());
}

#[test]
fn what_is_no_recording_is_refused_by_file_and_line() {
    let row = "1.5,3,9,20844,C-RNTI,1_1,9,0,1,5\n";
    let log = |row: &str| format!("{HEADER}{row}");
    assert!(radio::parse("a", log(row).as_bytes()).is_ok());
    for (text, expected) in [
        (String::new(), "recording: `` begins no recording of a radio: expected a log of NR-Scope"),
        ("time_s,rate_mbit_s\n0,1\n".into(), "recording:1: `time_s,rate_mbit_s` begins no recording"),
        ("harq_id,timestamp\n1,2\n".into(), "recording:1: no `system_frame_index` among the columns"),
        (log(&row.replace("1.5", "soon")), "recording:2: `soon` is not the logger's time"),
        (log(&row.replace("1.5", "9e300")), "recording:2: `9e300` is not the logger's time"),
        (log(&row.replace(",9,20844", ",80,20844")), "recording:2: `80` is not a slot of a frame: 0 to 79"),
        (log(&row.replace("1_1", "2_0")), "recording:2: `2_0` is not a DCI format"),
        (log(&row.replace("C-RNTI", "SI-RNTI")), "recording: holds no grant to a phone"),
        (log("1.5,3\n"), "recording:2: cannot be read: "),
        ("a: icmp_seq=70000 time=3 ms\n".into(), "recording:1: `70000` is not the number of a ping"),
        ("\na: icmp_seq=7 time=-3 ms\n".into(), "recording:2: `-3` is not the milliseconds of a ping"),
        ("many packets transmitted, 3 received\n".into(), "recording:1: `many` is not a number of packets"),
    ] {
        let error = refusal(&text);
        assert!(error.contains(expected), "{error}");
    }
    let cut = log(row) + &row[..9];
    assert_eq!(Findings::new(&[recording(&cut)]).down.unwrap().grants, 1);
    let packed = radio::parse("a", &[0x1f, 0x8b, 8, 0]).unwrap_err().to_string();
    assert!(packed.contains("gzip data is damaged"), "{packed}");
}

fn numbers() -> impl Strategy<Value = String> {
    prop_oneof![
        (0..2000_u32).prop_map(|number| number.to_string()),
        (0.0..1e12_f64).prop_map(|number| number.to_string()),
        "[-+.0-9eNaif]{0,6}",
    ]
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "(PING |icmp_seq=|time=| ms\n|\\[|\\]| packets transmitted, |harq_id,|[0-9.,\n -]|\\PC){0,60}\n") {
        if let Ok(recording) = radio::parse("a", text.as_bytes()) {
            let _ = Findings::new(&[recording]);
        }
    }

    #[test]
    fn no_grants_make_it_panic(rows in prop::collection::vec((0.0..1e11_f64, 0..1024_u32, 0..80_u32, 0..4_u32, 0..2_u32), 0..300)) {
        let mut log = HEADER.to_owned();
        for (clock, frame, slot, small, bit) in rows {
            log += &format!("{clock},{frame},{slot},{bit},C-RNTI,{bit}_1,9,{small},{bit},{small}\n");
        }
        if let Ok(recording) = radio::parse("a", log.as_bytes()) {
            let _ = Findings::new(&[recording]);
        }
    }

    #[test]
    fn no_pings_make_it_panic(rows in prop::collection::vec((numbers(), numbers(), numbers()), 0..40)) {
        let text: String = rows.iter().map(|(at, sequence, rtt)| format!("[{at}] a: icmp_seq={sequence} time={rtt} ms\n")).collect();
        if let Ok(recording) = radio::parse("a", text.repeat(4).as_bytes()) {
            let _ = Findings::new(&[recording]);
        }
    }
}

/// The measurements of the 11 logs of T-Mobile's first cell that NR-Scope's authors published (repository
/// PrincetonUniversity/NR-Scope, commit 698ceeb, demo_script/t_mobile1_ueactivity_*.csv). Runs where `CELLCC_RADIO_LOGS` names
/// their folder.
#[test]
fn the_published_logs_of_a_cell_say_what_was_measured_in_them() {
    let Some(folder) = std::env::var_os("CELLCC_RADIO_LOGS") else {
        writeln!(std::io::stderr(), "left out: CELLCC_RADIO_LOGS names no folder of NR-Scope's logs")
            .unwrap();
        return;
    };
    let files = std::fs::read_dir(Path::new(&folder)).unwrap().map(|entry| entry.unwrap().path());
    let of_cell = |path: &std::path::PathBuf| path.to_string_lossy().contains("t_mobile1_ueactivity_");
    let logs: Vec<_> = files.filter(of_cell).map(|path| radio::read(&path).unwrap()).collect();
    let found = Findings::new(&logs).down.unwrap();
    assert_eq!((logs.len(), found.grants, found.blocks, found.again_ms), (11, 149_414, 142_584, Some(7.0)));
    let percent = |share: f64| (share * 1000.0).round() / 10.0;
    assert_eq!((percent(found.again_share), percent(found.held_back_share.unwrap())), (4.6, 7.9));
    let at_once = &found.by_lag[0];
    let shares =
        [at_once.after_failed_share, at_once.after_good_share].map(|share| percent(share.unwrap()).round());
    assert_eq!(shares, [40.0, 4.0]);
    writeln!(std::io::stderr(), "harq = {:?}", found.harq).unwrap();
}

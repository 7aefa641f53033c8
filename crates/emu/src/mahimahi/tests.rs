use super::*;
use crate::log::{LogHeader, LogSpec};
use cellcc_link::{Capacity, CapacitySpec, Link, Packet, Poll, Queue, ShareOverTime};
use cellcc_units::{Bytes, QueueLimit, Rate, Ratio, Span, Time};
use proptest::prelude::*;
use std::fs;

fn line(text: &str) -> Vec<OsString> {
    text.split_whitespace().map(Into::into).collect()
}

fn open(text: &str) -> Result<Source, SpecError> {
    let text = if text.parse::<Rate>().is_ok() { format!("rate={text}") } else { text.into() };
    text.parse::<CapacitySpec>()?.open(|_| None)
}

fn chain(text: &str) -> Chain {
    parse(&line(text), "", &open).unwrap_or_else(|error| panic!("{error}"))
}

fn refusal(text: &str) -> String {
    match parse(&line(text), "", &open) {
        Err(EmuError::Input(text)) => text,
        other => panic!("{other:?}"),
    }
}

fn links(stages: &[Stage]) -> Vec<&LinkConfig> {
    stages.iter().flat_map(|stage| stage.path.links()).collect()
}

/// The effect of each stage, in a word.
fn words(stages: &[Stage]) -> Vec<String> {
    let rate = |link: &LinkConfig| link.capacity.mean_rate();
    let word = |link: &LinkConfig| match link {
        link if rate(link) < Capacity::MAX_RATE => rate(link).to_string(),
        link if link.loss != ShareOverTime::constant(Ratio::ZERO) => {
            format!("loss {}", link.loss)
        }
        link => link.delay.to_string(),
    };
    links(stages).into_iter().map(word).collect()
}

#[test]
fn a_packet_from_the_command_meets_the_inner_shell_first_and_one_to_it_the_outer() {
    let chain = chain("mm-delay 10 mm-link 12Mbit/s 24Mbit/s mm-delay 7 iperf3 -c host");
    assert_eq!(words(&chain.up), ["7ms", "12Mbit/s", "10ms"]);
    assert_eq!(words(&chain.down), ["10ms", "24Mbit/s", "7ms"]);
    assert_eq!(chain.command, line("iperf3 -c host"));
    assert_eq!(chain.prefix, "[delay 10 ms] [link] [delay 7 ms] ");
    assert_eq!(chain.notes, Vec::<String>::new());
}

#[test]
fn the_command_may_follow_two_hyphens_and_so_may_a_shell() {
    for text in [
        "mm-delay 10 mm-link 12Mbit/s 24Mbit/s -- curl --once x",
        "mm-delay 10 -- mm-link 12Mbit/s 24Mbit/s curl --once x",
        "mm-delay 10 /usr/bin/mm-link -- 12Mbit/s 24Mbit/s -- curl --once x",
    ] {
        let chain = chain(text);
        assert_eq!((chain.up.len(), chain.command), (2, line("curl --once x")), "{text}");
    }
}

#[test]
fn without_a_command_it_is_the_users_shell() {
    assert!(chain("mm-delay 10").command.is_empty());
    assert!(chain("mm-link 12Mbit/s 24Mbit/s --once --").command.is_empty());
}

#[test]
fn options_stand_before_between_and_after_the_traces() {
    for text in [
        "mm-link 1Mbit/s 2Mbit/s --uplink-queue=droptail --uplink-queue-args=packets=100 -- sh",
        "mm-link --uplink-queue droptail 1Mbit/s --uplink-queue-args packets=100 2Mbit/s sh",
        "mm-link --uplink-queue=infinite --uplink-queue-args=packets=100 1Mbit/s 2Mbit/s --uplink-queue droptail sh",
    ] {
        let chain = chain(text);
        assert_eq!(links(&chain.up)[0].queue, QueueLimit::Packets(100).into(), "{text}");
        assert_eq!(links(&chain.down)[0].queue, QueueLimit::Unlimited.into(), "{text}");
        assert_eq!(chain.command, line("sh"), "{text}");
    }
}

#[test]
fn every_queue_of_mahimahi_has_its_twin() {
    for (kind, arguments, queue) in [
        ("infinite", "", "unlimited"),
        ("droptail", "packets=100", "100pkt"),
        ("droptail", "bytes=150000,packets=0", "150kB"),
        ("drophead", "packets=100", "drophead(100pkt)"),
        ("codel", "packets=100,target=5,interval=100", "codel(mahimahi,limit=100pkt)"),
        ("codel", "bytes=150000", "codel(mahimahi,limit=150kB)"),
        ("cellular", "packets=250,qdelay_ref=50,beta=75", "abc(delta=133333333ns,limit=250pkt)"),
        ("pie", "packets=9,qdelay_ref=20,max_burst=60", "pie(mahimahi,target=20ms,burst=60ms,limit=9pkt)"),
    ] {
        let text =
            format!("mm-link 1Mbit/s 1Mbit/s --uplink-queue={kind} --uplink-queue-args={arguments} -- sh");
        let chain = chain(&text);
        assert_eq!(links(&chain.up)[0].queue, queue.parse::<Queue>().unwrap(), "{text}");
    }
}

#[test]
fn queues_that_mahimahi_does_not_have_are_written_with_their_settings() {
    for queue in ["red(verus,limit=100pkt)", "fq-codel", "codel(limit=100pkt)", "pie(mahimahi)", "100pkt"] {
        let chain = chain(&format!("mm-link 1Mbit/s 1Mbit/s --uplink-queue={queue} -- sh"));
        assert_eq!(links(&chain.up)[0].queue, queue.parse::<Queue>().unwrap(), "{queue}");
    }
}

#[test]
fn a_log_tells_its_direction_its_line_its_queue_and_the_shells_round_it() {
    let text = "mm-link 1Mbit/s 2Mbit/s --uplink-log=up.log -d down.log --downlink-queue=droptail \
                --downlink-queue-args=bytes=150000 -- sh -c x";
    let chain = parse(&line(&format!("mm-delay 10 {text}")), "[delay 1 ms] ", &open).unwrap();
    let logs = [&chain.up[0].log, &chain.down[1].log].map(|log| log.clone().unwrap());
    let header = LogHeader {
        link: "Uplink".into(),
        trace: "1Mbit/s".into(),
        command_line: line(text).join(" ".as_ref()).into_string().unwrap(),
        queue: "infinite".into(),
        config: "[delay 1 ms] [delay 10 ms] ".into(),
    };
    assert_eq!(logs[0], LogSpec { path: "up.log".into(), header: header.clone() });
    assert_eq!(logs[1].path, Path::new("down.log"));
    assert_eq!(logs[1].header.link, "Downlink");
    assert_eq!(logs[1].header.queue, "droptail [bytes=150000]");
}

#[test]
fn a_loss_and_an_outage_are_of_one_direction_with_lots_of_their_own() {
    let chain =
        chain("mm-loss uplink 0.1 mm-loss uplink 0.2 mm-loss downlink 1% --seed=9 mm-onoff downlink 0 2 sh");
    assert_eq!(words(&chain.up), ["loss 0.2x", "loss 0.1x"]);
    assert_eq!(words(&chain.down), ["loss 0.01x", "loss 1x"]);
    let seeds: Vec<u64> = chain.up.iter().chain(&chain.down).map(|stage| stage.path.seed).collect();
    assert_eq!(seeds, [2, 1, 9, 4]);
    assert_eq!(chain.prefix, "[loss up=0.1] [loss up=0.2] [loss down=1%] [onoff (down) on=0s off=2s] ");
}

#[test]
fn a_delay_may_have_a_unit_and_may_change() {
    assert_eq!(words(&chain("mm-delay 2.5ms").up), ["2.5ms"]);
    assert_eq!(words(&chain("mm-delay 10ms@5s,40ms@5s").down), ["10ms@5s,40ms@5s"]);
    assert_eq!(chain("mm-delay 0").up.len(), 1);
}

#[derive(Debug)]
struct FullSized;

impl Packet for FullSized {
    fn size(&self) -> Bytes {
        Bytes::new(1500)
    }
}

#[test]
fn once_the_link_ends_with_its_trace() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("short.up");
    fs::write(&trace, "1\n2\n").unwrap();
    let arrivals = |once: &str| {
        let chain = chain(&format!("mm-link {0} {0} {once} sh", trace.display()));
        let mut link = Link::new(links(&chain.up)[0].clone(), 0);
        for _ in 0..6 {
            link.enqueue(Time::ZERO, FullSized).unwrap();
        }
        let mut arrivals = 0;
        while let Poll::Ready(_) = link.poll(Time::ZERO + Span::from_secs(3600)) {
            arrivals += 1;
        }
        arrivals
    };
    assert_eq!((arrivals(""), arrivals("--once")), (6, 2));
}

#[test]
fn what_is_not_done_as_in_mahimahi_is_said() {
    let chain = chain("mm-link 1Mbit/s 1Mbit/s --meter-all --meter-uplink --once");
    assert_eq!(chain.notes.len(), 3, "{:?}", chain.notes);
    assert!(chain.notes[0].contains("--once changes nothing for `1Mbit/s`"), "{:?}", chain.notes);
    assert!(
        chain.notes[2].contains("--meter-all, --meter-uplink: there are no live pictures"),
        "{:?}",
        chain.notes
    );
}

#[test]
fn a_link_with_a_delay_of_its_own_applies_it_and_says_so() {
    let open = |text: &str| text.parse::<CapacitySpec>()?.open(cellcc_link::synthetic::link);
    let chain = parse(&line("mm-link rate=12Mbit/s wifi-spikes sh"), "", &open).unwrap();
    assert!(chain.notes[0].starts_with("mm-link: `wifi-spikes` adds up to "), "{:?}", chain.notes);
    assert_eq!(chain.notes.len(), 1);
    let longest = |stages| {
        let at = (0..60).map(|secs| Time::ZERO + Span::from_secs(secs));
        at.map(|at| links(stages)[0].longest_way(at)).max().unwrap()
    };
    assert_eq!(longest(&chain.up), Span::ZERO);
    assert!(longest(&chain.down) >= Span::from_millis(20));
}

#[test]
fn what_is_wrong_is_named_with_what_is_right() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("bad.up");
    fs::write(&trace, "1\n5\n3\n").unwrap();
    let of_a_bad_trace = format!("mm-link {} 1Mbit/s", trace.display());
    let empty = folder.path().join("empty.up");
    fs::write(&empty, "").unwrap();
    let of_an_empty_trace = format!("mm-link 1Mbit/s {}", empty.display());
    for (text, parts) in [
        ("mm-delay", &["mm-delay: the delay is missing; write `mm-delay MILLISECONDS [COMMAND...]`"][..]),
        ("mm-delay 2.5", &["mm-delay: `2.5`", "2.5ms"]),
        ("mm-delay -5", &["mm-delay: `-5`"]),
        ("mm-link 1Mbit/s", &["mm-link: the downlink's trace is missing; write `mm-link UP DOWN"]),
        (
            "mm-link 1Mbit/s 1Mbit/s --uplink-lgo=x",
            &["there is no option `--uplink-lgo`", "--uplink-log=FILE"],
        ),
        ("mm-link 1Mbit/s 1Mbit/s --once=1", &["`--once=1`: --once takes no value"]),
        ("mm-link 1Mbit/s 1Mbit/s --uplink-log", &["the value of --uplink-log is missing"]),
        (
            "mm-link 1Mbit/s 1Mbit/s --uplink-queue=blue",
            &["uplink: queue `blue`", "infinite", "red(", "fq-codel("],
        ),
        ("mm-link 1Mbit/s 1Mbit/s --uplink-queue=red(min=30kB)", &["uplink: queue", "above `min`"]),
        (
            "mm-link 1Mbit/s 1Mbit/s --uplink-queue=red --uplink-queue-args=packets=9",
            &["uplink: queue `red`", "only Mahimahi's own"],
        ),
        (
            "mm-link 1Mbit/s 1Mbit/s --uplink-queue=droptail(100pkt,ack-filter)",
            &["uplink: queue `droptail(100pkt,ack-filter)`", "leave ack-filter out"],
        ),
        (
            "mm-link 1Mbit/s 1Mbit/s --downlink-queue=droptail",
            &["downlink: queue `droptail`", "packets=NUMBER"],
        ),
        (
            "mm-link 1Mbit/s 1Mbit/s --downlink-queue=droptail --downlink-queue-args=packets=9,target=5",
            &["takes no `target`"],
        ),
        (
            "mm-link 1Mbit/s 1Mbit/s --uplink-queue=droptail --uplink-queue-args=packets",
            &["`packets` has not the form NAME=NUMBER"],
        ),
        ("mm-link 1Mbit/s 1Mbit/s --uplink-queue-args=packets=9", &["the queue infinite takes no `packets`"]),
        ("mm-link 1Mbit/s 1Mbit/s --uplink-log=x mm-link 1Mbit/s 1Mbit/s -dx", &["two logs go to x"]),
        (of_a_bad_trace.as_str(), &["mm-link: ", "bad.up:3: time 3 ms follows 5 ms"]),
        (of_an_empty_trace.as_str(), &["mm-link: ", "empty.up: is empty"]),
        ("mm-link nowhere.up 1Mbit/s", &["mm-link: nowhere.up: cannot be read"]),
        ("mm-loss sideways 0.1", &["mm-loss: `sideways`: write uplink or downlink"]),
        ("mm-loss uplink 10", &["mm-loss: `10`: a loss rate is a share from 0 to 1", "10%"]),
        ("mm-loss uplink nan", &["mm-loss: `nan`"]),
        ("mm-loss uplink 0.1 --seed=x", &["mm-loss: --seed=x"]),
        ("mm-onoff uplink 0 0", &["mm-onoff: ", "cannot both be zero"]),
        ("mm-onoff uplink inf 1", &["mm-onoff: `inf`"]),
        ("mm-onoff uplink 1", &["mm-onoff: the mean off-time is missing"]),
        ("sh -c x", &["begins with none of mm-delay, mm-link, mm-loss, mm-onoff"]),
        ("", &["begins with none of"]),
    ] {
        let problem = refusal(text);
        assert!(parts.iter().all(|part| problem.contains(part)), "{text}: {problem}");
    }
}

#[test]
fn a_word_that_is_not_text_is_refused_before_the_command_and_passed_on_within_it() {
    use std::os::unix::ffi::OsStringExt;
    let odd = OsString::from_vec(vec![0xff]);
    let words = |before: &str| [line(before), vec![odd.clone()]].concat();
    let error = parse(&words("mm-link 1Mbit/s"), "", &open).unwrap_err().to_string();
    assert!(error.contains("is not UTF-8"), "{error}");
    let chain = parse(&words("mm-link 1Mbit/s 1Mbit/s cat"), "", &open).unwrap();
    assert_eq!(chain.command[1], odd);
}

proptest! {
    #[test]
    fn no_line_makes_the_parser_panic(
        words in proptest::collection::vec(
            prop_oneof![
                "mm-(delay|link|loss|onoff)",
                "(--|-)(once|uplink-log|u|d|uplink-queue|uplink-queue-args|meter-all|seed)?=?[a-z=,0-9é]{0,12}",
                "(uplink|downlink|[0-9]{1,25}|[0-9]Mbit/s|0\\.[0-9]|1e[0-9]{1,3})",
                "\\PC*",
            ],
            0..12
        )
    ) {
        let words: Vec<OsString> = words.into_iter().map(Into::into).collect();
        let _ = parse(&words, "", &|_| open("1Mbit/s"));
    }
}

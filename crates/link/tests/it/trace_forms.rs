//! Files as other programs write them: the rates, times and delays that are read, and the messages for the rest.

use cellcc_link::trace::{self, FORMS};
use cellcc_link::{Capacity, CapacitySpec, Delay, Source};
use cellcc_units::{Rate, Span, Time};
use std::fmt::Write;

/// The form, the mean in Mbit/s and the length in seconds of a file.
fn read(name: &str, text: &str) -> (String, f64, f64) {
    let trace = trace::parse(name, text.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    let length = trace.capacity.period().unwrap();
    (trace.form, trace.capacity.mean_rate().as_mbit_per_sec(), length.as_secs_f64())
}

fn refusal(name: &str, text: &str) -> String {
    trace::parse(name, text.as_bytes()).unwrap_err().to_string()
}

fn notes(name: &str, text: &str) -> String {
    trace::parse(name, text.as_bytes()).unwrap().notes.join("; ")
}

/// A file of this text, and its path.
fn file(name: &str, text: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    let path = path.display().to_string();
    (folder, path)
}

fn open(text: &str) -> Result<Source, String> {
    let spec: CapacitySpec = text.parse().map_err(|error| format!("{error}"))?;
    spec.open(|_| None).map_err(|error| error.to_string())
}

/// Each delay in milliseconds, and for how many.
fn delays(text: &str, file_name: &str, reading: &str) -> Result<String, String> {
    let (_folder, path) = file(file_name, text);
    Delay::open(&format!("@{path}{reading}"))
        .map(|delay| delay.to_string())
        .map_err(|error| error.to_string())
}

#[test]
fn a_file_of_mahimahi_needs_no_name_that_says_so() {
    let same = |text: &str| {
        let named = trace::parse("a.mahi", text.as_bytes()).unwrap();
        let bare = trace::parse("a.txt", text.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(bare.hash, named.hash, "{text}");
        bare.capacity.mean_rate().as_mbit_per_sec()
    };
    assert_eq!(same(&"1\n".repeat(12)), 144.0);
    // Every constant rate, down to one packet per minute.
    for text in
        ["1\n", "5\n5\n5\n", "1000\n", "60000\n", "1000\n2000\n3000\n", "60000\n120000\n", "0\n1000\n"]
    {
        same(text);
    }
    for mbit in [0.05, 0.3, 1.2, 12.0, 333.0, 2_000.0] {
        let capacity = Capacity::constant(Rate::from_mbit_per_sec(mbit)).unwrap();
        let mut text = Vec::new();
        trace::write::mahimahi(&capacity, Span::from_secs(20), &mut text).unwrap();
        assert!((same(&String::from_utf8(text).unwrap()) / mbit - 1.0).abs() < 0.2, "{mbit}");
    }
}

/// Ericsson's constant trace of SCReAM was read as 0.1 Mbit/s.
#[test]
fn numbers_that_are_hardly_milliseconds_are_refused_with_both_readings() {
    let flat = "   20000\n".repeat(50);
    let message = refusal("flat.txt", &flat);
    for part in [
        "all 50 lines are 20000",
        "Mahimahi's milliseconds that is 0.03 Mbit/s for 20 s",
        "kbit/s of 100 ms each 20 Mbit/s for 5 s",
        "`flat.txt,as=mahimahi` or `flat.txt,as=kbit/s@100ms`",
    ] {
        assert!(message.contains(part), "`{part}` is not in: {message}");
    }
    assert!(refusal("a.txt", "1.9e+04\n2e4\n1.95e4\n").contains("as=kbit/s@100ms"));
    assert!(refusal("a.txt", "300\n250.5\n310\n").contains("`250.5` at line 2 is no whole number"));
    assert!(refusal("a.txt", "12\n12\n10\n").contains("10 at line 3 follows 12"));
    assert!(refusal("a.txt", "1000\n5000\n7000\n").contains("all 3 lines are whole thousands"));
    assert!(refusal("a.txt", "1000\nx\n").contains("a.txt:2: `x` is not a whole number of milliseconds"));
}

#[test]
fn the_user_states_the_meaning_of_bare_numbers() {
    let (_folder, path) = file("flat.txt", "20000\n20000\n10000\n30000\n");
    let rates = open(&format!("{path},as=kbit/s@100ms")).unwrap();
    assert_eq!(rates.capacity.mean_rate(), Rate::from_mbit_per_sec(20.0));
    assert_eq!(rates.capacity.period(), Some(Span::from_millis(400)));
    let slower = open(&format!("{path},as=bit/s@2s,offset=4s,duration=2s")).unwrap();
    assert_eq!(slower.capacity.mean_rate(), Rate::from_mbit_per_sec(0.01));
    assert!(open(&format!("{path},as=mahimahi")).unwrap_err().contains("flat.txt:3: time 10000 ms follows"));
    assert!(open(&format!("{path},as=ms@10ms")).unwrap_err().contains("--extra-delay @"));
    assert!(open(&format!("{path},as=kbit/s")).unwrap_err().contains("a unit and a step such as"));
    let (_folder, path) = file("flat.txt", "20000\n20000\n");
    assert_eq!(
        open(&format!("{path},as=mahimahi")).unwrap().capacity.mean_rate(),
        Rate::from_mbit_per_sec(0.0012)
    );
}

#[test]
fn a_mean_that_no_link_has_is_noted() {
    assert!(notes("a.mbps", "0 0.1\n1 0.1\n").contains("0.1 Mbit/s is unlikely"));
    assert!(notes("a.mbps", "0 3e4\n").contains("30000 Mbit/s is unlikely"));
    assert_eq!(notes("a.mbps", "0 0.2\n1 20000\n"), "");
}

#[test]
fn a_table_may_be_separated_by_tabs_semicolons_or_blanks() {
    let expected = ("table".to_owned(), 15.0, 2.0);
    for text in [
        "time_s\trate_mbit_s\n0\t10\n1\t20\n",
        "time_s;rate_mbit_s\n0,0;10,0\n1,0;20,0\n",
        "time_s   rate_mbit_s  cell\n0 10 a\n 1    20 b\n",
        "cell,time_s,rate_mbit_s\n\"a, b\",0,10\nc,1,20\n",
    ] {
        assert_eq!(read("a.txt", text), expected, "{text}");
        assert_eq!(read("a.csv", text), expected, "{text}");
    }
}

#[test]
fn times_are_dates_or_counts_since_1970() {
    for times in [
        ["2024-05-01T10:00:00Z", "2024-05-01T10:00:00.500Z"],
        ["2024-05-01T10:00:00.25+02:00", "2024-05-01T10:00:00.75+02:00"],
        ["2024-05-01 10:00:00", "2024-05-01 10:00:00.5"],
        ["2024/05/01 10:00:00", "2024/05/01 10:00:00.5"],
        ["2025.07.18_22.11.08", "2025.07.18_22.11.08.5"],
        ["Thu Aug 11 13:41:30.0 UTC 2022", "Thu Aug 11 13:41:30.5 UTC 2022"],
        ["1714557600", "1714557600.5"],
        ["1714557600000", "1714557600500"],
        ["1714557600000000", "1714557600500000"],
    ] {
        let text = format!("Time,rate (Mbit/s)\n{},10\n{},20\n", times[0], times[1]);
        assert_eq!(read("a.csv", &text), ("table".into(), 15.0, 1.0), "{text}");
    }
    let plain = refusal("a.csv", "time,rate_mbit_s\n0,10\n5,20\n");
    assert!(
        plain.starts_with("a.csv:2: `0` is not a date") && plain.contains("`time_s` or `time_ms`"),
        "{plain}"
    );
    assert!(refusal("a.csv", "time,rate_mbit_s\n2024-13-01T00:00:00,1\n").contains("a.csv:2: "));
}

#[test]
fn units_come_from_the_name_of_a_column_or_from_their_own() {
    for header in
        ["rate_kbit_s", "RATE(kBit/s)", "Throughput [Kbits/sec]", "DL kbps", "bandwidth_kbps", "kbit/s"]
    {
        let text = format!("time_s,{header}\n0,10000\n1,20000\n");
        assert_eq!(read("a.csv", &text), ("table".into(), 15.0, 2.0), "{text}");
    }
    // A unit alone names the rate where no other column does.
    assert_eq!(read("a.csv", "time_s,mbps,rate_mbit_s\n0,1,10\n1,1,20\n"), ("table".into(), 15.0, 2.0));
    assert!(refusal("a.csv", "time_s,mbps,Mbit/s\n0,1,1\n").contains("`mbps` and `mbit_s` could each"));
    let text = "time_s,bitrate,unit\n0,10,Mbits/sec\n1,20000,Kbits/sec\n";
    assert_eq!(read("a.csv", text), ("table".into(), 15.0, 2.0));
    assert!(
        refusal("a.csv", "time_s,bitrate,unit\n0,10,MBytes/sec\n").contains("`MBytes/sec` is not a unit")
    );
    assert!(
        refusal("a.csv", "time_s,dl_mbps,ul_mbps\n0,1,2\n").contains("`dl_mbps` and `ul_mbps` could each")
    );
    // NYU-METS writes one row per second.
    let text = "8,Mbits/sec\n500,Kbits/sec\n500000,bits/sec\n3,Mbits/sec\n";
    assert_eq!(read("bus57.csv", text), ("rates with units".into(), 3.0, 4.0));
    assert!(
        refusal("bus57.csv", "8,Mbits/sec\n5\n").contains("bus57.csv:2: `5` is not a rate with its unit")
    );
}

#[test]
fn the_log_of_g_net_track_pro_is_read_as_the_phone_writes_it() {
    let log = |rate: &str| {
        format!(
            "Timestamp\tLongitude\tOperator\t{rate}\tBAND\n2025.07.18_22.11.08\t0.0\tA B\t6000\tL7\t\n\
             2025.07.18_22.11.10\t0.0\tA B\t-\tL7\t\n2025.07.18_22.11.11\t0.0\tA B\t3000\tL7\t\n"
        )
    };
    assert_eq!(read("log.txt", &log("DL_bitrate")), ("table".into(), 4.5, 6.0));
    let message = refusal("log.txt", &log("Level"));
    for part in [
        "log.txt:1: no rate column among the columns `Timestamp,Longitude,Operator,Level,BAND`",
        "rate_kbit_s",
        "python3 -c \"import csv; print('time_s,rate_mbit_s')",
        "csv.DictReader(open('log.txt'), delimiter='\\t', skipinitialspace=True)",
    ] {
        assert!(message.contains(part), "`{part}` is not in: {message}");
    }
    let ragged = refusal("a.csv", "time_s,rate_mbit_s\n0,1,5\n");
    assert!(ragged.contains("a.csv:2: the row has 3 fields, and the header names 2"), "{ragged}");
}

const SABRE: &str = r#"[{"duration_ms": 1000, "bandwidth_kbps": 1600, "latency_ms": 100},
    {"duration_ms": 3000, "bandwidth_kbps": 800, "latency_ms": 40}]"#;

#[test]
fn json_of_sabre_is_read_with_its_delays() {
    assert_eq!(read("a.json", SABRE), ("Sabre".into(), 1.0, 4.0));
    let notes = notes("a.json", SABRE);
    assert_eq!(
        notes,
        "the file also has round-trip times of 40ms to 100ms; --extra-delay @a.json applies them"
    );
    // One direction has half of a round trip.
    assert_eq!(delays(SABRE, "a.json", "").unwrap(), "50ms@1s,20ms@3s");
    let negative = SABRE.replace("800", "-800");
    assert!(
        refusal("a.json", &negative).contains("`-0.8` is not a rate")
            || refusal("a.json", &negative).contains("`-800` is not a rate")
    );
    assert!(
        refusal("a.json", &SABRE.replace("3000", "\"long\"")).starts_with("a.json:2: is not in the form")
    );
}

#[test]
fn json_of_alpha_rtc_is_read_with_its_delays_and_losses() {
    let pattern = r#"{"trace_pattern": [{"duration": 2000, "capacity": 300, "loss": 0, "rtt": 80, "jitter": 0},
        {"duration": 1000, "capacity": 900, "loss": 2, "rtt": 80}]}"#;
    let up = format!(r#"{{"type": "video", "downlink": {{}}, "uplink": {pattern}}}"#);
    assert_eq!(read("a.json", &up), ("AlphaRTC".into(), 0.5, 3.0));
    let notes = notes("a.json", &up);
    assert!(notes.contains("loss, in 1 of its 2 parts") && notes.contains("--rtt 80ms"), "{notes}");
    let both = format!(r#"{{"downlink": {pattern}, "uplink": {pattern}}}"#);
    assert!(refusal("a.json", &both).contains("remove `uplink` or `downlink`"));
}

const GENET: &str = r#"{"timestamps": [0, 0.5, 1.0], "bandwidths": [3, 1, 2], "delays": [100, 100, 50], "loss": 0.005,
    "queue": 62}"#;

#[test]
fn json_of_genet_is_read_with_its_delays_loss_and_queue() {
    assert_eq!(read("a.json", GENET), ("Genet".into(), 2.0, 1.5));
    let notes = notes("a.json", GENET);
    for part in ["--loss 0.500%", "--queue 62pkt", "one-way delays of 50ms to 100ms"] {
        assert!(notes.contains(part), "`{part}` is not in: {notes}");
    }
    assert_eq!(delays(GENET, "a.json", "").unwrap(), "100ms@1s,50ms@500ms");
    let short = GENET.replace("[3, 1, 2]", "[3, 1]");
    assert!(refusal("a.json", &short).contains("`timestamps` has 3 values and `bandwidths` has 2"));
}

const NETEM_TRACE: &str = r#"{"RepeatedBwPatternConfig":{"pattern":[{"StaticBwConfig":{"bw":"12Mbps","duration":"1s"}},
    {"StaticBwConfig":{"bw":"24Mbps","duration":"3s"}}],"count":2}}"#;

#[test]
fn json_of_netem_trace_is_read_in_both_spellings() {
    let words = NETEM_TRACE;
    let nothing = r#"{"RepeatedBwPatternConfig":{"pattern":[{"RepeatedBwPatternConfig":{"pattern":[],"count":3}}],"count":1000000000000}}"#;
    assert!(refusal("a.json", nothing).contains("is empty"));
    assert_eq!(read("a.json", words), ("netem-trace".into(), 21.0, 8.0));
    let numbers = r#"{"RepeatedBwPatternConfig":{"pattern":[{"StaticBwConfig":{"bw":{"gbps":0,"bps":12000000},
        "duration":{"secs":0,"nanos":500000000}}}],"count":0}}"#;
    assert_eq!(read("a.json", numbers), ("netem-trace".into(), 12.0, 0.5));
    let delay = r#"{"RepeatedDelayPatternConfig":{"pattern":[{"StaticDelayConfig":{"delay":"10ms","duration":"1s"}},
        {"StaticDelayConfig":{"delay":"50ms","duration":"1s"}}],"count":0}}"#;
    assert_eq!(delays(delay, "d.json", "").unwrap(), "10ms@1s,50ms@1s");
    assert!(refusal("d.json", delay).contains("--extra-delay @d.json"));
    let random = r#"{"NormalizedBwConfig":{"mean":"12Mbps","std_dev":"1Mbps"}}"#;
    assert!(refusal("a.json", random).contains("NormalizedBwConfig"));
    let endless = words.replace("\"count\":2", "\"count\":18446744073709551615");
    assert!(refusal("a.json", &endless).contains("cut it into shorter traces"));
    assert!(refusal("a.json", &words.replace("24Mbps", "24 apples")).contains("`24 apples` is not a rate"));
}

const IPERF3: &str = "\
Accepted connection from 192.0.2.1, port 39646
[  5] local 192.0.2.2 port 8080 connected to 192.0.2.1 port 39656
[ ID] Interval           Transfer     Bitrate
[  5]   0.00-1.00   sec  5.62 MBytes  47.1 Mbits/sec                  (omitted)
[  5]   0.00-1.00   sec  1.19 MBytes  10.0 Mbits/sec    0   42.4 KBytes
[  5]   1.00-2.00   sec  2.38 MBytes  20000 Kbits/sec    3   42.4 KBytes
[  5]   5.00-5.50   sec  0.30 MBytes  5.00 Mbits/sec    0   42.4 KBytes
- - - - - - - - - - - - - - - - - - - - - - - - -
[ ID] Interval           Transfer     Bitrate
[  5]   0.00-5.50   sec   662 MBytes   185 Mbits/sec                  receiver
";

#[test]
fn intervals_of_iperf3_are_rates() {
    let (form, mean, length) = read("server.log", IPERF3);
    assert_eq!((form.as_str(), length), ("iperf3", 5.5));
    // 10 for 1 s, 20 for 4 s, 5 for 0.5 s.
    assert!((mean - 92.5 / 5.5).abs() < 1e-4, "{mean}");
    assert_eq!(notes("server.log", IPERF3), "intervals of 3.0 s are missing; the rate before each holds on");
    let two = IPERF3.replace("[  5]   1.00-2.00", "[  7]   1.00-2.00");
    assert!(refusal("server.log", &two).contains("several tests"));
    let sums = format!("{IPERF3}[SUM]   0.00-1.00   sec  1.19 MBytes  30.0 Mbits/sec\n");
    assert_eq!(read("server.log", &sums), ("iperf3".into(), 30.0, 1.0));
}

#[test]
fn json_of_iperf3_gives_the_sum_of_each_interval() {
    let interval = |start: f64, bits: f64, omitted: bool| {
        let end = start + 1.0;
        format!(
            r#"{{"streams": [], "sum": {{"start": {start}, "end": {end}, "seconds": 1, "bytes": 1, "bits_per_second": {bits}, "omitted": {omitted}}}}}"#
        )
    };
    let list = [interval(0.0, 9e9, true), interval(0.0, 1e7, false), interval(1.0, 3e7, false)].join(",");
    let text = format!(r#"{{"start": {{}}, "intervals": [{list}], "end": {{}}}}"#);
    assert_eq!(read("a.json", &text), ("iperf3 (JSON)".into(), 20.0, 2.0));
}

#[test]
fn flent_gives_the_sum_of_downloads_and_its_pings() {
    let text = r#"{"metadata": {}, "x_values": [0.0, 0.5, 1.0, 1.5], "results": {
        "TCP download sum": [null, 10.0, null, 20.0], "TCP upload sum": [1, 1, 1, 1], "TCP download::1": [5, 5, 5, 5],
        "Ping (ms) ICMP": [30.0, 50.0, 50.0, null]}}"#;
    assert_eq!(read("rrul.flent", text), ("flent".into(), 15.0, 2.0));
    let notes = notes("rrul.flent", text);
    assert!(
        notes.contains("`TCP upload sum`, which is left out") && notes.contains("30ms to 50ms"),
        "{notes}"
    );
    assert_eq!(delays(text, "rrul.flent", "").unwrap(), "15ms@500ms,25ms@1s");
    let renamed = text.replace("TCP ", "UDP ").replace("Ping (ms) ICMP", "Ping (ms) UDP");
    assert!(refusal("rrul.flent", &renamed).contains("its series are Ping (ms) UDP, UDP download sum"));
}

const PING: &str = "\
PING 192.0.2.1 (192.0.2.1) 38(66) bytes of data.
[1683987762.100] 46 bytes from 192.0.2.1: icmp_seq=1 ttl=50 time=80.0 ms
[1683987762.340] 46 bytes from 192.0.2.1: icmp_seq=2 ttl=50 time=120 ms
[1683987762.880] 46 bytes from 192.0.2.1: icmp_seq=4 ttl=50 time=60.0 ms
";

#[test]
fn pings_are_delays_from_when_each_was_sent() {
    assert_eq!(delays(PING, "ping.txt", "").unwrap(), "40ms@200ms,60ms@600ms,30ms@600ms");
    // As NUWiNS has them: a date before every line.
    let dated = PING
        .replace("[1683987762.", "[2023-05-13 10:22:42.")
        .replace("PING ", "[2023-05-13 10:22:42.0] PING ");
    assert_eq!(delays(&dated, "ping.txt", ""), delays(PING, "ping.txt", ""));
    let unstamped: String =
        PING.lines().map(|line| line.rsplit("] ").next().unwrap().to_owned() + "\n").collect();
    assert!(delays(&unstamped, "ping.txt", "").unwrap_err().contains("record them with `ping -D`"));
    assert!(
        refusal("ping.txt", PING).contains("holds delays, and no rates of a link: `--extra-delay @ping.txt`")
    );
}

#[test]
fn bare_numbers_are_milliseconds_of_delay_at_even_steps() {
    // LeoCC's delays of Starlink: one-way, each 10 ms.
    assert_eq!(delays("12\n12\n16\n9.5\n", "delay.txt", "").unwrap(), "12ms@20ms,16ms@10ms,9.5ms@10ms");
    assert_eq!(delays("12\n16\n", "delay.txt", ",as=ms@1s").unwrap(), "12ms@1s,16ms@1s");
    assert_eq!(delays("12\n16\n", "delay.txt", ",as=rtt-ms@1s").unwrap(), "6ms@1s,8ms@1s");
    assert!(delays("12\n-3\n", "delay.txt", "").unwrap_err().contains("delay.txt:2: `-3` is not a delay"));
    assert!(delays("12\n", "delay.txt", ",as=kbit/s@1s").unwrap_err().contains("holds no delays"));
    assert!(delays("0 12\n", "delay.txt", "").unwrap_err().contains("holds no delays"));
    for header in ["time_s,delay_ms", "time_s,RTT (ms)"] {
        let half = if header.contains("RTT") { "6ms@500ms,8ms@500ms" } else { "12ms@500ms,16ms@500ms" };
        assert_eq!(delays(&format!("{header}\n0,12\n0.5,16\n"), "delay.csv", "").unwrap(), half);
    }
    assert!(refusal("a.csv", "time_s,rtt_ms\n0,12\n").contains("holds delays, and no rates of a link"));
    assert_eq!(read("a.csv", "time_s,rate_mbit_s,rtt_ms\n0,12,-\n"), ("table".into(), 12.0, 1.0));
    let (_folder, path) = file("delay.txt", "12\n");
    let without_sign = Delay::open(&path).unwrap_err().to_string();
    assert!(without_sign.starts_with(&format!("did you mean `@{path}`?")), "{without_sign}");
}

proptest::proptest! {
    #[test]
    fn no_damage_to_a_file_of_another_program_makes_a_reader_panic(
        text in proptest::sample::select(&[SABRE, GENET, NETEM_TRACE, IPERF3, PING, "2024-05-01T10:00:00,time\n"]),
        at in 0_usize..2000, value in proptest::prelude::any::<u8>(), name in proptest::sample::select(&["a", "a.csv"])
    ) {
        let mut content = text.as_bytes().to_vec();
        let at = at % content.len();
        content[at] = value;
        let _ = trace::parse(name, &content);
    }
}

#[test]
fn a_file_in_no_form_comes_with_a_way_to_convert_it() {
    let json = refusal("a.json", r#"{"speeds": [1, 2], "where": "here"}"#);
    assert!(json.contains("the keys `speeds,where`") && json.contains("json.load(open('a.json'))"), "{json}");
    assert!(refusal("a.json", r#"[{"rate": 1, "at": 0}]"#).contains("the keys `at,rate`"));
    assert!(refusal("a.json", r#"{"cut": "#).contains("fits no trace format"));
    assert!(refusal("a.txt", "0;12\n1;8\n").ends_with("such as `time_s;rate_mbit_s`"));
    let numbers = refusal("a.txt", "0 5 7\n1 6 8\n");
    assert!(
        numbers.contains("`0 5 7` fits no trace format") && numbers.contains("> converted.mbps"),
        "{numbers}"
    );
}

/// Between these lines of docs/how-to/traces.md stands the table, which the test writes where `CELLCC_WRITE_DOCS` is set.
const BEGIN: &str = "<!-- the table of crates/link/src/trace/forms.rs, held by its test -->\n";
const END: &str = "<!-- the table ends -->\n";

#[test]
fn the_page_of_traces_has_a_row_for_each_form() {
    let mut table = String::from("\n| form | written by | read | left out |\n|---|---|---|---|\n");
    for form in &FORMS {
        let _ =
            writeln!(table, "| {} | {} | {} | {} |", form.name, form.written_by, form.taken, form.left_out);
    }
    table.push('\n');
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/how-to/traces.md");
    let page = std::fs::read_to_string(path).unwrap();
    let (before, rest) = page.split_once(BEGIN).expect("the page has the line before the table");
    let (_, after) = rest.split_once(END).expect("the page has the line after the table");
    let made = [before, BEGIN, &table, END, after].concat();
    if std::env::var_os("CELLCC_WRITE_DOCS").is_some() {
        std::fs::write(path, &made).unwrap();
    } else {
        assert_eq!(page, made, "set CELLCC_WRITE_DOCS=1 to write the page");
    }
}

/// A table by hand has such a head. Milliseconds would make a row for each one.
#[test]
fn times_that_could_only_be_seconds_need_no_unit() {
    for text in
        ["time,mbps\n0,10\n1,20\n", "time mbps\n0.0 10\n0.5 20\n1.1 20\n", "Time;Mbit/s\n0,5;10\n1,5;20\n"]
    {
        let (form, mean, _) = read("a.csv", text);
        assert_eq!(form, "table", "{text}");
        assert!((10.0..=20.0).contains(&mean), "{text}: {mean}");
    }
    assert_eq!(read("a.csv", "time,mbps\n0,10\n1,20\n"), read("a.csv", "time_s,mbps\n0,10\n1,20\n"));
    // Ten seconds or ten milliseconds.
    assert!(refusal("a.csv", "time,mbps\n0,10\n10,20\n").contains("`time_s` or `time_ms`"));
}

#[test]
fn a_rate_holds_from_its_own_time_in_every_form() {
    let capacity = trace::parse("a.json", SABRE.as_bytes()).unwrap().capacity;
    let at = |secs| {
        let start = Time::ZERO + Span::from_secs(secs);
        capacity.rate_in(start, start + Span::from_secs(1)).as_mbit_per_sec()
    };
    assert_eq!([at(0), at(1), at(3), at(4)], [1.6, 0.8, 0.8, 1.6]);
}

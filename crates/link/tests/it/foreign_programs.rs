//! Files of other programs, each with the units, delays and losses that it states.

use crate::trace_forms::{delays, notes, read, refusal};
use cellcc_link::trace;

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

pub(crate) const SABRE: &str = r#"[{"duration_ms": 1000, "bandwidth_kbps": 1600, "latency_ms": 100},
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

//! Files as other programs write them: the rates, times and delays that are read, and the messages for the rest.

use crate::foreign_programs::SABRE;
use cellcc_link::trace::{self, FORMS};
use cellcc_link::{Capacity, CapacitySpec, Delay, Source};
use cellcc_units::{Rate, Span, Time};
use std::fmt::Write;

/// The form, the mean in Mbit/s and the length in seconds of a file.
pub(crate) fn read(name: &str, text: &str) -> (String, f64, f64) {
    let trace = trace::parse(name, text.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    let length = trace.capacity.period().unwrap();
    (trace.form, trace.capacity.mean_rate().as_mbit_per_sec(), length.as_secs_f64())
}

pub(crate) fn refusal(name: &str, text: &str) -> String {
    trace::parse(name, text.as_bytes()).unwrap_err().to_string()
}

pub(crate) fn notes(name: &str, text: &str) -> String {
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
pub(crate) fn delays(text: &str, file_name: &str, reading: &str) -> Result<String, String> {
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

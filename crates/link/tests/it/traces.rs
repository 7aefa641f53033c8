//! Which files are traces, and the errors for those that are not.

use cellcc_link::{Capacity, CapacitySpec, CapacityStats, Delay, ServiceClock, trace};
use cellcc_units::{Bytes, Rate, Span, Time};
use std::io::Write;
use std::path::{Path, PathBuf};

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn xz(text: &[u8]) -> Vec<u8> {
    let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 6);
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn refusal(name: &str, content: &[u8]) -> String {
    trace::parse(name, content).unwrap_err().to_string()
}

fn mbit_in_second(capacity: &Capacity, second: u64) -> f64 {
    let start = Time::ZERO + Span::from_secs(second);
    capacity.rate_in(start, start + Span::from_secs(1)).as_mbit_per_sec()
}

#[test]
fn compression_is_recognised_by_content_and_changes_nothing() {
    let text = b"0 10\n1 20\n";
    let plain = trace::parse("folder/a.mbps", text).unwrap();
    for (name, content) in [("a.mbps.gz", gzip(text)), ("a.mbps.xz", xz(text)), ("a.mbps", gzip(text))] {
        let packed = trace::parse(name, &content).unwrap();
        assert_eq!((&packed.hash, &packed.name), (&plain.hash, &plain.name));
    }
}

#[test]
fn two_gzip_members_one_after_the_other_are_one_trace() {
    let content = [gzip(b"0 10\n"), gzip(b"1 20\n")].concat();
    assert_eq!(trace::parse("a.mbps.gz", &content).unwrap().capacity.period(), Some(Span::from_secs(2)));
}

#[test]
fn a_rate_holds_until_the_next_line_and_the_first_line_is_time_zero() {
    let capacity =
        trace::parse("a.mbps", b"# seconds, Mbit/s\n\n100.0\t10\n102.0\t30\n103.0\t50\n").unwrap().capacity;
    assert_eq!(capacity.period(), Some(Span::from_secs(4)));
    let rates: Vec<f64> = (0..5).map(|second| mbit_in_second(&capacity, second)).collect();
    assert_eq!(rates, [10.0, 10.0, 30.0, 50.0, 10.0]);
}

#[test]
fn of_several_lines_at_the_same_time_the_last_one_counts() {
    let capacity = trace::parse("a.mbps", b"0 10\n1 20\n1 30\n2 40\n2 50\n").unwrap().capacity;
    assert_eq!(capacity.period(), Some(Span::from_secs(3)));
    assert_eq!([0, 1, 2].map(|second| mbit_in_second(&capacity, second)), [10.0, 30.0, 50.0]);
}

#[test]
fn a_csv_file_names_its_columns_and_their_units() {
    let csv = b"cell,Time_ms,rate_kbit_s\n7,0,10000\n7,1000,20000\n";
    let trace = trace::parse("drive.csv", csv).unwrap();
    assert_eq!(trace.form, "table");
    assert_eq!([mbit_in_second(&trace.capacity, 0), mbit_in_second(&trace.capacity, 1)], [10.0, 20.0]);
    assert_eq!(trace.hash, trace::parse("a.mbps", b"0 10\n1 20\n").unwrap().hash);
}

/// In the form of Raca et al. 2020. It was refused: no time column.
const IRISH: &str = "Timestamp,Longitude,Latitude,Speed,Operatorname,CellID,NetworkMode,RSRP,DL_bitrate,UL_bitrate,State\n\
    2019.12.14_23.59.58,-8.5,51.9,0,B,12,5G,-95,-,-,I\n\
    2019.12.14_23.59.59,-8.5,51.9,0,B,12,5G,-95,10000,90,D\n\
    2019.12.15_00.00.00,-8.5,51.9,1,B,12,5G,-96,1,0,D\n\
    2019.12.15_00.00.00,-8.5,51.9,1,B,13,5G,-97,20000,80,D\n\
    2019.12.15_00.00.01,-8.5,51.9,1,B,13,5G,-97,-,-,D\n\
    2019.12.15_00.00.02,-8.5,51.9,2,B,13,5G,-99,30000,70,D\n";

#[test]
fn the_irish_5g_data_are_read_as_published() {
    let trace = trace::parse("B_2019.12.14_23.59.58.csv", IRISH.as_bytes()).unwrap();
    // Two rows of one second: the last counts. A row without a rate: the one before holds on.
    let same = trace::parse("a.mbps", b"0 10\n1 20\n3 30\n").unwrap();
    assert_eq!(trace.hash, same.hash);
}

/// A table with both directions was refused without a way out but to edit it.
#[test]
fn a_column_of_a_table_is_chosen_by_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        path.display().to_string()
    };
    let open = |text: String| text.parse::<CapacitySpec>().unwrap().open(|_| None);
    let rates = |text: String| {
        let capacity = open(text).unwrap().capacity;
        [0, 1].map(|second| mbit_in_second(&capacity, second))
    };
    let both = file("both.csv", "time_s;DL (Mbps);ul_kbps;rtt_ms\n0;10;1000;40\n1;20;2000;60\n");
    assert_eq!(rates(format!("{both},column=DL (Mbps)")), [10.0, 20.0]);
    assert_eq!(rates(format!("{both},column=ul_kbps,duration=2s")), [1.0, 2.0]);
    assert_eq!(Delay::open(&format!("@{both},column=rtt_ms")).unwrap().to_string(), "20ms@1s,30ms@1s");
    let message = |text: String| open(text).unwrap_err().to_string();
    assert!(
        message(both.clone()).contains("add `,column=dl_mbps` or `,column=ul_kbps`"),
        "{}",
        message(both.clone())
    );
    assert!(
        message(format!("{both},column=ul")).contains("no column of this name with a unit among the columns")
    );
    assert!(message(format!("{both},column=rtt_ms")).contains("holds delays"));
    let irish = file("irish.csv", IRISH);
    assert_eq!(rates(format!("{irish},column=UL_bitrate")), [0.09, 0.08]);
    let plain = file("plain.mbps", "0 1\n");
    assert!(message(format!("{plain},column=dl_mbps")).contains("only tables have columns"));
}

/// In the form of Lumos5G 1.0, two runs. It was refused: no time column.
const LUMOS5G: &str = "run_num,seq_num,abstractSignalStr,latitude,longitude,movingSpeed,compassDirection,nrStatus,lte_rssi,\
    nr_ssRsrp,Throughput,mobility_mode,trajectory_direction,tower_id\n\
    1,1,2,44.9,-93.2,1.5,120,CONNECTED,-61,-90,100,walking,CW,4\n\
    1,2,2,44.9,-93.2,1.4,120,CONNECTED,-61,,200,walking,CW,4\n\
    2,1,3,44.9,-93.2,9.0,90,NOT_RESTRICTED,-70,,30,driving,CW,5\n\
    2,2,3,44.9,-93.2,9.5,90,NOT_RESTRICTED,-70,,40,driving,CW,5\n\
    2,4,3,44.9,-93.2,9.5,90,NOT_RESTRICTED,-70,,50,driving,CW,5\n";

#[test]
fn the_runs_of_lumos5g_follow_each_other_or_are_read_one_by_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("Lumos5G-v1.0.csv");
    std::fs::write(&path, LUMOS5G).unwrap();
    let open = |ending: &str| {
        let spec: CapacitySpec = format!("{}{ending}", path.display()).parse().unwrap();
        spec.open(|_| None)
    };
    let hash = |text: &str| trace::parse("a.mbps", text.as_bytes()).unwrap().hash;
    // The last rate of a run lasts as long as the one before it.
    assert_eq!(open("").unwrap().hash, hash("0 100\n1 200\n2 30\n3 40\n5 50\n"));
    assert_eq!(open(",run=1").unwrap().hash, hash("0 100\n1 200\n"));
    assert_eq!(open(",run=2").unwrap().hash, hash("0 30\n1 40\n3 50\n"));
    let message = |ending: &str| open(ending).unwrap_err().to_string();
    assert!(message(",run=7").ends_with("has no run 7: its runs are numbered from 1 to 2"));
    std::fs::write(&path, "time_s,rate_mbit_s\n0,5\n").unwrap();
    assert!(message(",run=1").contains(":1: has no runs to choose from: leave `run=` out"));
}

#[test]
fn the_format_follows_from_the_content_where_the_name_does_not_say() {
    let form = |text: &[u8]| trace::parse("trace.txt", text).unwrap().form;
    assert_eq!(form(b"0\n5\n7\n"), "bare numbers");
    assert_eq!(form(b"0 5.5\n1 7\n"), "rate");
    assert_eq!(form(b"time_s,rate_mbit_s\n0,5\n"), "table");
}

#[test]
fn what_is_no_trace_is_refused_with_its_place_and_advice() {
    let truncated = gzip(&b"0 10\n1 20\n".repeat(100));
    let truncated = &truncated[..truncated.len() - 9];
    let cases: &[(&str, &[u8], &str)] = &[
        ("a.mahi", b"", "a.mahi: is empty: a trace needs at least one line"),
        ("a.mbps", b"\n# nothing\n", "a.mbps: is empty"),
        ("a.mahi", b"\x00\x01\x02\xff\xfe", "a.mahi: is not text"),
        ("a.mahi", b"1\n5\n3\n", "a.mahi:3: time 3 ms follows 5 ms: times must not decrease"),
        ("a.mbps", b"0 1\n2 1\n1 1\n", "a.mbps:3: time 1 s follows 2 s: times must not decrease"),
        ("a.mahi", b"1\n-5\n", "a.mahi:2: `-5` is not a whole number of milliseconds"),
        ("a.mahi", b"1\n5.5\n", "a.mahi:2: `5.5` is not a whole number"),
        ("a.mbps", b"0 1\n1 -3\n", "a.mbps:2: `-3` is not a rate"),
        ("a.mbps", b"0 NaN\n", "a.mbps:1: `NaN` is not a rate"),
        ("a.mbps", b"0 1\ninf 3\n", "a.mbps:2: `inf` is not a time"),
        ("a.mbps", b"0 inf\n", "a.mbps:1: `inf` is not a rate"),
        ("a.mbps", b"0 0\n1 0\n", "a.mbps: it never carries anything"),
        ("a.mahi", b"0\n0\n", "a.mahi: it never carries anything"),
        ("a.mbps", b"0 1e9\n", "a.mbps:1: a rate of 1000000Gbit/s is above 10000Gbit/s"),
        ("a.mbps", b"0 1\n1e12 1\n", "a.mbps:2: it is longer than a year"),
        ("a.mahi", b"99999999999999999999999\n", "a.mahi:1: it is longer than a year"),
        ("a.mbps", b"0 1 2\n", "a.mbps:1: `0 1 2` has 3 fields"),
        ("a.txt", b"hello world\n", "a.txt: `hello world` fits no trace format"),
        ("a.csv", b"time_s,level\n0,1\n", "a.csv:1: no rate column among the columns `time_s,level`"),
        ("a.csv", b"0,12\n1,8\n", "a.csv:1: `0,12` is a row of numbers without names of its columns: add"),
        ("a.txt", b"0;12\n1;8\n", "a.txt: `0;12` is a row of numbers"),
        ("a.csv", b"time_s,rate_mbit_s\n0,1\n1,x\n", "a.csv:3: `x` is not a rate"),
        (
            "a.csv",
            b"time_s,rate_mbit_s,Rate_mbit_s\n0,1,2\n",
            "a.csv:1: `rate_mbit_s` and `rate_mbit_s` could each be the rate column: leave one",
        ),
        (
            "a.csv",
            b"time_ms,time_s,rate_bps\n0,0,2\n",
            "a.csv:1: `time_ms` and `time_s` could each be the time column",
        ),
        (
            "a.csv",
            b"Timestamp,DL_bitrate\n14.12.2019,5\n",
            "a.csv:2: `14.12.2019` is not a date and a time of day such as",
        ),
        ("a.csv", b"Timestamp,DL_bitrate\n2019.12.14_10.16.30,-\n", "a.csv: is empty"),
        ("a.csv", b"run_num,seq_num,Throughput\n1,2,5\n1,1,5\n", "a.csv:3: time 1 s follows 2 s"),
        ("a.csv", b"run_num,seq_num,Throughput\nfirst,1,5\n", "a.csv:2: `first` is not the number of a run"),
        ("a.csv", b"time_s,rate_mbit_s\n0,1\n1\n", "a.csv:3: "),
        ("a.mbps.gz", truncated, "a.mbps.gz: the gzip data is damaged or cut off"),
        ("a.mbps.xz", &xz(b"0 10\n")[..20], "a.mbps.xz: the xz data is damaged or cut off"),
    ];
    for (name, content, expected) in cases {
        let message = refusal(name, content);
        assert!(message.starts_with(expected), "expected: {expected}\n     got: {message}");
    }
}

#[test]
fn a_small_file_that_unpacks_to_an_absurd_size_is_refused() {
    let bomb = gzip(&vec![b'1'; usize::try_from(trace::MAX_TEXT_BYTES).unwrap() + 1]);
    assert!(refusal("a.mahi.gz", &bomb).contains("more than 256 MiB"));
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let message = trace::read(Path::new("no/such.mahi")).unwrap_err().to_string();
    assert!(message.starts_with("no/such.mahi: cannot be read"), "{message}");
}

#[test]
fn a_part_of_a_trace_repeats() {
    let whole = trace::parse("a.mbps", b"0 10\n1 20\n2 30\n3 40\n").unwrap().capacity;
    let part = whole.cut(Span::from_secs(1), Some(Span::from_secs(2))).unwrap();
    let rates: Vec<f64> = (0..4).map(|second| mbit_in_second(&part, second)).collect();
    assert_eq!(rates, [20.0, 30.0, 20.0, 30.0]);
    let opportunities = Capacity::from_opportunities([0, 4, 6, 10]).unwrap();
    let part = opportunities.cut(Span::from_millis(4), Some(Span::from_millis(4))).unwrap();
    // From the part after 4 ms and up to 8 ms only the opportunity at 6 ms is left: at 2 ms, then 6, 10 ...
    let mut clock = ServiceClock::new(part.into());
    let ends = [(); 3].map(|()| clock.finish(Time::ZERO, Bytes::new(1500)).as_nanos() / 1_000_000);
    assert_eq!(ends, [2, 6, 10]);
}

proptest::proptest! {
    #[test]
    fn no_content_makes_a_parser_panic(
        content in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..300),
        name in proptest::sample::select(&["a.mahi", "a.mbps", "a.csv", "a", "a.gz"]),
    ) {
        let _ = trace::parse(name, &content);
    }

    #[test]
    fn no_damage_to_a_trace_makes_a_parser_panic(
        content in "(time_s,rate_mbit_s\n|Timestamp,DL_bitrate\n|run_num,seq_num,Throughput\n|time;bitrate;unit\n|\\[  5\\] Interval \nbits/sec\n)?([0-9]{1,4}[ ,\t]?[-+0-9.eE]{0,20}\n?){0,20}",
        name in proptest::sample::select(&["a.mahi", "a.mbps", "a.csv", "a"]),
    ) {
        if let Ok(trace) = trace::parse(name, content.as_bytes()) {
            CapacityStats::new(&trace.capacity, Span::from_secs(1));
        }
    }

    #[test]
    fn no_damage_to_a_compressed_trace_makes_a_parser_panic(
        at in 0usize..60, value in proptest::prelude::any::<u8>(), as_xz in proptest::prelude::any::<bool>()
    ) {
        let mut content = if as_xz { xz(b"0 10\n1 20\n") } else { gzip(b"0 10\n1 20\n") };
        let at = at % content.len();
        content[at] = value;
        let _ = trace::parse("a.mbps", &content);
    }
}

/// The folders of the real traces that hold links.
const REAL: [&str; 6] = ["5g-mmwave", "4g-lumos", "lte-mahimahi", "lte-nyc", "3g-nyc", "3g-hspa"];

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn every_real_trace_is_read_and_carries_what_it_says() {
    let Some(root) = std::env::var_os("CELLCC_TRACES") else {
        writeln!(std::io::stderr(), "left out: CELLCC_TRACES names no folder of real traces").unwrap();
        return;
    };
    for path in REAL.iter().flat_map(|folder| files(&Path::new(&root).join(folder))) {
        let trace = trace::read(&path).unwrap_or_else(|error| panic!("{error}"));
        let capacity = &trace.capacity;
        let period = capacity.period().unwrap();
        let mean = capacity.mean_rate().as_mbit_per_sec();
        assert!(mean > 0.1 && mean < 2000.0, "{}: {mean} Mbit/s", trace.name);
        // A sender that always has something to send gets all of it, in whole transfers.
        let mut clock = ServiceClock::new(capacity.clone());
        let mut sent = Bytes::ZERO;
        let transfer = Bytes::new(100_000);
        while clock.finish(Time::ZERO, transfer) <= Time::ZERO + period {
            sent += transfer;
        }
        let carried = capacity.bytes_between(Time::ZERO, Time::ZERO + period);
        assert!(sent <= carried && carried - sent < transfer, "{}: {sent} of {carried}", trace.name);
        if trace.capacity.is_opportunities() {
            let lines = std::fs::read_to_string(&path).unwrap().lines().count() as u64;
            assert_eq!(carried, Capacity::OPPORTUNITY * lines, "{}", trace.name);
        }
        let stats = CapacityStats::new(capacity, period);
        assert!(stats.p5_mbit_s <= stats.p50_mbit_s && stats.p50_mbit_s <= stats.p95_mbit_s);
        assert_eq!(stats.bursts.is_some(), trace.capacity.is_opportunities());
    }
}

#[test]
fn a_constant_rate_survives_conversion_to_mahimahi() {
    let capacity = Capacity::constant(Rate::from_mbit_per_sec(100.0)).unwrap();
    let mut text = Vec::new();
    trace::write::mahimahi(&capacity, Span::from_secs(3), &mut text).unwrap();
    let read = trace::parse("a.mahi", &text).unwrap().capacity;
    assert_eq!(read.mean_rate(), Rate::from_mbit_per_sec(100.0));
}

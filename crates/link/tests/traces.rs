//! Which files are traces, and the errors for those that are not.

use cellcc_link::{Capacity, CapacityStats, ServiceClock, trace};
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
    assert_eq!(trace.format, trace::Format::Csv);
    assert_eq!([mbit_in_second(&trace.capacity, 0), mbit_in_second(&trace.capacity, 1)], [10.0, 20.0]);
    assert_eq!(trace.hash, trace::parse("a.mbps", b"0 10\n1 20\n").unwrap().hash);
}

#[test]
fn the_format_follows_from_the_content_where_the_name_does_not_say() {
    let format = |text: &[u8]| trace::parse("trace.txt", text).unwrap().format;
    assert_eq!(format(b"0\n5\n7\n"), trace::Format::Mahimahi);
    assert_eq!(format(b"0 5.5\n1 7\n"), trace::Format::Rate);
    assert_eq!(format(b"time_s,rate_mbit_s\n0,5\n"), trace::Format::Csv);
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
        ("a.csv", b"time_s,rate_mbit_s\n0,1\n1,x\n", "a.csv:3: `x` is not a rate"),
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
    // Of the part after 4 ms and up to 8 ms only the opportunity at 6 ms is left: at 2 ms, then 6, 10 ...
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
        content in "(time_s,rate_mbit_s\n)?([0-9]{1,4}[ ,\t]?[-+0-9.eE]{0,20}\n?){0,20}",
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
        if let trace::Format::Mahimahi = trace.format {
            let lines = std::fs::read_to_string(&path).unwrap().lines().count() as u64;
            assert_eq!(carried, Capacity::OPPORTUNITY * lines, "{}", trace.name);
        }
        let stats = CapacityStats::new(capacity, period);
        assert!(stats.p5_mbit_s <= stats.p50_mbit_s && stats.p50_mbit_s <= stats.p95_mbit_s);
        assert_eq!(stats.bursts.is_some(), trace.format == trace::Format::Mahimahi);
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

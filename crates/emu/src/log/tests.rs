use super::*;
use crate::error::EmuError;
use cellcc_link::Capacity;
use cellcc_units::Rate;
use proptest::prelude::*;
use std::io::{self, Write};
use std::num::NonZeroU64;
use std::sync::{Arc, Mutex};
use std::time::{Duration, UNIX_EPOCH};

/// A log in the form of Mahimahi 0.98's mm-link (the sizes, the order of `#` and `-`, and a drop after its arrival).
const OF_MAHIMAHI: &str = "\
# mahimahi mm-link (Uplink) [/usr/share/mahimahi/traces/Verizon-LTE-short.up] > up.log
# command line: mm-link up down --uplink-queue=droptail --uplink-queue-args=packets=2 --uplink-log=up.log
# queue: droptail [packets=2]
# init timestamp: 1609459200000
# base timestamp: 5
# mahimahi config: [delay 10 ms] 
5 # 1504
7 + 1504
8 + 1504
9 + 56
9 d 1 56
15 # 1504
15 - 1504 8
25 # 1504
25 - 1504 17
30 # 1504
";

fn at(micros: u64) -> Time {
    Time::ZERO + Span::from_micros(micros)
}

fn entries(text: &[u8]) -> Result<Vec<Entry>, EmuError> {
    let mut entries = Vec::new();
    read_from("test.log", text, |entry| {
        entries.push(entry);
        Ok(())
    })?;
    Ok(entries)
}

fn digest(text: &str) -> Digest {
    let mut digest = Digest::new(NonZeroU64::new(10).unwrap());
    read_from("test.log", text.as_bytes(), |entry| digest.add(entry)).unwrap();
    digest
}

#[test]
fn mahimahis_own_log_is_read_from_its_base_timestamp_on() {
    let entries = entries(OF_MAHIMAHI.as_bytes()).unwrap();
    assert_eq!(entries[0], Entry::Opportunity { at_ms: 0, bytes: 1504 });
    assert_eq!(entries[4], Entry::Drop { at_ms: 4, packets: 1, bytes: 56 });
    assert_eq!(entries[6], Entry::Departure { at_ms: 10, bytes: 1504, delay_ms: 8 });
    assert_eq!(entries.len(), 10);
}

#[test]
fn the_numbers_are_those_of_mm_throughput_graph() {
    let digest = digest(OF_MAHIMAHI);
    // 4 * 1504 bytes in 25 ms.
    let capacity = digest.mean_mbit_s(digest.total.offered_bytes).unwrap();
    assert_eq!(format!("{capacity:.5}"), "1.92512");
    assert_eq!(digest.utilisation(), Some(0.5));
    assert_eq!(digest.queueing_delay_p95_ms(), Some(17));
    // Sent at 2 ms: 8 ms; at 3 ms: 17 ms.
    assert_eq!(digest.signal_delay_p95_ms(), Some(17));
    assert_eq!((digest.total.dropped_packets, digest.total.dropped_bytes), (1, 56));
    assert_eq!(digest.bins.len(), 3);
    assert_eq!(digest.bins[1].departed_bytes, 1504);
}

/// The signal delay as Mahimahi's script computes it: a table with every millisecond.
fn signal_delay_by_table(packets: &[(u64, u64)]) -> Option<u64> {
    let (first, last) = (packets.iter().map(|p| p.0).min()?, packets.iter().map(|p| p.0).max()?);
    let mut after = 0;
    let mut delays: Vec<u64> = (first..=last)
        .rev()
        .map(|milli| {
            let here = packets.iter().filter(|p| p.0 == milli).map(|p| p.1).min();
            after = here.unwrap_or(after + 1);
            after
        })
        .collect();
    delays.sort_unstable();
    Some(delays[(0.95 * delays.len() as f64) as usize])
}

#[test]
fn a_gap_in_the_log_makes_the_signal_older_millisecond_by_millisecond() {
    // Arrivals at 0 and 100 ms, each 5 ms in the queue: a packet sent at 1 ms had to wait until 105.
    let log = digest("# base timestamp: 0\n5 - 1504 5\n105 - 1504 5\n");
    assert_eq!(log.queueing_delay_p95_ms(), Some(5));
    assert_eq!(log.signal_delay_p95_ms(), signal_delay_by_table(&[(0, 5), (100, 5)]));
    assert_eq!(log.signal_delay_p95_ms(), Some(99));
}

#[test]
fn what_is_no_log_is_refused_with_its_line() {
    for (text, problem) in [
        ("12 + 1504\n", "test.log:1: no `# base timestamp: NUMBER` before it"),
        ("# base timestamp: 0\n\n12 + 1504\n", "test.log:2: ``: a line of a Mahimahi log is"),
        ("# base timestamp: 0\n12 x 1504\n", "test.log:2: `12 x 1504`"),
        ("# base timestamp: 0\n12 - 1504\n", "test.log:2: `12 - 1504`"),
        ("# base timestamp: 9\n8 + 1504\n", "test.log:2: `8 + 1504`"),
        ("# base timestamp: 0\n8 - 1504 9\n", "test.log:2: `8 - 1504 9`"),
        ("# base timestamp: 0\n# base timestamp: 1\n", "test.log:2: a second base timestamp"),
        ("# base timestamp: x\n", "test.log:1: the base timestamp is not a whole number"),
        ("# base timestamp: 0\n1.5 + 1504\n", "test.log:2: `1.5 + 1504`"),
    ] {
        let error = entries(text.as_bytes()).unwrap_err().to_string();
        assert!(error.starts_with(problem), "{error}");
    }
}

#[test]
fn half_a_last_line_is_left_out_because_a_killed_link_leaves_one() {
    assert_eq!(entries(b"# base timestamp: 0\n1 + 52\n2 - 5").unwrap().len(), 1);
}

#[test]
fn times_too_far_apart_are_refused_with_a_way_out() {
    let mut digest = Digest::new(NonZeroU64::MIN);
    let text = "# base timestamp: 0\n1 + 52\n9000000000 + 52\n";
    let error = read_from("test.log", text.as_bytes(), |entry| digest.add(entry)).unwrap_err().to_string();
    assert!(error.starts_with("test.log:3:") && error.contains("wider bins"), "{error}");
}

#[test]
fn a_line_that_is_late_is_counted_in_its_bin() {
    let digest = digest("# base timestamp: 0\n25 + 100\n19 + 10\n1 + 1\n");
    let arrived: Vec<u64> = digest.bins.iter().map(|bin| bin.arrived_bytes).collect();
    assert_eq!((digest.first_bin, arrived), (0, vec![1, 10, 100]));
}

#[test]
fn a_long_log_keeps_every_peak_of_the_delay_in_few_points() {
    let mut series = DelaySeries::new(100);
    for milli in 0..1_000_000 {
        series.add(100 + milli, if milli == 777_777 { 5000 } else { 10 });
    }
    assert_eq!(series.width_ms, 256);
    assert!(series.ranges.len() <= 4096);
    let peak = (777_777 / series.width_ms) as usize;
    assert_eq!(series.ranges[peak], Some(DelayRange { least_ms: 10, most_ms: 5000 }));
}

/// Everything written goes here; fails as a full disk does once it holds `room` bytes.
#[derive(Clone)]
struct Disk {
    content: Arc<Mutex<Vec<u8>>>,
    room: usize,
}

impl Disk {
    fn new(room: usize) -> Self {
        Self { content: Arc::default(), room }
    }

    fn text(&self) -> String {
        String::from_utf8(self.content.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut content = self.content.lock().unwrap();
        if content.len() + bytes.len() > self.room {
            return Err(io::ErrorKind::StorageFull.into());
        }
        content.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn spec() -> LogSpec {
    let header = LogHeader {
        link: "Uplink".into(),
        trace: "lte.up".into(),
        command_line: "mm-link lte.up lte.down -- sh -c 'a\nb'".into(),
        queue: "droptail [packets=100]".into(),
        config: String::new(),
    };
    LogSpec { path: "up.log".into(), header }
}

fn sink(disk: &Disk, capacity: Capacity) -> LogSink {
    let started = UNIX_EPOCH + Duration::from_millis(1_609_459_200_000);
    LogSink::to(Box::new(disk.clone()), &spec(), Arc::new(capacity), started).unwrap()
}

#[test]
fn a_log_reads_as_mahimahis() {
    let disk = Disk::new(usize::MAX);
    let mut sink = sink(&disk, Capacity::from_opportunities([2, 2, 5, 8]).unwrap());
    let full = Bytes::new(1500);
    sink.push(LogEvent::Arrived { at: at(1900), bytes: full });
    sink.push(LogEvent::Departed { at: at(2000), bytes: full, queued: Span::from_micros(100) });
    sink.push(LogEvent::Arrived { at: at(5300), bytes: Bytes::new(52) });
    sink.push(LogEvent::Dropped { at: at(5300), bytes: Bytes::new(52) });
    let summary = sink.finish(at(9000)).unwrap();
    insta::assert_snapshot!(disk.text(), @r"
    # mahimahi mm-link (Uplink) [lte.up] > up.log
    # command line: mm-link lte.up lte.down -- sh -c 'a b'
    # queue: droptail [packets=100]
    # init timestamp: 1609459200000
    # base timestamp: 0
    1 + 1504
    2 # 3008
    2 - 1504 1
    5 # 1504
    5 + 56
    5 d 1 56
    8 # 1504
    ");
    assert_eq!((summary.events, summary.bytes, summary.behind), (4, disk.text().len() as u64, None));
}

#[test]
fn a_rate_offers_its_bytes_every_millisecond_and_loses_no_fraction() {
    let disk = Disk::new(usize::MAX);
    let rate: Rate = "1Mbit/s".parse().unwrap();
    sink(&disk, Capacity::constant(rate).unwrap()).finish(at(999_999)).unwrap();
    let offered = digest(&disk.text()).total.offered_bytes;
    // 125 bytes a millisecond, a thousand times, 1504 for 1500; the last one ends a nanosecond later.
    assert!((125_332..=125_333).contains(&offered), "{offered}");
}

#[test]
fn a_log_goes_on_while_the_disk_is_behind_and_says_so() {
    struct Slow(Disk);
    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            std::thread::sleep(Duration::from_millis(5));
            self.0.write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let disk = Disk::new(usize::MAX);
    let capacity = Arc::new(Capacity::from_opportunities([1000]).unwrap());
    let mut sink = LogSink::to(Box::new(Slow(disk.clone())), &spec(), capacity, UNIX_EPOCH).unwrap();
    const EVENTS: u64 = 400_000;
    for index in 0..EVENTS {
        sink.push(LogEvent::Arrived { at: at(index), bytes: Bytes::new(52) });
    }
    let summary = sink.finish(at(EVENTS)).unwrap();
    assert_eq!(digest(&disk.text()).total.arrived_packets, EVENTS);
    assert!(summary.behind.is_some_and(|events| events <= 2 * EVENTS), "{summary:?}");
}

#[test]
fn a_disk_that_fills_up_ends_the_log_and_not_the_link() {
    let disk = Disk::new(500_000);
    let mut sink = sink(&disk, Capacity::from_opportunities([1000]).unwrap());
    for index in 0..400_000 {
        sink.push(LogEvent::Arrived { at: at(index), bytes: Bytes::new(52) });
    }
    let error = sink.finish(at(400_000)).unwrap_err().to_string();
    assert_eq!(error, "cannot write the log up.log, which ends early: no storage space");
    assert!(digest(&disk.text()).total.arrived_packets > 10_000, "what was written is a log");
}

#[test]
fn a_full_disk_is_seen_at_the_start() {
    let spec = LogSpec { path: "/dev/full".into(), ..spec() };
    let capacity = Arc::new(Capacity::from_opportunities([1]).unwrap());
    let error = LogSink::create(&spec, capacity, UNIX_EPOCH).unwrap_err().to_string();
    assert!(error.starts_with("cannot write the log /dev/full: No space left"), "{error}");
}

#[test]
fn a_compressed_log_reads_as_the_plain_one() {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(OF_MAHIMAHI.as_bytes()).unwrap();
    let compressed = encoder.finish().unwrap();
    assert_eq!(entries(&compressed).unwrap(), entries(OF_MAHIMAHI.as_bytes()).unwrap());
    let cut = entries(&compressed[..compressed.len() / 2]).unwrap_err().to_string();
    assert!(cut.starts_with("test.log: cannot be read"), "{cut}");
}

proptest! {
    #[test]
    fn what_is_written_reads_back(
        events in proptest::collection::vec((0u64..5_000, 0u64..3, 20u64..1500, 0u64..50_000), 0..200)
    ) {
        let disk = Disk::new(usize::MAX);
        let mut sink = sink(&disk, Capacity::from_opportunities([3, 7, 7]).unwrap());
        let (mut now, mut wanted) = (0, Vec::new());
        for (gap, kind, bytes, queued) in events {
            now += gap;
            let at_ms = now / 1000;
            let (queued, logged) = (queued.min(now), bytes + 4);
            let bytes = Bytes::new(bytes);
            sink.push(match kind {
                0 => LogEvent::Arrived { at: at(now), bytes },
                1 => LogEvent::Dropped { at: at(now), bytes },
                _ => LogEvent::Departed { at: at(now), bytes, queued: Span::from_micros(queued) },
            });
            wanted.push(match kind {
                0 => Entry::Arrival { at_ms, bytes: logged },
                1 => Entry::Drop { at_ms, packets: 1, bytes: logged },
                _ => Entry::Departure { at_ms, bytes: logged, delay_ms: at_ms - (now - queued) / 1000 },
            });
        }
        sink.finish(at(now + 1000)).unwrap();
        let (offered, got): (Vec<Entry>, Vec<Entry>) = entries(disk.text().as_bytes()).unwrap()
            .into_iter().partition(|entry| matches!(entry, Entry::Opportunity { .. }));
        prop_assert_eq!(got, wanted);
        let passed = (now / 1000 + 1) as u128;
        let opportunities = passed / 7 * 3 + u128::from(passed % 7 >= 3);
        let sum: u64 = offered.iter().map(|entry| match entry { Entry::Opportunity { bytes, .. } => *bytes, _ => 0 }).sum();
        prop_assert_eq!(u128::from(sum), opportunities * 1504);
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "(# base timestamp: [0-9]{1,20}\n)?([0-9]{1,20} [-+#d] [0-9]{1,20}( [0-9]{1,20})?\n|\\PC*\n){0,20}") {
        let mut digest = Digest::new(NonZeroU64::new(1 << 40).unwrap());
        let _ = read_from("test.log", text.as_bytes(), |entry| digest.add(entry));
        digest.queueing_delay_p95_ms();
        digest.signal_delay_p95_ms();
    }

    #[test]
    fn the_signal_delay_is_that_of_a_table_with_every_millisecond(
        packets in proptest::collection::vec((0u64..200, 0u64..100), 1..60)
    ) {
        let mut text = String::from("# base timestamp: 0\n");
        for (arrived, delay) in &packets {
            text += &format!("{} - 1504 {delay}\n", arrived + delay);
        }
        prop_assert_eq!(digest(&text).signal_delay_p95_ms(), signal_delay_by_table(&packets));
    }
}

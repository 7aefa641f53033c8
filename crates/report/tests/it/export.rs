//! Time series and curves as tables.

use crate::fabricated;
use cellcc_report::{ReportError, long_tables, parquet};
use cellcc_units::Span;

#[test]
fn a_row_of_a_table_says_which_run_it_is_of_and_a_quantity_that_a_run_has_not_is_empty() {
    let mut records =
        fabricated::records(&["limit", "cubic", "reminis"], &["walk"], &[1], Span::from_secs(2));
    fabricated::add_curves(&mut records, "reminis", 2);
    records[1].scenario.scheme = "cubic(beta=0.7, c=0.4)".into();
    let tables = long_tables(&records);
    assert_eq!(tables.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["runs", "series", "curves"]);
    let series: Vec<&str> = tables[1].1.lines().collect();
    assert_eq!(series.len(), 1 + 3 * 20);
    let header: Vec<&str> = series[0].split(',').collect();
    assert_eq!(
        header[..8],
        ["id", "scheme", "variation", "trace", "seed", "driver", "time_s", "capacity_mbit_s"]
    );
    assert!(header.contains(&"flow0.mu"), "{header:?}");
    assert!(
        series[22].starts_with("cubic-walk-1,\"cubic(beta=0.7, c=0.4)\",,walk,1,sim,0.1,"),
        "{}",
        series[22]
    );
    assert!(series[22].ends_with(",,"), "it shows no mu and no zone: {}", series[22]);
    let curves: Vec<&str> = tables[2].1.lines().collect();
    assert_eq!(curves.len(), 1 + 2 * 200);
    assert_eq!(curves[1], "reminis-walk-1,reminis,,walk,1,sim,1,0,profile,window_packets,delay_ms,1,20.0002");
    assert_eq!(long_tables(&records[..2]).len(), 2, "without curves there is no table of them");
}

#[test]
fn a_row_of_series_has_the_varied_conditions_as_texts_and_as_numbers() {
    let records = fabricated::varied_twice(&["cubic"], &["walk"], &["33pkt", "65pkt"], &["20ms", "5s"]);
    let (_, series) = &long_tables(&records)[1];
    let lines: Vec<Vec<&str>> = series.lines().map(|line| line.split(',').collect()).collect();
    // Variations with a comma are quoted.
    let last = lines.last().unwrap();
    let columns = ["path.queue", "path.rtt", "path_queue_packets", "path_rtt_ms", "time_s"];
    assert_eq!(lines[0][6..11], columns, "{:?}", lines[0]);
    assert_eq!(last[7..11], ["65pkt", "5s", "65.0", "5000.0"], "{last:?}");
    // `path_rtt_ms` is a column of runs that have it anyway.
    assert_eq!(long_tables(&records)[0].1.lines().next().unwrap().matches("path_rtt_ms").count(), 1);
}

#[test]
fn a_table_is_a_parquet_file_of_a_fraction_of_its_size() {
    let records = fabricated::records(&["cubic", "reminis"], &["walk", "drive"], &[1], Span::from_secs(60));
    let (_, csv) = &long_tables(&records)[1];
    let file = parquet(csv).unwrap();
    assert!(file.starts_with(b"PAR1") && file.ends_with(b"PAR1"));
    assert!(file.len() * 2 < csv.len(), "{} of {} bytes", file.len(), csv.len());
    assert!(matches!(parquet("a,b\n1"), Err(ReportError::Parquet(_))));
}

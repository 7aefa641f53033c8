//! What each scheme makes of five buffer sizes.

use crate::common::compare;
use cellcc_experiment::Record;
use cellcc_test_support::schemes_without;
use cellcc_units::{QueueLimit, Span};

/// What buffers do not show.
const LEFT_OUT: [(&str, &str); 4] =
    [("nacubic", ASSISTED), ("nacap", ASSISTED), ("tg", ASSISTED), ("nabbr", ASSISTED)];

const ASSISTED: &str =
    "network assistance, of which natcp is there, says what the link carries whatever its buffer";

/// 20 Mbit/s and 40 ms: a bandwidth-delay product of 67 packets; a quarter of it, half, one, two, eight.
const BUFFERS_PACKETS: [u64; 5] = [17, 33, 67, 133, 533];

fn cell(record: &Record) -> String {
    let total = &record.total;
    let queueing = total.queueing_delay_mean_ms.unwrap_or(f64::NAN);
    format!("{:.3} {queueing:6.1} {:5}", total.utilisation, total.lost_packets)
}

#[test]
fn each_scheme_at_five_buffer_sizes() {
    let schemes = schemes_without(&LEFT_OUT);
    let schemes: Vec<_> = schemes.iter().map(String::as_str).collect();
    let mut rows: Vec<String> = schemes.iter().map(|scheme| format!("{scheme:<26}")).collect();
    let mut table = format!("{:<26}", "use, queueing ms, lost");
    for buffer in BUFFERS_PACKETS {
        table += &format!(" |{:>16} pkt", buffer);
        let records = compare(&schemes, "rate=20Mbit/s", |file| {
            file.duration = Span::from_secs(30);
            file.path.rtt = Span::from_millis(40);
            file.path.queue = QueueLimit::Packets(buffer).into();
        });
        for (row, record) in rows.iter_mut().zip(&records[1..]) {
            *row += &format!(" | {:>19}", cell(record));
        }
    }
    table += &format!("\n{}\n", rows.join("\n"));
    insta::assert_snapshot!(table);
}

//! Untrusted files: other files are refused, and event logs can be shown.

#![no_main]

use cellcc_control::event_log::{EventLog, FORMAT};
use flate2::Compression;
use flate2::write::DeflateEncoder;
use libfuzzer_sys::fuzz_target;
use std::io::Write;

/// A block of these records, with the head that its bytes need: the fuzzer would not find the checksum.
fn block(records: &[u8]) -> Vec<u8> {
    let mut deflated = DeflateEncoder::new(Vec::new(), Compression::fast());
    deflated.write_all(records).expect("memory takes it");
    head(&deflated.finish().expect("memory takes it"))
}

fn head(bytes: &[u8]) -> Vec<u8> {
    let length = u32::try_from(bytes.len()).expect("libFuzzer's inputs are short");
    [&length.to_le_bytes()[..], &crc32fast::hash(bytes).to_le_bytes(), bytes].concat()
}

/// A header: three texts with their lengths, and between them a packet of 1500 bytes, an initial window and a seed of zero.
fn header() -> Vec<u8> {
    let text = |text: &str| [&[text.len() as u8], text.as_bytes()].concat();
    [text("controller"), text("cubic"), vec![0xdc, 0x0b, 0, 0], text("0")].concat()
}

fn show(file: &[u8]) {
    let Ok(mut log) = EventLog::new(file) else { return };
    while let Ok(Some(entry)) = log.next_entry() {
        entry.call.inputs();
        entry.decision.fields();
    }
}

fuzz_target!(|data: &[u8]| {
    show(data);
    let whole = [&b"cellconv"[..], &[FORMAT], &block(&header()), &block(data), &head(&[])].concat();
    assert!(EventLog::new(&whole[..]).is_ok());
    show(&whole);
});

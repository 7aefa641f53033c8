//! Untrusted logs of NR-Scope and output of ping: other files are refused, and recordings have findings.

#![no_main]

use cellcc_link::radio::{self, Findings};
use libfuzzer_sys::fuzz_target;

const HEADER: &str = "timestamp,system_frame_index,slot_index,rnti,rnti_type,dci_format,redundancy_version,new_data_indicator,harq_id\n";

fuzz_target!(|data: &[u8]| {
    for content in [data.to_vec(), [HEADER.as_bytes(), data].concat()] {
        if let Ok(recording) = radio::parse("a", &content) {
            let _ = Findings::new(&[recording]);
        }
    }
});

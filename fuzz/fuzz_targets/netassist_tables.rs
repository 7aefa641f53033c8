//! The kernel's tables of flows and connections, which hold strangers' data.

#![no_main]

use cellcc_netassist::tracked_flows;
use cellcc_netassist_client::established_peers;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    tracked_flows(&text).count();
    established_peers(&text).count();
});

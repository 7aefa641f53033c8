//! Untrusted cases of conformance: a mistake is an error with its line.

#![no_main]

use cellcc_claims::cases::Suite;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(suite) = Suite::read("fuzzed.toml", text) else { return };
    suite.cases.iter().for_each(|case| _ = case.is_for_any());
});

//! Untrusted Scenario files: a mistake is an error, and a parsed one is written back equally.

#![no_main]

use cellcc_runner::Request;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(request) = Request::parse("fuzzed.toml", text) else { return };
    if request.check().is_err() {
        return;
    }
    if let Ok(written) = request.scenario_toml() {
        assert_eq!(Request::parse("fuzzed.toml", &written).expect("it was one").file, request.file);
    }
});

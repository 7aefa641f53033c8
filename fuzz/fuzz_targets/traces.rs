//! Untrusted trace files, in every format: other files are refused, and traces can be measured, cut and converted.

#![no_main]

use cellcc_link::{CapacityStats, trace};
use cellcc_units::{Bytes, Span, Time};
use libfuzzer_sys::fuzz_target;

const DAY: Span = Span::from_secs(86_400);

fuzz_target!(|data: &[u8]| {
    // The ending decides where the content could be of several formats.
    for name in ["a.mahi", "a.mbps", "a.csv", "a"] {
        let Ok(trace) = trace::parse(name, data) else { continue };
        let capacity = &trace.capacity;
        let second = Time::ZERO + Span::from_secs(1);
        let carried = capacity.bytes_between(Time::ZERO, second);
        if carried > Bytes::ZERO {
            assert!(capacity.time_to_carry(Time::ZERO, carried) <= second);
        }
        // A year, the longest trace, has too many seconds for a fuzzer.
        if capacity.period().is_some_and(|period| period <= DAY) {
            let _ = CapacityStats::new(capacity, Span::from_secs(1));
        }
        let _ = capacity.cut(Span::from_millis(100), Some(Span::from_secs(1)));
        let _ =
            trace::write::rate(capacity, Span::from_secs(1), Span::from_millis(100), &mut std::io::sink());
    }
});

//! Untrusted records: a parsed one writes back equally, and the state of a user takes them all.

#![no_main]

use cellcc_assist::{Arrivals, AdviceRecord};
use cellcc_units::{Span, Time};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let mut arrivals = Arrivals::default();
    let mut now = Time::ZERO;
    for bytes in data.chunks(AdviceRecord::SIZE) {
        now += Span::from_millis(20);
        if let Some(record) = AdviceRecord::decode(bytes) {
            assert_eq!(record.encode(), bytes);
            let _ = arrivals.accept(now, &record);
        }
    }
});

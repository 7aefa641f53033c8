//! Facts from a file system become the header of an answer: any name, size and time, for any request.

#![no_main]

use cellcc_http3::Facts;
use http::header::{
    CONTENT_LENGTH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, LAST_MODIFIED, RANGE,
};
use http::{HeaderMap, HeaderValue};
use libfuzzer_sys::fuzz_target;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

type Time = (i64, u32);

fuzz_target!(|input: (&str, u64, Time, Time, [Option<&str>; 4])| {
    let (name, bytes, modified, now, asked) = input;
    let (Some(modified), Some(now)) = (time(modified), time(now)) else { return };
    let names = [RANGE, IF_RANGE, IF_NONE_MATCH, IF_MODIFIED_SINCE];
    let given = names.into_iter().zip(asked).filter_map(|(name, text)| {
        Some((name, HeaderValue::from_str(text?).ok()?))
    });
    let asked: HeaderMap = given.collect();
    let answer = Facts::new(name, bytes, modified).answer(&asked, now);
    assert!(answer.body.start <= answer.body.end && answer.body.end <= bytes);
    let header = answer.response.headers();
    assert!(header.contains_key(LAST_MODIFIED));
    if let Some(length) = header.get(CONTENT_LENGTH) {
        let length: u64 = length.to_str().unwrap().parse().unwrap();
        assert_eq!(length, answer.body.end - answer.body.start);
    }
});

/// Times as file systems keep them: seconds since 1970, also before it, and nanoseconds.
fn time((seconds, nanos): Time) -> Option<SystemTime> {
    let whole = Duration::from_secs(seconds.unsigned_abs());
    let at = if seconds < 0 { UNIX_EPOCH.checked_sub(whole) } else { UNIX_EPOCH.checked_add(whole) };
    at?.checked_add(Duration::from_nanos((nanos % 1_000_000_000).into()))
}

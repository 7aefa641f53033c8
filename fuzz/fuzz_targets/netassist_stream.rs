//! Messages between clients and services on a stream, consents included: a parsed one writes back equally.

#![no_main]

use cellcc_netassist_client::Role;
use cellcc_netassist_client::protocol::{announced, answer, framed, request};
use cellcc_netassist_client::statement::parse;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(asked) = request(data) {
        assert_eq!(request(&framed(&asked)[4..]).expect("it was one"), asked);
    }
    if let Ok(reported) = answer(data) {
        assert_eq!(answer(&framed(&reported)[4..]).expect("it was one"), reported);
    }
    if let Some(length) = data.first_chunk() {
        let _ = announced(*length);
    }
    let _ = parse(data, Role::Server);
});

//! Untrusted datagrams: a parsed one writes back equally, and an end of the extension takes them all.

#![no_main]

use cellcc_control::{Context};
use cellcc_quic::extension::{Extension, Message, Received, Totals};
use cellcc_units::{Bytes, Span, Time};
use libfuzzer_sys::fuzz_target;

/// One length byte before each datagram.
fn datagrams(mut data: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (&length, rest) = data.split_first()?;
        let (datagram, after) = rest.split_at(rest.len().min(length.into()));
        data = after;
        Some(datagram)
    })
}

fuzz_target!(|data: &[u8]| {
    let registry = cellcc_schemes::registry();
    let scheme = registry.parse("rbbr").expect("it is built in");
    let packet = Bytes::new(1500);
    let mut controller = scheme.build(&Context::new(packet, packet * 10, 0));
    let mut end = Extension::new(registry);
    let mut now = Time::ZERO;
    end.begin_flow(now, &scheme);
    let mut totals = Totals::default();
    for datagram in datagrams(data) {
        if let Ok(message) = Message::decode(datagram) {
            assert_eq!(Message::decode(&message.encode()), Ok(message));
        }
        now += Span::from_millis(5);
        totals.received_datagrams += 5;
        totals.received += packet * 5;
        totals.sent = totals.received;
        end.on_totals(now, totals);
        if let Received::Feedback(feedback) = end.on_datagram(now, totals, datagram) {
            end.count(controller.on_feedback(now, &feedback, totals.sent));
        }
        while end.poll_transmit(now, Span::from_millis(30)).is_some() {}
    }
});

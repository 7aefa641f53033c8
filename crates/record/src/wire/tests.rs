use super::*;
use proptest::prelude::*;

fn any_message() -> impl Strategy<Value = Message> {
    let two = (any::<u64>(), any::<u64>());
    let request = (0usize..3, 200u64..=9000, two).prop_map(|(which, packet, (bytes, nanos))| Request {
        directions: [Directions::Down, Directions::Up, Directions::Both][which],
        packet: Bytes::new(packet),
        queue_delay: QueueDelay::DEFAULT,
        max_bytes: Bytes::new(bytes),
        duration: Span::from_nanos(nanos),
    });
    let arrival = (any::<u64>(), any::<u64>(), any::<u64>()).prop_map(|(number, sent, arrived)| Arrival {
        number,
        sent: Time::from_nanos(sent),
        arrived: Time::from_nanos(arrived),
    });
    let arrivals = proptest::collection::vec(arrival, 0..=MAX_REPORTED);
    prop_oneof![
        (two, request).prop_map(|((nonce, cookie), request)| Message::Hello { nonce, cookie, request }),
        two.prop_map(|(nonce, cookie)| Message::Challenge { nonce, cookie }),
        two.prop_map(|(nonce, session)| Message::Accepted { nonce, session }),
        any::<u64>().prop_map(|nonce| Message::Refused { nonce, reason: Refusal::Busy }),
        (two, any::<u64>(), any::<u32>()).prop_map(|((session, number), sent, rtt_micros)| {
            Message::Probe(session, Probe { number, sent: Time::from_nanos(sent), rtt_micros })
        }),
        (two, arrivals)
            .prop_map(|((session, first), arrivals)| Message::Report(session, Report { first, arrivals })),
        two.prop_map(|(session, first)| Message::Fetch { session, first }),
        any::<u64>().prop_map(|session| Message::Stop { session }),
        (two, two, 0..Why::ALL.len()).prop_map(|((session, sent), (arrivals, overflowed), why)| {
            let why = Why::ALL[why];
            Message::Stopped(session, Stopped { sent, arrivals, overflowed, why })
        }),
    ]
}

#[test]
fn no_answer_to_an_unproven_hello_is_longer_than_it() {
    let queue_delay = QueueDelay::DEFAULT;
    let (max_bytes, duration) = (Bytes::ZERO, Span::ZERO);
    let request =
        Request { directions: Directions::Both, packet: Bytes::new(1500), queue_delay, max_bytes, duration };
    let hello = Message::Hello { nonce: 1, cookie: 0, request }.encode();
    assert!(Message::Challenge { nonce: 1, cookie: 2 }.encode().len() <= hello.len());
}

proptest! {
    #[test]
    fn what_is_encoded_is_decoded(message in any_message()) {
        let bytes = message.encode();
        prop_assert!(bytes.len() <= MAX_REPORT_BYTES);
        prop_assert_eq!(Message::decode(&bytes), Some(message));
    }

    #[test]
    fn no_datagram_makes_the_decoder_panic(mut bytes in proptest::collection::vec(any::<u8>(), 0..100), kind in 0u8..11) {
        let _ = Message::decode(&bytes);
        bytes.splice(0..0, MAGIC.iter().copied().chain([kind]));
        let _ = Message::decode(&bytes);
    }

    #[test]
    fn a_message_cut_short_is_none(message in any_message(), cut in 1usize..20) {
        let bytes = message.encode();
        prop_assert_eq!(Message::decode(&bytes[..bytes.len().saturating_sub(cut)]), None);
    }
}

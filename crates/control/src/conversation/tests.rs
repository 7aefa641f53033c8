//! Conversations of every scheme on a small path, and files that are none.

use super::controller::Received;
use super::*;
use crate::contract::{Ack, Controller, Ecn, EcnEcho, Event, Limits, Loss, Packet, RateSample, Sent, Tag};
use crate::message::{Feedback, Signal, Verdict};
use crate::rtt::Rtt;
use crate::testing::{CONTEXT, Path};
use crate::{Registry, Scheme};
use cellcc_assist::{Advice, AdviceClass, MinRttParts};
use cellcc_units::{Bytes, Rate, Span, Time};
use proptest::prelude::*;
use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex};

/// What was written, to be read while the writer lives.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Written {
    fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap().clone()
    }
}

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn parse(scheme: &str) -> Scheme {
    Registry::default().parse(scheme).unwrap()
}

/// A flow with losses and a change of rate.
fn record(scheme: &str) -> Vec<u8> {
    record_for(scheme, Span::from_secs(3))
}

/// The same within `duration`.
fn record_for(scheme: &str, duration: Span) -> Vec<u8> {
    let written = Written::default();
    let scheme = parse(scheme).recorded(Box::new(written.clone()));
    let mut path = Path::of(&scheme, Rate::from_mbit_per_sec(20.0), Span::from_millis(40));
    path.run_for(duration / 3);
    path.drop_next(3);
    path.run_for(duration / 3);
    path.set_rate(Rate::from_mbit_per_sec(5.0));
    path.run_for(duration / 3);
    drop(path);
    written.bytes()
}

fn replay(recorded: &[u8], scheme: &str) -> Result<Replay, ConversationError> {
    let mut conversation = Conversation::new(recorded)?;
    let context = conversation.header().context;
    conversation.replay(parse(scheme).build(&context))
}

fn schemes() -> Vec<String> {
    Registry::default().schemes().iter().map(|info| info.name.to_string()).collect()
}

#[test]
fn every_scheme_decides_alike_when_it_is_told_again() {
    for scheme in &schemes() {
        let recorded = record(scheme);
        let conversation = Conversation::new(&recorded[..]).unwrap();
        assert_eq!(
            (conversation.header().scheme.as_str(), conversation.header().context),
            (scheme.as_str(), CONTEXT)
        );
        let replay = replay(&recorded, scheme).unwrap();
        assert!(replay.difference.is_none(), "{scheme}: {replay:?}");
        assert!(replay.events > 100, "{scheme}: {} events", replay.events);
    }
}

#[test]
fn what_is_told_from_memory_is_what_was_recorded() {
    let recorded = record("cubic");
    let told = Conversation::new(&recorded[..]).unwrap().into_memory().unwrap();
    let again = Written::default();
    told.tell(parse("cubic").recorded(Box::new(again.clone())).build(&CONTEXT));
    assert!(again.bytes() == recorded && told.acknowledgements() > 1000);
}

#[test]
fn an_acknowledgement_or_feedback_takes_less_than_60_bytes_with_the_packets_that_it_lets_leave() {
    for scheme in &schemes() {
        let recorded = record(scheme);
        let mut conversation = Conversation::new(&recorded[..]).unwrap();
        let mut arrivals = 0;
        while let Some(turn) = conversation.next_turn().unwrap() {
            arrivals += usize::from(matches!(turn.call, Call::Ack(_) | Call::Feedback(_)));
        }
        assert!(recorded.len() < 60 * arrivals, "{scheme}: {} B for {arrivals}", recorded.len());
    }
}

/// A scheme whose window is a byte larger from the acknowledgement of packet `number` on.
struct Changed {
    scheme: Box<dyn Controller>,
    number: u64,
    growth: Bytes,
}

impl Controller for Changed {
    fn on_sent(&mut self, sent: &Sent) -> Tag {
        self.scheme.on_sent(sent)
    }
    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.scheme.on_ack(ack);
        if ack.packets.iter().any(|packet| packet.number == self.number) {
            self.growth = Bytes::new(1);
        }
    }
    fn on_loss(&mut self, loss: &Loss<'_>) {
        self.scheme.on_loss(loss);
    }
    fn on_event(&mut self, now: Time, event: Event) {
        self.scheme.on_event(now, event);
    }
    fn limits(&self) -> Limits {
        let limits = self.scheme.limits();
        Limits { window: limits.window + self.growth, ..limits }
    }
}

#[test]
fn the_first_decision_that_differs_is_named() {
    let recorded = record("newreno");
    let mut conversation = Conversation::new(&recorded[..]).unwrap();
    let mut event = 0;
    let asked_for = loop {
        let turn = conversation.next_turn().unwrap().expect("packet 700 is acknowledged");
        event += 1;
        if let Call::Ack(ack) = turn.call
            && ack.packets.iter().any(|packet| packet.number == 700)
        {
            break (turn.now, turn.decision);
        }
    };
    let scheme = parse("newreno").build(&CONTEXT);
    let changed = Box::new(Changed { scheme, number: 700, growth: Bytes::ZERO });
    let replay = Conversation::new(&recorded[..]).unwrap().replay(changed).unwrap();
    let difference = replay.difference.expect("its window grows");
    assert_eq!((replay.events, difference.kind), (event, "ack"));
    assert_eq!((difference.now, difference.recorded), asked_for);
    assert_eq!(difference.replayed.limits.window, difference.recorded.limits.window + Bytes::new(1));
    let packets = difference.inputs.iter().find(|(name, _)| *name == "packets").unwrap();
    assert!(packets.1.starts_with("[{number=700 sent_at="), "{packets:?}");
}

#[test]
fn another_parameter_shows_at_the_first_decision_that_it_changes() {
    let recorded = record("fixed-window(window=20pkt)");
    let difference = replay(&recorded, "fixed-window(window=21pkt)").unwrap();
    assert_eq!(difference.events, 1);
    assert_eq!(difference.difference.unwrap().kind, "built");
}

#[test]
fn only_the_first_controller_of_a_recorded_scheme_is_recorded() {
    let written = Written::default();
    let scheme = parse("cubic").recorded(Box::new(written.clone()));
    drop(scheme.build(&CONTEXT));
    let first = written.bytes();
    drop(scheme.clone().build(&CONTEXT));
    assert_eq!(written.bytes(), first);
    assert_eq!(replay(&first, "cubic").unwrap().events, 1);
}

#[test]
fn a_destination_that_fails_ends_the_recording_and_not_the_flow() {
    struct Full(usize);
    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let path = |scheme: &Scheme| {
        let mut path = Path::of(scheme, Rate::from_mbit_per_sec(20.0), Span::from_millis(40));
        path.run_for(Span::from_secs(2));
        path.window()
    };
    assert_eq!(path(&parse("cubic").recorded(Box::new(Full(100)))), path(&parse("cubic")));
}

#[test]
fn a_file_that_was_cut_off_is_refused_wherever_that_was() {
    let recorded = record("vegas");
    let check = |length: usize| match replay(&recorded[..length], "vegas") {
        Err(ConversationError::Foreign) => assert_eq!(length, 0),
        Err(ConversationError::CutOff { offset, .. }) => assert_eq!(offset, length as u64),
        other => panic!("cut off at {length}: {other:?}"),
    };
    (0..300).chain((recorded.len() - 300..recorded.len()).step_by(7)).for_each(check);
    let error = replay(&recorded[..recorded.len() - 1], "vegas").unwrap_err().to_string();
    let end = recorded.len() - 1;
    assert!(error.contains(&format!("cut off at byte {end}, after event ")), "{error}");
}

/// The reader took memory for as many bytes as the file said.
#[test]
fn a_block_that_is_longer_than_any_is_refused_before_it_is_read() {
    let mut recorded = file("controller", &[]);
    let end = recorded.len() - 8;
    recorded.truncate(end);
    let endless = recorded.as_slice().chain(io::repeat(0xff).take(1 << 20));
    let error = Conversation::new(endless).unwrap().replay(parse("cubic").build(&CONTEXT)).unwrap_err();
    assert!(error.to_string().contains(&format!("damaged at byte {end}")), "{error}");
    assert!(error.to_string().contains("longer than any"), "{error}");
}

#[test]
fn a_file_with_a_changed_bit_is_refused_wherever_that_is() {
    let mut recorded = record("fixed-rate");
    for at in (0..200).chain((200..recorded.len()).step_by(991)) {
        recorded[at] ^= 1 << (at % 8);
        assert!(replay(&recorded, "fixed-rate").is_err(), "byte {at}");
        recorded[at] ^= 1 << (at % 8);
    }
    recorded.push(0);
    let error = replay(&recorded, "fixed-rate").unwrap_err().to_string();
    assert!(error.contains("something follows its end"), "{error}");
}

/// A file with this header and these bytes as records.
fn file(vocabulary: &str, records: &[u8]) -> Vec<u8> {
    let written = Written::default();
    let (scheme, code) = ("cubic".into(), "0".into());
    let header = Header { vocabulary: vocabulary.into(), scheme, context: CONTEXT, code };
    let mut writer = file::Writer::new(Box::new(written.clone()), &header);
    writer.record(|out| out.append(records));
    drop(writer);
    written.bytes()
}

/// The records of a file whose records fit one block.
fn records_of(file: &[u8]) -> Vec<u8> {
    let block = |begin: usize| {
        let length = u32::from_le_bytes(file[begin..begin + 4].try_into().unwrap()) as usize;
        begin + 8..begin + 8 + length
    };
    let header = block(9);
    file[block(header.end)].to_vec()
}

#[test]
fn what_this_reader_does_not_know_is_refused_by_name() {
    let error = Conversation::new(&file("kernel", &[])[..]).unwrap_err().to_string();
    assert!(error.contains("`kernel`") && error.contains("`controller`"), "{error}");
    let mut other = file("controller", &[]);
    other[8] = 77;
    let error = Conversation::new(&other[..]).unwrap_err().to_string();
    assert!(error.contains("version 77") && error.contains("record it again"), "{error}");
    let error = Conversation::new(&b"cubic"[..]).unwrap_err().to_string();
    assert!(error.contains("no recorded conversation"), "{error}");
}

#[test]
fn packets_of_no_bytes_are_refused() {
    let written = Written::default();
    let mut recorded = parse("cubic").recorded(Box::new(written.clone())).build(&CONTEXT);
    recorded.on_sent(&Sent {
        now: Time::ZERO,
        number: 0,
        bytes: CONTEXT.packet,
        inflight: CONTEXT.packet,
        app_limited: false,
        signal: None,
        packet_size: Bytes::ZERO,
    });
    drop(recorded);
    let error = replay(&written.bytes(), "cubic").unwrap_err().to_string();
    assert!(error.contains("packets of no bytes"), "{error}");
}

proptest! {
    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Conversation::new(&bytes[..]);
        let file = file("controller", &bytes);
        let mut conversation = Conversation::new(&file[..]).unwrap();
        while let Ok(Some(turn)) = conversation.next_turn() {
            turn.call.inputs();
            turn.decision.fields();
        }
    }

    /// A forged file has the right checksums, and tells of what cannot be.
    #[test]
    fn no_told_values_make_a_scheme_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40),
        scheme in any::<prop::sample::Index>(),
    ) {
        let schemes = schemes();
        let scheme = scheme.get(&schemes);
        let mut records = records_of(&record_for(scheme, Span::from_millis(400)));
        for (at, byte) in &changes {
            *at.get_mut(&mut records) = *byte;
        }
        let file = file("controller", &records);
        let mut conversation = Conversation::new(&file[..]).unwrap();
        let mut driven = controller::Driven::new(parse(scheme).build(&CONTEXT));
        while let Ok(Some(turn)) = conversation.next_turn() {
            driven.tell(turn.now, &turn.call);
            driven.decision();
        }
    }

    #[test]
    fn every_number_reads_back(numbers in prop::collection::vec((0usize..3, any::<u64>(), 0u32..64), 0..100)) {
        use coding::{Coded, Decoder, Encoder, Slots};
        let numbers: Vec<_> = numbers.into_iter().map(|(slot, number, shift)| (slot, number >> shift)).collect();
        let mut encoder = Encoder::default();
        numbers.iter().for_each(|(slot, number)| number.encode(*slot, &mut encoder));
        let mut slots = Slots::default();
        let mut decoder = Decoder::new(encoder.bytes(), 0, &mut slots);
        for (slot, number) in numbers {
            prop_assert_eq!(u64::decode(slot, &mut decoder).unwrap(), number);
        }
    }
}

/// One event of each kind.
fn one_of_each() -> Vec<Turn<'static>> {
    const MS: Span = Span::from_millis(1);
    const RTT: Rtt = Rtt { latest: Some(MS), min: MS, smoothed: Span::from_micros(1010), variation: MS };
    let at = |millis| Time::from_nanos(millis * 1_000_000);
    let packet = Packet {
        number: 1,
        sent_at: at(1),
        bytes: CONTEXT.packet,
        tag: 7,
        delivered: Bytes::new(3000),
        delivered_at: at(1),
        first_sent_at: Time::ZERO,
        inflight: Bytes::ZERO,
        lost: CONTEXT.packet,
        marked: Bytes::ZERO,
        app_limited: false,
    };
    let packets: &[Packet] = vec![packet, Packet { number: 2, app_limited: true, ..packet }].leak();
    let bytes = Bytes::new(3000);
    let signal = Signal::new(b"signal");
    let packet_size = CONTEXT.packet;
    let calls = [
        Call::Built,
        Call::Sent(Sent {
            now: at(1),
            number: 1,
            bytes,
            inflight: bytes,
            app_limited: true,
            signal,
            packet_size,
        }),
        Call::Ack(Ack {
            now: at(2),
            packets,
            bytes,
            rtt: &RTT,
            rtt_sample: Some(MS),
            rate: Some(RateSample {
                delivered: bytes,
                send_interval: MS,
                ack_interval: MS,
                lost: bytes,
                marked: bytes,
                app_limited: true,
            }),
            inflight_before: bytes,
            inflight: Bytes::ZERO,
            delivered: bytes,
            cwnd_limited: true,
            round: 3,
            round_start: true,
            in_recovery: false,
            ecn: Some(EcnEcho { ce: bytes, ..EcnEcho::default() }),
            packet_size,
        }),
        Call::Loss(Loss {
            now: at(3),
            packets,
            bytes,
            lost: bytes,
            inflight: bytes,
            new_episode: true,
            persistent: false,
            packet_size,
        }),
        Call::Event(Event::IdleRestart),
        Call::Event(Event::Forgotten(packet)),
        Call::Feedback(Received { feedback: Feedback::new(&[7; 47]).unwrap(), sent: bytes }),
        Call::Advice(Advice {
            bandwidth: Rate::from_bytes_per_sec(125_000),
            class: AdviceClass::Partial,
            min_rtt: MinRttParts { network: MS, downlink: MS, uplink: Span::ZERO },
            flows: 2,
            backlog: bytes,
            period: MS,
            age: MS,
        }),
        Call::Timer,
    ];
    let turn = |(index, call)| {
        let window = CONTEXT.packet * (10 + index as u64 / 3);
        let limits = Limits { signal, budget: Some(bytes), ..Limits::paced(window, Rate::MAX, bytes) };
        Turn {
            now: at(index as u64),
            call,
            decision: Decision {
                tag: 7,
                limits,
                next_timer: Some(Time::NEVER),
                verdict: Some(Verdict::Stale),
                ecn: Ecn::Ect1,
            },
        }
    };
    calls.into_iter().enumerate().map(turn).collect()
}

/// These bytes change with the format alone: then its version has to change, too.
#[test]
fn every_kind_of_event_is_written_as_it_was_and_reads_back() {
    let written = Written::default();
    let header = Header {
        vocabulary: "controller".into(),
        scheme: "cubic".into(),
        context: CONTEXT,
        code: "0".into(),
    };
    let mut writer = file::Writer::new(Box::new(written.clone()), &header);
    let turns = one_of_each();
    turns.iter().for_each(|turn| writer.record(|out| turn.encode(out)));
    drop(writer);
    let bytes = written.bytes();
    let lines: Vec<_> = bytes
        .chunks(40)
        .map(|line| line.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
        .collect();
    insta::assert_snapshot!(lines.join("\n"));

    let mut conversation = Conversation::new(&bytes[..]).unwrap();
    let mut texts = Vec::new();
    for turn in &turns {
        let read = conversation.next_turn().unwrap().unwrap();
        assert_eq!(format!("{read:?}"), format!("{turn:?}"));
        texts.push(format!("{} {:?} -> {:?}", read.call.kind(), read.call.inputs(), read.decision.fields()));
    }
    assert!(conversation.next_turn().unwrap().is_none());
    insta::assert_snapshot!(texts.join("\n"));
}

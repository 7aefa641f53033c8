//! Recorded event logs of every scheme on a small path.

use crate::registry;
use crate::testing::{CONTEXT, Path};
use cellcc_control::event_log::{Call, EventLog, EventLogError, Replay};
use cellcc_control::{Ack, Controller, Event, Limits, Loss, Scheme, Sent, Tag};
use cellcc_units::{Bytes, Rate, Span, Time};
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use proptest::prelude::*;
use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex};

/// The written log, to be read while the writer lives.
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
    registry().parse(scheme).unwrap()
}

/// A flow with losses and a change of rate.
fn record(scheme: &str) -> Vec<u8> {
    record_for(scheme, Span::from_secs(3))
}

/// Records for `duration`.
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

fn replay(recorded: &[u8], scheme: &str) -> Result<Replay, EventLogError> {
    let mut log = EventLog::new(recorded)?;
    let context = log.header().context;
    log.replay(parse(scheme).build(&context))
}

fn schemes() -> Vec<String> {
    registry().schemes().iter().map(|info| info.name.to_string()).collect()
}

#[test]
fn every_scheme_decides_alike_when_its_events_are_replayed() {
    for scheme in &schemes() {
        let recorded = record(scheme);
        let log = EventLog::new(&recorded[..]).unwrap();
        assert_eq!((log.header().scheme.as_str(), log.header().context), (scheme.as_str(), CONTEXT));
        let replay = replay(&recorded, scheme).unwrap();
        assert!(replay.difference.is_none(), "{scheme}: {replay:?}");
        assert!(replay.events > 100, "{scheme}: {} events", replay.events);
    }
}

#[test]
fn what_is_replayed_from_memory_is_what_was_recorded() {
    let recorded = record("cubic");
    let log = EventLog::new(&recorded[..]).unwrap().into_memory().unwrap();
    let again = Written::default();
    log.give_all(parse("cubic").recorded(Box::new(again.clone())).build(&CONTEXT));
    assert!(again.bytes() == recorded && log.acknowledgements() > 1000);
}

#[test]
fn an_acknowledgement_or_feedback_takes_less_than_80_bytes_with_the_packets_that_it_lets_leave() {
    for scheme in &schemes() {
        let recorded = record(scheme);
        let mut log = EventLog::new(&recorded[..]).unwrap();
        let mut arrivals = 0;
        while let Some(entry) = log.next_entry().unwrap() {
            arrivals += usize::from(matches!(entry.call, Call::Ack(_) | Call::Feedback(_)));
        }
        assert!(recorded.len() < 80 * arrivals, "{scheme}: {} B for {arrivals}", recorded.len());
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
        let mut limits = self.scheme.limits();
        limits.window += self.growth;
        limits
    }
}

#[test]
fn the_first_decision_that_differs_is_named() {
    let recorded = record("newreno");
    let mut log = EventLog::new(&recorded[..]).unwrap();
    let mut event = 0;
    let asked_for = loop {
        let entry = log.next_entry().unwrap().expect("packet 700 is acknowledged");
        event += 1;
        if let Call::Ack(ack) = entry.call
            && ack.packets.iter().any(|packet| packet.number == 700)
        {
            break (entry.now, entry.decision);
        }
    };
    let scheme = parse("newreno").build(&CONTEXT);
    let changed = Box::new(Changed { scheme, number: 700, growth: Bytes::ZERO });
    let replay = EventLog::new(&recorded[..]).unwrap().replay(changed).unwrap();
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
        Err(EventLogError::Foreign) => assert_eq!(length, 0),
        Err(EventLogError::CutOff { offset, .. }) => assert_eq!(offset, length as u64),
        other => panic!("cut off at {length}: {other:?}"),
    };
    (0..300).chain((recorded.len() - 300..recorded.len()).step_by(7)).for_each(check);
    let error = replay(&recorded[..recorded.len() - 1], "vegas").unwrap_err().to_string();
    let end = recorded.len() - 1;
    assert!(error.contains(&format!("cut off at byte {end}, after event ")), "{error}");
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

/// `recorded`, whose records fit one block, with `change` made to them, and the checksum that they need then.
fn forged(recorded: &[u8], change: impl FnOnce(&mut [u8])) -> Vec<u8> {
    let end_of_block = |begin: usize| {
        let length = u32::from_le_bytes(recorded[begin..begin + 4].try_into().unwrap()) as usize;
        begin + 8 + length
    };
    let begin = end_of_block(9);
    let end = end_of_block(begin);
    let mut records = Vec::new();
    DeflateDecoder::new(&recorded[begin + 8..end]).read_to_end(&mut records).unwrap();
    change(&mut records);
    let mut deflated = DeflateEncoder::new(Vec::new(), Compression::fast());
    deflated.write_all(&records).unwrap();
    let block = deflated.finish().unwrap();
    let head = [(block.len() as u32).to_le_bytes(), crc32fast::hash(&block).to_le_bytes()].concat();
    [&recorded[..begin], &head, &block, &recorded[end..]].concat()
}

proptest! {
    /// A forged file has the right checksums, and events that cannot be.
    #[test]
    fn no_replayed_values_make_a_scheme_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40),
        scheme in any::<prop::sample::Index>(),
    ) {
        let schemes = schemes();
        let scheme = scheme.get(&schemes);
        let file = forged(&record_for(scheme, Span::from_millis(400)), |records| {
            for (at, byte) in &changes {
                *at.get_mut(records) = *byte;
            }
        });
        let _ = EventLog::new(&file[..]).unwrap().give_all(parse(scheme).build(&CONTEXT));
    }
}

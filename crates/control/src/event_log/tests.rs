//! The format: files that are none, and every kind of event as bytes.

use super::entry::Received;
use super::*;
use crate::advice::{Advice, AdviceClass, MinRttParts};
use crate::contract::{Ack, Context, Controller, Ecn, EcnEcho, Event, Loss, Packet, RateSample, Sent};
use crate::limits::Limits;
use crate::message::{ArrivalReport, ReportedPacket};
use crate::message::{Feedback, Signal, Verdict};
use crate::rtt::Rtt;
use cellcc_units::{Bytes, Rate, Span, Time};
use proptest::prelude::*;
use std::io::{self, Read, Write};
use std::sync::{Arc, LazyLock, Mutex};

const CONTEXT: Context = Context::new(Bytes::new(1500), Bytes::new(15_000), 1);

/// A scheme that decides nothing.
struct Still;

impl Controller for Still {
    fn on_ack(&mut self, _: &Ack<'_>) {}
    fn on_loss(&mut self, _: &Loss<'_>) {}
    fn limits(&self) -> Limits {
        Limits::window_only(CONTEXT.initial_window)
    }
}

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

/// The reader took memory for as many bytes as the file said.
#[test]
fn a_block_that_is_longer_than_any_is_refused_before_it_is_read() {
    let mut recorded = file("controller", &[]);
    let end = recorded.len() - 8;
    recorded.truncate(end);
    let endless = recorded.as_slice().chain(io::repeat(0xff).take(1 << 20));
    let error = EventLog::new(endless).unwrap().replay(Box::new(Still)).unwrap_err();
    assert!(error.to_string().contains(&format!("damaged at byte {end}")), "{error}");
    assert!(error.to_string().contains("longer than any"), "{error}");
}

/// A file with this header and these bytes as records.
fn file(vocabulary: &str, records: &[u8]) -> Vec<u8> {
    let written = Written::default();
    let (scheme, code) = ("cubic".into(), "0".into());
    let header = Header { vocabulary: vocabulary.into(), scheme, context: CONTEXT, code };
    let mut writer = file::Writer::new(Box::new(written.clone()), &header);
    // A byte by itself is written as it is.
    records.iter().for_each(|byte| writer.record(byte));
    drop(writer);
    written.bytes()
}

#[test]
fn what_this_reader_does_not_know_is_refused_by_name() {
    let error = EventLog::new(&file("kernel", &[])[..]).unwrap_err().to_string();
    assert!(error.contains("`kernel`") && error.contains("`controller`"), "{error}");
    let mut other = file("controller", &[]);
    other[8] = 77;
    let error = EventLog::new(&other[..]).unwrap_err().to_string();
    assert!(error.contains("version 77") && error.contains("record it again"), "{error}");
    let error = EventLog::new(&b"cubic"[..]).unwrap_err().to_string();
    assert!(error.contains("not a recorded event log"), "{error}");
}

#[test]
fn packets_of_no_bytes_are_refused() {
    let written = Written::default();
    let mut recorded = Destination::new(Box::new(written.clone())).record("cubic", &CONTEXT, Box::new(Still));
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
    let error = EventLog::new(&written.bytes()[..]).unwrap().replay(Box::new(Still)).unwrap_err().to_string();
    assert!(error.contains("packets of zero bytes"), "{error}");
}

proptest! {
    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = EventLog::new(&bytes[..]);
        let file = file("controller", &bytes);
        let mut log = EventLog::new(&file[..]).unwrap();
        while let Ok(Some(entry)) = log.next_entry() {
            entry.call.inputs();
            entry.decision.fields();
        }
    }
}

/// One event of each kind.
static REPORT: LazyLock<ArrivalReport> = LazyLock::new(|| {
    let arrived = ReportedPacket { arrived_at: Time::from_nanos(1_000_000), ecn: Ecn::Ce };
    ArrivalReport { begin: 7, sent_at: Time::from_nanos(2_000_000), packets: vec![Some(arrived), None] }
});

fn one_of_each() -> Vec<Entry<'static>> {
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
            min_rtt: Some(MinRttParts { network: MS, downlink: MS, uplink: Span::ZERO }),
            flows: 2,
            backlog: bytes,
            period: MS,
            age: MS,
        }),
        Call::Timer,
        Call::Arrivals(&REPORT),
    ];
    let entry = |(index, call)| {
        let window = CONTEXT.packet * (10 + index as u64 / 3);
        let limits = Limits { signal, budget: Some(bytes), ..Limits::paced(window, Rate::MAX, bytes) };
        Entry {
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
    calls.into_iter().enumerate().map(entry).collect()
}

/// These bytes change with the format alone: then its version must also change.
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
    let entries = one_of_each();
    entries.iter().for_each(|entry| writer.record(&entry.written()));
    drop(writer);
    let bytes = written.bytes();
    let lines: Vec<_> = entries
        .iter()
        .map(|entry| postcard::to_stdvec(&entry.written()).unwrap())
        .map(|bytes| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
        .collect();
    insta::assert_snapshot!(lines.join("\n"));

    let mut log = EventLog::new(&bytes[..]).unwrap();
    let mut texts = Vec::new();
    for entry in &entries {
        let read = log.next_entry().unwrap().unwrap();
        assert_eq!(format!("{read:?}"), format!("{entry:?}"));
        texts.push(format!("{} {:?} -> {:?}", read.call.kind(), read.call.inputs(), read.decision.fields()));
    }
    assert!(log.next_entry().unwrap().is_none());
    insta::assert_snapshot!(texts.join("\n"));
}

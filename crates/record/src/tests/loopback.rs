//! The two ends over real sockets.

use crate::wire::{Directions, Message, Request, Stopped, Why};
use crate::*;
use cellcc_test_support::needs_punctuality;
use cellcc_units::{Bytes, Span, Time};
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// There to end a hang: far longer than anything takes on a busy machine.
const HANG_TIMEOUT: Duration = Duration::from_secs(60);

fn request(directions: Directions, max_bytes: Bytes) -> Request {
    let (packet, queue_delay) = (Bytes::new(1500), QueueDelay::DEFAULT);
    // The bytes end it.
    Request { directions, packet, queue_delay, max_bytes, duration: Span::from_secs(60) }
}

/// A far end on a free port, as long as `body` runs; the events at the end.
fn with_server(max_recordings: usize, body: impl FnOnce(SocketAddr)) -> Vec<ServerEvent> {
    with_server_of(max_recordings, Bytes::new(1_000_000_000), body)
}

fn with_server_of(
    max_recordings: usize,
    max_bytes: Bytes,
    body: impl FnOnce(SocketAddr),
) -> Vec<ServerEvent> {
    let stop = AtomicBool::new(false);
    let (sender, receiver) = mpsc::channel();
    let settings = ServeSettings {
        address: "127.0.0.1:0".parse().unwrap(),
        max_recordings,
        max_duration: Span::from_secs(60),
        max_bytes,
    };
    thread::scope(|scope| {
        let server = scope.spawn(|| serve(&settings, &stop, &mut |event| sender.send(event).unwrap()));
        let Ok(ServerEvent::Listening(address)) = receiver.recv_timeout(HANG_TIMEOUT) else {
            panic!("it does not listen")
        };
        // A test that fails must not wait for a server that is never stopped.
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| body(address)));
        stop.store(true, Ordering::Relaxed);
        if let Err(panic) = result {
            std::panic::resume_unwind(panic);
        }
        server.join().unwrap().unwrap();
    });
    receiver.try_iter().collect()
}

#[test]
fn each_direction_is_recorded_until_the_data_is_used_up() {
    with_server(1, |server| {
        for directions in [Directions::Down, Directions::Up, Directions::Both] {
            let cap = Bytes::new(20_000_000);
            let settings = RecordSettings { server, request: request(directions, cap) };
            let recorded = record(&settings, &AtomicBool::new(false), &mut |_| {}).unwrap();
            assert_eq!(
                (recorded.down.is_some(), recorded.up.is_some()),
                (directions.down(), directions.up())
            );
            assert!(recorded.bytes <= cap + Bytes::new(100_000), "{directions:?}: {}", recorded.bytes);
            assert_eq!((recorded.ended, recorded.reports_missing), (Ended::Bytes, 0));
            for recording in [recorded.down, recorded.up].into_iter().flatten() {
                assert!(recording.times().len() > 500, "{directions:?}: {:?}", recording.summary());
                assert!(recording.times().is_sorted());
            }
        }
    });
}

#[test]
fn a_far_end_that_allows_less_than_is_asked_for_is_the_reason_for_the_end() {
    with_server_of(1, Bytes::new(2_000_000), |server| {
        let settings = RecordSettings { server, request: request(Directions::Down, Bytes::new(20_000_000)) };
        let recorded = record(&settings, &AtomicBool::new(false), &mut |_| {}).unwrap();
        assert_eq!(recorded.ended, Ended::FarEnd);
        assert!(recorded.bytes < Bytes::new(2_100_000), "{}", recorded.bytes);
    });
}

/// A far end counts the path's losses, and so comes to the end of the bytes before the near end does, whose cap it is.
#[test]
fn bytes_that_were_asked_for_are_the_reason_for_the_end_at_whichever_end_they_are_used_up() {
    with_server(1, |server| {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(HANG_TIMEOUT)).unwrap();
        // Six packets, which a far end sends before it knows of any that arrived.
        let request = request(Directions::Down, Bytes::new(10_000));
        let mut buffer = [0; 2000];
        let mut ask = |message: &Message| {
            socket.send_to(&message.encode(), server).unwrap();
            let length = socket.recv(&mut buffer).ok()?;
            Message::decode(&buffer[..length])
        };
        let challenge = ask(&Message::Hello { nonce: 1, cookie: 0, request });
        let Some(Message::Challenge { cookie, .. }) = challenge else { panic!("{challenge:?}") };
        let accepted = ask(&Message::Hello { nonce: 1, cookie, request });
        let Some(Message::Accepted { session, .. }) = accepted else { panic!("{accepted:?}") };
        // Reports of nothing: as if every packet were lost.
        let ready = Message::Report(session, wire::Report { first: 0, arrivals: Vec::new() });
        socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        let deadline = Instant::now() + HANG_TIMEOUT;
        let stopped = loop {
            assert!(Instant::now() < deadline, "it does not stop");
            if let Some(Message::Stopped(_, stopped)) = ask(&ready) {
                break stopped;
            }
        };
        assert_eq!(stopped.why, Why::Bytes);
    });
}

#[test]
fn an_interrupted_recording_is_kept() {
    with_server(1, |server| {
        let stop = AtomicBool::new(false);
        let settings =
            RecordSettings { server, request: request(Directions::Down, Bytes::new(u64::MAX / 2)) };
        let mut ticks = 0;
        let recorded = record(&settings, &stop, &mut |_| {
            ticks += 1;
            stop.store(ticks == 3, Ordering::Relaxed);
        });
        let recorded = recorded.unwrap();
        assert_eq!(recorded.ended, Ended::Interrupted);
        assert!(recorded.down.is_some());
    });
}

#[test]
fn an_address_that_proves_nothing_gets_one_short_answer_and_garbage_none() {
    let events = with_server(1, |server| {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(HANG_TIMEOUT)).unwrap();
        let request = request(Directions::Down, Bytes::new(1_000_000));
        let hello = Message::Hello { nonce: 1, cookie: 12345, request }.encode();
        for datagram in [&b"garbage"[..], &[0; 1400], &[], &hello[..hello.len() - 1], &hello] {
            socket.send_to(datagram, server).unwrap();
        }
        let mut answer = [0; 2000];
        let length = socket.recv(&mut answer).unwrap();
        assert!(length <= hello.len());
        assert!(matches!(Message::decode(&answer[..length]), Some(Message::Challenge { nonce: 1, .. })));
        socket.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
        assert!(socket.recv(&mut answer).is_err(), "nothing more is sent");
    });
    assert!(matches!(events[..], [ServerEvent::Closed { ignored: 4 }]), "{events:?}");
}

#[test]
fn more_recordings_than_allowed_are_refused() {
    with_server(0, |server| {
        let settings = RecordSettings { server, request: request(Directions::Down, Bytes::new(1_000_000)) };
        let error = record(&settings, &AtomicBool::new(false), &mut |_| {}).unwrap_err();
        assert!(error.to_string().contains("busy"), "{error}");
    });
}

/// A far end on a path with the test's losses.
#[derive(Default)]
struct LossyFarEnd {
    /// This many probes arrive.
    arrive: u64,
    /// Only of so many of them do the reports, unless they are fetched.
    reported: u64,
    /// It goes on sending probes of its own.
    sends: bool,
    /// It has ended by itself and says so again and again.
    says_stopped: Option<Why>,
}

impl LossyFarEnd {
    const SESSION: u64 = 7;

    fn serve(&self, socket: &UdpSocket, stop: &AtomicBool) {
        socket.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
        let (mut log, mut near, mut sent, mut stopped) = (Arrivals::default(), None, 0, false);
        let mut buffer = [0; 2000];
        while !stop.load(Ordering::Relaxed) {
            let Some(near) = near else {
                near = shake_hands(socket, &mut buffer);
                continue;
            };
            let say = |message: &Message| drop(socket.send_to(&message.encode(), near));
            let received =
                socket.recv(&mut buffer).ok().and_then(|length| Message::decode(&buffer[..length]));
            match received {
                Some(Message::Probe(_, probe)) if (log.log().len() as u64) < self.arrive => {
                    let (number, first) = (probe.number, log.log().len() as u64);
                    log.push(Arrival {
                        number,
                        sent: probe.sent,
                        arrived: Time::from_nanos(1_000_000 + number),
                    });
                    if first < self.reported {
                        say(&Message::Report(Self::SESSION, log.report(first).unwrap()));
                    }
                }
                Some(Message::Fetch { first, .. }) => {
                    log.report(first)
                        .iter()
                        .for_each(|report| say(&Message::Report(Self::SESSION, report.clone())));
                }
                Some(Message::Stop { .. }) => {
                    stopped = true;
                    say(&self.stopped(&log, Why::Asked));
                }
                _ => {}
            }
            if self.sends && !stopped {
                let probe = wire::Probe { number: sent, sent: Time::from_nanos(sent), rtt_micros: 0 };
                say(&Message::Probe(Self::SESSION, probe));
                sent += 1;
            }
            if let Some(why) = self.says_stopped
                && log.log().len() as u64 == self.arrive
            {
                say(&self.stopped(&log, why));
            }
        }
    }

    fn stopped(&self, log: &Arrivals, why: Why) -> Message {
        let arrivals = log.log().len() as u64;
        Message::Stopped(Self::SESSION, Stopped { sent: 0, arrivals, overflowed: 0, why })
    }

    /// The recording, and its duration.
    fn recorded(&self, directions: Directions) -> (Recorded, Duration) {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let (stop, begun) = (AtomicBool::new(false), Instant::now());
        let server = socket.local_addr().unwrap();
        let recorded = thread::scope(|scope| {
            scope.spawn(|| self.serve(&socket, &stop));
            // 150 packets upwards, where both send: few enough for any socket.
            let cap = Bytes::new(450_000);
            let settings = RecordSettings { server, request: request(directions, cap) };
            let recorded = record(&settings, &AtomicBool::new(false), &mut |_| {});
            stop.store(true, Ordering::Relaxed);
            recorded
        });
        (recorded.unwrap(), begun.elapsed())
    }
}

fn shake_hands(socket: &UdpSocket, buffer: &mut [u8]) -> Option<SocketAddr> {
    let (length, from) = socket.recv_from(buffer).ok()?;
    let Some(Message::Hello { nonce, .. }) = Message::decode(&buffer[..length]) else { return None };
    let accepted = Message::Accepted { nonce, session: LossyFarEnd::SESSION };
    socket.send_to(&accepted.encode(), from).unwrap();
    Some(from)
}

#[test]
fn what_arrived_before_the_far_end_stopped_is_had_although_its_reports_were_lost() {
    needs_punctuality(|| {
        // It also counts sent packets that the path has lost, so that it is the first to reach the cap that both have.
        for (why, ended) in
            [(Why::OwnLimit, Ended::FarEnd), (Why::Bytes, Ended::Bytes), (Why::Duration, Ended::Duration)]
        {
            let far =
                LossyFarEnd { arrive: 100, reported: 75, says_stopped: Some(why), ..LossyFarEnd::default() };
            let (recorded, took) = far.recorded(Directions::Up);
            assert_eq!((recorded.ended, recorded.reports_missing), (ended, 0));
            // The packet that begins it stands at zero and is not counted.
            assert_eq!(recorded.up.unwrap().times().len(), 99);
            assert!(took < Duration::from_secs(3), "{took:?}");
        }
    });
}

#[test]
fn a_far_end_that_goes_on_sending_does_not_hold_up_the_end_when_the_last_packets_are_lost() {
    needs_punctuality(|| {
        let far = LossyFarEnd { arrive: 100, reported: 100, sends: true, says_stopped: None };
        let (recorded, took) = far.recorded(Directions::Both);
        assert_eq!((recorded.ended, recorded.reports_missing), (Ended::Bytes, 0));
        assert_eq!(recorded.up.unwrap().times().len(), 99);
        // Nothing new comes for the longest queueing delay that is wanted, 1 s, and one more; the far end would go on for ever.
        assert!(took < Duration::from_secs(8), "{took:?}");
    });
}

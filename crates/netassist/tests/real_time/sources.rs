//! A base station's messages over real sockets.

use crate::support::HANG_TIMEOUT;
use cellcc_netassist::daemon::HttpUrl;
use cellcc_netassist::source::HttpPoll;
use cellcc_netassist::source::gnb::{GnbReader, GnbSettings, UeReport, message};
use cellcc_netassist::source::mec::MecReader;
use cellcc_netassist::source::{
    Messages, Plausible, Recorder, Recording, Source, SourceEvent, UdpInput, WebSocketInput,
};
use cellcc_netassist::{Sample, ServiceClock};
use cellcc_units::{Bytes, Rate, Span};
use futures_util::{SinkExt, StreamExt};
use std::net::Ipv4Addr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, UdpSocket};
use tokio::time::timeout;
use tokio_tungstenite::accept_async;
use tokio_tungstenite::tungstenite::Message;

pub(crate) const SETTINGS: GnbSettings =
    GnbSettings { downlink_slots_per_second: 1400, network_rtt: Some(Span::from_millis(10)) };

/// A message of a base station with one user: 12 Mbit/s in all slots of 50 ms, and something queued.
pub(crate) fn report(at_ms: u64) -> String {
    let user = UeReport {
        pci: 1,
        rnti: 17921,
        downlink: Rate::from_mbit_per_sec(12.0),
        uplink: Rate::ZERO,
        blocks: 70,
        queued: Some(Bytes::new(3000)),
        longest_gap: None,
        uplink_delay: Some(Span::from_millis(8)),
    };
    message(at_ms, user.pci, &[user])
}

async fn next(source: &mut impl Source) -> SourceEvent {
    timeout(HANG_TIMEOUT, source.next()).await.expect("nothing came").expect("it goes on")
}

async fn samples(source: &mut impl Source) -> Vec<Sample> {
    loop {
        if let SourceEvent::Samples(samples) = next(source).await
            && !samples.is_empty()
        {
            return samples;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_base_station_is_subscribed_to_and_connected_to_again() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let station = tokio::spawn(async move {
        for round in 0..2 {
            let (socket, _) = listener.accept().await.unwrap();
            let mut stream = accept_async(socket).await.unwrap();
            let asked = stream.next().await.unwrap().unwrap();
            assert_eq!(asked.into_text().unwrap(), r#"{"cmd":"metrics_subscribe"}"#);
            for text in [
                r#"{"cmd":"metrics_subscribe","timestamp":"x"}"#.to_owned(),
                report(1000 * round),
                report(1000 * round + 50),
            ] {
                stream.send(Message::text(text)).await.unwrap();
            }
            stream.close(None).await.unwrap();
        }
    });
    let input = WebSocketInput::new(address, ServiceClock::start()).unwrap();
    let mut source = Messages::new(input, GnbReader::new(SETTINGS), Plausible::default());
    for _ in 0..2 {
        assert_eq!(samples(&mut source).await.len(), 1);
        let SourceEvent::Problem(problem) = next(&mut source).await else { panic!("it was closed") };
        assert!(problem.contains("has closed the connection"), "{problem}");
    }
    station.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_socket_that_anybody_could_reach_is_refused() {
    let clock = ServiceClock::start();
    let error = WebSocketInput::new("192.0.2.1:8001".parse().unwrap(), clock).unwrap_err();
    assert!(error.contains("run NetAssist on its host"), "{error}");
    assert!(UdpInput::bind("0.0.0.0:0".parse().unwrap(), clock).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_older_form_comes_in_datagrams_and_a_recording_of_it_gives_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gnb.jsonl");
    let clock = ServiceClock::start();
    let input = UdpInput::bind((Ipv4Addr::LOCALHOST, 0).into(), clock).await.unwrap();
    let address = input.address().unwrap();
    let mut live = Messages::new(Recorder::new(input, &path), GnbReader::new(SETTINGS), Plausible::default());
    let station = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    for text in ["garbage".to_owned(), report(0), report(50)] {
        station.send_to(text.as_bytes(), address).await.unwrap();
    }
    assert!(matches!(next(&mut live).await, SourceEvent::Problem(_)));
    let seen = samples(&mut live).await;
    drop(live);

    let mut replayed =
        Messages::new(Recording::open(&path, clock).unwrap(), GnbReader::new(SETTINGS), Plausible::default());
    let again = samples(&mut replayed).await;
    assert_eq!(again[0].measured, seen[0].measured);
    assert!(replayed.next().await.is_none(), "the recording ends");
}

/// A server that gives these answers, one to each connection.
async fn answers(answers: Vec<String>) -> HttpUrl {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let url = format!("http://{}/rni/v2/queries/layer2_meas", listener.local_addr().unwrap());
    tokio::spawn(async move {
        for answer in answers {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut asked = [0; 1024];
            let length = socket.read(&mut asked).await.unwrap();
            let asked = String::from_utf8_lossy(&asked[..length]).into_owned();
            assert!(asked.starts_with("GET /rni/v2/queries/layer2_meas HTTP/1.1"), "{asked}");
            socket.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    url.parse().unwrap()
}

fn measured(seconds: u64) -> String {
    let body = format!(
        r#"{{"timeStamp":{{"seconds":{seconds},"nanoSeconds":0}},"cellUEInfo":[{{"ecgi":{{"cellId":"1","plmn":{{"mcc":"001",
        "mnc":"01"}}}},"associateId":{{"type":1,"value":"10.45.0.2"}},"dl_nongbr_throughput_ue":12000}}]}}"#
    );
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_platform_is_asked_again_and_again_and_what_it_refuses_is_reported() {
    let refused =
        "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_owned();
    let url = answers(vec![measured(100), measured(101), refused, measured(102), measured(103)]).await;
    let input = HttpPoll::new(url, Span::from_millis(5), ServiceClock::start());
    let mut source = Messages::new(input, MecReader::new(None), Plausible::default());
    assert_eq!(samples(&mut source).await.len(), 1);
    let SourceEvent::Problem(problem) = next(&mut source).await else { panic!("no problem") };
    assert!(problem.contains("503") && problem.contains("layer2_meas"), "{problem}");
    assert_eq!(next(&mut source).await, SourceEvent::Samples(vec![]), "a new period begins");
    assert_eq!(samples(&mut source).await.len(), 1);
}

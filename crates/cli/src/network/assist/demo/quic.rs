//! The demonstration in QUIC, on loopback: no right is needed.

use super::edge::Edge;
use super::{DELAY, QUEUE, Rounds, USERS, tell_of_round};
use crate::exit::{Exit, tell};
use crate::network::process::{exit, runtime, signals};
use cellcc_experiment::{Distribution, Path, Record};
use cellcc_link::{Delay, LinkConfig, TraceCache};
use cellcc_netassist::emulated_cell::{CellUser, EmulatedCell};
use cellcc_netassist_client::AssistedPeers;
use cellcc_transfer::{
    AdviceConfig, Direction, Identity, Limits, Outcome, Payload, Request, Server, ServerSettings, Trust,
    VERSION, transfer,
};
use cellcc_units::Span;
use cellcc_version::VERSION as CODE_VERSION;
use std::net::Ipv4Addr;
use std::sync::Arc;
use tokio::sync::watch;

/// The address of a user, as the server sees it.
fn address(user: usize) -> Ipv4Addr {
    Ipv4Addr::new(127, 0, 0, 11 + user as u8)
}

/// Each scheme in its turn.
pub(super) fn rounds(rounds: &Rounds) -> Result<Vec<Record>, Exit> {
    runtime()?.block_on(async {
        let stop = signals();
        let mut records = Vec::new();
        for scheme in rounds.schemes {
            tell_of_round("QUIC", scheme, rounds.time);
            let ended = round(scheme, rounds, stop.clone()).await;
            // Also where its transfers did not end well then.
            if *stop.borrow() {
                return Err(Exit::Interrupted);
            }
            records.extend(ended?);
        }
        Ok(records)
    })
}

/// All users at once with one scheme: a Record each.
async fn round(scheme: &str, rounds: &Rounds<'_>, stop: watch::Receiver<bool>) -> Result<Vec<Record>, Exit> {
    let cell = EmulatedCell::start(users()?).await.map_err(Exit::failed)?;
    let addresses: Vec<_> = (0..USERS.len()).map(|user| address(user).into()).collect();
    let edge = Edge::start(cell.gnb(), &addresses, rounds.out).await.map_err(Exit::failed)?;
    let peers = AssistedPeers::start(edge.client(), tell).map_err(Exit::failed)?;
    let server = server(AdviceConfig::Service(Arc::new(peers)))?;
    cell.lead_to(server.address().map_err(Exit::failed)?);
    let trust = Trust::Pin(server.fingerprint());
    let (end_server, mut server_ends) = watch::channel(false);
    let server_task = tokio::spawn(async move {
        server
            .run(async move {
                let _ = server_ends.wait_for(|end| *end).await;
            })
            .await;
    });
    let download = async |user| {
        let settings = client(&cell, user, scheme, rounds.time, trust.clone());
        transfer(&settings, stop.clone(), &mut |_| {}).await
    };
    let (first, second, third) = tokio::join!(download(0), download(1), download(2));
    // The server first: it would miss the service.
    end_server.send_replace(true);
    server_task.await.map_err(Exit::failed)?;
    edge.stop().await.map_err(Exit::failed)?;
    let outcomes: Vec<_> = [first, second, third].into_iter().collect::<Result<_, _>>().map_err(exit)?;
    let queueing = cell.queueing();
    Ok(outcomes
        .iter()
        .enumerate()
        .map(|(user, outcome)| record(user, outcome, rounds.time, &queueing[user]))
        .collect())
}

fn users() -> Result<Vec<CellUser>, Exit> {
    let traces = TraceCache::default();
    let user = |(index, (_, link)): (usize, &(&str, &str))| {
        let capacity = traces.open(link).map_err(Exit::failed)?.capacity;
        let downlink = LinkConfig {
            capacity,
            queue: QUEUE.into(),
            delay: Delay::constant(DELAY),
            ..LinkConfig::transparent()
        };
        Ok(CellUser { address: address(index), downlink, uplink_delay: DELAY })
    };
    USERS.iter().enumerate().map(user).collect()
}

fn server(advice: AdviceConfig) -> Result<Server, Exit> {
    let settings = ServerSettings {
        listen: (Ipv4Addr::LOCALHOST, 0).into(),
        scheme: cellcc_schemes::registry().parse("cubic").map_err(Exit::failed)?,
        allowed: Vec::new(),
        root: None,
        takes_files: false,
        http: None,
        hidden: false,
        identity: Identity::made().map_err(exit)?,
        client_authorities: None,
        limits: Limits::default(),
        qlog: None,
        advice: Some(advice),
        log: Box::new(|_| {}),
    };
    Server::bind(settings).map_err(exit)
}

fn client(
    cell: &EmulatedCell,
    user: usize,
    scheme: &str,
    time: Span,
    trust: Trust,
) -> cellcc_transfer::ClientSettings {
    cellcc_transfer::ClientSettings {
        server: cell.entry(user),
        server_name: "localhost".into(),
        trust,
        identity: None,
        request: Request {
            version: VERSION,
            direction: Direction::Get,
            payload: Payload::Made { source: cellcc_experiment::Source::Bulk, time: Some(time) },
            scheme: Some(scheme.into()),
            connections: 1,
            streams: 16,
            interval: Span::from_millis(500),
        },
        file: None,
        qlog: None,
        advice: None,
    }
}

/// The transfer's Record, with the known path, and the cell's knowledge of its queue.
fn record(user: usize, outcome: &Outcome, time: Span, queueing: &Distribution) -> Record {
    let mut record = Record { version: CODE_VERSION.into(), ..outcome.record() };
    let (name, _) = USERS[user];
    record.scenario.trace = name.into();
    record.scenario.duration = time;
    record.scenario.path = Path { rtt: DELAY * 2, queue: QUEUE.into(), ..Path::default() }.into();
    record.notes = vec!["in real time over an emulated cell; throughput counts acknowledged packets".into()];
    record.id = format!("{name}-{}", record.scenario.scheme);
    for flow in &mut record.flows {
        flow.queueing_delay = queueing.clone();
    }
    record.total.set_queueing(queueing);
    record
}

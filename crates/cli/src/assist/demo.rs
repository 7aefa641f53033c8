//! `cellcc assist demo`: three users of one emulated cell, the same flows with and without assistance.
//!
//! Everything is what it is outside, on loopback: a cell that counts as a base station does and tells it in JSON over a WebSocket,
//! `cellcc assist serve` that reads it, `cellcc serve` that is told, and a client for each user. Real time; no right is needed.

use crate::exit::{Exit, print, tell};
use crate::process::{exit, runtime, signals};
use crate::terminal;
use cellcc_control::{Registry, split_list};
use cellcc_experiment::{Distribution, Record};
use cellcc_link::{Delay, LinkConfig, TraceCache};
use cellcc_netassist::daemon::{Config, Daemon, LiveFlowsFrom, SourceConfig};
use cellcc_netassist::emulated_cell::{CellUser, EmulatedCell, FIRST_RNTI, PCI, SLOTS_PER_SECOND};
use cellcc_netassist::{
    AssistedPeers, Authority, ClientSettings, Credentials, PeerName, RadioName, Role, ServiceAddress, User,
};
use cellcc_report::TableFormat;
use cellcc_transfer::{
    AdviceConfig, Direction, Identity, Limits, Outcome, Payload, Request, Server, ServerSettings, Trust,
    VERSION, transfer,
};
use cellcc_units::{QueueLimit, Span};
use cellcc_version::VERSION as CODE_VERSION;
use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use tokio::sync::watch;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cellcc assist demo
  cellcc assist demo --schemes cubic,bbr,nacubic,natcp --time 30s --out demo

Users share the cell's slots in turn. The same schemes run again each time, on the same links from their beginning.")]
pub(crate) struct Args {
    /// The schemes, one after the other; those that take advice are told by NetAssist.
    #[arg(long, value_name = "LIST", default_value = "cubic,nacubic,natcp")]
    schemes: String,
    /// How long each of them sends.
    #[arg(long, value_name = "TIME", default_value = "15s")]
    time: Span,
    /// A new folder for the Records, the report and the audit log.
    #[arg(long, value_name = "FOLDER", default_value = "cellcc-out/netassist-demo")]
    out: PathBuf,
}

/// The users: names, the addresses that the server sees, and what each could have alone.
const USERS: [(&str, Ipv4Addr, &str); 3] = [
    ("alice", Ipv4Addr::new(127, 0, 0, 11), "lte-drive"),
    ("bob", Ipv4Addr::new(127, 0, 0, 12), "lte-static"),
    ("carol", Ipv4Addr::new(127, 0, 0, 13), "rate=24Mbit/s"),
];
/// Each way; together the 20 ms of `cellcc compare`.
const DELAY: Span = Span::from_millis(10);
/// A base station's deep queue: a second of 12 Mbit/s.
const QUEUE: QueueLimit = QueueLimit::Packets(1000);

pub(super) fn run(args: &Args) -> Result<ExitCode, Exit> {
    let registry = Registry::default();
    let schemes = split_list(&args.schemes)
        .into_iter()
        .map(|text| registry.parse(text).map(|_| text.to_owned()))
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| Exit::input(format!("--schemes: {error}")))?;
    fs::create_dir_all(args.out.parent().unwrap_or(Path::new(""))).map_err(Exit::failed)?;
    fs::create_dir(&args.out)
        .map_err(|error| Exit::input(format!("--out: {}: {error}", args.out.display())))?;
    let records = runtime()?.block_on(async {
        let stop = signals();
        let mut records = Vec::new();
        for scheme in &schemes {
            tell(&format!("{scheme}: {} users, {} s", USERS.len(), args.time.as_secs_f64()));
            records.extend(round(scheme, args, stop.clone()).await?);
            if *stop.borrow() {
                return Err(Exit::Interrupted);
            }
        }
        Ok(records)
    })?;
    let lines: Vec<_> =
        records.iter().map(serde_json::to_string).collect::<Result<_, _>>().map_err(Exit::failed)?;
    let report = args.out.join("report.html");
    fs::write(args.out.join("runs.jsonl"), lines.join("\n") + "\n").map_err(Exit::failed)?;
    fs::write(&report, cellcc_report::html("NetAssist: three users of a cell", &records, None))
        .map_err(Exit::failed)?;
    print(&cellcc_report::table(&records, TableFormat::Table, None, terminal::width()))?;
    print(&format!("report: {}", report.display()))?;
    Ok(ExitCode::SUCCESS)
}

/// All users at once with one scheme: a Record each.
async fn round(scheme: &str, args: &Args, stop: watch::Receiver<bool>) -> Result<Vec<Record>, Exit> {
    let cell = EmulatedCell::start(users()?).await.map_err(Exit::failed)?;
    let keys = tempfile::tempdir().map_err(Exit::failed)?;
    let (daemon, credentials) = daemon(&cell, keys.path(), &args.out).await?;
    let service = daemon.server().address().map_err(Exit::failed)?;
    let (end_service, mut service_ends) = watch::channel(false);
    let service_task = tokio::spawn(daemon.run(async move {
        let _ = service_ends.wait_for(|end| *end).await;
    }));
    let peers =
        AssistedPeers::start(ClientSettings { service: ServiceAddress::Quic(service), credentials }, tell)
            .map_err(Exit::failed)?;
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
        let settings = client(&cell, user, scheme, args.time, trust.clone());
        transfer(&settings, stop.clone(), &mut |_| {}).await
    };
    let (first, second, third) = tokio::join!(download(0), download(1), download(2));
    // The server first: it would miss the service.
    end_server.send_replace(true);
    server_task.await.map_err(Exit::failed)?;
    end_service.send_replace(true);
    service_task.await.map_err(Exit::failed)?;
    let outcomes: Vec<_> = [first, second, third].into_iter().collect::<Result<_, _>>().map_err(exit)?;
    let queueing = cell.queueing();
    Ok(outcomes.iter().enumerate().map(|(user, outcome)| record(user, outcome, &queueing[user])).collect())
}

fn users() -> Result<Vec<CellUser>, Exit> {
    let traces = TraceCache::default();
    let user = |(_, address, link): (&str, Ipv4Addr, &str)| {
        let capacity = traces.open(link).map_err(Exit::failed)?.capacity;
        let downlink = LinkConfig {
            capacity,
            queue: QUEUE.into(),
            delay: Delay::constant(DELAY),
            ..LinkConfig::transparent()
        };
        Ok(CellUser { address, downlink, uplink_delay: DELAY })
    };
    USERS.into_iter().map(user).collect()
}

/// The service, and the credentials of a server for it.
async fn daemon(cell: &EmulatedCell, keys: &Path, out: &Path) -> Result<(Daemon, Credentials), Exit> {
    let name = |role, text| PeerName::new(role, text).map_err(Exit::failed);
    let authority = Authority::kept_in(keys).map_err(Exit::failed)?;
    let folder = authority.issue(&name(Role::Service, "edge")?, keys).map_err(Exit::failed)?;
    let server = authority.issue(&name(Role::Server, "server-1")?, keys).map_err(Exit::failed)?;
    let user = |(index, (name, address, _)): (usize, (&str, Ipv4Addr, &str))| User {
        name: name.into(),
        addresses: vec![address.into()],
        radio: vec![RadioName { pci: PCI, rnti: FIRST_RNTI + index as u16 }],
    };
    let config = Config {
        nats: None,
        listen: (Ipv4Addr::LOCALHOST, 0).into(),
        credentials: folder,
        http: None,
        audit_log: out.join("audit.jsonl"),
        // The emulated cell's flows are in no connection tracking.
        live_flows: LiveFlowsFrom::Assumed,
        users: USERS.into_iter().enumerate().map(user).collect(),
        sources: vec![SourceConfig::GnbWebsocket {
            address: cell.gnb(),
            network_rtt: Some(DELAY * 2),
            downlink_slots_per_second: SLOTS_PER_SECOND,
            record: None,
        }],
        cells: Vec::new(),
    };
    let daemon = Daemon::open(&config, None, tell).await.map_err(Exit::failed)?;
    Ok((daemon, Credentials::load(&server, Role::Server).map_err(Exit::failed)?))
}

fn server(advice: AdviceConfig) -> Result<Server, Exit> {
    let settings = ServerSettings {
        listen: (Ipv4Addr::LOCALHOST, 0).into(),
        scheme: Registry::default().parse("cubic").map_err(Exit::failed)?,
        allowed: Vec::new(),
        root: None,
        takes_files: false,
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

/// The transfer's Record, with what the cell knows of its queue.
fn record(user: usize, outcome: &Outcome, queueing: &Distribution) -> Record {
    let mut record = Record { version: CODE_VERSION.into(), ..outcome.record() };
    let (name, ..) = USERS[user];
    record.scenario.trace = name.into();
    record.id = format!("{name}-{}", record.scenario.scheme);
    for flow in &mut record.flows {
        flow.queueing_delay = queueing.clone();
    }
    if let Some(waited) = queueing.summary() {
        let total = &mut record.total;
        total.queueing_delay_mean_ms = Some(waited.mean_ms);
        total.queueing_delay_p50_ms = Some(waited.p50_ms);
        total.queueing_delay_p95_ms = Some(waited.p95_ms);
        total.queueing_delay_p99_ms = Some(waited.p99_ms);
        total.queueing_delay_max_ms = Some(waited.max_ms);
        total.power = Some(total.throughput_mbit_s / waited.mean_ms).filter(|power| power.is_finite());
        total.power95 = Some(total.throughput_mbit_s / waited.p95_ms).filter(|power| power.is_finite());
    }
    record
}

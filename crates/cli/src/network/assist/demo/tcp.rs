//! The demonstration in the kernel's TCP, over the emulator: as root, on Linux with our schemes for its kernel.

use super::edge::Edge;
use super::{DELAY, QUEUE, Rounds, USERS, tell_of_round};
use crate::exit::{Exit, tell};
use crate::network::process::end_when_interrupted;
use cellcc_emu::kernel::KernelDriver;
use cellcc_experiment::{
    CellSetup, Driver, FlowSetup, Offset, Path, Record, ResolveError, Resolved, RunError, Scenario, Series,
    Source, TcpBackend, TcpRun,
};
use cellcc_kernel::KernelSchemes;
use cellcc_netassist::base_station::{BaseStation, REPORT_PERIOD};
use cellcc_netassist_client::{Client, KernelFeed};
use cellcc_units::{Span, Time};
use std::error::Error;
use std::fmt::Display;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::runtime::Runtime;

/// Each scheme in its turn, all users at once: a Record each.
pub(super) fn rounds(rounds: &Rounds) -> Result<Vec<Record>, Exit> {
    let refused = |error: &dyn Display| Exit::input(format!("--transport tcp: {error}"));
    let driver = KernelDriver::new(Assisted { schemes: Arc::default(), out: rounds.out.into() });
    let driver = driver.map_err(|error| refused(&error))?;
    // A scheme that cannot run is refused before any run.
    let resolve = |scheme: &String| {
        Resolved::by(&driver, scenario(scheme, rounds.time)).map_err(|error| refused(&error))
    };
    let scenarios = rounds.schemes.iter().map(resolve).collect::<Result<Vec<_>, Exit>>()?;
    end_when_interrupted()?;
    let mut records = Vec::new();
    for (scheme, scenario) in rounds.schemes.iter().zip(&scenarios) {
        tell_of_round("TCP", scheme, rounds.time);
        let record = driver.run(scenario).map_err(Exit::failed)?;
        records.extend((0..USERS.len()).map(|user| of_user(&record, user)));
    }
    Ok(records)
}

fn scenario(scheme: &str, time: Span) -> Scenario {
    let [(_, trace), others @ ..] = USERS;
    let flow = |user| FlowSetup {
        scheme: scheme.into(),
        start: Time::ZERO,
        stop: None,
        source: Source::Bulk,
        user,
        extra_rtt: Span::ZERO,
        initial_window: None,
    };
    Scenario {
        scheme: scheme.into(),
        variation: String::new(),
        driver: "kernel".into(),
        trace: trace.into(),
        trace_sha256: String::new(),
        seed: 1,
        offset: Offset::Fixed,
        trace_offset: Span::ZERO,
        duration: time,
        warm_up: Span::ZERO,
        path: Path { rtt: DELAY * 2, queue: QUEUE.into(), ..Path::default() }.into(),
        endpoint: Default::default(),
        netassist: Default::default(),
        cell: Some(CellSetup {
            scheduler: "round-robin".into(),
            users: others.iter().map(|(_, link)| (*link).into()).collect(),
        }),
        flows: (0..USERS.len()).map(flow).collect(),
    }
}

/// The results of one user.
fn of_user(record: &Record, user: usize) -> Record {
    let (name, _) = USERS[user];
    let mut own = record.clone();
    own.id = format!("{name}-{}-tcp", record.scenario.scheme);
    own.scenario.trace = name.into();
    own.scenario.flows = vec![record.scenario.flows[user].clone()];
    own.flows = vec![record.flows[user].clone()];
    own.total = record.flows[user].metrics.clone();
    own.jain_index = None;
    own.series = series_of(&record.series, user);
    own
}

/// The columns of one flow, as those of the first.
fn series_of(series: &Series, flow: usize) -> Series {
    let prefix = format!("flow{flow}.");
    let columns = series.columns.iter().filter_map(|column| {
        let name = format!("flow0.{}", column.name.strip_prefix(&prefix)?);
        Some(cellcc_experiment::Column { name, values: column.values.clone() })
    });
    Series { bin: series.bin, columns: columns.collect() }
}

/// Our schemes, with the reports of a service that reads the emulated cell's base station.
#[derive(Debug)]
struct Assisted {
    schemes: Arc<KernelSchemes>,
    out: PathBuf,
}

impl TcpBackend for Assisted {
    fn resolve(&self, scenario: &mut Scenario) -> Result<(), ResolveError> {
        self.schemes.resolve(scenario)
    }

    fn kernel_name(&self, scheme: &str) -> Option<&'static str> {
        self.schemes.kernel_name(scheme)
    }

    fn prepare(&self, scenario: &Scenario) -> Result<(), RunError> {
        self.schemes.prepare(scenario)
    }

    fn assist(&self, run: TcpRun<'_>) -> Result<(), RunError> {
        let takes_advice = |flow: &FlowSetup| {
            cellcc_schemes::registry()
                .parse(&flow.scheme)
                .is_ok_and(|scheme| scheme.advice_request().is_some())
        };
        if !run.scenario.flows.iter().any(takes_advice) {
            return Ok(());
        }
        let runtime = Runtime::new().map_err(|error| RunError(format!("cannot start threads: {error}")))?;
        runtime.block_on(self.feed(run)).map_err(|error| RunError(format!("NetAssist: {error}")))
    }
}

impl Assisted {
    /// A base station that tells what the emulator's queues count, the service, and a server's client that tells the kernel.
    async fn feed(&self, run: TcpRun<'_>) -> Result<(), Box<dyn Error>> {
        let mut base_station = BaseStation::start(run.peers.len()).await?;
        let edge = Edge::start(base_station.address(), run.peers, &self.out).await?;
        let schemes = Arc::clone(&self.schemes);
        let feed = KernelFeed::new(move |user, advice| schemes.advise(user, advice).map_err(|error| error.0));
        let client = Client::start(edge.client(), feed.listener(tell))?;
        for peer in run.peers {
            client.want(*peer, 1, None);
        }
        let mut report_at = Time::ZERO + REPORT_PERIOD;
        while report_at < run.until {
            let Some(counters) = tokio::task::block_in_place(|| run.queues.counters(report_at)) else {
                break;
            };
            base_station.report(report_at, counters);
            report_at += REPORT_PERIOD;
        }
        drop(client);
        edge.stop().await?;
        self.schemes.forget_advice(run.peers);
        Ok(())
    }
}

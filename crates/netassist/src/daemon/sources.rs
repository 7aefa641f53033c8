//! The sources of a configuration, opened.

use super::config::{Config, SourceConfig};
use super::error::DaemonError;
use crate::clock::ServiceClock;
use crate::identity::{Identities, SourceName, UserIndex};
use crate::source::flexric::{FlexRicReader, FlexRicSettings};
use crate::source::gnb::{GnbReader, GnbSettings};
use crate::source::mec::MecReader;
use crate::source::{
    Host, HttpPoll, MessageReader, Messages, OpenHostCounters, Plausible, RawInput, Recorder, Recording,
    Source, Timetables, UdpInput, WebSocketInput,
};
use cellcc_assist::{
    FeedbackError, FeedbackFile, FeedbackPath, NetAssist, ReportSource, ReportedFlow, Reports, Timetable,
    UnseenReports,
};
use cellcc_experiment::TracedPath;
use cellcc_link::{Delay, TraceCache};
use cellcc_units::{Rate, Span, Time};
use std::path::Path;

/// Opens the sources of a configuration, each with its kind and what it reads.
pub(super) async fn open_sources(
    config: &Config,
    identities: &Identities,
    clock: ServiceClock,
    host_counters: Option<OpenHostCounters>,
) -> Result<Vec<(String, Box<dyn Source>)>, DaemonError> {
    let traces = TraceCache::default();
    let mut opened: Vec<(String, Box<dyn Source>)> = Vec::new();
    for source in &config.sources {
        opened.push(match source {
            SourceConfig::GnbWebsocket {
                address,
                network_rtt,
                downlink_slots_per_second,
                cell_rate,
                record,
            } => {
                let which = format!("gnb-websocket {address}");
                let input = WebSocketInput::new(*address, clock).map_err(failed(&which))?;
                let reader = gnb(*network_rtt, *downlink_slots_per_second);
                (which, messages(input, record.as_deref(), reader, *cell_rate))
            }
            SourceConfig::GnbUdp { address, network_rtt, downlink_slots_per_second, cell_rate, record } => {
                let which = format!("gnb-udp {address}");
                let input = UdpInput::bind(*address, clock).await.map_err(failed(&which))?;
                let reader = gnb(*network_rtt, *downlink_slots_per_second);
                (which, messages(input, record.as_deref(), reader, *cell_rate))
            }
            SourceConfig::GnbRecording { file, network_rtt, downlink_slots_per_second, cell_rate } => {
                let which = format!("gnb-recording {}", file.display());
                let input = Recording::open(file, clock).map_err(failed(&which))?;
                (which, messages(input, None, gnb(*network_rtt, *downlink_slots_per_second), *cell_rate))
            }
            SourceConfig::FlexRic {
                address,
                pci,
                resource_blocks_per_second,
                names,
                network_rtt,
                cell_rate,
                record,
            } => {
                let which = format!("flexric {address}");
                let input = UdpInput::bind(*address, clock).await.map_err(failed(&which))?;
                let settings = FlexRicSettings {
                    pci: *pci,
                    resource_blocks_per_second: *resource_blocks_per_second,
                    network_rtt: *network_rtt,
                    names: *names,
                };
                (which, messages(input, record.as_deref(), FlexRicReader::new(settings), *cell_rate))
            }
            SourceConfig::MecLayer2 { url, interval, network_rtt, cell_rate, record } => {
                let which = format!("mec-layer2 {url}");
                let input = HttpPoll::new(url.clone(), *interval, clock);
                (which, messages(input, record.as_deref(), MecReader::new(*network_rtt), *cell_rate))
            }
            SourceConfig::Trace { user, link, knows, network_rtt } => {
                let which = format!("trace {link}");
                let capacity = traces.open(link).map_err(failed(&which))?.capacity;
                let path = TracedPath::of_downlink(capacity, Delay::constant(*network_rtt));
                let timetable = traced(user, identities, *knows, path)?;
                (which, one_user(user, timetable, clock))
            }
            SourceConfig::FeedbackFile { user, file, network_rtt } => {
                let which = format!("feedback-file {}", file.display());
                let path = FeedbackPath { network: *network_rtt, delay: Span::ZERO };
                let timetable = FeedbackFile::read(file, path).map_err(|error: FeedbackError| {
                    DaemonError::Source { which: which.clone(), problem: error.to_string() }
                })?;
                known(user, identities)?;
                (which, one_user(user, Box::new(timetable), clock))
            }
            SourceConfig::HostCounters { interface } => {
                let which = format!("host-counters {interface}");
                let open = host_counters
                    .ok_or("nothing here can count on an interface: this needs Linux, and cellcc with the feature `kernel`")
                    .map_err(failed(&which))?;
                let source = Host::new(interface, identities, clock, open).map_err(failed(&which))?;
                (which, Box::new(source))
            }
        });
    }
    Ok(opened)
}

fn failed<E: std::fmt::Display>(which: &str) -> impl Fn(E) -> DaemonError {
    move |problem| DaemonError::Source { which: which.into(), problem: problem.to_string() }
}

/// Messages from this input, written down where a file is given.
fn messages(
    input: impl RawInput + 'static,
    record: Option<&Path>,
    reader: impl MessageReader + 'static,
    cell_rate: Rate,
) -> Box<dyn Source> {
    let plausible = Plausible::in_cells_of(cell_rate);
    match record {
        Some(path) => Box::new(Messages::new(Recorder::new(input, path), reader, plausible)),
        None => Box::new(Messages::new(input, reader, plausible)),
    }
}

fn gnb(network_rtt: Option<Span>, downlink_slots_per_second: u32) -> GnbReader {
    GnbReader::new(GnbSettings { downlink_slots_per_second, network_rtt })
}

fn known(user: &str, identities: &Identities) -> Result<UserIndex, DaemonError> {
    let name = SourceName::Name(user.into());
    identities.by_source(&name).ok_or_else(|| DaemonError::UnknownUser(user.into()))
}

/// Reports about a trace; each user has its turn at another time of the period.
fn traced(
    user: &str,
    identities: &Identities,
    knows: ReportSource,
    path: TracedPath,
) -> Result<Box<dyn Timetable>, DaemonError> {
    // How long reports travel is not up to the source here.
    let settings = NetAssist { source: knows, delay: Span::ZERO, ..NetAssist::default() };
    let offset = identities.key(known(user, identities)?).offset_in(settings.period);
    let flow = ReportedFlow { start: Time::ZERO + offset, ..ReportedFlow::DEFAULT };
    Ok(Box::new(UnseenReports::new(Reports::new(settings, path, flow), 1)))
}

fn one_user(user: &str, timetable: Box<dyn Timetable>, clock: ServiceClock) -> Box<dyn Source> {
    Box::new(Timetables::new(vec![(user.into(), timetable)], clock.now(), clock))
}

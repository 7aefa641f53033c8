//! The source of a transfer's network advice, which `--advice` names.

use crate::TransferError;
use cellcc_assist::{FeedbackFile, FeedbackPath, NetAssist, ReportedFlow, Reports, UnseenReports};
use cellcc_control::{AdviceRequest, ReportSource};
use cellcc_experiment::TracedPath;
use cellcc_link::{Capacity, Delay, TraceCache};
use cellcc_quic::advice::{AdviceService, AdviceSocket, AdviceSource, AdviceTask, Replay, follow};
use cellcc_quic::{Attached, Congestion};
use cellcc_units::Span;
use noq::{Connection, PathId};
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// The delay with which the NATCP authors apply each line of their files.
const FILE_DELAY: Span = Span::from_millis(1);

/// A source of advice about the bottlenecks towards peers.
#[derive(Debug, Clone)]
pub enum AdviceConfig {
    /// A trace, which starts with each connection.
    Trace {
        /// Capacity of the link towards the peer.
        link: Arc<Capacity>,
        /// The reports' knowledge of it.
        source: ReportSource,
        /// The RTT without the link.
        rtt: Span,
    },
    /// A file in the NATCP authors' format, which starts with each connection.
    File(FeedbackFile),
    /// A network-assistance service.
    Service(Arc<dyn AdviceService>),
}

impl AdviceConfig {
    /// Parses `oracle:TRACE`, `causal:TRACE`, `file:FILE` or `udp:ADDRESS:PORT`, and opens it. `rtt`: the RTT without the
    /// link, which traces and files lack. Needs a tokio runtime.
    ///
    /// # Errors
    /// Another text, an unreadable trace or file, an address that cannot be bound.
    pub async fn named(text: &str, rtt: Span) -> Result<Self, TransferError> {
        let trace = |name: &str, source| {
            let opened = TraceCache::default().open(name).map_err(|error| refused(text, &error))?;
            Ok(Self::Trace { link: opened.capacity, source, rtt })
        };
        match text.split_once(':') {
            Some(("oracle", name)) => trace(name, ReportSource::Oracle),
            Some(("causal", name)) => trace(name, ReportSource::Causal),
            Some(("file", name)) => {
                let path = FeedbackPath { network: rtt, delay: FILE_DELAY };
                FeedbackFile::read(Path::new(name), path)
                    .map(Self::File)
                    .map_err(|error| refused(text, &error))
            }
            Some(("udp", address)) => {
                let address: SocketAddr = address.parse().map_err(|_| {
                    refused(text, &"after `udp:` comes an address and a port, such as 127.0.0.1:5900")
                })?;
                let socket = AdviceSocket::bind(address).await.map_err(|error| refused(text, &error))?;
                Ok(Self::Service(Arc::new(socket)))
            }
            _ => Err(refused(text, &"there are oracle:TRACE, causal:TRACE, file:FILE and udp:ADDRESS:PORT")),
        }
    }

    fn source(&self, request: &AdviceRequest, peer: IpAddr) -> Box<dyn AdviceSource> {
        match self {
            Self::Trace { link, source, rtt } => {
                let settings = NetAssist { source: *source, ..NetAssist::default() }.requested(request);
                let path = TracedPath::of_downlink(Arc::clone(link), Delay::constant(*rtt));
                let reports = Reports::new(settings, path, ReportedFlow::DEFAULT);
                Box::new(Replay::new(UnseenReports::new(reports, 1), Instant::now()))
            }
            Self::File(file) => Box::new(Replay::new(file.clone(), Instant::now())),
            Self::Service(service) => service.for_peer(peer),
        }
    }
}

fn refused(text: &str, problem: &dyn std::fmt::Display) -> TransferError {
    TransferError::Input(format!("--advice {text}: {problem}"))
}

/// The state of advice for a connection's scheme.
#[derive(Debug)]
pub(crate) enum AdviceState {
    /// The scheme needs no advice.
    NotNeeded,
    /// The scheme needs advice, and there is no source.
    Missing,
    /// The scheme gets advice while this value lives.
    Active(#[expect(dead_code, reason = "held, not used")] AdviceTask),
}

impl AdviceState {
    /// Starts to pass advice to a sender's scheme, if it asks for some.
    pub(crate) fn begin(
        connection: &Connection,
        congestion: &Congestion,
        attached: &Attached,
        advice: Option<&AdviceConfig>,
    ) -> Self {
        let Some(request) = congestion.scheme().advice_request() else { return Self::NotNeeded };
        let peer = connection.path(PathId::ZERO).and_then(|path| path.remote_address().ok());
        match advice.zip(peer) {
            Some((advice, peer)) => {
                Self::Active(follow(connection, &attached.scheme(), advice.source(&request, peer.ip())))
            }
            None => Self::Missing,
        }
    }

    /// A note for the result.
    pub(crate) fn note(&self) -> Option<&'static str> {
        matches!(self, Self::Missing).then_some(
            "nothing informed the scheme about its bottleneck, so it went on without advice; name a source with --advice at \
             the sending end",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn message(text: &str) -> String {
        AdviceConfig::named(text, Span::ZERO).await.expect_err("refused").to_string()
    }

    #[tokio::test]
    async fn what_names_no_source_is_refused_with_those_there_are() {
        assert!(message("4g").await.ends_with("oracle:TRACE, causal:TRACE, file:FILE and udp:ADDRESS:PORT"));
        assert!(message("udp:5900").await.contains("such as 127.0.0.1:5900"));
        assert!(message("file:/nowhere/at/all").await.contains("/nowhere/at/all"));
        assert!(message("oracle:no-such-link").await.contains("no-such-link"));
        assert!(message("udp:192.0.2.1:5900").await.contains("192.0.2.1"));
    }

    #[tokio::test]
    async fn a_link_by_its_name_is_a_source() {
        let advice = AdviceConfig::named("causal:rate=12Mbit/s", Span::from_millis(20)).await;
        assert!(matches!(advice, Ok(AdviceConfig::Trace { source: ReportSource::Causal, .. })), "{advice:?}");
    }
}

//! Who tells the schemes of a transfer about their bottleneck: what `--advice` names.

use crate::TransferError;
use cellcc_assist::{
    AdviceRequest, FeedbackFile, FeedbackPath, NetAssist, ReportSource, ReportedFlow, Reports, UnseenReports,
};
use cellcc_experiment::TracedPath;
use cellcc_link::{Capacity, Delay, Loss, TraceCache};
use cellcc_quic::advice::{AdviceSocket, AdviceSource, Following, Replay, follow};
use cellcc_quic::{Attached, Congestion};
use cellcc_units::Span;
use noq::{Connection, PathId};
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// How late the NATCP authors apply each line of their files.
const FILE_DELAY: Span = Span::from_millis(1);

/// Who knows the bottleneck of the peers that data are sent to.
#[derive(Debug, Clone)]
pub enum Adviser {
    /// A trace that begins with each connection.
    Trace {
        /// What the link towards the peer can carry.
        link: Arc<Capacity>,
        /// What is known of it.
        source: ReportSource,
        /// The RTT without the link.
        rtt: Span,
    },
    /// A file of the NATCP authors' form, which begins with each connection.
    File(FeedbackFile),
    /// A network-assistance service that sends records to a socket of this machine.
    Socket(AdviceSocket),
}

impl Adviser {
    /// What `text` names: `oracle:TRACE`, `causal:TRACE`, `file:FILE` or `udp:ADDRESS:PORT`. `rtt`: what traces and files
    /// leave out, the RTT without the link. In a tokio runtime.
    ///
    /// # Errors
    /// Another text, a trace or a file that cannot be read, an address that cannot be had.
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
                AdviceSocket::bind(address).await.map(Self::Socket).map_err(|error| refused(text, &error))
            }
            _ => Err(refused(text, &"there are oracle:TRACE, causal:TRACE, file:FILE and udp:ADDRESS:PORT")),
        }
    }

    fn source(&self, request: &AdviceRequest, peer: IpAddr) -> Box<dyn AdviceSource> {
        match self {
            Self::Trace { link, source, rtt } => {
                let settings = NetAssist { source: *source, ..NetAssist::default() }.requested(request);
                let path = TracedPath {
                    downlink: Arc::clone(link),
                    uplink: None,
                    network: Delay::constant(*rtt),
                    loss: Loss::new(settings.loss, 0),
                };
                let reports = Reports::new(settings, path, ReportedFlow::USUAL);
                Box::new(Replay::new(UnseenReports::new(reports, 1), Instant::now()))
            }
            Self::File(file) => Box::new(Replay::new(file.clone(), Instant::now())),
            Self::Socket(socket) => Box::new(socket.about(peer)),
        }
    }
}

fn refused(text: &str, problem: &dyn std::fmt::Display) -> TransferError {
    TransferError::Input(format!("--advice {text}: {problem}"))
}

/// What the scheme of a connection is told by the network.
#[derive(Debug)]
pub(crate) enum Advised {
    /// It asks for nothing.
    NotNeeded,
    /// It asks, and nobody here knows.
    Missing,
    /// It asks, and is told, as long as this is there.
    Told(#[expect(dead_code, reason = "held, not used")] Following),
}

impl Advised {
    /// Begins to tell a sender's scheme what it asks for.
    pub(crate) fn begin(
        connection: &Connection,
        congestion: &Congestion,
        attached: &Attached,
        adviser: Option<&Adviser>,
    ) -> Self {
        let Some(request) = congestion.scheme().advice_request() else { return Self::NotNeeded };
        let peer = connection.path(PathId::ZERO).and_then(|path| path.remote_address().ok());
        match adviser.zip(peer) {
            Some((adviser, peer)) => {
                Self::Told(follow(connection, &attached.scheme(), adviser.source(&request, peer.ip())))
            }
            None => Self::Missing,
        }
    }

    /// A note for whoever reads the result.
    pub(crate) fn note(&self) -> Option<&'static str> {
        matches!(self, Self::Missing).then_some(
            "nobody told the scheme about its bottleneck, so it went on without advice; name a source with --advice at \
             the sending end",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn message(text: &str) -> String {
        Adviser::named(text, Span::ZERO).await.expect_err("refused").to_string()
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
        let adviser = Adviser::named("causal:rate=12Mbit/s", Span::from_millis(20)).await;
        assert!(matches!(adviser, Ok(Adviser::Trace { source: ReportSource::Causal, .. })), "{adviser:?}");
    }
}

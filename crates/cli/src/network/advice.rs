//! The common part of `cellcc serve` and `cellcc put`: the source of network reports for their schemes.

use crate::exit::{Exit, tell};
use crate::network::assist;
use crate::network::process::exit;
use cellcc_netassist_client::{AssistedPeers, Role};
use cellcc_transfer::AdviceConfig;
use cellcc_units::Span;
use std::path::PathBuf;
use std::sync::Arc;

/// The flags at an end that sends.
#[derive(Debug, Default, clap::Args)]
#[group(skip)]
pub(crate) struct Args {
    /// Source of bandwidth reports for schemes such as natcp: oracle:TRACE or causal:TRACE (a trace that begins with each
    /// connection), file:FILE (the NATCP authors' format), or udp:ADDRESS:PORT (NetAssist records sent to this machine).
    #[arg(long, value_name = "SOURCE")]
    advice: Option<String>,
    /// RTT without the link, which traces and files do not contain.
    #[arg(long, value_name = "TIME", default_value = "20ms", requires = "advice")]
    advice_rtt: Span,
    /// A NetAssist service (`cellcc assist serve`) that reports on each client: quic://HOST:PORT, or tls://HOST:PORT of its
    /// NATS broker.
    #[arg(long, value_name = "URL", conflicts_with = "advice", requires = "assist_credentials")]
    assist: Option<assist::ServiceUrl>,
    /// The folder with the certificate of the role `server` for it (`cellcc assist certificates`).
    #[arg(long, value_name = "DIR", requires = "assist")]
    assist_credentials: Option<PathBuf>,
}

impl Args {
    /// The source of reports. Needs a tokio runtime.
    pub(crate) async fn config(&self) -> Result<Option<AdviceConfig>, Exit> {
        if let (Some(url), Some(folder)) = (&self.assist, &self.assist_credentials) {
            let settings = assist::settings(url, folder, Role::Server)?;
            let peers = AssistedPeers::start(settings, tell).map_err(Exit::failed)?;
            return Ok(Some(AdviceConfig::Service(Arc::new(peers))));
        }
        match &self.advice {
            Some(text) => AdviceConfig::named(text, self.advice_rtt).await.map(Some).map_err(exit),
            None => Ok(None),
        }
    }
}

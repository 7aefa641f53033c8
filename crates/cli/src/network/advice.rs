//! What `cellcc serve` and `cellcc put` have in common: who tells their schemes about the bottleneck.

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
    /// Who tells schemes such as natcp about the bottleneck: oracle:TRACE or causal:TRACE (a trace that begins with each
    /// connection), file:FILE (the NATCP authors' form), or udp:ADDRESS:PORT (NetAssist records sent to this machine).
    #[arg(long, value_name = "SOURCE")]
    advice: Option<String>,
    /// What traces and files leave out: the RTT without the link.
    #[arg(long, value_name = "TIME", default_value = "20ms", requires = "advice")]
    advice_rtt: Span,
    /// A NetAssist (`cellcc assist serve`) that tells about each client: quic://HOST:PORT, or tls://HOST:PORT of its NATS broker.
    #[arg(long, value_name = "URL", conflicts_with = "advice", requires = "assist_credentials")]
    assist: Option<assist::ServiceUrl>,
    /// The folder with the certificate of the role `server` for it (`cellcc assist certificates`).
    #[arg(long, value_name = "FOLDER", requires = "assist")]
    assist_credentials: Option<PathBuf>,
}

impl Args {
    /// Who that is. In a tokio runtime.
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

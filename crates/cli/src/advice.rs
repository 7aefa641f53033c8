//! What `cellcc serve` and `cellcc put` have in common: who tells their schemes about the bottleneck.

use crate::exit::Exit;
use crate::transfer::process::exit;
use cellcc_transfer::AdviceConfig;
use cellcc_units::Span;

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
}

impl Args {
    /// Who that is. In a tokio runtime.
    pub(crate) async fn config(&self) -> Result<Option<AdviceConfig>, Exit> {
        match &self.advice {
            Some(text) => AdviceConfig::named(text, self.advice_rtt).await.map(Some).map_err(exit),
            None => Ok(None),
        }
    }
}

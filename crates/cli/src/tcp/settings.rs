//! Settings of a scheme on the command line.

use cellcc_control::TimeOrMultiple;
use cellcc_control::kind::{Kind, TimeOrMultipleFrom};
use cellcc_kernel::{Change, Profile};
use cellcc_units::Span;
use clap::builder::{PossibleValuesParser, TypedValueParser};

#[derive(Debug, clap::Args)]
pub(super) struct Given {
    /// Reminis: the RTT to stay below, as a time, or as a multiple of the minimum RTT such as 1.5x.
    #[arg(long, value_name = "TIME", value_parser = read_dtt)]
    dtt: Option<TimeOrMultiple>,
    /// Reminis: which reading of the paper.
    #[arg(long, value_parser = profile_parser())]
    profile: Option<Profile>,
    /// NATCP, NACubic and BBR with network assistance: the window in bandwidth-delay products.
    #[arg(long, value_name = "NUMBER", value_parser = read_alpha)]
    alpha: Option<f64>,
}

impl Given {
    pub(super) fn change(&self) -> Change {
        Change { dtt: self.dtt, profile: self.profile, alpha: self.alpha }
    }
}

fn read_dtt(text: &str) -> Result<TimeOrMultiple, String> {
    let dtt = TimeOrMultipleFrom(Span::from_micros(1));
    dtt.read(text).ok_or_else(|| format!("it takes {}", dtt.expected()))
}

fn read_alpha(text: &str) -> Result<f64, String> {
    let alpha: Option<f64> = text.parse().ok();
    alpha
        .filter(|alpha| (0.1..=100.0).contains(alpha))
        .ok_or_else(|| "it takes a number from 0.1 to 100".into())
}

fn profile_parser() -> impl TypedValueParser<Value = Profile> {
    PossibleValuesParser::new(["paper", "literal", "following"]).map(|name| match &*name {
        "literal" => Profile::Literal,
        "following" => Profile::Following,
        _ => Profile::Paper,
    })
}

//! A link's trace, which begins when the daemon does.

use super::kind::{Services, SourceKind};
use super::{Source, Timetables};
use cellcc_assist::{NetAssist, ReportSource, ReportedFlow, Reports, UnseenReports};
use cellcc_experiment::TracedPath;
use cellcc_link::Delay;
use cellcc_units::{Span, Time};
use serde::Deserialize;

/// A link's trace, as what is known of one user.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    /// The user's name.
    pub user: String,
    /// The link, as `cellcc compare --traces` names it.
    pub link: String,
    /// Whether the past period is reported, or the coming one.
    pub knows: ReportSource,
    /// The RTT without the link.
    pub network_rtt: Span,
}

impl SourceKind for Trace {
    fn reads(&self) -> String {
        self.link.clone()
    }

    async fn open(&self, services: &Services<'_>) -> Result<Box<dyn Source>, String> {
        let capacity = services.traces.open(&self.link).map_err(|error| error.to_string())?.capacity;
        let path = TracedPath::of_downlink(capacity, Delay::constant(self.network_rtt));
        // How long reports travel is not up to the source here.
        let settings = NetAssist { source: self.knows, delay: Span::ZERO, ..NetAssist::default() };
        // Each user has its turn at another time of the period.
        let offset = services.identities.key(services.user(&self.user)?).offset_in(settings.period);
        let flow = ReportedFlow { start: Time::ZERO + offset, ..ReportedFlow::DEFAULT };
        let reports = UnseenReports::new(Reports::new(settings, path, flow), 1);
        Ok(Box::new(Timetables::of_one(&self.user, Box::new(reports), services.clock)))
    }
}

//! What reports are made of and how they travel: the table `[netassist]` of a Scenario, and what a scheme asks for.

use cellcc_units::{Ratio, Span, Time};
use serde::{Deserialize, Serialize};

/// LTE's transmission time interval (3GPP TS 36.211, section 4): no base station knows more often what it served.
const SHORTEST_PERIOD: Span = Span::from_millis(1);

/// Network assistance at the base station (NATCP paper, section 2): reports of a user's bandwidth and minimum RTT. A
/// scheme's own parameters (`natcp(period=10ms)`) come before these.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NetAssist {
    /// Where the bandwidth comes from.
    pub source: ReportSource,
    /// Time between reports; each is about as much time. At least 1 ms.
    pub period: Span,
    /// How reports travel.
    pub route: AdviceRoute,
    /// From the network's edge to the server, out of band.
    pub delay: Span,
    /// Share of the reports that are lost.
    pub loss: Ratio,
    /// The base station knows what an idle user's channel would carry, as its channel quality reports tell.
    pub channel_known: bool,
    /// What every reported bandwidth is multiplied by: wrong feedback, to see what it does.
    pub scale: Ratio,
    /// Times without reports, `FROM..TO` each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outages: Vec<Outage>,
}

/// What a scheme asks of the network. [`NetAssist`] decides what the scheme leaves open.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct AdviceRequest {
    /// Where the bandwidth comes from.
    pub source: Option<ReportSource>,
    /// Time between reports.
    pub period: Option<Span>,
    /// How reports travel.
    pub route: Option<AdviceRoute>,
    /// From the network's edge to the server, out of band.
    pub delay: Option<Span>,
    /// Share of the reports that are lost.
    pub loss: Option<Ratio>,
}

/// Where a reported bandwidth comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReportSource {
    /// What the link served in the period that has passed: all that a real network can know.
    #[default]
    Causal,
    /// What the link will offer in the coming period: what the NATCP authors' feedback files hold.
    Oracle,
}

/// How reports travel to the sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AdviceRoute {
    /// In messages of their own, from the network's edge straight to the server.
    #[default]
    OutOfBand,
    /// On the acknowledgements that pass the base station.
    InBand,
}

/// From when to when there are no reports, as text `FROM..TO`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outage {
    /// Its beginning.
    pub from: Time,
    /// Its end, after its beginning.
    pub to: Time,
}

impl NetAssist {
    /// True where nothing differs from the NATCP paper's settings.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// These settings for a scheme that asks for `request`.
    #[must_use]
    pub fn requested(&self, request: &AdviceRequest) -> Self {
        Self {
            source: request.source.unwrap_or(self.source),
            period: request.period.unwrap_or(self.period).max(SHORTEST_PERIOD),
            route: request.route.unwrap_or(self.route),
            delay: request.delay.unwrap_or(self.delay),
            loss: request.loss.unwrap_or(self.loss),
            ..self.clone()
        }
    }

    /// True while no reports are made.
    pub(crate) fn is_out(&self, now: Time) -> bool {
        self.outages.iter().any(|outage| outage.from <= now && now < outage.to)
    }
}

impl Default for NetAssist {
    /// The NATCP paper's: every 50 ms (section 2.2.1), out of band, 2 ms there and back (section 3).
    fn default() -> Self {
        Self {
            source: ReportSource::default(),
            period: Span::from_millis(50),
            route: AdviceRoute::default(),
            delay: Span::from_millis(1),
            loss: Ratio::ZERO,
            channel_known: false,
            scale: Ratio::ONE,
            outages: Vec::new(),
        }
    }
}

impl Serialize for Outage {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{}..{}", self.from, self.to))
    }
}

impl<'de> Deserialize<'de> for Outage {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let times = text.split_once("..").and_then(|(from, to)| {
            let (from, to) = (from.trim().parse().ok()?, to.trim().parse().ok()?);
            (from < to).then_some(Self { from, to })
        });
        times.ok_or_else(|| {
            serde::de::Error::custom(format!("`{text}` is not an outage; write FROM..TO, such as `30s..40s`"))
        })
    }
}

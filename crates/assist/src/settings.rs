//! The content and route of reports: the table `[netassist]` of a Scenario.

use cellcc_control::{AdviceRequest, AdviceRoute, ReportSource};
use cellcc_units::{Ratio, Span, Time};
use serde::{Deserialize, Serialize};

/// LTE's transmission time interval (3GPP TS 36.211, section 4): no base station counts its service more often.
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
    /// An oracle tells of the period that ends so far after the report; none: of the whole coming one. Zero is the period that
    /// has just ended, as the channel was: all of the past and nothing of the future.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub foresight: Option<Span>,
    /// The base station knows what an idle user's channel would carry, as its channel quality reports tell.
    pub channel_known: bool,
    /// Factor on every reported bandwidth from [`wrong_from`](Self::wrong_from) on: wrong feedback, to test its effect. Zero
    /// reports a dead link.
    pub scale: Ratio,
    /// Every reported minimum RTT is multiplied by this from then on.
    #[serde(skip_serializing_if = "is_one")]
    pub rtt_scale: Ratio,
    /// The base station knows how long a packet of the user takes. Where it does not, no minimum RTT is reported.
    #[serde(skip_serializing_if = "is_true")]
    pub uplink_known: bool,
    /// How much longer than [`delay`](Self::delay) reports take from then on.
    #[serde(skip_serializing_if = "is_default")]
    pub late: Span,
    /// Share of the reports that from then on arrive twice, the second time [`overtaken_by`](Self::overtaken_by) later.
    #[serde(skip_serializing_if = "is_default")]
    pub duplicated: Ratio,
    /// Share of the reports that from then on arrive after younger ones.
    #[serde(skip_serializing_if = "is_default")]
    pub reordered: Ratio,
    /// By how much later those arrive.
    #[serde(skip_serializing_if = "is_default_lateness")]
    pub overtaken_by: Span,
    /// The sender knows how old a report is. Where it does not, each counts as if it had not been late.
    #[serde(skip_serializing_if = "is_true")]
    pub age_known: bool,
    /// From when the faults above are there.
    #[serde(skip_serializing_if = "is_default")]
    pub wrong_from: Time,
    /// Times without reports, `FROM..TO` each, or `FROM..` without an end.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outages: Vec<Outage>,
    /// Times at which the user moves to another cell, whose NetAssist starts without history.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub handovers: Vec<Time>,
}

/// One and a half periods of the paper: one younger report comes in between.
const DEFAULT_LATENESS: Span = Span::from_millis(75);

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn is_one(value: &Ratio) -> bool {
    *value == Ratio::ONE
}

fn is_true(value: &bool) -> bool {
    *value
}

fn is_default_lateness(span: &Span) -> bool {
    *span == DEFAULT_LATENESS
}

/// From when to when there are no reports, as text `FROM..TO`, or `FROM..` where they never come back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outage {
    /// Its beginning.
    pub from: Time,
    /// Its end, after its beginning; [`Time::NEVER`] where it has none.
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

    /// True where the user has changed its cell in this time.
    pub(crate) fn has_handover(&self, after: Time, until: Time) -> bool {
        self.handovers.iter().any(|&handover| after < handover && handover <= until)
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
            foresight: None,
            channel_known: false,
            scale: Ratio::ONE,
            rtt_scale: Ratio::ONE,
            uplink_known: true,
            late: Span::ZERO,
            duplicated: Ratio::ZERO,
            reordered: Ratio::ZERO,
            overtaken_by: DEFAULT_LATENESS,
            age_known: true,
            wrong_from: Time::ZERO,
            outages: Vec::new(),
            handovers: Vec::new(),
        }
    }
}

impl Serialize for Outage {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.to {
            Time::NEVER => serializer.collect_str(&format_args!("{}..", self.from)),
            to => serializer.collect_str(&format_args!("{}..{to}", self.from)),
        }
    }
}

impl<'de> Deserialize<'de> for Outage {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let times = text.split_once("..").and_then(|(from, to)| {
            let from = from.trim().parse().ok()?;
            let to = if to.trim().is_empty() { Time::NEVER } else { to.trim().parse().ok()? };
            (from < to).then_some(Self { from, to })
        });
        times.ok_or_else(|| {
            serde::de::Error::custom(format!(
                "`{text}` is not an outage; write FROM..TO, such as `30s..40s`, or FROM.."
            ))
        })
    }
}

//! One run, fully resolved: a link, flows with their schemes, times, a seed.

use crate::{Endpoint, Offset, ResolveError, Shared, Source};
use cellcc_assist::NetAssist;
use cellcc_link::{Access, BurstLoss, CorrelatedJitter, Harq, Policer, Queue, ShareOverTime};
use cellcc_units::{FirstWindow, QueueLimit, Ratio, Span, Time};
use serde::{Deserialize, Serialize};

/// One run. Equal Scenarios give equal [`Record`](crate::Record)s, byte for byte.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// The run's name in tables: a scheme or a mix of several (`cubic+reminis`), or `limit`.
    pub scheme: String,
    /// The run's choice of the plan's varied conditions, `path.queue=33pkt`; empty where the plan varies none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub variation: String,
    /// The driver that runs it: `sim`, or one that takes real time.
    #[serde(default = "default_driver", skip_serializing_if = "is_default_driver")]
    pub driver: String,
    /// The link's capacity over time: a file, a name of a synthetic link, `rate=...` or `step=...`.
    pub trace: String,
    /// SHA-256 of the trace's content, filled in by the driver; empty before.
    #[serde(default)]
    pub trace_sha256: String,
    /// Seeds losses, the schemes' random numbers, and the times that `offset` names.
    pub seed: u64,
    /// `random` if the seed also draws where in the trace the run begins, and when its flows start.
    #[serde(default, skip_serializing_if = "Offset::is_fixed")]
    pub offset: Offset,
    /// Start of the run within the trace, filled in by the driver; zero before.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub trace_offset: Span,
    /// Duration of the run.
    pub duration: Span,
    /// The part at the beginning that is left out of every metric; time series have it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub warm_up: Span,
    /// The path between sender and receiver.
    #[serde(default)]
    pub path: Shared<Path>,
    /// Sender and receiver below the congestion control.
    #[serde(default)]
    pub endpoint: Shared<Endpoint>,
    /// The network's reports to schemes that request them.
    #[serde(default, skip_serializing_if = "NetAssist::is_default")]
    pub netassist: Shared<NetAssist>,
    /// Several users behind one base station; none: one queue for all flows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cell: Option<CellSetup>,
    /// The flows. Empty for `limit`.
    pub flows: Vec<FlowSetup>,
}

/// The path between sender and receiver. Data cross, in this order: policer, loss, queue, access, service by the link, repetitions,
/// propagation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Path {
    /// Round-trip time without any queue, half of it in each direction.
    pub rtt: Span,
    /// The link's queue: its size, and its rule for drops and marks.
    pub queue: Queue,
    /// Policer, which drops data that come too fast before anything else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policer: Option<Policer>,
    /// Share of data packets lost at random before the queue.
    pub loss: Ratio,
    /// Extra one-way delay over time towards the receiver, `DELAY@FOR,DELAY@FOR...`; the last one holds on. Empty: none.
    /// `@FILE` stands for the file's content, which a driver puts in its place.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub extra_delay: String,
    /// Extra random loss of data packets over time, `SHARE@FOR,SHARE@FOR...`; the last one holds on. Empty: none. Or
    /// `@FILE`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub extra_loss: String,
    /// Data packets lost in bursts, in addition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst_loss: Option<BurstLoss>,
    /// Random extra delay of each data packet, uniform up to this.
    #[serde(skip_serializing_if = "is_zero")]
    pub jitter: Span,
    /// Random extra delay that packets close in time share.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correlated_jitter: Option<CorrelatedJitter>,
    /// True if jitter lets packets overtake each other.
    #[serde(skip_serializing_if = "is_false")]
    pub jitter_reorders: bool,
    /// Share of the data packets that arrive later than others sent after them, over time.
    #[serde(skip_serializing_if = "ShareOverTime::is_never")]
    pub reordered: ShareOverTime,
    /// Their extra delay.
    #[serde(skip_serializing_if = "is_default_lateness")]
    pub reordered_by: Span,
    /// Resolution of the clock that the links and the delays behind them read: `1ms` as in Mahimahi's programs. Both
    /// directions. Zero: the time itself.
    #[serde(skip_serializing_if = "is_zero")]
    pub grain: Span,
    /// Access delay of an upload: the wait of data that find the phone silent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access: Option<Access>,
    /// Failures of radio blocks on the way of the data, and their repetitions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub harq: Option<Harq>,
    /// The reverse path, of the acknowledgements.
    pub reverse: Reverse,
}

/// The reverse path, of the acknowledgements.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Reverse {
    /// Capacity over time, as for the link; empty: no limit.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub trace: String,
    /// The queue of the reverse link.
    pub queue: Queue,
    /// Addition to their propagation delay over time, as on the way there.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub extra_delay: String,
    /// Share of acknowledgements lost at random.
    pub loss: Ratio,
    /// Acknowledgements lost in bursts, in addition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst_loss: Option<BurstLoss>,
    /// Access delay of a download: the wait of acknowledgements that find the phone silent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access: Option<Access>,
    /// Failures of radio blocks on their way, and their repetitions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub harq: Option<Harq>,
}

/// Several users behind one base station, a queue each. User 0 has the Scenario's trace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellSetup {
    /// Choice of the user for a slot: `round-robin` or `proportional-fair`, with parameters as in docs/link-model.md.
    pub scheduler: String,
    /// The channels of users 1, 2, ...: capacity over time each would have alone.
    pub users: Vec<String>,
}

/// One flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowSetup {
    /// The congestion control: `name` or `name(key=value, ...)`.
    pub scheme: String,
    /// The flow's start.
    #[serde(default)]
    pub start: Time,
    /// Time at which it stops sending; none: with the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Time>,
    /// The data that it has to send.
    #[serde(default)]
    pub source: Source,
    /// The flow's user of the cell.
    #[serde(default)]
    pub user: usize,
    /// Extra round-trip time of its path, beyond the Scenario's.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub extra_rtt: Span,
    /// Its first window; none: that of `endpoint`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial_window: Option<FirstWindow>,
}

/// A retransmission of the radio link (HARQ, 8 ms in LTE: 3GPP TS 36.321 section 5.3.2), rounded up.
const DEFAULT_LATENESS: Span = Span::from_millis(10);

/// The driver of a Scenario that names none: the simulator.
pub const DEFAULT_DRIVER: &str = "sim";
/// The driver's name in the Record of a transfer between two programs, whose path was not planned, whose seed was not drawn, and
/// whose link's capacity is not known.
pub const TRANSFER: &str = "transfer";
/// The driver's name in the Record of a browser's measurements behind an emulated link; its seed counts the runs.
pub const BROWSER: &str = "browser";

fn default_driver() -> String {
    DEFAULT_DRIVER.into()
}

fn is_default_driver(driver: &str) -> bool {
    driver == DEFAULT_DRIVER
}

fn is_default_lateness(span: &Span) -> bool {
    *span == DEFAULT_LATENESS
}

fn is_false(switch: &bool) -> bool {
    !switch
}

fn is_zero(span: &Span) -> bool {
    span.is_zero()
}

impl Scenario {
    /// Refuses a flow of a user that is not there, and an added user without a flow.
    ///
    /// # Errors
    /// The flow or the user, and what to do.
    pub fn check_users(&self) -> Result<(), ResolveError> {
        let last = self.cell.as_ref().map_or(0, |cell| cell.users.len());
        if let Some(flow) = self.flows.iter().find(|flow| flow.user > last) {
            return Err(ResolveError(format!(
                "flow `{}` belongs to user {}, but there are only users 0 to {last}; add users to the cell",
                flow.scheme, flow.user
            )));
        }
        // The limit has no flows.
        let is_idle =
            |user: &usize| !self.flows.is_empty() && self.flows.iter().all(|flow| flow.user != *user);
        match (1..=last).find(is_idle) {
            None => Ok(()),
            Some(user) => Err(ResolveError(format!(
                "`{}`: user {user} of the cell has no flow, and a user without one changes nothing; give it a flow, such as \
                 --background cubic#{user}, or leave it out of the cell",
                self.scheme
            ))),
        }
    }

    /// Shares the memory of the parts that equal those of `other`: neighbours in a plan differ in little.
    pub fn share(&mut self, other: &Self) {
        self.path.share(&other.path);
        self.endpoint.share(&other.endpoint);
        self.netassist.share(&other.netassist);
    }

    /// The first window of a flow.
    pub fn initial_window(&self, flow: &FlowSetup) -> FirstWindow {
        flow.initial_window.or(self.endpoint.initial_window).unwrap_or_default()
    }

    /// The time from which the run is measured.
    pub fn measured_from(&self) -> Time {
        Time::ZERO + self.warm_up
    }

    /// Name of its row in tables: the scheme, a driver other than the simulator, and the varied conditions
    /// (`bbr [kernel], path.queue=33pkt`).
    pub fn row_name(&self) -> String {
        row_name(&self.scheme, &self.driver, &self.variation)
    }

    /// Name of the run in messages: `reminis on traces/001-driving.mbps, seed 1`. The trace has its folder, since another
    /// may have the same file name.
    pub fn label(&self) -> String {
        format!("{} on {}, seed {}", self.row_name(), self.trace, self.seed)
    }
}

/// Name of the row of a scheme, run by this driver under a variation.
pub fn row_name(scheme: &str, driver: &str, variation: &str) -> String {
    let mut name = scheme.to_owned();
    if !is_default_driver(driver) {
        name.push_str(&format!(" [{driver}]"));
    }
    if !variation.is_empty() {
        name.push_str(&format!(", {variation}"));
    }
    name
}

impl Default for Path {
    fn default() -> Self {
        Self {
            rtt: Span::from_millis(20),
            queue: QueueLimit::Packets(3200).into(),
            policer: None,
            loss: Ratio::ZERO,
            extra_delay: String::new(),
            extra_loss: String::new(),
            burst_loss: None,
            jitter: Span::ZERO,
            correlated_jitter: None,
            jitter_reorders: false,
            reordered: ShareOverTime::constant(Ratio::ZERO),
            reordered_by: DEFAULT_LATENESS,
            grain: Span::ZERO,
            access: None,
            harq: None,
            reverse: Reverse::default(),
        }
    }
}

impl Default for Reverse {
    fn default() -> Self {
        let queue = QueueLimit::Unlimited.into();
        Self {
            trace: String::new(),
            queue,
            extra_delay: String::new(),
            loss: Ratio::ZERO,
            burst_loss: None,
            access: None,
            harq: None,
        }
    }
}

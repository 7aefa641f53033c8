//! Reports the counters of an emulated cell's queues as a base station does: in JSON over a WebSocket.

use crate::source::gnb::{UeReport, message};
use cellcc_http_port::{Bounds, Port};
use cellcc_link::QueueCounters;
use cellcc_units::{Rate, Span, Time};
use futures_util::{SinkExt, StreamExt};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_tungstenite::accept_async;
use tokio_tungstenite::tungstenite::Message;

/// The paper's period of reports.
pub const REPORT_PERIOD: Span = Span::from_millis(50);
/// Slots a second of the emulated cell (`cellcc_link::Cell`: LTE's millisecond).
pub const SLOTS_PER_SECOND: u32 = 1000;
/// An emulated user sends without a request: decoding takes a slot.
const SLOT: Span = Span::from_millis(1000 / SLOTS_PER_SECOND as u64);
/// The emulated cell's identity; users' temporary identifiers count from [`FIRST_RNTI`].
pub const PCI: u16 = 1;
/// The first user's identifier: the first C-RNTI (3GPP TS 38.321, table 7.1-1).
pub const FIRST_RNTI: u16 = 1;
/// A service reads it, and who looks on.
const BOUNDS: Bounds = Bounds::of(64);
/// Longest wait for a WebSocket's handshake and its subscription.
const SUBSCRIBE_TIMEOUT: Duration = Duration::from_secs(5);

/// A base station's WebSocket on loopback; dropping it closes it.
#[derive(Debug)]
pub struct BaseStation {
    address: SocketAddr,
    report: watch::Sender<String>,
    reported_at: Time,
    before: Vec<QueueCounters>,
    attached: Vec<bool>,
    _task: JoinSet<()>,
}

impl BaseStation {
    /// Starts to listen. Needs a tokio runtime.
    ///
    /// # Errors
    /// The system gives no socket.
    pub async fn start(users: usize) -> io::Result<Self> {
        let port = Port::bind((Ipv4Addr::LOCALHOST, 0).into(), BOUNDS).await?;
        let address = port.address().ok_or(io::ErrorKind::AddrNotAvailable)?;
        let (report, reports) = watch::channel(String::new());
        let mut task = JoinSet::new();
        // One whom the system gives no socket for comes again, and says so itself.
        task.spawn(port.serve(|_| {}, move |socket, _| send_reports(socket, reports.clone())));
        let before = vec![QueueCounters::default(); users];
        let attached = vec![true; users];
        Ok(Self { address, report, reported_at: Time::ZERO, before, attached, _task: task })
    }

    /// Includes or excludes a user from now on: at first all are included.
    ///
    /// # Panics
    /// Where there is no such user.
    pub fn set_attached(&mut self, user: usize, is_attached: bool) {
        self.attached[user] = is_attached;
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Reports on the time since the report before: the counters of each user's queue at `now`.
    pub fn report(&mut self, now: Time, counters: Vec<QueueCounters>) {
        let period = now.since(self.reported_at);
        let busy: Vec<_> = self
            .before
            .iter()
            .zip(&counters)
            .map(|(before, now)| now.busy.saturating_sub(before.busy))
            .collect();
        let served_users = busy.iter().filter(|busy| !busy.is_zero()).count().max(1) as u64;
        let users = self.before.iter().zip(&counters).enumerate().map(|(user, (before, now))| UeReport {
            pci: PCI,
            rnti: FIRST_RNTI + u16::try_from(user).unwrap_or(u16::MAX - FIRST_RNTI),
            downlink: Rate::from_transfer(now.served - before.served, period),
            uplink: Rate::ZERO,
            // A slot each millisecond goes to one of the users who have something queued.
            blocks: (busy[user].as_millis_f64() / served_users as f64).ceil() as u64,
            queued: Some(now.backlog),
            longest_gap: None,
            uplink_delay: Some(SLOT),
        });
        let attached = users.zip(&self.attached).filter_map(|(report, attached)| attached.then_some(report));
        let text = message(now.as_nanos() / 1_000_000, PCI, &attached.collect::<Vec<_>>());
        self.report.send_replace(text);
        (self.before, self.reported_at) = (counters, now);
    }
}

/// Until the client goes.
async fn send_reports(socket: TcpStream, mut reports: watch::Receiver<String>) {
    let subscribing = async {
        let mut stream = accept_async(socket).await.ok()?;
        stream.next().await?.ok()?;
        Some(stream)
    };
    let Ok(Some(mut stream)) = timeout(SUBSCRIBE_TIMEOUT, subscribing).await else { return };
    while reports.changed().await.is_ok() {
        let text = reports.borrow_and_update().clone();
        if stream.send(Message::text(text)).await.is_err() {
            return;
        }
    }
}

//! The sending end of a flow: writes the application's data to streams, and records the scheme's values.

use super::plan::{Plan, STREAM_BYTES};
use bytes::Bytes;
use cellcc_control::Observer;
use cellcc_experiment::{Application, FlowMeter, Source, UserReports};
use cellcc_quic::advice::{Replay, follow};
use cellcc_quic::ecn_socket::Codepoints;
use cellcc_quic::{Clock, Congestion, Monitor, Observed};
use cellcc_units::Time;
use noq::{
    Connection, ConnectionError, Endpoint, EndpointConfig, SendStream, ServerConfig, Stopped, TokioRuntime,
};
use std::error::Error;
use std::net::UdpSocket;
use std::sync::Arc;
use tokio::time::timeout_at;

/// Bytes per call.
const CALL_BYTES: usize = 1 << 16;
static PAYLOAD: [u8; CALL_BYTES] = [0; CALL_BYTES];

/// The sending end.
pub(super) struct Sender {
    pub(super) plan: Plan,
    pub(super) socket: UdpSocket,
    pub(super) congestion: Congestion,
    pub(super) config: ServerConfig,
    /// The network's reports, if the scheme asks for them.
    pub(super) reports: Option<UserReports>,
}

/// The result.
pub(super) struct Sent {
    /// False if there was no connection in time.
    pub(super) connected: bool,
    pub(super) meter: FlowMeter,
    pub(super) completed_at: Option<Time>,
    pub(super) delay_target_ms: Option<f64>,
    /// The result of the receiver's counts of ECT(1) on the path.
    pub(super) ecn_validation: Option<&'static str>,
    /// The scheme's notes.
    pub(super) notes: Vec<String>,
}

impl Sender {
    /// Sends until the flow stops, then closes the connection.
    pub(super) async fn run(self) -> Result<Sent, String> {
        let Self { plan, socket, congestion, config, reports } = self;
        let mut sent = Sent {
            connected: false,
            meter: FlowMeter::new(plan.endpoint.series_bin),
            completed_at: None,
            delay_target_ms: None,
            ecn_validation: None,
            notes: Vec::new(),
        };
        let codepoints = Codepoints::default();
        let runtime = codepoints.runtime(Arc::new(TokioRuntime));
        let endpoint = Endpoint::new(EndpointConfig::default(), Some(config), socket, runtime)
            .map_err(|error| format!("cannot use a socket: {error}"))?;
        let stop = plan.clock.instant(plan.stop).into();
        let Ok(connection) = timeout_at(stop, connected(&endpoint)).await else { return Ok(sent) };
        let connection = connection?;
        sent.connected = true;
        let attached = congestion.attach_mapping(&connection, &codepoints);
        let attached = attached.ok_or("noq does not have the scheme")?;
        let scheme = &attached.scheme();
        let reports = reports.map(|reports| Replay::new(reports, plan.clock.epoch()));
        let _following = reports.map(|reports| follow(&connection, scheme, reports));

        let mut writer =
            Writer { connection: &connection, clock: plan.clock, stream: None, streams: Vec::new() };
        let writing = timeout_at(stop, writer.write(plan.application()));
        let (written, ()) = tokio::join!(writing, record_bins(&plan, scheme, &mut sent.meter));
        if let Some(reason) = connection.close_reason() {
            return Err(format!("the connection was lost: {reason}"));
        }
        connection.close(0_u32.into(), b"");
        if let Ok(written) = written {
            sent.completed_at = written.map_err(|error| format!("cannot send: {error}"))?;
        }
        sent.meter.on_retransmitted(scheme.snapshot().packets.lost);
        let mut observed = Observed::default();
        scheme.observe(&mut observed);
        sent.delay_target_ms = observed.delay_target_ms;
        sent.notes = observed.notes;
        let component = attached.peer_component();
        sent.notes.extend(component.is_missing().then(|| component.to_string()));
        let l4s = attached.l4s();
        sent.ecn_validation = l4s.validation();
        sent.notes.extend(l4s.is_missing().then(|| l4s.to_string()));
        plan.clock.sleep_until(plan.until).await;
        Ok(sent)
    }
}

async fn connected(endpoint: &Endpoint) -> Result<Connection, String> {
    let failed = |error: ConnectionError| format!("the connection did not come about: {error}");
    let incoming = endpoint.accept().await.ok_or("the socket was closed")?;
    incoming.accept().map_err(failed)?.await.map_err(failed)
}

/// Records, at the end of every bin in which the flow sends, the scheme's state; until the flow stops.
async fn record_bins(plan: &Plan, scheme: &Monitor, meter: &mut FlowMeter) {
    let samples = |meter: &mut FlowMeter| {
        let samples = scheme.take_rtt_samples().into_iter();
        let counted = samples.filter(|(now, _)| plan.setup.start <= *now && *now <= plan.stop);
        counted.for_each(|(now, rtt)| meter.on_rtt(now, rtt));
    };
    for bin in 0..plan.bins {
        let bin_ends_at = Time::ZERO + plan.endpoint.series_bin * (bin as u64 + 1);
        if plan.stop < bin_ends_at {
            break;
        }
        if bin_ends_at <= plan.setup.start {
            continue;
        }
        plan.clock.sleep_until(bin_ends_at).await;
        samples(meter);
        let snapshot = scheme.snapshot();
        meter.sample_scheme(bin, plan.endpoint.packet(), &snapshot.limits, |observed| {
            if let Some(srtt) = snapshot.smoothed_rtt {
                observed.value("srtt", "ms", srtt.as_millis_f64());
            }
            scheme.observe(observed);
        });
    }
    plan.clock.sleep_until(plan.stop).await;
    samples(meter);
}

/// Writes an application's data to streams, one after the other. A stream carries a frame, or [`STREAM_BYTES`].
struct Writer<'a> {
    connection: &'a Connection,
    clock: Clock,
    stream: Option<Open>,
    /// Complete when the data of earlier streams are acknowledged; kept only for a source with an end.
    streams: Vec<Stopped>,
}

struct Open {
    stream: SendStream,
    room: usize,
}

/// An application's ready data.
struct Ready {
    bytes: usize,
    ends_frame: bool,
}

impl Writer<'_> {
    /// Writes all data of the application. Returns, for a sized source, when the last byte was acknowledged.
    async fn write(
        &mut self,
        mut application: Application,
    ) -> Result<Option<Time>, Box<dyn Error + Send + Sync>> {
        let has_end = matches!(application.source(), Source::Sized(_));
        loop {
            let now = self.clock.now();
            let ready_at = application.ready_at(now);
            if ready_at == Time::NEVER {
                break;
            }
            if now < ready_at {
                self.clock.sleep_until(ready_at).await;
                continue;
            }
            let mut open = match self.stream.take() {
                Some(open) => open,
                None => Open { stream: self.connection.open_uni().await?, room: STREAM_BYTES as usize },
            };
            let ready = take_ready(&mut application, now, CALL_BYTES.min(open.room));
            open.stream.write_chunk(Bytes::from_static(&PAYLOAD[..ready.bytes])).await?;
            open.room = open.room.saturating_sub(ready.bytes);
            // A frame has one stream, however long it is.
            let is_full =
                application.frame_of(0).is_none() && open.room < application.payload(0).get() as usize;
            if is_full || ready.ends_frame {
                self.finish(open, has_end)?;
            } else {
                self.stream = Some(open);
            }
        }
        if let Some(open) = self.stream.take() {
            self.finish(open, has_end)?;
        }
        if !has_end {
            return Ok(None);
        }
        for acknowledged in self.streams.drain(..) {
            acknowledged.await?;
        }
        Ok(Some(self.clock.now()))
    }

    fn finish(&mut self, mut open: Open, has_end: bool) -> Result<(), noq::ClosedStream> {
        if has_end {
            self.streams.push(open.stream.stopped());
        }
        open.stream.finish()
    }
}

/// Takes ready data: up to the end of a frame, at most `limit` bytes, at least a segment.
fn take_ready(application: &mut Application, now: Time, limit: usize) -> Ready {
    let mut ready = Ready { bytes: 0, ends_frame: false };
    let longest = application.payload(0).get() as usize;
    while !ready.ends_frame
        && (ready.bytes == 0 || ready.bytes + longest <= limit)
        && application.ready_at(now) <= now
    {
        let segment = application.take(now);
        ready.bytes += application.payload(segment).get() as usize;
        ready.ends_frame =
            application.frame_of(segment).is_some_and(|(_, segments)| segment % segments == segments - 1);
    }
    ready
}

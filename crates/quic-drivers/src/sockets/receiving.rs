//! The receiving end of a flow: connects, reads, and records when each frame is complete.

use super::plan::Plan;
use crate::certificate::SERVER_NAME;
use bytes::Bytes;
use cellcc_control::Registry;
use cellcc_experiment::{Frames, Source};
use cellcc_quic::Clock;
use cellcc_quic::attach_mapping_receiver;
use cellcc_quic::ecn_socket::Codepoints;
use cellcc_units::Time;
use noq::{ClientConfig, Connection, Endpoint, EndpointConfig, RecvStream, TokioRuntime};
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use tokio::task::JoinSet;
use tokio::time::timeout_at;

/// Chunks per call, one packet each.
const CALL_CHUNKS: usize = 64;

/// The receiving end.
pub(super) struct Receiver {
    pub(super) plan: Plan,
    pub(super) socket: UdpSocket,
    /// The schemes whose receiver-side components may run here.
    pub(super) registry: Registry,
    pub(super) config: ClientConfig,
    pub(super) to: SocketAddr,
}

/// The result.
#[derive(Default)]
pub(super) struct Received {
    /// Packets read from the socket.
    pub(super) packets: u64,
    /// How many frames there were, and the share that missed its deadline.
    pub(super) frames: Option<(u64, f64)>,
}

impl Receiver {
    /// Receives until the last sent data have arrived.
    pub(super) async fn run(self) -> Result<Received, String> {
        let Self { plan, socket, registry, config, to } = self;
        let codepoints = Codepoints::default();
        let runtime = codepoints.runtime(Arc::new(TokioRuntime));
        let endpoint = Endpoint::new(EndpointConfig::default(), None, socket, runtime)
            .map_err(|error| format!("cannot use a socket: {error}"))?;
        plan.clock.sleep_until(plan.connect_at()).await;
        let connecting = endpoint.connect_with(config, to, SERVER_NAME).map_err(|error| error.to_string())?;
        let Ok(connection) = timeout_at(plan.clock.instant(plan.stop).into(), connecting).await else {
            return Ok(Received::default());
        };
        let connection = connection.map_err(|error| format!("the connection did not come about: {error}"))?;
        let _attached = attach_mapping_receiver(&connection, registry, &codepoints);
        let whole = read(&connection, &plan).await;
        Ok(Received { packets: connection.stats().udp_rx.datagrams, frames: frames(&plan, &whole) })
    }
}

/// Reads all streams until the run is over. Returns the streams that were read to their end, and when.
async fn read(connection: &Connection, plan: &Plan) -> Vec<(u64, Time)> {
    let mut reading = JoinSet::new();
    let mut whole = Vec::new();
    let mut is_open = true;
    let over = plan.clock.sleep_until(plan.until);
    tokio::pin!(over);
    loop {
        tokio::select! {
            stream = connection.accept_uni(), if is_open => match stream {
                Ok(stream) => _ = reading.spawn(read_to_end(stream, plan.clock)),
                Err(_) => is_open = false,
            },
            Some(read) = reading.join_next() => whole.extend(read.ok().flatten()),
            () = &mut over => return whole,
        }
    }
}

async fn read_to_end(mut stream: RecvStream, clock: Clock) -> Option<(u64, Time)> {
    let mut chunks = [const { Bytes::new() }; CALL_CHUNKS];
    while stream.read_many_chunks(&mut chunks).await.ok()?.is_some() {}
    Some((stream.id().index(), clock.now()))
}

/// Stream number n carries frame number n.
fn frames(plan: &Plan, whole: &[(u64, Time)]) -> Option<(u64, f64)> {
    let Source::Frames { deadline, .. } = plan.setup.source else { return None };
    let application = plan.application();
    let (_, segments) = application.frame_of(0)?;
    let mut frames = Frames::new(deadline, Time::ZERO);
    for &(frame, at) in whole {
        let of_frame = frame * segments..(frame + 1) * segments;
        of_frame.for_each(|segment| frames.on_segment(at, segment, &application));
    }
    frames.outcome(&application, plan.stop)
}

//! Receives a transfer's data from its data connections.

use crate::error::of_read;
use crate::files::{PIECE_BYTES, PIECE_HEADER_BYTES, SharedFile};
use crate::flow::{Counters, Flow};
use crate::sending::FRAME_HEADER_BYTES;
use crate::{Payload, TransferError};
use noq::{Connection, ReadError, ReadExactError, RecvStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// Bytes read at once of data that are not inspected.
const CHUNK_BYTES: usize = 1 << 20;

/// Everything that receives; dropping it ends that.
#[derive(Debug)]
pub(crate) struct Receiving {
    tasks: JoinSet<Result<(), TransferError>>,
}

/// The use of the data.
#[derive(Debug, Clone)]
enum Purpose {
    Discarded,
    /// Written to a file.
    File(SharedFile),
    /// Frames count as on time if they are complete within the deadline, on the sender's clock.
    Frames {
        deadline: Duration,
        clock: PeerClock,
    },
}

/// The sender's clock, derived from this side's.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PeerClock {
    /// Zero of this side's clock.
    pub(crate) epoch: Instant,
    /// The lead of the sender's clock.
    pub(crate) ahead_ns: i64,
}

impl PeerClock {
    fn now_ns(&self) -> i64 {
        (self.epoch.elapsed().as_nanos() as i64).saturating_add(self.ahead_ns)
    }
}

impl Receiving {
    /// Receives until this is dropped.
    pub(crate) fn start(
        flows: &[Flow],
        payload: &Payload,
        file: Option<&SharedFile>,
        clock: PeerClock,
        peer: &'static str,
    ) -> Self {
        let purpose = match (payload.deadline(), file) {
            (Some(deadline), _) => {
                Purpose::Frames { deadline: Duration::from_nanos(deadline.as_nanos()), clock }
            }
            (None, Some(file)) => Purpose::File(file.clone()),
            (None, None) => Purpose::Discarded,
        };
        let mut tasks = JoinSet::new();
        for flow in flows {
            let counters = Arc::clone(&flow.counters);
            tasks.spawn(accept(flow.connection.clone(), counters, purpose.clone(), peer));
        }
        Self { tasks }
    }

    /// Waits for an error of a receiving task.
    pub(crate) async fn failed(&mut self) -> TransferError {
        loop {
            match self.tasks.join_next().await {
                Some(Ok(Err(error))) => return error,
                Some(Err(error)) => return TransferError::Lost(error.to_string()),
                Some(Ok(Ok(()))) => {}
                None => std::future::pending().await,
            }
        }
    }
}

/// Takes the streams of a connection as they come.
async fn accept(
    connection: Connection,
    counters: Arc<Counters>,
    purpose: Purpose,
    peer: &'static str,
) -> Result<(), TransferError> {
    let mut streams = JoinSet::new();
    loop {
        tokio::select! {
            stream = connection.accept_uni() => {
                let stream = stream.map_err(|error| TransferError::of(error, peer))?;
                streams.spawn(receive(stream, Arc::clone(&counters), purpose.clone(), peer));
            }
            Some(done) = streams.join_next() => {
                done.map_err(|error| TransferError::Lost(error.to_string()))??;
                counters.streams.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

/// Reads a stream to its end, which may be a reset: the sender resets streams when the time is over.
async fn receive(
    stream: RecvStream,
    counters: Arc<Counters>,
    purpose: Purpose,
    peer: &'static str,
) -> Result<(), TransferError> {
    let end = match purpose {
        Purpose::Discarded => discard(stream, &counters).await,
        Purpose::Frames { deadline, clock } => frame(stream, &counters, deadline, clock).await,
        Purpose::File(file) => return pieces(stream, &counters, &file, peer).await,
    };
    match end {
        Ok(()) | Err(ReadError::Reset(_)) => Ok(()),
        Err(error) => Err(of_read(error, peer)),
    }
}

async fn discard(stream: RecvStream, counters: &Counters) -> Result<(), ReadError> {
    // Unordered, so that data after a loss are read at once.
    let mut stream = stream.into_unordered();
    while let Some(chunk) = stream.read_chunk(CHUNK_BYTES).await? {
        counters.received.fetch_add(chunk.bytes.len() as u64, Ordering::Relaxed);
    }
    Ok(())
}

async fn frame(
    mut stream: RecvStream,
    counters: &Counters,
    deadline: Duration,
    clock: PeerClock,
) -> Result<(), ReadError> {
    let mut made_at = [0; FRAME_HEADER_BYTES];
    match stream.read_exact(&mut made_at).await {
        Ok(()) => {}
        Err(ReadExactError::FinishedEarly(_)) => return Ok(()),
        Err(ReadExactError::ReadError(error)) => return Err(error),
    }
    discard_ordered(&mut stream, counters).await?;
    let made_at = i64::try_from(u64::from_be_bytes(made_at)).unwrap_or(i64::MAX);
    let age = clock.now_ns().saturating_sub(made_at);
    if age <= deadline.as_nanos() as i64 {
        counters.frames.fetch_add(1, Ordering::Relaxed);
    }
    Ok(())
}

async fn discard_ordered(stream: &mut RecvStream, counters: &Counters) -> Result<(), ReadError> {
    while let Some(data) = stream.read_chunk(CHUNK_BYTES).await? {
        counters.received.fetch_add(data.len() as u64, Ordering::Relaxed);
    }
    Ok(())
}

/// Writes the pieces of a file, until the stream ends after one of them.
async fn pieces(
    mut stream: RecvStream,
    counters: &Counters,
    file: &SharedFile,
    peer: &'static str,
) -> Result<(), TransferError> {
    loop {
        let mut header = [0; PIECE_HEADER_BYTES];
        match stream.read_exact(&mut header).await {
            Ok(()) => {}
            Err(ReadExactError::FinishedEarly(0)) => return Ok(()),
            Err(error) => return Err(of_read_exact(error, peer)),
        }
        let [offset, length] = [&header[..8], &header[8..]]
            .map(|field| field.iter().fold(0_u64, |value, byte| value << 8 | u64::from(*byte)));
        if length > PIECE_BYTES.into() {
            return Err(TransferError::Protocol(format!("a piece of {length} bytes")));
        }
        let mut data = vec![0; length as usize];
        stream.read_exact(&mut data).await.map_err(|error| of_read_exact(error, peer))?;
        file.write_piece(offset, data).await?;
        counters.received.fetch_add(length, Ordering::Relaxed);
    }
}

fn of_read_exact(error: ReadExactError, peer: &'static str) -> TransferError {
    match error {
        ReadExactError::FinishedEarly(_) => TransferError::Protocol("a stream ends within a piece".into()),
        ReadExactError::ReadError(error) => of_read(error, peer),
    }
}

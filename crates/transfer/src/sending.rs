//! Sends a transfer's payload over its data connections.

use crate::error::of_write;
use crate::files::{PIECE_BYTES, SharedFile};
use crate::flow::{Counters, Flow};
use crate::{Payload, TransferError};
use bytes::Bytes as Data;
use cellcc_experiment::Source;
use cellcc_quic::span;
use cellcc_units::{Rate, Span};
use noq::{Connection, SendStream, VarInt};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// The made-up data. All connections and streams share it, so that they take no memory of their own.
static PATTERN: [u8; 1 << 16] = [0xc5; 1 << 16];
/// Interval between writes at a constant rate: shorter than a frame's, and long enough to cost no processor time.
const RATE_STEP: Duration = Duration::from_millis(5);
/// Longest wait for written data to be acknowledged, after the time is over.
const DRAIN: Duration = Duration::from_secs(3);
/// The code that resets a stream when the time is over. It is no error.
const TIME_OVER: VarInt = VarInt::from_u32(0);
/// Bytes before a frame's data: when it was made, in nanoseconds of the sender's clock, most significant byte first.
pub(crate) const FRAME_HEADER_BYTES: usize = 8;

/// The tasks that send. Dropping this ends them.
#[derive(Debug)]
pub(crate) struct Sending {
    tasks: JoinSet<Result<(), TransferError>>,
    stop: watch::Sender<bool>,
}

/// The common state of all sending tasks of a transfer.
#[derive(Clone)]
struct Common {
    peer: &'static str,
    /// Zero of the clock in the headers of frames.
    epoch: Instant,
    stop: watch::Receiver<bool>,
    /// The start of the next piece of a sized payload.
    next: Arc<AtomicU64>,
    /// The end of the payload.
    end: u64,
}

impl Sending {
    /// Starts to send `payload`. `bytes`: its size, if known.
    pub(crate) fn start(
        flows: &[Flow],
        (payload, bytes): (&Payload, Option<u64>),
        streams: u16,
        file: Option<&SharedFile>,
        (epoch, peer): (Instant, &'static str),
    ) -> Self {
        let (stop, stopped) = watch::channel(false);
        let end = bytes.unwrap_or(u64::MAX);
        let common = Common { peer, epoch, stop: stopped, next: Arc::default(), end };
        let mut tasks = JoinSet::new();
        for flow in flows {
            let opener =
                Opener { connection: flow.connection.clone(), counters: Arc::clone(&flow.counters), peer };
            match payload {
                Payload::Made { source: Source::Frames { rate, deadline }, .. } => {
                    tasks.spawn(frames(opener, common.clone(), *rate, *deadline));
                }
                Payload::Made { source: Source::Rate(rate), .. } => {
                    let share = rate.mul_f64(1.0 / f64::from(streams));
                    (0..streams)
                        .for_each(|_| _ = tasks.spawn(constant(opener.clone(), common.clone(), share)));
                }
                Payload::Made { .. } | Payload::File { .. } => {
                    (0..streams)
                        .for_each(|_| _ = tasks.spawn(bulk(opener.clone(), common.clone(), file.cloned())));
                }
            }
        }
        Self { tasks, stop }
    }

    /// The time is over.
    pub(crate) fn stop(&self) {
        let _ = self.stop.send(true);
    }

    /// Waits until everything is acknowledged, or given up at the end of the time.
    pub(crate) async fn finished(&mut self) -> Result<(), TransferError> {
        while let Some(result) = self.tasks.join_next().await {
            result.map_err(|error| TransferError::Lost(error.to_string()))??;
        }
        Ok(())
    }
}

/// Opens streams of a data connection, and counts them.
#[derive(Clone)]
struct Opener {
    connection: Connection,
    counters: Arc<Counters>,
    peer: &'static str,
}

impl Opener {
    async fn open(&self) -> Result<SendStream, TransferError> {
        let stream = self.connection.open_uni().await;
        let stream = stream.map_err(|error| TransferError::of(error, self.peer))?;
        self.counters.streams.fetch_add(1, Ordering::Relaxed);
        Ok(stream)
    }
}

impl Common {
    /// The next piece of the payload for a stream: where it begins and how long it is.
    fn take(&self, most: u32) -> Option<(u64, u32)> {
        let take = |next: u64| (next < self.end).then(|| next.saturating_add(most.into()).min(self.end));
        let begin = self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).ok()?;
        Some((begin, (self.end - begin).min(most.into()) as u32))
    }

    /// Ends once the time is over.
    async fn stopped(&mut self) {
        // An error means that the sender of `stop` was dropped, and this task with it.
        let _ = self.stop.wait_for(|stop| *stop).await;
    }

    /// Writes, unless the time is over.
    async fn write(&mut self, stream: &mut SendStream, data: Data) -> Result<WriteEnd, TransferError> {
        let peer = self.peer;
        tokio::select! {
            biased;
            () = self.stopped() => Ok(WriteEnd::Stopped),
            written = stream.write_chunk(data) => written.map(|()| WriteEnd::Written).map_err(|error| of_write(error, peer)),
        }
    }

    /// Waits until the stream's data are acknowledged; once the time is over, at most `timeout`.
    async fn drain(&mut self, mut stream: SendStream, timeout: Duration) -> Result<(), TransferError> {
        let _ = stream.finish();
        let peer = self.peer;
        let acknowledged = stream.stopped();
        let over = async {
            self.stopped().await;
            tokio::time::sleep(timeout).await;
        };
        tokio::select! {
            result = acknowledged => match result {
                Ok(_) => Ok(()),
                Err(error) => Err(of_write(error.into(), peer)),
            },
            () = over => {
                let _ = stream.reset(TIME_OVER);
                Ok(())
            }
        }
    }
}

#[derive(PartialEq, Eq)]
enum WriteEnd {
    Written,
    Stopped,
}

/// Sends made-up data or a file as fast as the connection takes them, until all is sent or the time is over.
async fn bulk(opener: Opener, mut common: Common, file: Option<SharedFile>) -> Result<(), TransferError> {
    let mut stream = opener.open().await?;
    let most = if file.is_some() { PIECE_BYTES } else { PATTERN.len() as u32 };
    while let Some((offset, length)) = common.take(most) {
        let data = match &file {
            Some(file) => file.read_piece(offset, length).await?,
            None => Data::from_static(&PATTERN[..length as usize]),
        };
        if common.write(&mut stream, data).await? == WriteEnd::Stopped {
            let _ = stream.reset(TIME_OVER);
            return Ok(());
        }
    }
    common.drain(stream, Duration::ZERO).await
}

/// Sends at a constant rate, and catches up after delays.
async fn constant(opener: Opener, mut common: Common, rate: Rate) -> Result<(), TransferError> {
    let mut stream = opener.open().await?;
    let begin = Instant::now();
    let mut sent = 0;
    let mut clock = tokio::time::interval(RATE_STEP);
    loop {
        tokio::select! {
            () = common.stopped() => return common.drain(stream, DRAIN).await,
            _ = clock.tick() => {}
        }
        let due = rate.bytes_in(span(begin.elapsed())).get();
        while sent < due {
            let length = (due - sent).min(PATTERN.len() as u64);
            let data = Data::from_static(&PATTERN[..length as usize]);
            if common.write(&mut stream, data).await? == WriteEnd::Stopped {
                let _ = stream.reset(TIME_OVER);
                return Ok(());
            }
            sent += length;
        }
    }
}

/// Sends 60 frames a second, each on its own stream; older frames have priority.
async fn frames(opener: Opener, mut common: Common, rate: Rate, deadline: Span) -> Result<(), TransferError> {
    let bytes = (rate.as_bytes_per_sec() / Source::FRAMES_PER_SECOND).max(1) as usize;
    let begin = Instant::now();
    let timeout = Duration::from_nanos(deadline.as_nanos());
    let mut frames = JoinSet::new();
    for index in 0_u64.. {
        let made_at = begin + Duration::from_nanos(index * 1_000_000_000 / Source::FRAMES_PER_SECOND);
        tokio::select! {
            () = common.stopped() => break,
            () = tokio::time::sleep_until(made_at.into()) => {}
        }
        opener.counters.frames.fetch_add(1, Ordering::Relaxed);
        // A frame made at the end of the time still leaves if a stream can be opened.
        let stream = tokio::select! {
            biased;
            stream = opener.open() => stream?,
            () = common.stopped() => break,
        };
        let _ = stream.set_priority(-i32::try_from(index).unwrap_or(i32::MAX));
        let since_epoch = made_at.saturating_duration_since(common.epoch).as_nanos() as u64;
        frames.spawn(frame(stream, common.clone(), since_epoch, bytes, timeout));
        while let Some(done) = frames.try_join_next() {
            done.map_err(|error| TransferError::Lost(error.to_string()))??;
        }
    }
    while let Some(done) = frames.join_next().await {
        done.map_err(|error| TransferError::Lost(error.to_string()))??;
    }
    Ok(())
}

async fn frame(
    mut stream: SendStream,
    mut common: Common,
    made_at_ns: u64,
    bytes: usize,
    timeout: Duration,
) -> Result<(), TransferError> {
    let peer = common.peer;
    let write = async {
        stream.write_chunk(Data::copy_from_slice(&made_at_ns.to_be_bytes())).await?;
        let mut left = bytes;
        while left > 0 {
            let length = left.min(PATTERN.len());
            stream.write_chunk(Data::from_static(&PATTERN[..length])).await?;
            left -= length;
        }
        Ok(())
    };
    let mut stop = common.clone();
    let over = async {
        stop.stopped().await;
        tokio::time::sleep(timeout).await;
    };
    tokio::select! {
        written = write => written.map_err(|error| of_write(error, peer))?,
        () = over => {
            let _ = stream.reset(TIME_OVER);
            return Ok(());
        }
    }
    common.drain(stream, timeout).await
}

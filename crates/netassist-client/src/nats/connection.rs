//! A connection with a broker. Its queues are bounded, both ways.

use super::wire::{Message, Operation, operation};
use crate::protocol::PING_INTERVAL;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, BufWriter, ReadHalf, WriteHalf, split};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;
use tokio::time::{Instant, interval_at, timeout};

/// Bound of waiting data for us: 60,000 records, or 7,000 requests with a consent in each. Data beyond are dropped: requests
/// and answers are repeated, and so are records, by the next ones.
const MAX_UNREAD_BYTES: usize = 16 << 20;
/// The memory of a message in addition to its texts.
const MESSAGE_OVERHEAD_BYTES: usize = 128;
/// Commands that may wait for the broker: the records about 16,000 users in one period.
const MAX_UNSENT: usize = 1 << 14;
/// Commands that are written at once.
const WRITTEN_AT_ONCE: usize = 256;
/// Pings that may stay unanswered before the connection counts as lost.
const MAX_UNANSWERED: u32 = 2;

/// A connection with a broker. Dropping it ends it.
#[derive(Debug)]
pub struct Connection {
    /// The client that writes to it.
    pub client: Client,
    heard: mpsc::UnboundedReceiver<BrokerEvent>,
    state: Arc<State>,
    /// Ends with the reason why the connection is lost.
    task: JoinSet<String>,
}

/// An event of a connection.
#[derive(Debug)]
pub enum BrokerEvent {
    /// A message.
    Message(Message),
    /// The broker's permissions do not allow something.
    Refused(String),
    /// We have not read its data in time, and they were dropped.
    Late,
    /// The connection is lost.
    Lost(String),
}

/// The common state of both directions.
#[derive(Debug, Default)]
struct State {
    unread_bytes: AtomicUsize,
    is_late: AtomicBool,
    /// One answer for all pings that came since the last one.
    pong_is_due: Notify,
    unanswered: AtomicU32,
}

impl Connection {
    /// The connection over this stream, once the broker has greeted. Needs a tokio runtime.
    pub(super) fn over<S: AsyncRead + AsyncWrite + Send + 'static>(stream: S) -> Self {
        let (commands, unsent) = mpsc::channel(MAX_UNSENT);
        let (tell, heard) = mpsc::unbounded_channel();
        let state = Arc::new(State::default());
        let (read, write) = split(stream);
        let mut task = JoinSet::new();
        let shared = Arc::clone(&state);
        task.spawn(async move {
            tokio::select! {
                reason = listen(read, &tell, &shared) => reason,
                reason = speak(write, unsent, &shared) => reason,
            }
        });
        Self { client: Client { commands, next_sid: Arc::default() }, heard, state, task }
    }

    /// The next event. Cancel-safe.
    pub async fn next(&mut self) -> BrokerEvent {
        if self.state.is_late.swap(false, Ordering::Relaxed) {
            return BrokerEvent::Late;
        }
        match self.heard.recv().await {
            Some(heard) => {
                self.state.unread_bytes.fetch_sub(heard.size(), Ordering::Relaxed);
                heard
            }
            None => {
                let ended = self.task.join_next().await.and_then(Result::ok);
                BrokerEvent::Lost(ended.unwrap_or_else(gone))
            }
        }
    }
}

impl BrokerEvent {
    fn size(&self) -> usize {
        MESSAGE_OVERHEAD_BYTES
            + match self {
                Self::Message(Message { subject, reply, payload, .. }) => {
                    subject.len() + reply.as_ref().map_or(0, String::len) + payload.len()
                }
                Self::Refused(text) | Self::Lost(text) => text.len(),
                Self::Late => 0,
            }
    }
}

/// The writer to a broker. Clones share the connection.
#[derive(Debug, Clone)]
pub struct Client {
    commands: mpsc::Sender<Vec<u8>>,
    next_sid: Arc<AtomicU64>,
}

impl Client {
    /// Publishes; waits where much waits for the broker already.
    ///
    /// # Errors
    /// The connection is lost.
    pub async fn publish(&self, subject: &str, reply: Option<&str>, payload: &[u8]) -> Result<(), String> {
        self.say(publication(subject, reply, payload)).await
    }

    /// Publishes, unless too much waits for the broker or the connection is lost: then false.
    pub fn try_publish(&self, subject: &str, payload: &[u8]) -> bool {
        self.commands.try_send(publication(subject, None, payload)).is_ok()
    }

    /// Subscribes; returns the subscription's number in messages.
    ///
    /// # Errors
    /// The connection is lost.
    pub async fn subscribe(&self, subject: &str) -> Result<u64, String> {
        let sid = self.next_sid.fetch_add(1, Ordering::Relaxed) + 1;
        self.say(format!("SUB {subject} {sid}\r\n").into_bytes()).await?;
        Ok(sid)
    }

    /// Ends a subscription by its number.
    ///
    /// # Errors
    /// The connection is lost.
    pub async fn unsubscribe(&self, sid: u64) -> Result<(), String> {
        self.say(format!("UNSUB {sid}\r\n").into_bytes()).await
    }

    async fn say(&self, command: Vec<u8>) -> Result<(), String> {
        self.commands.send(command).await.map_err(|_| gone())
    }
}

fn publication(subject: &str, reply: Option<&str>, payload: &[u8]) -> Vec<u8> {
    let reply = reply.map_or_else(String::new, |reply| format!("{reply} "));
    let head = format!("PUB {subject} {reply}{}\r\n", payload.len());
    [head.as_bytes(), payload, b"\r\n"].concat()
}

fn gone() -> String {
    "the broker is gone".into()
}

/// Until the connection is lost: why.
async fn listen<S: AsyncRead + AsyncWrite>(
    read: ReadHalf<S>,
    tell: &mpsc::UnboundedSender<BrokerEvent>,
    state: &State,
) -> String {
    let mut reader = BufReader::new(read);
    let mut said = None;
    loop {
        let heard = match operation(&mut reader).await {
            Ok(Operation::Message(message)) => Some(BrokerEvent::Message(message)),
            Ok(Operation::Error(text)) if is_refusal(&text) => Some(BrokerEvent::Refused(text)),
            Ok(Operation::Error(text)) => {
                said = Some(text);
                None
            }
            Ok(Operation::Ping) => {
                state.pong_is_due.notify_one();
                None
            }
            Ok(Operation::Pong | Operation::Other) => None,
            Err(error) => return said.unwrap_or_else(|| lost(&error)),
        };
        state.unanswered.store(0, Ordering::Relaxed);
        let Some(heard) = heard else { continue };
        let size = heard.size();
        if state.unread_bytes.fetch_add(size, Ordering::Relaxed) + size > MAX_UNREAD_BYTES {
            state.unread_bytes.fetch_sub(size, Ordering::Relaxed);
            state.is_late.store(true, Ordering::Relaxed);
        } else if tell.send(heard).is_err() {
            return gone();
        }
    }
}

/// Until the connection is lost: why.
async fn speak<S: AsyncRead + AsyncWrite>(
    write: WriteHalf<S>,
    mut unsent: mpsc::Receiver<Vec<u8>>,
    state: &State,
) -> String {
    let mut writer = BufWriter::new(write);
    let mut pings = interval_at(Instant::now() + PING_INTERVAL, PING_INTERVAL);
    let mut commands = Vec::new();
    loop {
        tokio::select! {
            count = unsent.recv_many(&mut commands, WRITTEN_AT_ONCE) => if count == 0 {
                return gone();
            },
            () = state.pong_is_due.notified() => commands.push(b"PONG\r\n".to_vec()),
            _ = pings.tick() => {
                if state.unanswered.fetch_add(1, Ordering::Relaxed) >= MAX_UNANSWERED {
                    return "the broker does not answer".into();
                }
                commands.push(b"PING\r\n".to_vec());
            }
        }
        let writing = async {
            for command in commands.drain(..) {
                writer.write_all(&command).await?;
            }
            writer.flush().await
        };
        match timeout(PING_INTERVAL * (MAX_UNANSWERED + 1), writing).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return lost(&error),
            Err(_) => return "the broker does not read".into(),
        }
    }
}

fn lost(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => gone(),
        _ => format!("the broker is left: {error}"),
    }
}

/// The form of nats-server's `pubPermissionViolation` and `subPermissionViolation`.
fn is_refusal(text: &str) -> bool {
    text.starts_with("Permissions Violation")
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, duplex};

    /// 240 MB of answers waited after five seconds, and more with each ping.
    #[tokio::test]
    async fn a_broker_that_pings_and_does_not_read_makes_nothing_wait() {
        let (ours, mut broker) = duplex(1024);
        let mut connection = Connection::over(ours);
        // The buffer between them is full of unread data.
        for _ in 0..100 {
            connection.client.publish("a", None, &[0; 1000]).await.unwrap();
        }
        let pings = b"PING\r\n".repeat(100_000);
        broker.write_all(&pings).await.unwrap();
        broker.write_all(b"MSG a 1 0\r\n\r\n").await.unwrap();
        assert!(matches!(connection.next().await, BrokerEvent::Message(_)), "it has read all of the pings");
        let mut said = Vec::new();
        let reading = async {
            broker.read_to_end(&mut said).await.unwrap();
        };
        let _ = timeout(std::time::Duration::from_millis(300), reading).await;
        let pongs = said.windows(6).filter(|bytes| bytes == b"PONG\r\n").count();
        assert!((1..=2).contains(&pongs), "{pongs} answers to 100,000 pings");
    }

    #[tokio::test]
    async fn what_nobody_reads_is_dropped_beyond_a_bound_and_the_rest_is_read() {
        const BETWEEN: usize = 1 << 20;
        let (ours, mut broker) = duplex(BETWEEN);
        let mut connection = Connection::over(ours);
        let message = [&b"MSG a 1 4000\r\n"[..], &[b'x'; 4000], b"\r\n"].concat();
        let many = 2 * MAX_UNREAD_BYTES / 4000;
        for _ in 0..many {
            broker.write_all(&message).await.unwrap();
        }
        drop(broker);
        let (mut read, mut late) = (0, 0);
        loop {
            match connection.next().await {
                BrokerEvent::Message(_) => read += 1,
                BrokerEvent::Late => late += 1,
                BrokerEvent::Lost(reason) => {
                    assert_eq!(reason, "the broker is gone");
                    break;
                }
                BrokerEvent::Refused(text) => panic!("{text}"),
            }
        }
        // The messages between them arrive while we read.
        let most = (MAX_UNREAD_BYTES + BETWEEN) / 4000;
        assert!(read <= most && late > 0, "{read} of {many}, late {late} times");
    }
}

//! The service's end of QUIC.

mod listener;

use bytes::Bytes;
use cellcc_netassist_client::protocol::Answer;
use cellcc_units::Bytes as Size;
use noq::{Connection, VarInt};
use tokio::sync::mpsc;

pub use listener::BindError;
pub(super) use listener::Listener;

// The connection of a client, from which it takes records and answers.

const CLOSE_SLOW: VarInt = VarInt::from_u32(3);

/// The connection of a client.
#[derive(Debug, Clone)]
pub(super) struct Connected {
    connection: Connection,
    answers: mpsc::Sender<Answer>,
}

/// A client has not read its messages.
pub(in crate::transport) struct Slow;

/// Records have been lost: those given, or about as many older ones.
pub(in crate::transport) struct Dropped;

impl Connected {
    /// `answers`: the queue of answers to the client.
    fn new(connection: Connection, answers: mpsc::Sender<Answer>) -> Self {
        Self { connection, answers }
    }

    /// Queues a message that the client has not requested. A client that lets the queue fill is disconnected.
    pub(in crate::transport) fn tell(&self, answer: Answer) -> Result<(), Slow> {
        self.answers.try_send(answer).map_err(|_| {
            self.connection.close(CLOSE_SLOW, b"answers are not read");
            Slow
        })
    }

    /// Sends records. Where there is no room, they take the place of older ones.
    pub(in crate::transport) fn send(&self, records: Vec<u8>) -> Result<(), Dropped> {
        let has_room = self.connection.datagram_send_buffer_space() >= records.len();
        let sent = self.connection.send_datagram(Bytes::from(records));
        if has_room && sent.is_ok() { Ok(()) } else { Err(Dropped) }
    }

    pub(in crate::transport) fn sent_bytes(&self) -> Size {
        Size::new(self.connection.stats().udp_tx.bytes)
    }
}

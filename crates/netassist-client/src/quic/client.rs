//! A client's connection over QUIC.

use super::{DATAGRAM_RECEIVE_BYTES, FramingError, read, transport};
use crate::allowance::Pace;
use crate::certificates::SERVICE_DNS_NAME;
use crate::conversation::{Change, Conversation, Keys, lock};
use crate::protocol::{CONNECT_TIMEOUT, RECORDS_PER_DATAGRAM, answer, framed};
use cellcc_assist::AdviceRecord;
use noq::crypto::rustls::QuicClientConfig;
use noq::{ClientConfig, Connection, Endpoint, RecvStream, SendStream, VarInt};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::mpsc;
use tokio::time::timeout;

/// Connects with a service.
#[derive(Debug)]
pub(crate) struct Dialler {
    endpoint: Endpoint,
    config: ClientConfig,
    service: SocketAddr,
}

impl Dialler {
    pub(crate) fn new(service: SocketAddr, tls: QuicClientConfig) -> io::Result<Self> {
        let mut config = ClientConfig::new(Arc::new(tls));
        config.transport_config(Arc::new(transport(DATAGRAM_RECEIVE_BYTES)));
        let own = match service {
            SocketAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
            SocketAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
        };
        Ok(Self { endpoint: Endpoint::client(own)?, config, service })
    }

    /// Connects, and goes on until the connection is lost: why.
    pub(crate) async fn converse(
        &self,
        conversation: &Conversation,
        changed: &mut mpsc::UnboundedReceiver<Change>,
    ) -> String {
        let connection = match self.connect().await {
            Ok(connection) => connection,
            Err(problem) => return problem,
        };
        let problem = talk(&connection, conversation, changed).await;
        // The service's reason for closing, if it gave one.
        let problem = connection.close_reason().map_or(problem, |reason| reason.to_string());
        connection.close(VarInt::from_u32(0), b"");
        problem
    }

    async fn connect(&self) -> Result<Connection, String> {
        let connecting = self
            .endpoint
            .connect_with(self.config.clone(), self.service, SERVICE_DNS_NAME)
            .map_err(|error| error.to_string())?;
        let connected = timeout(CONNECT_TIMEOUT, connecting).await;
        connected.map_err(|_| format!("{} does not answer", self.service))?.map_err(|error| error.to_string())
    }
}

async fn talk(
    connection: &Connection,
    conversation: &Conversation,
    changed: &mut mpsc::UnboundedReceiver<Change>,
) -> String {
    // The service refuses a certificate only after the client believes that the handshake is done.
    if let Err(error) = connection.handshake_confirmed().await {
        return error.to_string();
    }
    let (mut send, mut receive) = match connection.open_bi().await {
        Ok(streams) => streams,
        Err(error) => return error.to_string(),
    };
    conversation.connected();
    let keys = Keys::default();
    // All at once: the service reads no more requests from a client that does not read its answers.
    tokio::select! {
        problem = ask(conversation, &mut send, changed) => problem,
        problem = listen(conversation, &mut receive, &keys) => problem,
        problem = receive_records(conversation, connection, &keys) => problem,
    }
}

/// Requests all wanted users, and then the changes, until it cannot: why.
async fn ask(
    conversation: &Conversation,
    send: &mut SendStream,
    changed: &mut mpsc::UnboundedReceiver<Change>,
) -> String {
    // All changes until now are requested together.
    while changed.try_recv().is_ok() {}
    let mut everything = conversation.everything();
    let pace = Pace::start();
    loop {
        let request = match everything.pop() {
            Some(request) => Some(request),
            None => match changed.recv().await {
                Some(change) => conversation.request(&change),
                None => return "no longer needed".to_owned(),
            },
        };
        let Some(request) = request else { continue };
        pace.turn().await;
        if send.write_all(&framed(&request)).await.is_err() {
            return "the stream is lost".to_owned();
        }
    }
}

/// Reads the service's answers, until it cannot: why.
async fn listen(conversation: &Conversation, receive: &mut RecvStream, keys: &Keys) -> String {
    loop {
        match read(receive).await {
            Ok(Some(text)) => match answer(&text) {
                Ok(answer) => conversation.on_answer(answer, keys),
                Err(problem) => return problem.to_string(),
            },
            Ok(None) => return "the service has ended the stream".to_owned(),
            Err(error @ (FramingError::Lost(_) | FramingError::Malformed(_))) => {
                return error.to_string();
            }
        }
    }
}

/// Receives records, until the connection is lost: why.
async fn receive_records(conversation: &Conversation, connection: &Connection, keys: &Keys) -> String {
    loop {
        match connection.read_datagram().await {
            Ok(datagram) => on_datagram(conversation, &datagram, keys),
            Err(error) => return error.to_string(),
        }
    }
}

fn on_datagram(conversation: &Conversation, datagram: &[u8], keys: &Keys) {
    let arrived_at = Instant::now();
    let records = datagram.chunks_exact(AdviceRecord::SIZE);
    if records.len() > RECORDS_PER_DATAGRAM || !records.remainder().is_empty() {
        return conversation.unusable();
    }
    let keys = lock(keys);
    for bytes in records {
        match AdviceRecord::decode(bytes) {
            Some(record) => conversation.on_record(&record, arrived_at, &keys),
            None => conversation.unusable(),
        }
    }
}

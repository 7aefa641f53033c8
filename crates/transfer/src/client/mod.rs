//! The client: sends the request, moves data, and combines the reports of both sides.

pub(crate) mod connecting;
pub(crate) mod running;

use crate::advice::AdviceConfig;
use crate::client::connecting::{Agreed, Connector};
use crate::client::running::{Last, Running};
use crate::files::{Existing, IncomingFile, SharedFile};
use crate::progress::Progress;
use crate::protocol::Message;
use crate::session::{Session, Task};
use crate::{CloseCode, Direction, Identity, Outcome, Payload, Request, TransferError, Trust};
use cellcc_quic::qlog::Directory;
use cellcc_units::Bytes;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::timeout;

/// Longest wait for the server's answer, and for its final report.
pub(crate) const RESPONSE_TIMEOUT: Duration = Duration::from_secs(10);
/// Longest wait for the last packets to leave.
const FLUSH_TIMEOUT: Duration = Duration::from_millis(500);

/// The transfer, and its server.
#[derive(Debug, Clone)]
pub struct ClientSettings {
    /// The server's address.
    pub server: SocketAddr,
    /// The server's name, for certificates signed by an authority.
    pub server_name: String,
    /// The certificates that are accepted.
    pub trust: Trust,
    /// The client's own certificate, for servers that require one.
    pub identity: Option<Identity>,
    /// The request.
    pub request: Request,
    /// The local file to write or read.
    pub file: Option<PathBuf>,
    /// Folder for the qlogs of data connections.
    pub qlog: Option<Directory>,
    /// Source of network advice, for schemes that ask for it.
    pub advice: Option<AdviceConfig>,
}

/// Runs a transfer. `stop` ends it early; for generated data, the result covers the transfer until then. `progress`
/// is called as it goes.
///
/// # Errors
/// Bad input, a server that does not answer or refuses, a connection or a file that fails.
pub async fn transfer(
    settings: &ClientSettings,
    mut stop: watch::Receiver<bool>,
    progress: &mut dyn FnMut(Progress),
) -> Result<Outcome, TransferError> {
    let mut request = settings.request.clone();
    let out = open_file(settings, &mut request)?;
    let connector = Connector::new(settings)?;
    let agreed = tokio::select! {
        agreed = connector.agree(&request) => agreed?,
        _ = stop.wait_for(|stop| *stop) => return Err(TransferError::Interrupted),
    };
    let incoming = incoming_file(settings, &agreed)?;
    let mut control = agreed.control;
    let prepared = tokio::select! {
        prepared = connector.prepare(&mut control, &agreed.congestion, &agreed.tickets, &request) => prepared?,
        _ = stop.wait_for(|stop| *stop) => return Err(TransferError::Interrupted),
    };
    let (flows, clock) = prepared;
    progress(Progress::Started(&agreed.started));
    control.write(&Message::Start { server_ahead_ns: clock.ahead_ns }).await?;
    let task = Task {
        payload: &request.payload,
        is_sender: request.direction == Direction::Put,
        streams: request.streams,
        file: out.as_ref().or(incoming.as_ref().map(|incoming| &incoming.file)),
        clock,
    };
    let session = Session::start(control, flows, &task);
    let mut running = Running { session, request, incoming, last: Last::default(), intervals: Vec::new() };
    let result = running.run(&mut stop, progress).await;
    let (code, reason) = match &result {
        Ok(_) => (CloseCode::Done, "complete".into()),
        Err(error) => (error.close_code(), error.reason()),
    };
    running.session.close(code, &reason);
    let _ = timeout(FLUSH_TIMEOUT, connector.endpoint.wait_idle()).await;
    let (sent, received, is_interrupted) = result?;
    Ok(Outcome {
        request: running.request,
        started: agreed.started,
        intervals: running.intervals,
        sent,
        received,
        is_interrupted,
    })
}

/// The file to put.
fn open_file(settings: &ClientSettings, request: &mut Request) -> Result<Option<SharedFile>, TransferError> {
    let (Payload::File { bytes, .. }, Some(path)) = (&mut request.payload, &settings.file) else {
        return Ok(None);
    };
    if request.direction == Direction::Get {
        return Ok(None);
    }
    let file = SharedFile::open(path).map_err(|error| TransferError::Input(error.to_string()))?;
    *bytes = Some(Bytes::new(file.bytes()));
    Ok(Some(file))
}

/// The file to get.
fn incoming_file(settings: &ClientSettings, agreed: &Agreed) -> Result<Option<IncomingFile>, TransferError> {
    let (Some(bytes), Some(path)) = (agreed.bytes, &settings.file) else { return Ok(None) };
    IncomingFile::create(path, bytes.get(), Existing::Replaced).map(Some)
}

//! The program's view of a connection that is served between its acknowledgements.

use crate::ecn::L4s;
use crate::ecn_socket::Codepoints;
use crate::extension::{Counters, PeerComponent};
use crate::handle::Monitor;
use crate::service::{Service, Shared};
use bytes::Bytes;
use cellcc_control::{Observer, Registry, Scheme};
use std::sync::{Arc, Mutex};
use tokio::task::AbortHandle;

/// A connection with one of our schemes, served until it ends. Dropping this ends the service earlier; the scheme then runs
/// on acknowledgements alone. It does not keep the connection open.
///
/// The service reads the connection's datagrams. It keeps the extension's (first byte
/// [`CONTEXT`](crate::extension::CONTEXT)); read the application's with
/// [`read_datagram`](AttachedReceiver::read_datagram), not from the connection.
#[derive(Debug)]
pub struct Attached {
    scheme: Arc<Mutex<Monitor>>,
    peer: AttachedReceiver,
}

impl Attached {
    pub(crate) fn start(
        connection: &noq::Connection,
        scheme: Scheme,
        codepoints: Option<&Codepoints>,
    ) -> Option<Self> {
        let service = Service::of_sender(connection, scheme, codepoints)?;
        Some(Self { scheme: service.handle()?, peer: AttachedReceiver::run(connection, service) })
    }

    /// The view of the scheme's present flow. A connection that moves to another path begins a new one.
    pub fn scheme(&self) -> Monitor {
        crate::service::lock(&self.scheme).clone()
    }

    /// The state of the receiver-side component at the peer. Its text can serve as a note in a result.
    pub fn peer_component(&self) -> PeerComponent {
        self.peer.shared.extension().peer_component()
    }

    /// The state of ECT(1) on the scheme's packets, if it wants that. Its text can serve as a note in a result.
    pub fn l4s(&self) -> L4s {
        self.peer.shared.extension().l4s()
    }

    /// The side that receives: the peer's scheme, and datagrams.
    pub fn receiver(&self) -> &AttachedReceiver {
        &self.peer
    }
}

/// A connection that runs the receiver-side components of its peer's schemes, with any congestion control of its own, until
/// it ends or this is dropped. It does not keep the connection open.
#[derive(Debug)]
pub struct AttachedReceiver {
    shared: Arc<Shared>,
    task: AbortHandle,
}

/// Runs the receiver-side components of the peer's schemes, on a connection with any congestion control. A connection that
/// [`Congestion::attach`](crate::Congestion::attach) serves runs them already. `registry`: the schemes whose components may
/// run.
///
/// The service reads the connection's datagrams, as with [`Attached`].
///
/// # Panics
/// Outside of a tokio runtime.
pub fn attach_receiver(connection: &noq::Connection, registry: Registry) -> AttachedReceiver {
    AttachedReceiver::run(connection, Service::of_receiver(connection, registry, None))
}

/// Attaches to an endpoint whose socket maps ECN codepoints: the peer's scheme may send ECT(1).
///
/// # Panics
/// Outside of a tokio runtime.
pub fn attach_mapping_receiver(
    connection: &noq::Connection,
    registry: Registry,
    codepoints: &Codepoints,
) -> AttachedReceiver {
    AttachedReceiver::run(connection, Service::of_receiver(connection, registry, Some(codepoints)))
}

impl AttachedReceiver {
    fn run(connection: &noq::Connection, service: Service) -> Self {
        let shared = service.shared();
        let task = tokio::spawn(service.run(connection.on_closed())).abort_handle();
        Self { shared, task }
    }

    /// The peer's scheme whose component runs here, if one does.
    pub fn scheme_here(&self) -> Option<String> {
        self.shared.extension().scheme_here().map(str::to_owned)
    }

    /// Shows the internal values of the receiver-side component that runs here, if one does.
    pub fn observe_component(&self, observer: &mut dyn Observer) {
        if let Some(component) = self.shared.extension().component_here() {
            component.observe(observer);
        }
    }

    /// Counts of the extension's datagrams so far.
    pub fn counters(&self) -> Counters {
        self.shared.extension().counters()
    }

    /// Sets the user's number of flows over all of its connections, which NATCP's receivers report. The default is 1.
    pub fn set_user_flows(&self, flows: u32) {
        self.shared.set_user_flows(flows);
    }

    /// The next of the application's own datagrams, oldest first; up to 1 MiB wait, then the oldest are dropped. `None`
    /// when the service has ended. Cancel safe.
    pub async fn read_datagram(&self) -> Option<Bytes> {
        self.shared.inbox.pop().await
    }
}

impl Drop for AttachedReceiver {
    fn drop(&mut self) {
        self.task.abort();
    }
}

//! A service in this process, and clients of it.

use cellcc_assist::{AdviceRecord, Knowledge};
use cellcc_control::{Advice, AdviceClass, MinRttParts};
use cellcc_netassist::{
    AuditEntry, Authority, Identities, LiveFlows, Sample, Server, Service, ServiceClock, SourceName, User,
};
use cellcc_netassist_client::{
    Client, ClientEvent, ClientSettings, Credentials, PeerName, Role, ServiceAddress,
};
use cellcc_units::{Rate, Span};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::sync::mpsc;
use tokio::time::timeout;

pub(crate) const ALICE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 45, 0, 2));
pub(crate) const BOB: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 45, 0, 3));
/// Ends a hang: longer than anything here takes on a slow machine.
pub(crate) const HANG_TIMEOUT: Duration = Duration::from_secs(60);
/// A source is late after three of its periods: these are so long that no machine makes it late. A record can say up to 65 s.
const PERIOD: Span = Span::from_secs(20);

pub(crate) fn name(role: Role, text: &str) -> PeerName {
    PeerName::new(role, text).unwrap()
}

pub(crate) fn in_an_hour() -> SystemTime {
    SystemTime::now() + Duration::from_secs(3600)
}

/// A running service.
pub(crate) struct Edge {
    pub(crate) authority: Arc<Authority>,
    pub(crate) name: PeerName,
    pub(crate) identities: Identities,
    pub(crate) server: Server,
    pub(crate) clock: ServiceClock,
    pub(crate) audit: mpsc::UnboundedReceiver<AuditEntry>,
    pub(crate) address: SocketAddr,
}

impl Edge {
    /// With Alice and Bob, and a flow between Alice and any client that connects over loopback.
    pub(crate) fn start() -> Self {
        Self::of(Arc::new(Authority::new().unwrap()), "edge")
    }

    /// An edge of this name and of an authority that others also have.
    pub(crate) fn of(authority: Arc<Authority>, service_name: &str) -> Self {
        let credentials = authority.sign(&name(Role::Service, service_name), in_an_hour()).unwrap();
        Self::with(authority, &credentials)
    }

    /// An edge with these credentials of the authority's.
    pub(crate) fn with(authority: Arc<Authority>, credentials: &Credentials) -> Self {
        let clock = ServiceClock::start();
        let user = |name: &str, address| User {
            name: name.into(),
            addresses: vec![address],
            radio: Vec::new(),
            supi: None,
        };
        let users = vec![user("alice", ALICE), user("bob", BOB)];
        let identities = Identities::new(users, &[7; 32]).unwrap();
        let mut flows = LiveFlows::default();
        flows.see(clock.now(), [(ALICE, Ipv4Addr::LOCALHOST.into())]);
        let service = Service::new(clock.now(), identities.clone(), flows);
        let (audit_in, audit) = mpsc::unbounded_channel();
        let listen = (Ipv4Addr::LOCALHOST, 0).into();
        let server = Server::bind(listen, credentials, service, clock, None, audit_in).unwrap();
        let address = server.address().unwrap();
        let running = server.clone();
        tokio::spawn(async move { running.run().await });
        let name = credentials.name().clone();
        Self { authority, name, identities, server, clock, audit, address }
    }

    pub(crate) fn credentials(&self, role: Role, text: &str) -> Credentials {
        self.authority.sign(&name(role, text), in_an_hour()).unwrap()
    }

    pub(crate) fn client(&self, credentials: Credentials) -> Listening {
        Listening::start(ServiceAddress::Quic(self.address), credentials)
    }

    /// A measurement of a user, now.
    pub(crate) fn measure(&self, user: &str, mbit: f64) {
        self.measure_over(PERIOD, user, mbit);
    }

    /// Measures a user over a period of this length.
    pub(crate) fn measure_over(&self, period: Span, user: &str, mbit: f64) {
        self.server.samples(&[self.sample(period, user, mbit)]);
    }

    /// A measurement, which the service does not have yet.
    pub(crate) fn sample(&self, period: Span, user: &str, mbit: f64) -> Sample {
        let mut advice = Advice::new(Rate::from_mbit_per_sec(mbit), AdviceClass::Backlogged, period);
        advice.min_rtt = Some(MinRttParts { network: Span::from_millis(10), ..MinRttParts::default() });
        let user = SourceName::Name(user.into());
        Sample { user, cell: 1, until: self.clock.now(), measured: Knowledge::Known(advice) }
    }

    /// Waits until the counts are so.
    pub(crate) async fn until(&self, what: &str, is_so: impl Fn(&Server) -> bool) {
        let waiting = async {
            while !is_so(&self.server) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(HANG_TIMEOUT, waiting).await.unwrap_or_else(|_| panic!("{what}: {:?}", self.server.counts()));
    }
}

/// An event of a client.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ListenerEvent {
    Record(IpAddr, AdviceRecord),
    Granted(IpAddr),
    Denied(Option<IpAddr>, String),
    Connected,
    Lost(String),
    Unusable,
}

impl ListenerEvent {
    pub(crate) fn record(self) -> Option<AdviceRecord> {
        if let Self::Record(_, record) = self { Some(record) } else { None }
    }

    pub(crate) fn lost(self) -> Option<String> {
        if let Self::Lost(reason) = self { Some(reason) } else { None }
    }
}

/// A client, and all its events.
pub(crate) struct Listening {
    pub(crate) client: Client,
    heard: mpsc::UnboundedReceiver<ListenerEvent>,
}

impl Listening {
    pub(crate) fn start(service: ServiceAddress, credentials: Credentials) -> Self {
        let (tell, heard) = mpsc::unbounded_channel();
        let listener = move |event: ClientEvent<'_>| {
            let _ = tell.send(match event {
                ClientEvent::Record { user, record, .. } => ListenerEvent::Record(user, *record),
                ClientEvent::Granted(user) => ListenerEvent::Granted(user),
                ClientEvent::Denied { user, reason } => ListenerEvent::Denied(user, reason.into()),
                ClientEvent::Connected => ListenerEvent::Connected,
                ClientEvent::Lost(reason) => ListenerEvent::Lost(reason.into()),
                ClientEvent::Unusable => ListenerEvent::Unusable,
            });
        };
        let client = Client::start(ClientSettings { service, credentials }, listener).unwrap();
        Self { client, heard }
    }

    /// The next event.
    pub(crate) async fn hears(&mut self) -> ListenerEvent {
        timeout(HANG_TIMEOUT, self.heard.recv()).await.expect("nothing was heard").expect("the client lives")
    }

    /// The next event of this kind.
    pub(crate) async fn hears_that<T>(&mut self, is_it: impl Fn(ListenerEvent) -> Option<T>) -> T {
        loop {
            if let Some(found) = is_it(self.hears().await) {
                return found;
            }
        }
    }

    pub(crate) async fn is_connected(&mut self) {
        assert_eq!(self.hears().await, ListenerEvent::Connected);
    }

    pub(crate) async fn is_granted(&mut self, user: IpAddr) {
        self.hears_that(|heard| (heard == ListenerEvent::Granted(user)).then_some(())).await;
    }

    /// All events until now.
    pub(crate) fn so_far(&mut self) -> Vec<ListenerEvent> {
        std::iter::from_fn(|| self.heard.try_recv().ok()).collect()
    }
}

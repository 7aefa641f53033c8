//! Serves a connection between acknowledgements: the scheme's timers, its send buffer, the extension's messages.
//!
//! noq calls a controller only when something is sent, acknowledged or lost. This task runs the scheme's timers in between,
//! wakes noq when a timer lets more leave, and carries the extension's datagrams.
//!
//! A connection ends when its last handle is dropped. This task holds one for at most [`POLL_INTERVAL`] or
//! [`IDLE_POLL_INTERVAL`], and so delays that end by no more.

use crate::clock::{Clock, span};
use crate::ecn_socket::{Codepoints, Mapped};
use crate::extension::{Extension, Received, Totals};
use crate::handle::{DrivenFlow, MayLeave, Monitor};
use crate::inbox::Inbox;
use crate::pacing::Timers;
use crate::packet_size::PacketSize;
use cellcc_control::{Registry, Scheme, Signal};
use cellcc_units::Bytes;
use noq::{Connection, OnClosed, PathId, SendDatagramError, WeakConnectionHandle};
use std::future::pending;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The send buffer holds this many windows: one in flight, and one ready to follow.
const BUFFERED_WINDOWS: u64 = 2;
/// Smallest send buffer: a window that grows suddenly finds data (ten packets would be one initial window).
const MIN_SEND_BUFFER: u64 = 1 << 18;
/// Largest send buffer: 1 Gbit/s over half a second.
const MAX_SEND_BUFFER: u64 = 1 << 26;

/// Interval between updates of the send buffer. A window that grows wakes noq at once.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// The interval if neither a scheme nor a receiver-side component runs here.
const IDLE_POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Resolution of tokio's timers.
const TIMER_RESOLUTION: Duration = Duration::from_millis(1);

/// While a datagram waits in noq for the window, the extension's next message is not built yet, so that it is up to date
/// when it leaves. It waits at most this long: an application that sends many datagrams always has one waiting.
const MAX_DEFERRAL: Duration = Duration::from_millis(100);

/// An RTT before there is a sample (RFC 9002, section 6.2.2).
const INITIAL_RTT: Duration = Duration::from_millis(333);

/// The state that the service and the program share.
#[derive(Debug)]
pub(crate) struct Shared {
    extension: Mutex<Extension>,
    clock: Clock,
    pub(crate) inbox: Inbox,
}

/// Locks, also after a thread panicked with the lock held.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    pub(crate) fn extension(&self) -> MutexGuard<'_, Extension> {
        lock(&self.extension)
    }

    pub(crate) fn set_user_flows(&self, flows: u32) {
        let now = self.clock.now();
        self.extension().on_user_flows(now, flows);
    }
}

/// The scheme that sends on the connection.
struct Sending {
    scheme: Scheme,
    handle: Arc<Mutex<Monitor>>,
    checked_at: Instant,
    send_buffer: Bytes,
    /// The last signal that was sent, and the bytes that the flow had sent by then.
    last_signal: Option<(Signal, Bytes)>,
}

/// An unchanged signal is repeated after this many bytes, three quarters of a packet: more than the acknowledgements that a
/// connection sends while it only receives.
const REPEAT_AFTER: Bytes = Bytes::new(1125);

impl Sending {
    /// True if the peer needs this signal: a new one, or a repetition after enough bytes. `sent`: all bytes of the flow.
    fn takes_signal(&mut self, signal: Signal, sent: Bytes) -> bool {
        let is_due = self
            .last_signal
            .is_none_or(|(last, sent_then)| last != signal || sent.saturating_sub(sent_then) >= REPEAT_AFTER);
        if is_due {
            self.last_signal = Some((signal, sent));
        }
        is_due
    }
}

pub(crate) struct Service {
    connection: WeakConnectionHandle,
    shared: Arc<Shared>,
    sending: Option<Sending>,
    /// IP and UDP headers of arriving datagrams.
    headers: Bytes,
    /// Space in noq's datagram buffer when it is empty.
    empty_buffer: usize,
    message_sent_at: Instant,
    /// The socket maps the peer's codepoints as long as this lives.
    mapped: Option<Mapped>,
}

impl Service {
    pub(crate) fn of_receiver(
        connection: &Connection,
        registry: Registry,
        codepoints: Option<&Codepoints>,
    ) -> Self {
        let now = Instant::now();
        let mapped = codepoints.zip(remote(connection)).map(|(codepoints, peer)| codepoints.map(peer));
        let extension = Extension::new(registry);
        let extension = match &mapped {
            Some(mapped) => extension.with_ecn(mapped.map()),
            None => extension,
        };
        Self {
            connection: connection.weak_handle(),
            shared: Arc::new(Shared {
                extension: Mutex::new(extension),
                clock: Clock::new(now),
                inbox: Inbox::default(),
            }),
            sending: None,
            headers: headers(connection),
            empty_buffer: 0,
            message_sent_at: now,
            mapped,
        }
    }

    /// `None` where the connection has another congestion control.
    pub(crate) fn of_sender(
        connection: &Connection,
        scheme: Scheme,
        codepoints: Option<&Codepoints>,
    ) -> Option<Self> {
        let handle = Monitor::of(connection)?;
        let mut service = Self::of_receiver(connection, cellcc_schemes::registry(), codepoints);
        service.begin_flow(&handle, &scheme);
        service.sending = Some(Sending {
            scheme,
            handle: Arc::new(Mutex::new(handle)),
            checked_at: service.shared.clock.epoch(),
            send_buffer: Bytes::ZERO,
            last_signal: None,
        });
        Some(service)
    }

    pub(crate) fn shared(&self) -> Arc<Shared> {
        Arc::clone(&self.shared)
    }

    pub(crate) fn handle(&self) -> Option<Arc<Mutex<Monitor>>> {
        self.sending.as_ref().map(|sending| Arc::clone(&sending.handle))
    }

    fn scheme(&self) -> Option<DrivenFlow> {
        self.sending.as_ref().map(|sending| DrivenFlow::viewed_by(&lock(&sending.handle)))
    }

    fn begin_flow(&self, handle: &Monitor, scheme: &Scheme) {
        let flow = DrivenFlow::viewed_by(handle);
        flow.set_headers(self.headers);
        // The service has yet to begin: it wakes noq then.
        _ = flow.set_timers(Timers::System);
        let now = self.shared.clock.now();
        self.shared.extension().begin_flow(now, scheme);
    }

    /// Serves the connection until it ends.
    pub(crate) async fn run(mut self, mut closed: OnClosed) {
        let mut datagrams = [const { bytes::Bytes::new() }; 32];
        loop {
            let Some(connection) = self.connection.upgrade() else { return };
            let now = Instant::now();
            self.follow_path(&connection, now);
            self.run_timers(&connection, now);
            self.transmit(&connection, now);
            let wake = self.next_wake(now);
            // Coalesce timers to the timer resolution; waking for each would starve noq.
            let until = Some(wake).filter(|&wake| wake > now + TIMER_RESOLUTION);
            let scheme = self.scheme();
            let earlier_timer = async {
                match &scheme {
                    Some(scheme) => scheme.wait_for_earlier_timer(until).await,
                    None => pending().await,
                }
            };
            tokio::select! {
                _ = &mut closed => return,
                read = connection.read_many_datagrams(&mut datagrams) => match read {
                    Ok(count) => self.on_datagrams(&connection, &mut datagrams[..count]),
                    Err(_) => return,
                },
                () = tokio::time::sleep_until(wake.into()) => {}
                () = earlier_timer => {}
            }
        }
    }

    /// Begins a new flow when noq has built a new controller for a new path.
    fn follow_path(&mut self, connection: &Connection, now: Instant) {
        let Some(sending) = &mut self.sending else { return };
        if now.duration_since(sending.checked_at) < POLL_INTERVAL {
            return;
        }
        sending.checked_at = now;
        if let (Some(mapped), Some(peer)) = (&mut self.mapped, remote(connection)) {
            mapped.follow(peer);
        }
        let Some(current) = Monitor::of(connection) else { return };
        if current.is_same(&lock(&sending.handle)) {
            return;
        }
        *lock(&sending.handle) = current.clone();
        let scheme = sending.scheme.clone();
        self.headers = headers(connection);
        self.begin_flow(&current, &scheme);
    }

    /// Runs the scheme's timers and updates the send buffer.
    fn run_timers(&mut self, connection: &Connection, now: Instant) {
        let Some(sending) = &mut self.sending else { return };
        let flow = DrivenFlow::viewed_by(&lock(&sending.handle));
        let may_leave = flow.on_time(now);
        let wanted = send_buffer(&flow);
        if may_leave == MayLeave::More || wanted != sending.send_buffer {
            sending.send_buffer = wanted;
            connection.set_send_window(wanted.get());
        }
    }

    /// Sends the extension's messages that are due.
    fn transmit(&mut self, connection: &Connection, now: Instant) {
        let time = self.shared.clock.time(now);
        let mut extension = lock(&self.shared.extension);
        if extension.wants_totals() {
            extension.on_totals(time, self.totals(connection));
        }
        if let Some(scheme) = self.scheme()
            && let Some(sending) = &mut self.sending
            && let Some(signal) = scheme.signal()
        {
            if sending.takes_signal(signal, scheme.snapshot().sent())
                && let Some(datagram) = extension.signal(signal)
            {
                send(connection, &mut extension, datagram);
            }
            // Also if it could not be sent: the scheme may wait for it and would stop.
            scheme.on_signal_queued(signal);
        }
        let room = connection.datagram_send_buffer_space();
        self.empty_buffer = self.empty_buffer.max(room);
        if room < self.empty_buffer && now.duration_since(self.message_sent_at) < MAX_DEFERRAL {
            return;
        }
        let rtt = span(connection.rtt(PathId::ZERO).unwrap_or(INITIAL_RTT));
        while let Some(datagram) = extension.poll_transmit(time, rtt) {
            self.message_sent_at = now;
            send(connection, &mut extension, datagram);
        }
    }

    /// Passes datagrams from the peer to the extension, and the application's to the inbox.
    fn on_datagrams(&mut self, connection: &Connection, datagrams: &mut [bytes::Bytes]) {
        let now = Instant::now();
        let time = self.shared.clock.time(now);
        let totals = self.totals(connection);
        let scheme = self.scheme();
        let mut opened = false;
        for datagram in datagrams {
            let datagram = std::mem::take(datagram);
            let received = self.shared.extension().on_datagram(time, totals, &datagram);
            match (received, &scheme) {
                (Received::NotOurs, _) => self.shared.inbox.push(datagram),
                (Received::Found, Some(scheme)) => scheme.on_component_found(),
                (Received::Feedback(feedback), Some(scheme)) => {
                    let (verdict, may_leave) = scheme.on_feedback(now, &feedback, totals.sent);
                    self.shared.extension().count(verdict);
                    opened |= may_leave == MayLeave::More;
                }
                (Received::Marked(payload), Some(scheme)) => scheme.on_marked(payload),
                (Received::Nothing | Received::Found | Received::Feedback(_) | Received::Marked(_), _) => {}
            }
        }
        if opened && let Some(sending) = &self.sending {
            connection.set_send_window(sending.send_buffer.get());
        }
    }

    fn totals(&self, connection: &Connection) -> Totals {
        let stats = connection.stats();
        let with = |headers: Bytes, datagrams: u64, bytes: u64| Bytes::new(bytes) + headers * datagrams;
        Totals {
            received_datagrams: stats.udp_rx.datagrams,
            received: with(self.headers, stats.udp_rx.datagrams, stats.udp_rx.bytes),
            sent: with(PacketSize::IPV6_HEADERS, stats.udp_tx.datagrams, stats.udp_tx.bytes),
        }
    }

    fn next_wake(&self, now: Instant) -> Instant {
        let extension = self.shared.extension().next_wake().map(|time| self.shared.clock.instant(time));
        let scheme = self.scheme();
        let tick = now + if scheme.is_some() { POLL_INTERVAL } else { IDLE_POLL_INTERVAL };
        let scheme = scheme.and_then(|scheme| scheme.next_time());
        // Never now: due work is done, or waits for the peer.
        extension.into_iter().chain(scheme).fold(tick, Instant::min).max(now + TIMER_RESOLUTION)
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.shared.inbox.close();
        if let Some(scheme) = self.scheme()
            && scheme.set_timers(Timers::None) == MayLeave::More
            && let Some(connection) = self.connection.upgrade()
        {
            connection.set_send_window(send_buffer(&scheme).get());
        }
    }
}

fn send(connection: &Connection, extension: &mut Extension, datagram: Vec<u8>) {
    match connection.send_datagram(datagram.into()) {
        Err(SendDatagramError::UnsupportedByPeer | SendDatagramError::Disabled) => {
            extension.give_up_datagrams();
        }
        // A datagram that is too large for the peer, or late, is treated as lost.
        Ok(()) | Err(SendDatagramError::TooLarge | SendDatagramError::ConnectionLost(_)) => {}
    }
}

fn remote(connection: &Connection) -> Option<SocketAddr> {
    connection.path(PathId::ZERO).and_then(|path| path.remote_address().ok())
}

fn headers(connection: &Connection) -> Bytes {
    let is_ipv6 = remote(connection).is_some_and(|remote| match remote.ip() {
        IpAddr::V4(_) => false,
        IpAddr::V6(address) => address.to_ipv4_mapped().is_none(),
    });
    if is_ipv6 { PacketSize::IPV6_HEADERS } else { PacketSize::IPV4_HEADERS }
}

pub(crate) fn send_buffer(handle: &Monitor) -> Bytes {
    let window = handle.snapshot().limits.window.get();
    Bytes::new(window.saturating_mul(BUFFERED_WINDOWS).clamp(MIN_SEND_BUFFER, MAX_SEND_BUFFER))
}

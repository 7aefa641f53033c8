//! A service's reports on their way into the kernel's map.

use crate::conversation::{ClientEvent, lock};
use cellcc_assist::{AdviceRecord, Arrivals};
use cellcc_control::Advice;
use cellcc_quic::Clock;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Mutex;
use std::time::Instant;

/// Gives new reports to the kernel. Late and replayed records are dropped.
#[derive(Debug)]
pub struct KernelFeed<A> {
    advise: A,
    arrivals: BTreeMap<IpAddr, Arrivals>,
    clock: Clock,
    /// True if a failure has been reported.
    has_failed: bool,
}

impl<A: FnMut(IpAddr, &Advice) -> Result<(), String> + Send + 'static> KernelFeed<A> {
    /// `advise` writes a report just received on a user into the map; its error says why the kernel does not take it.
    pub fn new(advise: A) -> Self {
        Self { advise, arrivals: BTreeMap::new(), clock: Clock::new(Instant::now()), has_failed: false }
    }

    /// Takes the events of a [`Client`](crate::Client). `log` takes a line for the operator.
    pub fn listener(
        self,
        log: impl Fn(&str) + Send + Sync + 'static,
    ) -> impl Fn(ClientEvent<'_>) + Send + Sync + 'static {
        let feed = Mutex::new(self);
        move |event| match event {
            ClientEvent::Record { user, record, arrived_at } => {
                if let Err(error) = lock(&feed).take(user, record, arrived_at) {
                    log(&format!("the kernel does not take advice: {error}"));
                }
            }
            ClientEvent::Granted(user) => log(&format!("the kernel receives reports on {user}")),
            ClientEvent::Connected => log("connected"),
            ClientEvent::Lost(reason) => log(&format!("NetAssist: {reason}; trying again")),
            // Most peers of a machine are no users of the service.
            ClientEvent::Denied { .. } | ClientEvent::Unusable => {}
        }
    }

    /// Passes a record on if it is new.
    ///
    /// # Errors
    /// The kernel does not take it, for the first time.
    fn take(&mut self, user: IpAddr, record: &AdviceRecord, arrived_at: Instant) -> Result<(), String> {
        let now = self.clock.time(arrived_at);
        // The kernel's programs stop by themselves to follow advice that is not renewed.
        let Ok(advice) = self.arrivals.entry(user).or_default().accept(now, record) else { return Ok(()) };
        match (self.advise)(user, &advice) {
            Err(error) if !std::mem::replace(&mut self.has_failed, true) => Err(error),
            _ => Ok(()),
        }
    }
}

// The TCP connections of this machine, from `/proc/net/tcp` and `/proc/net/tcp6` (proc_net_tcp in the kernel's documentation).

/// `TCP_ESTABLISHED` of include/net/tcp_states.h.
const ESTABLISHED: &str = "01";

/// A connection with another machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connection {
    /// The address of the other machine.
    pub peer: IpAddr,
    /// It has not acknowledged all data. A browser keeps connections that carry nothing.
    pub is_sending: bool,
}

/// The established connections in the text of either file; those with this machine itself are left out.
pub fn established(text: &str) -> impl Iterator<Item = Connection> {
    let connections = text.lines().filter_map(|line| {
        let mut fields = line.split_whitespace().skip(2);
        let (peer, state, queues) = (fields.next()?, fields.next()?, fields.next()?);
        let (address, _port) = peer.split_once(':')?;
        let (unacknowledged, _unread) = queues.split_once(':')?;
        let is_sending = unacknowledged.bytes().any(|digit| digit != b'0');
        (state == ESTABLISHED).then(|| Some(Connection { peer: address_of(address)?, is_sending }))?
    });
    connections.filter(|connection| !connection.peer.is_loopback())
}

/// Words of 32 bits, each in the machine's byte order.
fn address_of(digits: &str) -> Option<IpAddr> {
    let word = |at: usize| u32::from_str_radix(digits.get(at..at + 8)?, 16).ok().map(u32::to_ne_bytes);
    match digits.len() {
        8 => Some(Ipv4Addr::from(word(0)?).into()),
        32 => {
            let mut octets = [0; 16];
            for (index, bytes) in octets.chunks_exact_mut(4).enumerate() {
                bytes.copy_from_slice(&word(8 * index)?);
            }
            Some(IpAddr::V6(Ipv6Addr::from(octets)).to_canonical())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cellcc_units::{Span, Time};
    use std::sync::mpsc;

    const ALICE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 45, 0, 2));

    /// A record of this sequence number, that is valid for 150 ms.
    fn record(sequence: u32) -> AdviceRecord {
        AdviceRecord {
            sequence,
            measured_until: Time::ZERO + Span::from_millis(50) * u64::from(sequence),
            ..AdviceRecord::EXAMPLE
        }
    }

    #[test]
    fn what_is_new_reaches_the_kernel_and_what_is_late_or_replayed_does_not() {
        let (advised, taken) = mpsc::channel();
        let feed =
            KernelFeed::new(move |user, _: &Advice| advised.send(user).map_err(|error| error.to_string()));
        let listener = feed.listener(|line| panic!("{line}"));
        let start = Instant::now();
        let hear = |sequence: u32, millis: u64| {
            let arrived_at = start + std::time::Duration::from_millis(millis);
            listener(ClientEvent::Record { user: ALICE, record: &record(sequence), arrived_at });
            taken.try_iter().count()
        };
        assert_eq!(hear(1, 50), 1);
        assert_eq!(hear(1, 60), 0, "replayed");
        assert_eq!(hear(2, 251), 0, "151 ms late");
        assert_eq!(hear(3, 250), 1);
    }

    #[test]
    fn a_kernel_that_takes_nothing_is_a_line_once() {
        let (log, lines) = mpsc::channel();
        let feed = KernelFeed::new(|_, _: &Advice| Err("no map".into()));
        let listener = feed.listener(move |line| log.send(line.to_owned()).unwrap());
        for sequence in 1..4 {
            listener(ClientEvent::Record {
                user: ALICE,
                record: &record(sequence),
                arrived_at: Instant::now(),
            });
        }
        assert_eq!(lines.try_iter().collect::<Vec<_>>(), ["the kernel does not take advice: no map"]);
    }

    /// As a little-endian machine writes it.
    #[cfg(target_endian = "little")]
    #[test]
    fn established_connections_with_others_are_found_and_those_that_send() {
        let text = "\
      sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 010200C0:01BB 02002D0A:C822 01 00000000:00000000 00:00000000 00000000     0        0 1 1 0 20 4 30 10 -1
   1: 00000000:01BB 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 2 1 0 100 0 0 10 0
   2: 0100007F:01BB 0100007F:C822 01 00000000:00000000 00:00000000 00000000     0        0 3 1 0 20 4 30 10 -1
   3: 0000000000000000FFFF0000010200C0:01BB 0000000000000000FFFF000003002D0A:C823 01 00000590:00000000 0:0 0 0 0 4
   4: x y 01
";
        let found: Vec<_> = established(text).map(|one| (one.peer.to_string(), one.is_sending)).collect();
        assert_eq!(found, [("10.45.0.2".into(), false), ("10.45.0.3".into(), true)]);
    }
}

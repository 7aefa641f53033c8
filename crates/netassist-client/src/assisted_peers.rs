//! NetAssist as the advice of a server's QUIC connections: asks for each peer as long as there is a connection to it.

use crate::client::{Client, ClientError, ClientSettings};
use crate::conversation::ClientEvent;
use cellcc_assist::AdviceRecord;
use cellcc_quic::Clock;
use cellcc_quic::advice::{AdviceService, AdviceSource, NextAdvice, PeerAdvice, PeerTable, octets};
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// A service's reports about the peers of this program's connections.
#[derive(Debug, Clone)]
pub struct AssistedPeers {
    client: Client,
    peers: PeerTable,
    connections: Arc<Mutex<HashMap<IpAddr, u16>>>,
}

impl AssistedPeers {
    /// Connects in the background. `log` takes a line where something is out of order. Needs a tokio runtime.
    ///
    /// # Errors
    /// As [`Client::start`].
    pub fn start(
        settings: ClientSettings,
        log: impl Fn(&str) + Send + Sync + 'static,
    ) -> Result<Self, ClientError> {
        let peers = PeerTable::default();
        let (table, clock) = (peers.clone(), Clock::new(Instant::now()));
        let client = Client::start(settings, move |event| match event {
            ClientEvent::Record { user, record, arrived_at } => {
                let record = AdviceRecord { user: octets(user), ..*record };
                // A record that is not new, or came after its connection's end, is useless.
                let _ = table.accept(clock.time(arrived_at), arrived_at, &record);
            }
            ClientEvent::Denied { user: Some(user), reason } => {
                log(&format!("NetAssist on {user}: {reason}"))
            }
            ClientEvent::Denied { user: None, reason } => log(&format!("NetAssist: {reason}")),
            ClientEvent::Lost(reason) => log(&format!("NetAssist: {reason}; trying again")),
            ClientEvent::Granted(_) | ClientEvent::Connected | ClientEvent::Unusable => {}
        })?;
        Ok(Self { client, peers, connections: Arc::default() })
    }

    /// One connection with a peer more or less.
    fn change(&self, peer: IpAddr, change: impl Fn(u16) -> u16) {
        let mut connections = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        let count = connections.entry(peer).or_default();
        *count = change(*count);
        let count = *count;
        if count == 0 {
            connections.remove(&peer);
        }
        self.client.want(peer, count, None);
    }
}

impl AdviceService for AssistedPeers {
    fn for_peer(&self, peer: IpAddr) -> Box<dyn AdviceSource> {
        let peer = peer.to_canonical();
        let advice = self.peers.for_peer(peer);
        self.change(peer, |count| count.saturating_add(1));
        Box::new(AssistedPeer { advice, service: self.clone(), peer })
    }
}

/// The reports for one connection.
struct AssistedPeer {
    advice: PeerAdvice,
    service: AssistedPeers,
    peer: IpAddr,
}

impl AdviceSource for AssistedPeer {
    fn next(&mut self) -> NextAdvice<'_> {
        self.advice.next()
    }
}

impl Drop for AssistedPeer {
    fn drop(&mut self) {
        self.service.change(self.peer, |count| count.saturating_sub(1));
    }
}

//! Tickets: the first destination connection ID of a data connection names its transfer.

use noq::ConnectionId;
use rustls::crypto::SecureRandom;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// RFC 9000, section 7.2: at least 8 bytes, unpredictable. 16 cannot be guessed.
const TICKET_BYTES: usize = 16;

/// Admits one data connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Ticket([u8; TICKET_BYTES]);

impl Ticket {
    /// A random one; `None` where the system has no randomness.
    fn draw(random: &dyn SecureRandom) -> Option<Self> {
        let mut bytes = [0; TICKET_BYTES];
        random.fill(&mut bytes).ok().map(|()| Self(bytes))
    }

    pub(crate) fn connection_id(self) -> ConnectionId {
        ConnectionId::new(&self.0)
    }

    fn of(id: &ConnectionId) -> Option<Self> {
        <[u8; TICKET_BYTES]>::try_from(&id[..]).ok().map(Self)
    }
}

impl Serialize for Ticket {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:032x}", u128::from_be_bytes(self.0)))
    }
}

impl<'de> Deserialize<'de> for Ticket {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let wrong = |_| serde::de::Error::custom("a ticket has 32 hexadecimal digits");
        Ok(Self(u128::from_str_radix(&text, 16).map_err(wrong)?.to_be_bytes()))
    }
}

/// Issued, unused tickets, each with the transfer that it admits to.
#[derive(Debug)]
pub(crate) struct TicketStore<T>(Arc<Mutex<HashMap<Ticket, T>>>);

impl<T> Clone for TicketStore<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Default for TicketStore<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

/// Tickets of one transfer. Dropping this revokes the unused ones.
#[derive(Debug)]
pub(crate) struct Issued<T> {
    pub(crate) tickets: Vec<Ticket>,
    store: TicketStore<T>,
}

impl<T: Clone> TicketStore<T> {
    /// `count` tickets that lead to `place`; `None` where the system has no randomness.
    pub(crate) fn issue(&self, count: usize, random: &dyn SecureRandom, target: &T) -> Option<Issued<T>> {
        let tickets = (0..count).map(|_| Ticket::draw(random)).collect::<Option<Vec<_>>>()?;
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.extend(tickets.iter().map(|ticket| (*ticket, target.clone())));
        Some(Issued { tickets, store: self.clone() })
    }

    /// Takes the ticket that a connection comes with.
    pub(crate) fn redeem(&self, id: &ConnectionId) -> Option<T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&Ticket::of(id)?)
    }
}

impl<T> Drop for Issued<T> {
    fn drop(&mut self) {
        let mut open = self.store.0.lock().unwrap_or_else(PoisonError::into_inner);
        self.tickets.iter().for_each(|ticket| drop(open.remove(ticket)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_is_good_once_and_only_while_its_transfer_lasts() {
        let random = rustls::crypto::ring::default_provider().secure_random;
        let store = TicketStore::default();
        let issued = store.issue(2, random, &"transfer").unwrap();
        let ids: Vec<_> = issued.tickets.iter().map(|ticket| ticket.connection_id()).collect();
        assert_eq!(store.redeem(&ids[0]), Some("transfer"));
        assert_eq!(store.redeem(&ids[0]), None);
        drop(issued);
        assert_eq!(store.redeem(&ids[1]), None);
    }
}

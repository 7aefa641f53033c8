//! A socket for noq that maps ECN codepoints, for the peers that agreed on it; other peers' pass as they are.
//!
//! Datagrams that the system sends or gives together have one codepoint: Linux does not merge packets of different ones.

use crate::ecn::EcnMap;
use noq::udp::{EcnCodepoint as OnSocket, RecvMeta, Transmit};
use noq::{AsyncTimer, AsyncUdpSocket, Runtime, UdpSender};
use noq_proto::EcnCodepoint;
use std::collections::HashMap;
use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::num::NonZeroUsize;
use std::pin::Pin;
use std::sync::{Arc, PoisonError, RwLock};
use std::task::{Context, Poll, ready};
use std::time::Instant;

/// The codepoints of an endpoint's peers. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Codepoints(Arc<RwLock<HashMap<SocketAddr, Arc<EcnMap>>>>);

/// A peer whose codepoints are mapped, until this is dropped.
#[derive(Debug)]
pub(crate) struct Mapped {
    codepoints: Codepoints,
    peer: SocketAddr,
    map: Arc<EcnMap>,
}

impl Codepoints {
    /// A runtime for `noq::Endpoint::new` whose socket maps them; the rest is `inner`'s.
    pub fn runtime(&self, inner: Arc<dyn Runtime>) -> Arc<dyn Runtime> {
        Arc::new(MappingRuntime { inner, codepoints: self.clone() })
    }

    pub(crate) fn map(&self, peer: SocketAddr) -> Mapped {
        let map = Arc::default();
        self.insert(peer, &map);
        Mapped { codepoints: self.clone(), peer, map }
    }

    fn insert(&self, peer: SocketAddr, map: &Arc<EcnMap>) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(peer, Arc::clone(map));
    }

    fn remove(&self, peer: SocketAddr, map: &Arc<EcnMap>) {
        let mut peers = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if peers.get(&peer).is_some_and(|other| Arc::ptr_eq(other, map)) {
            peers.remove(&peer);
        }
    }

    fn of(&self, peer: SocketAddr) -> Option<Arc<EcnMap>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(&peer).cloned()
    }
}

impl Mapped {
    pub(crate) fn map(&self) -> Arc<EcnMap> {
        Arc::clone(&self.map)
    }

    /// The peer has this address now.
    pub(crate) fn follow(&mut self, peer: SocketAddr) {
        if peer != self.peer {
            self.codepoints.remove(self.peer, &self.map);
            self.codepoints.insert(peer, &self.map);
            self.peer = peer;
        }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        self.codepoints.remove(self.peer, &self.map);
    }
}

#[derive(Debug)]
struct MappingRuntime {
    inner: Arc<dyn Runtime>,
    codepoints: Codepoints,
}

impl Runtime for MappingRuntime {
    fn new_timer(&self, at: Instant) -> Pin<Box<dyn AsyncTimer>> {
        self.inner.new_timer(at)
    }

    fn spawn(&self, task: Pin<Box<dyn Future<Output = ()> + Send>>) {
        self.inner.spawn(task);
    }

    fn wrap_udp_socket(&self, socket: UdpSocket) -> io::Result<Box<dyn AsyncUdpSocket>> {
        let inner = self.inner.wrap_udp_socket(socket)?;
        Ok(Box::new(MappingSocket { inner, codepoints: self.codepoints.clone() }))
    }

    fn now(&self) -> Instant {
        self.inner.now()
    }
}

#[derive(Debug)]
struct MappingSocket {
    inner: Box<dyn AsyncUdpSocket>,
    codepoints: Codepoints,
}

impl AsyncUdpSocket for MappingSocket {
    fn create_sender(&self) -> Pin<Box<dyn UdpSender>> {
        Box::pin(MappingSender { inner: self.inner.create_sender(), codepoints: self.codepoints.clone() })
    }

    fn poll_recv(
        &mut self,
        context: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        metas: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        let count = ready!(self.inner.poll_recv(context, buffers, metas))?;
        for meta in &mut metas[..count] {
            if let Some(map) = self.codepoints.of(meta.addr) {
                let datagrams = meta.len.div_ceil(meta.stride.max(1));
                let ecn = map.incoming(meta.ecn.map(of_socket), datagrams as u64, meta.len);
                meta.ecn = ecn.map(on_socket);
            }
        }
        Poll::Ready(Ok(count))
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.inner.local_addr()
    }

    fn max_receive_segments(&self) -> NonZeroUsize {
        self.inner.max_receive_segments()
    }

    fn may_fragment(&self) -> bool {
        self.inner.may_fragment()
    }
}

#[derive(Debug)]
struct MappingSender {
    inner: Pin<Box<dyn UdpSender>>,
    codepoints: Codepoints,
}

impl UdpSender for MappingSender {
    fn poll_send(
        mut self: Pin<&mut Self>,
        transmit: &Transmit<'_>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        let Some(map) = self.codepoints.of(transmit.destination) else {
            return self.inner.as_mut().poll_send(transmit, context);
        };
        let ecn = map.leaves_as(transmit.ecn.map(of_socket));
        let mapped = Transmit { ecn: ecn.map(on_socket), ..transmit.clone() };
        let sent = ready!(self.inner.as_mut().poll_send(&mapped, context));
        let size = transmit.contents.len();
        let datagrams = size.div_ceil(transmit.segment_size.unwrap_or(size).max(1));
        map.count_sent(ecn, datagrams as u64, size);
        Poll::Ready(sent)
    }

    fn max_transmit_segments(&self) -> NonZeroUsize {
        self.inner.max_transmit_segments()
    }
}

fn of_socket(ecn: OnSocket) -> EcnCodepoint {
    match ecn {
        OnSocket::Ect0 => EcnCodepoint::Ect0,
        OnSocket::Ect1 => EcnCodepoint::Ect1,
        OnSocket::Ce => EcnCodepoint::Ce,
    }
}

fn on_socket(ecn: EcnCodepoint) -> OnSocket {
    match ecn {
        EcnCodepoint::Ect0 => OnSocket::Ect0,
        EcnCodepoint::Ect1 => OnSocket::Ect1,
        EcnCodepoint::Ce => OnSocket::Ce,
    }
}

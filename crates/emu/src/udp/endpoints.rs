//! The sockets of a flow, each in the network namespace of its side, whatever thread uses them.

use crate::error::EmuError;
use crate::realtime::receiver_of;
use crate::sys;
use crate::topology::Topology;
use cellcc_experiment::{FlowSetup, UdpEndpoints};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsFd;

/// The receive buffer of a socket: at 2 Gbit/s the receiver's thread may be 15 ms late. The kernel counts the memory
/// of whole packets, about half of which is data.
const SOCKET_BYTES: i32 = 1 << 23;

/// The sockets of flow `index`.
pub(super) fn open(topology: &Topology, index: usize, setup: &FlowSetup) -> Result<UdpEndpoints, EmuError> {
    let (user, to) = receiver_of(topology, index, setup)?;
    let from = SocketAddr::from((topology.outside().address4, 0));
    let receiver = user.namespace.run(|| bind(to))?.map_err(EmuError::system("open a receiver's socket"))?;
    let sender = topology.outside().namespace.run(|| bind(from))?;
    Ok(UdpEndpoints { sender: sender.map_err(EmuError::system("open a sender's socket"))?, receiver })
}

fn bind(address: SocketAddr) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind(address)?;
    sys::set_buffers(socket.as_fd(), SOCKET_BYTES, SOCKET_BYTES)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

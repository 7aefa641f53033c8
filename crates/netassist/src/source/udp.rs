//! Messages that come as UDP datagrams, as base stations of before July 2025 send them.

use super::{InputProblem, NextMessage, RawInput, RawMessage};
use crate::clock::ServiceClock;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::UdpSocket;

/// The largest datagram.
const MAX_BYTES: usize = 65_535;
/// Wait after an error of the socket, such as lack of memory.
const RETRY_DELAY: Duration = Duration::from_millis(100);

/// A socket for datagrams of this machine.
#[derive(Debug)]
pub struct UdpInput {
    socket: UdpSocket,
    clock: ServiceClock,
    buffer: Vec<u8>,
}

impl UdpInput {
    /// Receives at this loopback address: the datagrams are not authenticated.
    ///
    /// # Errors
    /// It is no loopback address, or the system refuses it.
    pub async fn bind(address: SocketAddr, clock: ServiceClock) -> io::Result<Self> {
        if !address.ip().is_loopback() {
            let text =
                format!("{address} is not on this machine's loopback, and datagrams are not authenticated");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let socket = UdpSocket::bind(address).await?;
        Ok(Self { socket, clock, buffer: vec![0; MAX_BYTES] })
    }

    /// Where it receives.
    ///
    /// # Errors
    /// The system does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }
}

impl RawInput for UdpInput {
    fn next(&mut self) -> NextMessage<'_> {
        Box::pin(async move {
            match self.socket.recv(&mut self.buffer).await {
                Ok(length) => {
                    let bytes = self.buffer[..length].to_vec();
                    Some(Ok(RawMessage { at: self.clock.now(), bytes }))
                }
                Err(error) => {
                    tokio::time::sleep(RETRY_DELAY).await;
                    Some(Err(InputProblem::Missing(format!("cannot receive: {error}"))))
                }
            }
        })
    }
}

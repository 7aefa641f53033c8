//! The base station's host: answers echoes.

use super::{ANSWER, ECHO_BYTES, REQUEST, echo, marked_socket, nonce_of};
use std::io;
use std::net::SocketAddr;
use tokio::net::UdpSocket;

/// What answers echoes.
#[derive(Debug)]
pub struct EchoHost {
    socket: UdpSocket,
}

impl EchoHost {
    /// Receives at this address.
    ///
    /// # Errors
    /// The system refuses it.
    pub async fn bind(address: SocketAddr) -> io::Result<Self> {
        Ok(Self { socket: marked_socket(address).await? })
    }

    /// Where it receives.
    ///
    /// # Errors
    /// The system does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Answers until it is dropped. What is no request is ignored.
    pub async fn run(self) {
        // One byte more shows what is too long.
        let mut buffer = [0; ECHO_BYTES + 1];
        loop {
            // An error is of a packet before: its receiver is gone.
            let Ok((length, from)) = self.socket.recv_from(&mut buffer).await else { continue };
            if let Some(nonce) = nonce_of(REQUEST, &buffer[..length]) {
                let _ = self.socket.send_to(&echo(ANSWER, &nonce), from).await;
            }
        }
    }
}

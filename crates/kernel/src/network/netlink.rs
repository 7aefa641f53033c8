//! rtnetlink, one request at a time.

use crate::error::KernelError;
use netlink_packet_core::{
    NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};
use std::io;

/// A connection to the tables of one network namespace.
pub(crate) struct Netlink(Socket);

impl Netlink {
    /// Connects to the namespace of the calling thread.
    pub(crate) fn open() -> Result<Self, KernelError> {
        let connect = || {
            let mut socket = Socket::new(NETLINK_ROUTE)?;
            socket.bind_auto()?;
            socket.connect(&SocketAddr::new(0, 0))?;
            Ok(Self(socket))
        };
        connect().map_err(KernelError::system("open a netlink socket"))
    }

    /// The whole list.
    pub(crate) fn list(&mut self, question: RouteNetlinkMessage) -> io::Result<Vec<RouteNetlinkMessage>> {
        self.send(question, NLM_F_DUMP)?;
        let mut answers = Vec::new();
        while !self.receive(&mut answers)? {}
        Ok(answers)
    }

    /// The one answer.
    pub(crate) fn ask(&mut self, question: RouteNetlinkMessage) -> io::Result<RouteNetlinkMessage> {
        self.send(question, 0)?;
        let mut answers = Vec::new();
        self.receive(&mut answers)?;
        answers.pop().ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    /// A change, once it is made.
    pub(crate) fn tell(&mut self, change: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
        self.send(change, NLM_F_ACK | flags)?;
        while !self.receive(&mut Vec::new())? {}
        Ok(())
    }

    fn send(&mut self, message: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST | flags;
        let mut packet = NetlinkMessage::new(header, NetlinkPayload::InnerMessage(message));
        packet.finalize();
        let mut bytes = vec![0; packet.buffer_len()];
        packet.serialize(&mut bytes);
        self.0.send(&bytes, 0).map(drop)
    }

    /// Takes one datagram; true at the end of a list, and at an acknowledgement.
    fn receive(&mut self, answers: &mut Vec<RouteNetlinkMessage>) -> io::Result<bool> {
        let (datagram, _) = self.0.recv_from_full()?;
        let mut rest = &datagram[..];
        while !rest.is_empty() {
            let packet =
                NetlinkMessage::<RouteNetlinkMessage>::deserialize(rest).map_err(io::Error::other)?;
            // Messages are aligned to 4 bytes.
            let length = (packet.header.length as usize).next_multiple_of(4).max(4);
            rest = rest.get(length..).unwrap_or_default();
            match packet.payload {
                NetlinkPayload::InnerMessage(answer) => answers.push(answer),
                NetlinkPayload::Error(error) => match error.code {
                    None => return Ok(true),
                    Some(_) => return Err(error.to_io()),
                },
                NetlinkPayload::Done(_) => return Ok(true),
                _ => {}
            }
        }
        Ok(false)
    }
}

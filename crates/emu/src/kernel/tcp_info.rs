//! The kernel's statistics of a connection: `TCP_INFO`.

use crate::sys;
use cellcc_experiment::FlowMeter;
use cellcc_units::{Bytes, Rate, Span};
use std::io;
use std::os::fd::BorrowedFd;

/// The part of `struct tcp_info` (`linux/tcp.h`) that a Record shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TcpInfo {
    pub(crate) window_packets: u32,
    pub(crate) srtt: Span,
    /// `None` where there is no limit yet.
    pub(crate) pacing_rate: Option<Rate>,
    pub(crate) retransmitted: Bytes,
    /// The time for which the connection had data to send.
    pub(crate) busy: Span,
    /// The part of it limited by the receiver's window.
    pub(crate) receiver_limited: Span,
    /// The part of it limited by the sender's buffer.
    pub(crate) buffer_limited: Span,
}

impl TcpInfo {
    /// Reads it from the kernel.
    pub(crate) fn of(socket: BorrowedFd<'_>) -> io::Result<Self> {
        let mut info = [0; 256];
        sys::tcp_info(socket, &mut info)?;
        Ok(Self::read(&info))
    }

    /// Records it for a bin of the time series. The names are the simulator's where it has the quantity.
    pub(crate) fn record_bin(&self, bin: usize, meter: &mut FlowMeter) {
        meter.sample(bin, "window_packets", self.window_packets.into());
        if let Some(rate) = self.pacing_rate {
            meter.sample(bin, "pacing_rate_mbit_s", rate.as_mbit_per_sec());
        }
        meter.sample(bin, "srtt_ms", self.srtt.as_millis_f64());
        meter.sample(bin, "retransmitted_bytes", self.retransmitted.as_f64());
    }

    /// The offsets are those of `linux/tcp.h`: a field never moves, new ones come at the end.
    fn read(info: &[u8; 256]) -> Self {
        let u32_at = |at: usize| u32::from_ne_bytes([info[at], info[at + 1], info[at + 2], info[at + 3]]);
        let u64_at = |at: usize| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&info[at..at + 8]);
            u64::from_ne_bytes(bytes)
        };
        let pacing_rate = u64_at(104);
        Self {
            srtt: Span::from_micros(u32_at(68).into()),
            window_packets: u32_at(80),
            pacing_rate: (pacing_rate != u64::MAX).then(|| Rate::from_bytes_per_sec(pacing_rate)),
            busy: Span::from_micros(u64_at(168)),
            receiver_limited: Span::from_micros(u64_at(176)),
            buffer_limited: Span::from_micros(u64_at(184)),
            retransmitted: Bytes::new(u64_at(208)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;

    #[test]
    fn the_kernel_tells_what_a_connection_over_loopback_is_like() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut receiver = listener.accept().unwrap().0;
        sender.write_all(&[0; 1000]).unwrap();
        receiver.read_exact(&mut [0; 1000]).unwrap();
        let info = TcpInfo::of(sender.as_fd()).unwrap();
        assert!(info.window_packets >= 10, "RFC 6928: {info:?}");
        assert!(!info.srtt.is_zero() && info.srtt < Span::from_secs(1), "{info:?}");
        assert_eq!(info.retransmitted, Bytes::ZERO);
    }
}

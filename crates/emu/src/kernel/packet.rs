//! TCP's headers, as far as the meter needs them.

use crate::realtime::transport;

/// A TCP packet's headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TcpHeaders {
    /// Bytes of the IP and TCP headers together.
    pub(crate) length: usize,
    pub(crate) source_port: u16,
    pub(crate) destination_port: u16,
    pub(crate) sequence: u32,
    /// The sequence number expected next; `None` without the ACK flag.
    pub(crate) acknowledgement: Option<u32>,
    /// True for the packet that begins a connection; the first byte of data follows its sequence number by one.
    pub(crate) is_syn: bool,
    pub(crate) sacks: Sacks,
}

/// Blocks that were received beyond the acknowledgement (RFC 2018): `(left, right)`, the right edge not included. At
/// most four fit, three next to timestamps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Sacks {
    blocks: [(u32, u32); 4],
    count: u8,
}

impl Sacks {
    pub(crate) fn blocks(&self) -> &[(u32, u32)] {
        &self.blocks[..usize::from(self.count)]
    }

    fn push(&mut self, block: (u32, u32)) {
        if let Some(place) = self.blocks.get_mut(usize::from(self.count)) {
            *place = block;
            self.count += 1;
        }
    }
}

/// IP protocol number (RFC 9293 section 3.1).
const TCP: u8 = 6;
const FLAG_SYN: u8 = 0x02;
const FLAG_ACK: u8 = 0x10;
/// Kinds of TCP options (RFC 9293 section 3.2, RFC 2018 section 3).
const OPTION_END: u8 = 0;
const OPTION_NONE: u8 = 1;
const OPTION_SACK: u8 = 5;

/// Reads IP and TCP headers; none where it is no TCP, or not whole.
pub(crate) fn parse(headers: &[u8]) -> Option<TcpHeaders> {
    let (_, tcp) = transport(headers).filter(|(protocol, _)| *protocol == TCP)?;
    let (fixed, rest) = tcp.split_at_checked(20)?;
    let tcp_length = usize::from(fixed[12] >> 4) * 4;
    let options = rest.get(..tcp_length.checked_sub(20)?)?;
    let number = |at: usize| u32::from_be_bytes([fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]]);
    let flags = fixed[13];
    Some(TcpHeaders {
        length: headers.len() - tcp.len() + tcp_length,
        source_port: u16::from_be_bytes([fixed[0], fixed[1]]),
        destination_port: u16::from_be_bytes([fixed[2], fixed[3]]),
        sequence: number(4),
        acknowledgement: (flags & FLAG_ACK != 0).then(|| number(8)),
        is_syn: flags & FLAG_SYN != 0,
        sacks: sacks(options),
    })
}

fn sacks(mut options: &[u8]) -> Sacks {
    let mut sacks = Sacks::default();
    while let [kind, after @ ..] = options {
        match *kind {
            OPTION_END => break,
            OPTION_NONE => options = after,
            kind => {
                let length = after.first().map_or(0, |&length| usize::from(length));
                let (Some(content), Some(next)) = (options.get(2..length), options.get(length..)) else {
                    break;
                };
                if kind == OPTION_SACK {
                    for block in content.chunks_exact(8) {
                        let edge = |at: usize| {
                            u32::from_be_bytes([block[at], block[at + 1], block[at + 2], block[at + 3]])
                        };
                        sacks.push((edge(0), edge(4)));
                    }
                }
                options = next;
            }
        }
    }
    sacks
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Headers as the kernel builds them: IPv4, TCP, timestamps, SACK blocks.
    pub(crate) fn built(
        ports: (u16, u16),
        sequence: u32,
        ack: u32,
        flags: u8,
        blocks: &[(u32, u32)],
    ) -> Vec<u8> {
        let mut options = vec![OPTION_NONE, OPTION_NONE, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2];
        if !blocks.is_empty() {
            options.extend([OPTION_NONE, OPTION_NONE, OPTION_SACK, 2 + 8 * blocks.len() as u8]);
            for (left, right) in blocks {
                options.extend(left.to_be_bytes());
                options.extend(right.to_be_bytes());
            }
        }
        let mut packet = vec![0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, TCP, 0, 0, 100, 64, 0, 1, 100, 64, 0, 2];
        packet.extend(ports.0.to_be_bytes());
        packet.extend(ports.1.to_be_bytes());
        packet.extend(sequence.to_be_bytes());
        packet.extend(ack.to_be_bytes());
        packet.extend([((20 + options.len()) as u8 / 4) << 4, flags, 0xff, 0xff, 0, 0, 0, 0]);
        packet.extend(options);
        packet
    }

    #[test]
    fn an_acknowledgement_has_its_sack_blocks_behind_the_timestamps() {
        let blocks = [(2000, 3000), (4000, 5000), (6000, 7000)];
        let headers = parse(&built((40_000, 5000), 1, 1000, FLAG_ACK, &blocks)).unwrap();
        assert_eq!((headers.source_port, headers.acknowledgement), (40_000, Some(1000)));
        assert_eq!(headers.sacks.blocks(), blocks);
        assert!(!headers.is_syn);
    }

    #[test]
    fn ipv6_is_read_too() {
        let tcp = &built((1, 2), 77, 0, FLAG_SYN, &[])[20..];
        let mut packet = vec![0x60, 0, 0, 0, 0, 32, TCP, 64];
        packet.extend([0; 32]);
        packet.extend(tcp);
        let headers = parse(&packet).unwrap();
        assert_eq!((headers.sequence, headers.is_syn, headers.acknowledgement), (77, true, None));
    }

    proptest::proptest! {
        #[test]
        fn no_packet_makes_the_parser_panic(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..120)) {
            let _ = parse(&bytes);
        }

        #[test]
        fn no_options_make_the_parser_panic(options in proptest::collection::vec(proptest::num::u8::ANY, 0..40)) {
            let _ = sacks(&options);
        }
    }
}
